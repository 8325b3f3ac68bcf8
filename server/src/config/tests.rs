use std::{collections::BTreeMap, io, path::Path, time::Duration};

use super::*;

/// What there is to load in a test.
#[derive(Default)]
struct World {
    file: Option<&'static str>,
    files: BTreeMap<&'static str, String>,
    env: BTreeMap<String, String>,
    flags: Overrides,
}

// === impl World ===

impl World {
    fn file(text: &'static str) -> Self {
        Self { file: Some(text), ..Self::default() }
    }

    fn var(mut self, name: &str, value: &str) -> Self {
        self.env.insert(name.to_owned(), value.to_owned());
        self
    }

    fn other_file(mut self, path: &'static str, text: &str) -> Self {
        self.files.insert(path, text.to_owned());
        self
    }

    fn load(&self) -> Result<Config, Faults> {
        let read = |path: &Path| match (self.file, path.to_str()) {
            (Some(text), Some("etc/t.toml")) => Ok(text.to_owned()),
            (_, Some(path)) if self.files.contains_key(path) => Ok(self.files[path].clone()),
            _ => Err(io::Error::from(io::ErrorKind::NotFound)),
        };
        resolve(self.file.map(|_| Path::new("etc/t.toml")), &self.env, &self.flags, &read)
    }

    #[track_caller]
    fn faults(&self) -> Vec<String> {
        self.load().unwrap_err().iter().map(Fault::to_string).collect()
    }
}

/// 32 zero bytes; 32 other bytes.
const KEYS: [&str; 2] =
    ["AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", "AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="];

// === the defaults ===

#[test]
fn nothing_set_means_the_defaults() {
    let config = World::default().load().unwrap();
    assert_eq!(config, Config::default());
    assert_eq!(World::file("").load().unwrap(), config);
    assert_eq!(config.server.bind, "127.0.0.1:8080".parse().unwrap());
    assert_eq!(config.server.admin_bind, "127.0.0.1:9090".parse().unwrap());
    assert_eq!(config.server.path, "/mcp");
    assert_eq!(config.server.upgrade_after, Duration::from_secs(1));
    assert_eq!(config.store.session_ttl, Duration::from_secs(3600));
    assert_eq!(config.limits.body, 4 * 1024 * 1024);
    assert_eq!(config.hub_url(), &Backend::Memory);
}

#[test]
fn the_defaults_break_no_rule() {
    for rule in RULES {
        assert!((rule.broken)(&Config::default()).is_none(), "{:?}", rule.keys);
    }
}

/// What every key is set to in [`every_key_sets_its_own_field`], none of it the default.
const OTHER_VALUES: &str = r#"
[server]
bind = "0.0.0.0:1"
admin_bind = "0.0.0.0:2"
path = "/x"
public_url = "https://a.example"
allowed_origins = ["https://b.example"]
allowed_hosts = ["c.example"]
sessions = "off"
upgrade_after = "2s"
stream_keep_alive = "3s"
stream_max_age = "4m"
serve_replica_header = true
workers = 5
keep_alive = "6s"
request_timeout = "7s"
drain_grace = "8s"
drain_delay = "9s"
readiness = "degrade"
sse_2024 = false
[store]
url = "memory"
prefix = "y"
session_ttl = "10m"
init_ttl = "11s"
connections = 2
connect_timeout = "13s"
response_timeout = "14s"
ca_path = "/ca.pem"
recovery_rate = 15
[hub]
url = "memory"
[keys]
ring = ["k1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="]
[limits]
body = 1025
header_bytes = 1026
json_depth = 12
batch = 13
sessions = 14
session_values = 15
value_bytes = 2048
in_flight_per_session = 17
in_flight = 18
streams_per_session = 19
streams = 20
listen_subscriptions = 21
subscriptions_per_session = 22
log_entries = 23
log_age = "24s"
log_bytes = 1028
outbox = 25
result_bytes = 1027
tool_time = "26s"
questions_per_session = 27
question_time = "28s"
tasks_per_principal = 29
task_ttl = "30s"
[telemetry]
log_format = "json"
log_level = "trace"
"#;

