//! A resource that changes, and the tool that changes it.

use bytes::Bytes;
use schemars::JsonSchema;
use serde::Deserialize;
use trunkline_store::{Key, Kind, Record, StoreError};

use super::additive;
use crate::registry::{Exchange, HandlerError, Resource, Tool};

/// The resource that changes.
const COUNTER: &str = "demo://counter";

/// How often it was touched, as an integer. The record belongs to no principal, so it is no handle anybody can use.
const TOUCHES: &str = "touches";

#[derive(Deserialize, JsonSchema)]
struct Touch {
    /// The resource. `demo://counter` has other contents afterwards; of any other it is only said that it changed.
    #[schemars(length(min = 1, max = 1024))]
    uri: String,
}

/// `touch(uri)`: tells every client that subscribed to the resource that it changed.
pub(super) fn tool() -> Tool {
    Tool::new("touch", touch)
        .title("Touch")
        .description(
            "Announces that a resource changed to every client that subscribed to it, on all replicas.",
        )
        .annotations(additive())
}

/// `demo://counter`: how often it was touched, by anybody on any replica.
pub(super) fn counter() -> Resource {
    Resource::new(COUNTER, "counter", read)
        .title("Counter")
        .description("How often it was touched. Changes with each call of the tool touch.")
        .mime_type("text/plain")
}

async fn touch(exchange: Exchange, Touch { uri }: Touch) -> Result<String, HandlerError> {
    // The contents first: whoever is told reads the new ones.
    if uri == COUNTER {
        count(&exchange).await?;
    }
    exchange.resource_updated(&uri).await?;
    Ok(format!("touched {uri}"))
}

async fn read(exchange: Exchange) -> Result<String, HandlerError> {
    let record = exchange.services().store.load(&key()).await?;
    Ok(record.as_ref().and_then(|record| record.text(TOUCHES)).unwrap_or("0").to_owned())
}

/// Adds a touch. The count begins anew when nobody touched it for as long as an unused session lives.
async fn count(exchange: &Exchange) -> Result<(), StoreError> {
    let (store, lifetime) = (&exchange.services().store, exchange.services().session_ttl);
    let first = Record::default().with(TOUCHES, Bytes::from_static(b"1"));
    if !store.create(&key(), first, lifetime).await? {
        // It may have expired just now. Then this touch is lost, and nobody can tell from a count that begins anew.
        store.increment(&key(), TOUCHES, 1).await?;
        store.touch(&key(), lifetime).await?;
    }
    Ok(())
}

fn key() -> Key {
    Key::new(Kind::Handle, "demo.counter")
}
