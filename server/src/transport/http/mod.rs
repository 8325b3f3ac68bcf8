//! HTTP: the MCP endpoint of all revisions that have one, and the two paths of 2024-11-05.

mod body;
mod carrier;
mod delete;
pub(crate) mod event_id;
mod feed;
mod get;
mod head;
mod listen;
mod post;
mod reply;
mod reset;
mod socket;
mod sse2024;
mod stream;

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use actix_web::{HttpRequest, HttpResponse, web};
pub(crate) use socket::service;
use trunkline_protocol::{
    header::{HostPolicy, OriginPolicy},
    jsonrpc::Bounds,
};

use crate::{
    config::{Config, Sessions},
    drain::Drain,
    error::Refusal,
    session::Core,
};

/// One replica's endpoint as HTTP serves it. Shared by all workers.
pub(crate) struct Endpoint {
    /// What is behind it.
    pub(crate) core: Arc<Core>,
    /// The phases of a shutdown.
    pub(crate) drain: Drain,
    /// How it is served.
    pub(crate) settings: Settings,
}

/// How HTTP is served.
pub(crate) struct Settings {
    path: String,
    /// The path under which a proxy mounts the server, as clients see it.
    mount: String,
    hosts: HostPolicy,
    origins: OriginPolicy,
    sessions: Sessions,
    bounds: Bounds,
    head: usize,
    body: usize,
    body_time: Duration,
    upgrade_after: Duration,
    keep_alive: Duration,
    max_age: Duration,
    streams: usize,
    listen_subscriptions: usize,
    sse_2024: bool,
    replica_header: bool,
    /// The first host that was served: most clients use the same name, which need not be taken apart again.
    usual_host: OnceLock<Box<[u8]>>,
}

// === impl Settings ===

impl Settings {
    /// The settings of a configuration.
    pub(crate) fn of(config: &Config) -> Self {
        let (server, limits) = (&config.server, &config.limits);
        Self {
            path: server.path.clone(),
            mount: server.public_url.as_ref().map_or_else(String::new, |url| url.mount().to_owned()),
            hosts: server.host_policy(),
            origins: server.origin_policy(),
            sessions: server.sessions,
            bounds: Bounds { depth: limits.json_depth, batch: limits.batch },
            head: limits.header_bytes,
            body: limits.body,
            // As long as the head may take, and a second more for each MiB of the largest body.
            body_time: server.request_timeout
                + Duration::from_secs((limits.body >> 20).try_into().unwrap_or(u64::MAX)),
            upgrade_after: server.upgrade_after,
            keep_alive: server.stream_keep_alive,
            max_age: server.stream_max_age,
            streams: limits.streams,
            listen_subscriptions: limits.listen_subscriptions,
            sse_2024: server.sse_2024,
            replica_header: server.serve_replica_header,
            usual_host: OnceLock::new(),
        }
    }

    /// Whether this is the name that most clients use. One that is allowed becomes it if there is none yet.
    fn is_usual_host(&self, host: &[u8]) -> bool {
        match self.usual_host.get() {
            Some(usual) => **usual == *host,
            None => self.hosts.allows([host]) && self.usual_host.set(host.into()).is_ok(),
        }
    }
}

/// Adds the endpoint's routes. Both spellings of the path are served directly: clients drop their credentials in a redirect.
fn routes(endpoint: &web::Data<Endpoint>, app: &mut web::ServiceConfig) {
    let path = endpoint.settings.path.trim_end_matches('/');
    let spellings =
        if path.is_empty() { vec!["/".to_owned()] } else { vec![path.to_owned(), format!("{path}/")] };
    for spelling in spellings {
        app.service(
            web::resource(spelling)
                .route(web::post().to(post::post))
                .route(web::get().to(get::get))
                .route(web::delete().to(delete::delete))
                .default_service(web::to(other_method)),
        );
    }
    if endpoint.settings.sse_2024 {
        app.service(
            web::resource("/sse").route(web::get().to(sse2024::open)).default_service(web::to(only_get)),
        );
        app.service(
            web::resource("/messages")
                .route(web::post().to(sse2024::post))
                .default_service(web::to(only_post)),
        );
    }
}

async fn other_method(request: HttpRequest, endpoint: web::Data<Endpoint>) -> HttpResponse {
    method_not_allowed(&request, &endpoint, "GET, POST, DELETE")
}

async fn only_get(request: HttpRequest, endpoint: web::Data<Endpoint>) -> HttpResponse {
    method_not_allowed(&request, &endpoint, "GET")
}

async fn only_post(request: HttpRequest, endpoint: web::Data<Endpoint>) -> HttpResponse {
    method_not_allowed(&request, &endpoint, "POST")
}

fn method_not_allowed(request: &HttpRequest, endpoint: &Endpoint, allowed: &'static str) -> HttpResponse {
    let refusal = match head::Head::admitted(request, &endpoint.settings) {
        Ok(_) => Refusal::HttpMethod(allowed),
        Err(refusal) => refusal,
    };
    reply::refuse(endpoint, &refusal, None)
}
