//! Whether changes wait for a replica. They do not at a primary that has had none yet, as one that has just taken over: nobody
//! could take its place. One that had a replica and has lost it may be the one whose place was taken, and does not know it yet:
//! there they wait, and fail.
//!
//! Asked over a connection of its own. Over those that commands share the question would stand behind changes that wait.

use std::{sync::Arc, time::Duration};

use redis::Value;
use tokio::{sync::watch, time::timeout};

use crate::{NodeId, Settings, client::Maker, line::Request, node::Node, topology::Place};

/// How often it is asked: so late a replica that has come is noticed.
const EVERY: Duration = Duration::from_millis(250);

/// Follows whether changes wait; `None` while it is not known.
pub(crate) fn follow(
    maker: &Maker,
    id: &NodeId,
    place: &watch::Receiver<Place>,
) -> watch::Receiver<Option<bool>> {
    let (sender, receiver) = watch::channel(None);
    let settings = Settings { connections: 1, ..(*maker.settings).clone() };
    let patience = settings.response_timeout;
    let maker = Maker { settings: Arc::new(settings), ..maker.clone() };
    let (node, place) = (maker.node(id, place), place.clone());
    maker.runtime.spawn(async move {
        // The last server that was seen with a replica.
        let mut had = None;
        while !sender.is_closed() {
            let at = place.borrow().host().cloned();
            let has = timeout(patience, ask(&node)).await.unwrap_or_default();
            // Somewhere else by now: nobody knows whose answer it was.
            let known = has.filter(|_| place.borrow().host() == at.as_ref());
            if known == Some(true) {
                had.clone_from(&at);
            }
            let known = known.map(|has| has || had == at);
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