#[test]
fn every_key_sets_its_own_field() {
    let config = World::file(OTHER_VALUES).load().unwrap();
    // Every key is set above, and each value is another, so that two keys of one field, or a field without a key, show.
    let lines: Vec<&str> = OTHER_VALUES.lines().filter(|line| line.contains(" = ")).collect();
    let names: Vec<&str> = lines.iter().filter_map(|line| line.split(" = ").next()).collect();
    assert_eq!(names, table::all().map(|key| key.name).collect::<Vec<_>>());
    let seconds = Duration::from_secs;
    let server = ServerConfig {
        bind: "0.0.0.0:1".parse().unwrap(),
        admin_bind: "0.0.0.0:2".parse().unwrap(),
        path: "/x".to_owned(),
        public_url: Some(PublicUrl::parse("https://a.example").unwrap()),
        allowed_origins: vec![AllowedOrigin::parse("https://b.example").unwrap()],
        allowed_hosts: vec![AllowedHost::parse("c.example").unwrap()],
        sessions: Sessions::Off,
        upgrade_after: seconds(2),
        stream_keep_alive: seconds(3),
        stream_max_age: seconds(240),
        serve_replica_header: true,
        workers: Some(5.try_into().unwrap()),
        keep_alive: seconds(6),
        request_timeout: seconds(7),
        drain_grace: seconds(8),
        drain_delay: seconds(9),
        readiness: Readiness::Degrade,
        sse_2024: false,
    };
    let limits = Limits {
        body: 1025,
        header_bytes: 1026,
        json_depth: 12,
        batch: 13,
        sessions: 14,
        session_values: 15,
        value_bytes: 2048,
        in_flight_per_session: 17,
        in_flight: 18,
        streams_per_session: 19,
        streams: 20,
        listen_subscriptions: 21,
        subscriptions_per_session: 22,
        log_entries: 23,
        log_age: seconds(24),
        log_bytes: 1028,
        outbox: 25,
        result_bytes: 1027,
        tool_time: seconds(26),
        questions_per_session: 27,
        question_time: seconds(28),
        tasks_per_principal: 29,
        task_ttl: seconds(30),
    };
    let expected = Config {
        server,
        store: StoreConfig {
            url: Backend::Memory,
            prefix: "y".to_owned(),
            session_ttl: seconds(600),
            init_ttl: seconds(11),
            connections: 2,
            connect_timeout: seconds(13),
            response_timeout: seconds(14),
            ca_path: Some("/ca.pem".into()),
            recovery_rate: 15,
        },
        hub: HubConfig { url: Some(Backend::Memory) },
        keys: KeyConfig { ring: vec![RingKey { name: "k1".to_owned(), bytes: [0; 32] }] },
        limits,
        telemetry: TelemetryConfig { log_format: LogFormat::Json, log_level: LogLevel::Trace },
    };
    assert_eq!(config, expected);
}

#[test]
fn every_key_has_a_variable() {
    let mut world = World::default();
    let mut section = "";
    for line in OTHER_VALUES.lines() {
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            section = name;
        } else if let Some((name, value)) = line.split_once(" = ") {
            let name = format!("TRUNKLINE__{section}__{name}").to_ascii_uppercase();
            world = world.var(&name, value.trim_matches(['[', ']', '"']));
        }
    }
    assert_eq!(world.load().unwrap(), World::file(OTHER_VALUES).load().unwrap());
}

#[test]
fn names_in_the_table_are_unique_and_rules_name_real_keys() {
    for key in table::all() {
        assert_eq!(table::all().filter(|other| other.id() == key.id()).count(), 1, "{}", key.id());
        assert!(table::SECTIONS.iter().any(|section| section.name == key.section), "{}", key.id());
        assert!(!key.name.contains("__") && !key.name.ends_with("_file"), "{}", key.id());
    }
    for section in table::SECTIONS {
        assert!(section.keys.iter().all(|key| key.section == section.name), "{}", section.name);
    }
    for (section, name) in RULES.iter().flat_map(|rule| rule.keys) {
        assert!(table::find(section, name).is_some(), "{section}.{name}");
    }
}

