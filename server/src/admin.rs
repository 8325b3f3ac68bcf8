//! Health and metrics, on a listener of their own that is never behind the public route.

use std::{io, net::SocketAddr, sync::Arc};

use actix_web::{App, HttpResponse, HttpServer, dev::Server, web};

use crate::{config::Readiness, drain::Drain, session::Core};

struct Admin {
    core: Arc<Core>,
    drain: Drain,
    readiness: Readiness,
}

/// Serves `/livez`, `/readyz` and `/metrics`, and says where.
///
/// # Errors
/// That the address cannot be bound.
pub(crate) fn serve(
    bind: SocketAddr,
    core: Arc<Core>,
    drain: Drain,
    readiness: Readiness,
) -> io::Result<(Server, SocketAddr)> {
    let admin = web::Data::new(Admin { core, drain, readiness });
    let server = HttpServer::new(move || {
        App::new()
            .app_data(admin.clone())
            .route("/livez", web::get().to(alive))
            .route("/readyz", web::get().to(ready))
            .route("/metrics", web::get().to(metrics_text))
    })
    .workers(1)
    .disable_signals()
    .shutdown_timeout(1)
    .bind(bind)?;
    let address = server.addrs().first().copied().unwrap_or(bind);
    tracing::info!(%address, "health and metrics");
    Ok((server.run(), address))
}

/// Alive: the process answers. Nothing else is asked, so that no backend's absence restarts it.
async fn alive() -> HttpResponse {
    HttpResponse::Ok().body("ok\n")
}

/// Ready: not shutting down, and what requests need is there, unless readiness does not depend on it.
async fn ready(admin: web::Data<Admin>) -> HttpResponse {
    if admin.drain.is_draining() {
        return HttpResponse::ServiceUnavailable().body("draining\n");
    }
    match (admin.core.unreachable(), admin.readiness) {
        (None, _) => HttpResponse::Ok().body("ok\n"),
        (Some(why), Readiness::Degrade) => HttpResponse::Ok().body(format!("degraded: {why}\n")),
        (Some(why), Readiness::Fail) => HttpResponse::ServiceUnavailable().body(format!("{why}\n")),
    }
}

async fn metrics_text(admin: web::Data<Admin>) -> HttpResponse {
    HttpResponse::Ok().content_type("text/plain; version=0.0.4").body(admin.core.metrics())
}
