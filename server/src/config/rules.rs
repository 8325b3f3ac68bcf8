//! What has to hold between keys, once each is valid by itself.

use super::{
    Config,
    types::Backend,
    value::{show_size, show_time},
};

/// One rule. It is not asked when one of its keys is at fault already.
pub(super) struct Rule {
    /// Section and name. The fault is told at the first that was set, so the likeliest culprit stands first.
    pub(super) keys: &'static [(&'static str, &'static str)],
    /// What is wrong and what to do, if the rule is broken.
    pub(super) broken: fn(&Config) -> Option<Broken>,
}

/// A broken rule.
pub(super) struct Broken {
    pub(super) what: String,
    pub(super) remedy: String,
}

/// The routes of 2024-11-05, which the endpoint's own path must leave free.
const ROUTES_2024: [&str; 2] = ["/sse", "/messages"];

pub(super) static RULES: &[Rule] = &[
    Rule { keys: &[("server", "admin_bind"), ("server", "bind")], broken: one_address_twice },
    Rule { keys: &[("server", "path"), ("server", "sse_2024")], broken: path_taken },
    Rule { keys: &[("server", "public_url"), ("server", "path")], broken: path_twice },
    Rule {
        keys: &[("server", "stream_keep_alive"), ("server", "stream_max_age")],
        broken: keep_alive_too_late,
    },
    Rule { keys: &[("store", "init_ttl"), ("store", "session_ttl")], broken: unused_outlives_used },
    Rule {
        keys: &[("limits", "in_flight_per_session"), ("limits", "in_flight")],
        broken: calls_part_over_whole,
    },
    Rule {
        keys: &[("limits", "streams_per_session"), ("limits", "streams")],
        broken: streams_part_over_whole,
    },
    Rule { keys: &[("limits", "log_bytes"), ("limits", "result_bytes")], broken: result_over_log },
    Rule { keys: &[("hub", "url"), ("store", "url")], broken: half_shared },
    Rule { keys: &[("store", "url"), ("keys", "ring")], broken: shared_without_keys },
];

fn broken(what: String, remedy: impl Into<String>) -> Option<Broken> {
    Some(Broken { what, remedy: remedy.into() })
}

fn one_address_twice(config: &Config) -> Option<Broken> {
    let (bind, admin) = (config.server.bind, config.server.admin_bind);
    // A wildcard address takes the port on all others, of both families where the system maps them.
    let overlap = bind.ip() == admin.ip() || bind.ip().is_unspecified() || admin.ip().is_unspecified();
    if bind.port() == 0 || bind.port() != admin.port() || !overlap {
        return None;
    }
    broken(format!("server.bind {bind} and server.admin_bind {admin} are one"), "give them different ports")
}

fn path_taken(config: &Config) -> Option<Broken> {
    let path = config.server.path.as_str();
    if path == "/.well-known" || path.starts_with("/.well-known/") {
        return broken(format!("server.path {path:?} is where metadata is served"), "choose another path");
    }
    if !config.server.sse_2024 || !ROUTES_2024.contains(&path) {
        return None;
    }
    let remedy = "choose another path, or set server.sse_2024 to false";
    broken(format!("server.path {path:?} is a route of revision 2024-11-05"), remedy)
}

fn path_twice(config: &Config) -> Option<Broken> {
    let path = config.server.path.as_str();
    let url = config.server.public_url.as_ref()?;
    if !url.mount().ends_with(path) {
        return None;
    }
    let what =
        format!("server.public_url ends with server.path, so clients would be sent to {:?}", url.of(path));
    broken(what, format!("leave {path:?} out of server.public_url"))
}

fn keep_alive_too_late(config: &Config) -> Option<Broken> {
    let (pause, age) = (config.server.stream_keep_alive, config.server.stream_max_age);
    if pause < age {
        return None;
    }
    let what = format!(
        "server.stream_keep_alive {} is not below server.stream_max_age {}",
        show_time(pause),
        show_time(age)
    );
    broken(what, "make it a fraction of the greatest age")
}

fn unused_outlives_used(config: &Config) -> Option<Broken> {
    let (init, session) = (config.store.init_ttl, config.store.session_ttl);
    if init <= session {
        return None;
    }
    let what =
        format!("store.init_ttl {} is above store.session_ttl {}", show_time(init), show_time(session));
    broken(what, "lower store.init_ttl")
}

fn calls_part_over_whole(config: &Config) -> Option<Broken> {
    let (part, whole) = (config.limits.in_flight_per_session, config.limits.in_flight);
    part_over_whole("limits.in_flight_per_session", part, "limits.in_flight", whole)
}

fn streams_part_over_whole(config: &Config) -> Option<Broken> {
    let (part, whole) = (config.limits.streams_per_session, config.limits.streams);
    part_over_whole("limits.streams_per_session", part, "limits.streams", whole)
}

fn part_over_whole(part_name: &str, part: usize, whole_name: &str, whole: usize) -> Option<Broken> {
    if part <= whole {
        return None;
    }
    broken(format!("{part_name} {part} is above {whole_name} {whole}"), format!("lower {part_name}"))
}

fn result_over_log(config: &Config) -> Option<Broken> {
    let (log, result) = (config.limits.log_bytes, config.limits.result_bytes);
    if log >= result {
        return None;
    }
    let (log, result) = (show_size(log), show_size(result));
    let what = format!(
        "limits.log_bytes {log} is below limits.result_bytes {result}, so no stream could keep such a result"
    );
    broken(what, format!("raise limits.log_bytes to {result} or more"))
}

/// Replicas that share sessions hear nothing of each other, or hear of sessions that they do not share.
fn half_shared(config: &Config) -> Option<Broken> {
    let (store, hub) = (config.store.url == Backend::Memory, *config.hub_url() == Backend::Memory);
    if store == hub {
        return None;
    }
    let what = "of the store and the hub, one is shared and the other in memory";
    broken(what.to_owned(), "leave hub.url out: it is the store's then")
}

/// Replicas that share sessions but not keys refuse each other's session ids.
fn shared_without_keys(config: &Config) -> Option<Broken> {
    if config.store.url == Backend::Memory || !config.keys.ring.is_empty() {
        return None;
    }
    let what =
        "keys.ring is empty, but the store is shared, and replicas would refuse each other's session ids";
    broken(what.to_owned(), "give all replicas the same keys.ring, or keys.ring_file")
}