// === layers ===

#[test]
fn a_variable_overrides_the_file_and_a_flag_overrides_both() {
    let mut world =
        World::file("[server]\nbind = \"127.0.0.1:1\"\nadmin_bind = \"127.0.0.1:4\"\npath = \"/file\"\n")
            .var("TRUNKLINE__SERVER__BIND", "127.0.0.1:2")
            .var("TRUNKLINE__SERVER__PATH", "/env");
    world.flags = Overrides {
        bind: Some("127.0.0.1:3".to_owned()),
        admin_bind: None,
        store: Some("memory".to_owned()),
    };
    let config = world.load().unwrap();
    assert_eq!(config.server.bind.port(), 3);
    assert_eq!(config.server.admin_bind.port(), 4);
    assert_eq!(config.server.path, "/env");
    world.flags.admin_bind = Some("127.0.0.1:5".to_owned());
    assert_eq!(world.load().unwrap().server.admin_bind.port(), 5);
}

#[test]
fn keys_come_from_the_file_a_variable_or_a_file_of_their_own() {
    let expected = [("k2", 1), ("k1", 0)];
    let lines = format!("# rotated in June\n\n  k2:{}  \nk1:{}\n", KEYS[1], KEYS[0]);
    let listed = format!("k2:{},k1:{}", KEYS[1], KEYS[0]);
    let worlds = [
        World::file("[keys]\nring_file = \"ring\"\n").other_file("etc/ring", &lines),
        World::file("[keys]\nring_file = \"/run/ring\"\n").other_file("/run/ring", &lines),
        World::default().var("TRUNKLINE__KEYS__RING_FILE", "ring").other_file("ring", &lines),
        World::default().var("TRUNKLINE__KEYS__RING", &listed),
        World::file("[keys]\nring_file = \"absent\"\n[server]\npath = \"/\"")
            .other_file("etc/absent", "")
            .var("TRUNKLINE__KEYS__RING", &listed),
    ];
    for (at, world) in worlds.iter().enumerate() {
        let ring = world.load().unwrap().keys.ring;
        let found: Vec<(&str, u8)> = ring.iter().map(|key| (key.name.as_str(), key.bytes[0])).collect();
        assert_eq!(found, expected, "{at}");
    }
}

#[test]
fn a_backend_may_come_from_a_file_of_its_own() {
    let world = World::file("[store]\nurl_file = \"url\"\n").other_file("etc/url", "memory\n");
    assert_eq!(world.load().unwrap().store.url, Backend::Memory);
    let world = World::file("[store]\nurl_file = \"url\"\n").other_file("etc/url", "mysql://:hunter2@db\n");
    assert_eq!(world.faults().len(), 1);
    assert!(world.faults()[0].starts_with("etc/url: store.url: ") && !world.faults()[0].contains("hunter2"));
}

#[test]
fn a_hub_of_its_own_is_used_and_the_stores_otherwise() {
    let redis = |url: &str| Backend::Redis(Box::new(url.parse().unwrap()));
    let mut config = Config::default();
    config.store.url = redis("redis://store");
    assert_eq!(config.hub_url(), &redis("redis://store"));
    config.hub.url = Some(redis("redis://hub"));
    assert_eq!(config.hub_url(), &redis("redis://hub"));
}

// === faults ===

