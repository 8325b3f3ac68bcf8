//! One log's steps in Redis: each is one script, and so one round trip.

use std::time::Duration;

use bytes::Bytes;
use redis::Value;
use trunkline_redis::{Client, Failure, Mode, Script};

use super::{
    message::{Garbled, Reading, integer, text},
    names::LogNames,
};
use crate::{Fence, HubError, Operation, Position, Retention};

/// A longer age counts as this, so that no number overflows.
const LONGEST_AGE: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// A larger payload is not told but read: a message is copied for each replica that follows, and to one that reads slowly
/// Redis keeps what is not sent yet, 32 MiB at most before it gives the connection up.
const INLINE_BYTES: usize = 16 * 1024;

/// The highest number that the scripts know exactly. One beyond, which only a forged place has, counts as this.
const MOST: u64 = (1 << 53) - 1;

#[derive(Debug)]
pub(super) struct Logs {
    client: Client,
    claim: Script,
    append: Script,
    delete: Script,
    read: Script,
    publish: &'static str,
    log_bytes: usize,
}

/// An entry to append, and by whom.
#[derive(Debug)]
pub(super) struct Append {
    pub(super) fence: Option<Fence>,
    /// The entry before it, where it may be the repetition of one that is there.
    pub(super) previous: Option<Position>,
    pub(super) retention: Retention,
    pub(super) payload: Bytes,
    pub(super) last: bool,
}

/// How much to read at a time. One entry is always read if there is one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Portion {
    pub(super) entries: usize,
    pub(super) bytes: usize,
}

/// Why a step was not taken.
#[derive(Debug, thiserror::Error)]
pub(super) enum StepError {
    #[error(transparent)]
    Redis(#[from] Failure),
    #[error(transparent)]
    Garbled(#[from] Garbled),
}

// === impl Logs ===

impl Logs {
    pub(super) fn new(client: Client, log_bytes: usize) -> Self {
        let publish = publish(&client);
        Self {
            client,
            claim: Script::new(concat!(include_str!("scripts/log.lua"), include_str!("scripts/claim.lua"))),
            append: Script::new(concat!(include_str!("scripts/log.lua"), include_str!("scripts/append.lua"))),
            delete: Script::new(concat!(include_str!("scripts/log.lua"), include_str!("scripts/delete.lua"))),
            read: Script::new(concat!(include_str!("scripts/log.lua"), include_str!("scripts/read.lua"))),
            publish,
            log_bytes,
        }
    }

    pub(super) async fn claim(
        &self,
        names: &LogNames,
        from: Option<Fence>,
        retention: Retention,
    ) -> Result<Fence, HubError> {
        let from = from.map_or_else(String::new, |fence| fence.0.min(MOST).to_string());
        let args = [from.as_bytes(), &age(retention)];
        let answer = self.client.change_script(&self.claim, &names.keys(), &args).await;
        let mut numbers = outcome(Operation::Claim, answer)?;
        numbers.next().map(Fence).ok_or_else(|| garbled(Operation::Claim))
    }

    pub(super) async fn append(&self, names: &LogNames, append: Append) -> Result<Position, HubError> {
        let fence = append.fence.map_or_else(String::new, |fence| fence.0.min(MOST).to_string());
        let args = [
            fence.as_bytes(),
            &number(append.retention.entries.max(1) as u64),
            &age(append.retention),
            &number(self.log_bytes as u64),
            if append.last { b"1" } else { b"" },
            self.publish.as_bytes(),
            names.channel.as_bytes(),
            &number(INLINE_BYTES as u64),
            &append.payload,
            &append.previous.map_or_else(Vec::new, |place| number(place.major)),
            &append.previous.map_or_else(Vec::new, |place| number(place.minor)),
        ];
        let answer = self.client.change_script(&self.append, &names.keys(), &args).await;
        let mut numbers = outcome(Operation::Append, answer)?;
        match (numbers.next(), numbers.next()) {
            (Some(major), Some(minor)) => Ok(Position { major, minor }),
            _ => Err(garbled(Operation::Append)),
        }
    }

    pub(super) async fn delete(&self, names: &LogNames) -> Result<(), HubError> {
        let args = [self.publish.as_bytes(), names.channel.as_bytes()];
        let answer = self.client.change_script(&self.delete, &names.keys(), &args).await;
        outcome(Operation::Delete, answer).map(drop)
    }

    pub(super) async fn read(
        &self,
        names: &LogNames,
        after: Position,
        portion: Portion,
    ) -> Result<Reading, StepError> {
        let args = [
            &number(after.major)[..],
            &number(after.minor),
            &number(portion.entries as u64),
            &number(portion.bytes as u64),
        ];
        let answer: Value = self.client.run_script(&self.read, &names.keys(), &args).await?;
        Ok(Reading::parse(answer)?)
    }
}

// === impl LogNames ===

impl LogNames {
    fn keys(&self) -> [&[u8]; 2] {
        [self.meta.as_bytes(), self.stream.as_bytes()]
    }
}

// === impl StepError ===

impl StepError {
    pub(super) fn during(self, operation: Operation) -> HubError {
        HubError::Unavailable { operation, source: Box::new(self) }
    }

    /// Whether the same may work later.
    pub(super) fn passes(&self) -> bool {
        !matches!(self, Self::Garbled(_) | Self::Redis(Failure::Refused(_)))
    }
}

/// The command that publishes. On a Cluster a message stays with the node that has the channel's slot.
pub(super) fn publish(client: &Client) -> &'static str {
    if client.settings().address.mode == Mode::Cluster { "SPUBLISH" } else { "PUBLISH" }
}

/// What follows the status of a script's answer.
fn outcome(
    operation: Operation,
    answer: Result<Value, Failure>,
) -> Result<impl Iterator<Item = u64>, HubError> {
    let answer = answer.map_err(|failure| StepError::from(failure).during(operation))?;
    let Value::Array(answer) = answer else { return Err(garbled(operation)) };
    let mut parts = answer.into_iter();
    match parts.next().and_then(text).as_deref() {
        Some(b"ok") => Ok(parts.filter_map(|part| integer(&part))),
        Some(b"unknown") => Err(HubError::Unknown),
        Some(b"fenced") => Err(HubError::Fenced),
        Some(b"ended") => Err(HubError::Ended),
        _ => Err(garbled(operation)),
    }
}

fn garbled(operation: Operation) -> HubError {
    StepError::from(Garbled { what: "an outcome" }).during(operation)
}

/// In milliseconds.
fn age(retention: Retention) -> Vec<u8> {
    let age = retention.age.min(LONGEST_AGE).as_millis();
    number(u64::try_from(age).unwrap_or(MOST).max(1))
}

fn number(number: u64) -> Vec<u8> {
    number.min(MOST).to_string().into_bytes()
}
