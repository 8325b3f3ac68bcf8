//! `subscriptions/listen`: a request whose answer is a stream of changes (2026-07-28 *Subscriptions*).

use actix_web::{HttpResponse, web};
use bytes::Bytes;
use trunkline_protocol::{header::Acceptable, jsonrpc::write_result, model::ListenParams, params::read};

use super::{
    Endpoint,
    feed::{Ends, Feed, Leave, OpenStream},
    stream,
};
use crate::{
    error::Refusal,
    session::{Context, Incoming},
    telemetry::Gauge,
    transport::{
        broadcast::{Broadcasts, Wanted, granted},
        context::check_task_filter,
    },
};

/// Opens the stream.
pub(super) async fn open(
    endpoint: &web::Data<Endpoint>,
    accept: Acceptable,
    context: &Context,
    incoming: &Incoming<'_>,
) -> Result<HttpResponse, Refusal> {
    if !accept.sse {
        return Err(Refusal::NotAcceptable("text/event-stream"));
    }
    let core = &endpoint.core;
    // In a shutdown it is acknowledged and ends well, as those that were open before: the client goes on elsewhere.
    if endpoint.drain.is_closing() {
        return Err(Refusal::Draining);
    }
    let streams = i64::try_from(endpoint.settings.streams).unwrap_or(i64::MAX);
    if core.services.metrics.now(Gauge::Streams) >= streams {
        return Err(Refusal::TooMany("streams on this replica (limits.streams)"));
    }
    let raw = incoming.request.params.ok_or_else(|| Refusal::InvalidParams("params are missing".into()))?;
    let asked: ListenParams = read(raw, "params").map_err(Refusal::InvalidParams)?;
    check_task_filter(incoming.params, &asked.notifications)?;
    let most = endpoint.settings.listen_subscriptions;
    let granted = granted(&core.registry.catalog(), asked.notifications, most)?;
    let revision = context.caller.revision;
    let id = &incoming.request.id;
    let mut acknowledged = Vec::new();
    revision.write_subscriptions_acknowledged(&mut acknowledged, &granted, id);
    let mut farewell = Vec::new();
    write_result(&mut farewell, id, |out| {
        revision.write_listen_result(out, id, core.registry.catalog().server(revision));
    });
    let wanted = Wanted::Filter { listen: id.clone(), filter: granted };
    // Listened to before it is acknowledged: nothing is lost between the two.
    let broadcasts = Broadcasts::after(core.clone(), revision, wanted, None).await?;
    let feed = Feed::Subscription {
        acknowledged: Some(Bytes::from(acknowledged)),
        broadcasts: Box::new(broadcasts),
    };
    let ends = Ends {
        drain: endpoint.drain.clone(),
        leave: Leave::AtOnce,
        session: None,
        listening: None,
        _open: OpenStream::OfRequest(core.services.metrics.hold(Gauge::Streams)),
    };
    Ok(stream::open(endpoint, feed, ends, None, Some(farewell.into())))
}