#[test]
fn all_faults_are_told_at_once_with_place_and_remedy() {
    let mut world = World::file(
        r#"[server]
bind = "localhost:8080"
bnid = "x"
[limits]
body = "4MB"
batch = "50"
outbox = 0
[srever]
path = "/x"
[store]
session_ttl = 5
"#,
    )
    .var("TRUNKLINE__SERVER__SESSIONS", "maybe")
    .var("TRUNKLINE__SERVER__PATH_", "/x");
    world.flags.store = Some("postgres://u:hunter2@db".to_owned());
    let expected = [
        r#"etc/t.toml:2: server.bind: "localhost:8080" is no address to listen on; write an IP address and a port, as in "127.0.0.1:8080", "0.0.0.0:8080" or "[::]:8080""#,
        r#"etc/t.toml:3: unknown key "bnid" in [server]; did you mean "bind"?"#,
        r#"etc/t.toml:5: limits.body: "4MB" is no size; write a number of bytes, or a number with B, KiB, MiB or GiB, as in "64KiB""#,
        "etc/t.toml:6: limits.batch: a string is no number; write a whole number, without quotes",
        "etc/t.toml:7: limits.outbox: 0 is out of range; write a value from 1 to 65536",
        "etc/t.toml:8: unknown section [srever]; did you mean [server]?",
        r#"etc/t.toml:11: store.session_ttl: 5 has no unit; write a whole number with ms, s, m, h or d, as in "250ms""#,
        "TRUNKLINE__SERVER__PATH_: no key has this variable; did you mean TRUNKLINE__SERVER__PATH?",
        r#"TRUNKLINE__SERVER__SESSIONS: server.sessions: "maybe" is not known; write one of "on", "off""#,
        "--store: store.url: the scheme of this URL is not understood; write redis://, rediss://, redis+sentinel://, rediss+sentinel://, redis+cluster:// or rediss+cluster://",
    ];
    assert_eq!(world.faults(), expected);
    assert_eq!(world.load().unwrap_err().to_string(), expected.join("\n"));
}

#[test]
fn a_fault_that_a_later_layer_overrides_is_still_told() {
    let world = World::file("[server]\npath = \"x\"\n").var("TRUNKLINE__SERVER__PATH", "/x");
    assert_eq!(world.faults().len(), 1);
}

