//! Whether the primary has a replica in step: only then could one take its place, and waiting for one protects something.
//!
//! Asked over a connection of its own. Over those that commands share the question would stand behind changes that wait.

use std::{sync::Arc, time::Duration};

use redis::Value;
use tokio::{sync::watch, time::timeout};

use crate::{NodeId, Settings, client::Maker, line::Request, node::Node, topology::Place};

/// How often it is asked. As long as a replica that has gone may be waited for in vain.
const EVERY: Duration = Duration::from_millis(250);

/// Follows whether the node has a replica; `None` while it is not known.
pub(crate) fn follow(
    maker: &Maker,
    id: &NodeId,
    place: &watch::Receiver<Place>,
) -> watch::Receiver<Option<bool>> {
    let (sender, receiver) = watch::channel(None);
    let settings = Settings { connections: 1, ..(*maker.settings).clone() };
    let patience = settings.response_timeout;
    let maker = Maker { settings: Arc::new(settings), ..maker.clone() };
    let node = maker.node(id, place);
    maker.runtime.spawn(async move {
        while !sender.is_closed() {
            let known = timeout(patience, ask(&node)).await.unwrap_or_default();
            sender.send_if_modified(|last| std::mem::replace(last, known) != known);
            tokio::time::sleep(EVERY).await;
        }
    });
    receiver
}

async fn ask(node: &Node) -> Option<bool> {
    let line = node.line().await.ok()?;
    match line.exchange(Request::One(&redis::cmd("ROLE"))).await.as_deref() {
        // Those that are still being made are not in the list.
        Ok([Value::Array(parts)]) => match parts.get(2)? {
            Value::Array(replicas) => Some(!replicas.is_empty()),
            // Not a primary: it is about to be left.
            _ => None,
        },
        // A user that may not ask: it is waited for, as always.
        Err(error) if error.code() == Some("NOPERM") => Some(true),
        _ => None,
    }
}