#[test]
fn an_unknown_key_gets_the_likeliest_suggestion() {
    for (text, expected) in [
        ("[server]\nadmin-bind = 1", r#"unknown key "admin-bind" in [server]; did you mean "admin_bind"?"#),
        ("[server]\nPath = 1", r#"unknown key "Path" in [server]; did you mean "path"?"#),
        ("[server]\nprefix = 1", r#"unknown key "prefix" in [server]; did you mean [store].prefix?"#),
        (
            "[server]\nlog_levle = 1",
            r#"unknown key "log_levle" in [server]; did you mean [telemetry].log_level?"#,
        ),
        ("[hub]\ncolour = 1", r#"unknown key "colour" in [hub]; its keys are url"#),
        ("[server]\nbind_file = 1", r#"unknown key "bind_file" in [server]; its keys are bind, admin_bind"#),
        ("[server.bindings]\nx = 1", r#"unknown key "bindings" in [server]; its keys are bind"#),
        ("server.bnd = 1", r#"unknown key "bnd" in [server]; did you mean "bind"?"#),
        ("bind = 1", r#"the key "bind" stands outside every section; did you mean [server].bind?"#),
        ("colour = 1", r#"the key "colour" stands outside every section; move it below its section"#),
        ("server = 1", "server is a section, not a key; write [server] on a line of its own"),
        ("[limit]\nbody = 1", "unknown section [limit]; did you mean [limits]?"),
        ("[colours]\nbody = 1", "unknown section [colours]; the sections are server, store"),
        ("[auth.oauth]\nissuer = 1", "[auth] is not part of this version; remove it"),
        ("[[source]]\nkind = 1", "[source] is not part of this version; remove it"),
        ("[[server]]\nbind = 1", "server is a section, not a key"),
    ] {
        let faults = World { file: Some(text), ..World::default() }.faults();
        assert!(faults.len() == 1 && faults[0].contains(expected), "{text}: {faults:?}");
    }
}

#[test]
fn an_unknown_variable_is_a_fault_and_somebody_elses_is_not() {
    let ours = World::default()
        .var("TRUNKLINE__SERVR__BIND", "x")
        .var("TRUNKLINE__COLOUR", "red")
        .var("TRUNKLINE_STORE_URL", "memory");
    assert_eq!(
        ours.faults(),
        [
            "TRUNKLINE_STORE_URL: the variable is not read; did you mean TRUNKLINE__STORE__URL?",
            "TRUNKLINE__COLOUR: no key has this variable; unset it; variables are named TRUNKLINE__SECTION__KEY",
            "TRUNKLINE__SERVR__BIND: no key has this variable; did you mean TRUNKLINE__SERVER__BIND?",
        ]
    );
    // What Kubernetes sets in every pod beside a service named trunkline or trunkline-store.
    let theirs = World::default()
        .var("TRUNKLINE_SERVICE_HOST", "10.0.0.1")
        .var("TRUNKLINE_PORT_8080_TCP_ADDR", "10.0.0.1")
        .var("TRUNKLINE_STORE_PORT", "tcp://10.0.0.1:6379")
        .var("TRUNKLINES", "x");
    assert_eq!(theirs.load().unwrap(), Config::default());
}

#[test]
fn a_fault_in_a_list_is_told_at_the_items_line() {
    let world = World::file("[server]\nallowed_origins = [\n  \"https://a.example\",\n  \"null\",\n]\n");
    let faults = world.faults();
    assert!(
        faults[0].starts_with("etc/t.toml:4: server.allowed_origins: \"null\" is what every sandboxed page"),
        "{faults:?}"
    );
    let world = World::file("[server]\nallowed_hosts = [\"a.example\",\n\"https://a.example\"]\n");
    let faults = world.faults();
    assert!(
        faults[0].starts_with("etc/t.toml:3: server.allowed_hosts: \"https://a.example\" is an origin;"),
        "{faults:?}"
    );
    let lines = format!("# keys\nk1:{}\n\nk2:short\n", KEYS[0]);
    let world = World::file("[keys]\nring_file = \"ring\"\n").other_file("etc/ring", &lines);
    let faults = world.faults();
    assert!(faults[0].starts_with("etc/ring:4: keys.ring: the key \"k2\" is not base64;"), "{faults:?}");
}

#[test]
fn broken_syntax_is_told_with_its_line_and_hides_no_other_fault() {
    let faults =
        World::file("[server]\nbind = 127.0.0.1:80\npath = /x\nbnid = 1\n[limits]\nbatch = 0\n").faults();
    let lines: Vec<&str> = faults.iter().filter_map(|fault| fault.split(": ").next()).collect();
    assert_eq!(lines, ["etc/t.toml:2", "etc/t.toml:3", "etc/t.toml:4", "etc/t.toml:6"], "{faults:?}");
    assert!(faults.iter().all(|fault| !fault.contains('\n')));
    // The broken line's key is unknown as well, which is told once the line can be read.
    let both = World::file("[server]\nbnid = 127.0.0.1:80\n").faults();
    assert_eq!(both.len(), 1, "{both:?}");
    let twice = World::file("[server]\npath = \"/a\"\npath = \"/b\"\n").faults();
    assert!(twice.len() == 1 && twice[0].starts_with("etc/t.toml:3: duplicate key"), "{twice:?}");
}

#[test]
fn a_file_that_cannot_be_read_hides_no_other_fault() {
    let world = World::default().var("TRUNKLINE__SERVER__PATH", "x");
    let read = |_: &Path| Err(io::Error::from(io::ErrorKind::NotFound));
    let faults = resolve(Some(Path::new("absent.toml")), &world.env, &world.flags, &read).unwrap_err();
    let faults: Vec<String> = faults.iter().map(Fault::to_string).collect();
    assert_eq!(faults.len(), 2);
    assert!(faults[0].starts_with("absent.toml: the file cannot be read: "), "{faults:?}");
    let faults = World::file("[keys]\nring_file = \"absent\"\n[store]\nurl_file = 5\n").faults();
    assert!(faults[0].starts_with("etc/t.toml:2: keys.ring_file: etc/absent cannot be read: "), "{faults:?}");
    assert!(faults[1].starts_with("etc/t.toml:4: store.url_file: not the path of a file; "), "{faults:?}");
}

#[test]
fn a_value_and_its_file_in_one_place_are_a_fault() {
    let world = World::file("[keys]\nring = []\nring_file = \"ring\"\n")
        .other_file("etc/ring", "")
        .var("TRUNKLINE__STORE__URL", "memory")
        .var("TRUNKLINE__STORE__URL_FILE", "ring")
        .other_file("ring", "memory");
    assert_eq!(
        world.faults(),
        [
            "etc/t.toml:3: keys.ring and keys.ring_file are both set; keep one of them",
            "TRUNKLINE__STORE__URL_FILE: store.url and store.url_file are both set; keep one of them",
        ]
    );
}

#[test]
fn a_variable_that_is_not_text_is_a_fault() {
    let faults = World::default().var("TRUNKLINE__SERVER__PATH", "/\u{fffd}").faults();
    assert_eq!(faults, ["TRUNKLINE__SERVER__PATH: the value is not UTF-8; write it in UTF-8"]);
}

// === rules ===

#[test]
fn what_must_hold_between_keys_is_checked() {
    for (text, expected) in [
        ("[server]\nbind = \"127.0.0.1:9090\"", "t.toml:2: server.bind 127.0.0.1:9090 and server.admin_bind"),
        ("[server]\nbind = \"0.0.0.0:9090\"", "t.toml:2: server.bind 0.0.0.0:9090 and server.admin_bind"),
        ("[server]\nbind = \"10.0.0.5:1\"\nadmin_bind = \"[::]:1\"", "t.toml:3: server.bind 10.0.0.5:1 and"),
        ("[server]\npath = \"/sse\"", "t.toml:2: server.path \"/sse\" is a route of revision 2024-11-05"),
        ("[server]\npath = \"/messages\"", "t.toml:2: server.path \"/messages\" is a route"),
        (
            "[server]\npath = \"/.well-known/x\"",
            "t.toml:2: server.path \"/.well-known/x\" is where metadata is",
        ),
        (
            "[server]\n\npublic_url = \"https://a.example/mcp\"",
            "t.toml:3: server.public_url ends with server.path",
        ),
        (
            "[server]\nstream_keep_alive = \"1m\"\nstream_max_age = \"1m\"",
            "t.toml:2: server.stream_keep_alive 1m is not",
        ),
        ("[store]\nsession_ttl = \"30s\"", "t.toml:2: store.init_ttl 1m is above store.session_ttl 30s"),
        (
            "[limits]\nin_flight = 63",
            "t.toml:2: limits.in_flight_per_session 64 is above limits.in_flight 63",
        ),
        ("[limits]\nstreams = 15", "t.toml:2: limits.streams_per_session 16 is above limits.streams 15"),
        (
            "[limits]\nresult_bytes = \"17MiB\"",
            "t.toml:2: limits.log_bytes 16MiB is below limits.result_bytes 17MiB",
        ),
        ("[store]\nurl = \"rediss://:hunter2@r\"", "t.toml:2: keys.ring is empty, but the store is shared"),
        (
            "[hub]\nurl = \"redis+cluster://:hunter2@r\"",
            "t.toml:2: of the store and the hub, one is shared and the other in memory; leave hub.url out",
        ),
    ] {
        let faults = World { file: Some(text), ..World::default() }.faults();
        assert!(faults.len() == 1 && faults[0].contains(expected), "{text}: {faults:?}");
        assert!(!faults[0].contains("hunter2"));
    }
}

#[test]
fn what_is_just_within_the_rules_is_taken() {
    for text in [
        "[server]\nbind = \"127.0.0.1:0\"\nadmin_bind = \"127.0.0.1:0\"",
        "[server]\nbind = \"127.0.0.1:1\"\nadmin_bind = \"127.0.0.2:1\"",
        "[server]\npath = \"/sse\"\nsse_2024 = false",
        "[server]\npath = \"/\"\npublic_url = \"https://a.example/\"",
        "[server]\npublic_url = \"https://a.example/mcp2\"",
        "[server]\npath = \"/.well-knownish\"",
        "[store]\nsession_ttl = \"1m\"",
        "[limits]\nin_flight = 64\nstreams = 16\nresult_bytes = \"16MiB\"",
    ] {
        let world = World { file: Some(text), ..World::default() };
        assert!(world.load().is_ok(), "{text}: {:?}", world.faults());
    }
}

#[test]
fn a_key_at_fault_is_not_judged_by_rules() {
    let faults = World::file("[limits]\nin_flight = 63\nin_flight_per_session = \"x\"\n").faults();
    assert_eq!(faults.len(), 1, "{faults:?}");
}

#[test]
fn a_shared_store_needs_shared_keys() {
    let shared = RULES.iter().find(|rule| rule.keys.contains(&("keys", "ring"))).unwrap();
    let mut config = Config::default();
    config.store.url = Backend::Redis(Box::new("redis://r".parse().unwrap()));
    assert!((shared.broken)(&config).is_some());
    config.keys.ring = vec![RingKey { name: "k1".to_owned(), bytes: [0; 32] }];
    assert!((shared.broken)(&config).is_none());
}

// === the outside ===

#[test]
fn debug_output_shows_no_secret() {
    let mut config = Config::default();
    config.keys.ring = vec![RingKey { name: "k1".to_owned(), bytes: [211; 32] }];
    config.store.url = Backend::Redis(Box::new("redis://:hunter2@r".parse().unwrap()));
    config.hub.url = Some(config.store.url.clone());
    let shown = format!("{config:?}");
    assert!(shown.contains("k1") && !shown.contains("211") && !shown.contains("hunter2"), "{shown}");
}

#[test]
fn a_file_is_read_up_to_a_bound() {
    /// Zeros without end, as a device has them; how many were taken.
    struct Endless<'a>(&'a mut u64);

    impl Read for Endless<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            *self.0 += buffer.len() as u64;
            assert!(*self.0 < 2 * MAX_FILE, "read on past the bound");
            buffer.fill(0);
            Ok(buffer.len())
        }
    }

    let mut taken = 0;
    assert_eq!(read_text(Endless(&mut taken)).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    let most = "#".repeat(usize::try_from(MAX_FILE).unwrap());
    assert_eq!(read_text(most.as_bytes()).unwrap(), most);
    assert!(read_text(format!("{most}#").as_bytes()).is_err());
}

#[test]
fn a_file_is_loaded_from_its_path() {
    let path = std::env::temp_dir().join(format!("trunkline-config-{}.toml", std::process::id()));
    std::fs::write(&path, "[server]\npath = \"/x\"\n").unwrap();
    let load = || Config::load(Some(&path), &BTreeMap::new(), &Overrides::default());
    let present = load();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(present.unwrap().server.path, "/x");
    assert!(load().unwrap_err().to_string().contains("the file cannot be read"));
}

#[test]
fn the_process_environment_is_read_by_name_and_prefix() {
    // Set by cargo for every test; changing the environment would change it for all tests.
    assert!(ProcessEnvironment.get("CARGO_MANIFEST_DIR").is_some());
    assert_eq!(ProcessEnvironment.get("TRUNKLINE__NOT__SET"), None);
    assert!(
        ProcessEnvironment.names_with_prefix("CARGO_MANIFEST").contains(&"CARGO_MANIFEST_DIR".to_owned())
    );
    assert!(ProcessEnvironment.names_with_prefix("TRUNKLINE__NOT").is_empty());
}
