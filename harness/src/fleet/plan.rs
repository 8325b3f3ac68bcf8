//! What all clients of a fleet have in common: where they call, how fast, which resources they change, and when it ends.

use std::{ops::Range, time::Duration};

use bytes::Bytes;
use hyper::Uri;
use tokio_util::sync::CancellationToken;
use trunkline_protocol::Revision;

use super::http::Response;

/// Resources in one ring. They are changed one after the other, round and round, so that a listener's next is known: one
/// that was passed over is lost, one that comes again is a duplicate. A session may have 256 subscriptions.
pub(crate) const SLOTS: u16 = 16;

/// Rings that all clients listen to, each changed by one of them.
pub(super) const SHARED: u16 = 2;

/// How many clients of each revision, relative to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mix {
    /// 2024-11-05, as clients speak it that use the MCP endpoint with sessions. HTTP+SSE is not spoken.
    pub v2024_11_05: u32,
    /// 2025-03-26.
    pub v2025_03_26: u32,
    /// 2025-06-18.
    pub v2025_06_18: u32,
    /// 2025-11-25.
    pub v2025_11_25: u32,
    /// 2026-07-28.
    pub v2026_07_28: u32,
}

/// How long a client waits between two things that it does. It draws between half and one and a half of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Between two calls that are answered at once.
    pub calls: Duration,
    /// Between two calls that take a while or ask the user.
    pub streams: Duration,
    /// Between two changes of the resources of one other client.
    pub touches: Duration,
    /// Between two changes of resources that everybody listens to.
    pub broadcasts: Duration,
}

/// What all clients have in common.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) url: Uri,
    pub(super) path: String,
    pub(super) name: String,
    pub(super) clients: u32,
    pub(super) seed: u64,
    pub(super) pace: Pace,
    /// A stream that is silent for longer is taken for dead.
    pub(super) stall: Option<Duration>,
    /// Nothing new is begun.
    pub(super) stop: CancellationToken,
    /// Listeners that still wait for something give up.
    pub(super) give_up: CancellationToken,
}

/// What a resource is to the client that hears of its change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Resource {
    /// One of a ring.
    OfRing { ring: u16, slot: u16 },
    /// The one that shows that a listener hears.
    Prime,
    /// The last one.
    End,
}

// === impl Mix ===

impl Default for Mix {
    /// All that were made for streamable HTTP, evenly.
    fn default() -> Self {
        Self { v2024_11_05: 0, v2025_03_26: 1, v2025_06_18: 1, v2025_11_25: 1, v2026_07_28: 1 }
    }
}

impl Mix {
    /// One revision alone.
    #[must_use]
    pub fn only(revision: Revision) -> Self {
        let of = |other: Revision| u32::from(other == revision);
        Self {
            v2024_11_05: of(Revision::V2024_11_05),
            v2025_03_26: of(Revision::V2025_03_26),
            v2025_06_18: of(Revision::V2025_06_18),
            v2025_11_25: of(Revision::V2025_11_25),
            v2026_07_28: of(Revision::V2026_07_28),
        }
    }

    /// The revisions in the order in which clients get them, again and again. Empty if all shares are 0.
    pub(super) fn round(self) -> Vec<Revision> {
        let shares = [
            (Revision::V2024_11_05, self.v2024_11_05),
            (Revision::V2025_03_26, self.v2025_03_26),
            (Revision::V2025_06_18, self.v2025_06_18),
            (Revision::V2025_11_25, self.v2025_11_25),
            (Revision::V2026_07_28, self.v2026_07_28),
        ];
        let most = shares.iter().map(|(_, share)| *share).max().unwrap_or(0);
        // Mixed, so that the first few clients are a fair sample.
        let rounds = (0..most).flat_map(|round| shares.iter().filter(move |(_, share)| *share > round));
        rounds.map(|(revision, _)| *revision).collect()
    }
}

// === impl Pace ===

impl Default for Pace {
    /// With 200 clients some 500 calls a second: what two cores take of servers without optimisation, with room to be hurt.
    fn default() -> Self {
        Self {
            calls: Duration::from_millis(500),
            streams: Duration::from_millis(1000),
            touches: Duration::from_millis(3000),
            broadcasts: Duration::from_millis(500),
        }
    }
}

// === impl Plan ===

impl Plan {
    /// The rings that a client listens to.
    pub(super) fn rings(&self, client: u32) -> Vec<u16> {
        let own = ring(client);
        [own].into_iter().chain((0..SHARED).map(|shared| ring(self.clients) + shared)).collect()
    }

    /// The rings that a client changes, and how often: those of one other client, and for the first few a shared one.
    pub(super) fn touches(&self, client: u32) -> Vec<(u16, Duration)> {
        let other = ring((client + 1) % self.clients.max(1));
        let mut touches = vec![(other, self.pace.touches)];
        // Far from each other, so that they are of different revisions.
        let shared =
            (0..SHARED).find(|shared| client == self.clients / u32::from(SHARED) * u32::from(*shared));
        if let Some(shared) = shared {
            touches.push((ring(self.clients) + shared, self.pace.broadcasts));
        }
        touches
    }

    /// The name of a resource of a ring.
    pub(super) fn uri(&self, ring: u16, slot: u16) -> String {
        format!("demo://notes/{}-{ring}-{slot}", self.name)
    }

    /// The name of the resource that shows whether a client hears.
    pub(super) fn prime(&self, client: u32) -> String {
        format!("demo://notes/{}-{client}-prime", self.name)
    }

    /// The name of the last resource that changes.
    pub(super) fn end(&self) -> String {
        format!("demo://notes/{}-end", self.name)
    }

    /// Everything a client subscribes to.
    pub(super) fn subscriptions(&self, client: u32) -> Vec<String> {
        let rings = self.rings(client);
        let slots = rings.iter().flat_map(|ring| (0..SLOTS).map(|slot| self.uri(*ring, slot)));
        slots.chain([self.prime(client), self.end()]).collect()
    }

    /// What a resource is to a client; `None` if it did not subscribe to it.
    pub(super) fn resource(&self, client: u32, uri: &str) -> Option<Resource> {
        let id = uri.strip_prefix("demo://notes/")?.strip_prefix(&*self.name)?.strip_prefix('-')?;
        if id == "end" {
            return Some(Resource::End);
        }
        let (ring, slot) = id.split_once('-')?;
        if slot == "prime" {
            return (ring == client.to_string()).then_some(Resource::Prime);
        }
        let (ring, slot) = (ring.parse().ok()?, slot.parse().ok()?);
        (self.rings(client).contains(&ring) && slot < SLOTS).then_some(Resource::OfRing { ring, slot })
    }

    /// The next part of a stream; `None` when there is none any more, or nothing came for too long.
    pub(super) async fn chunk(&self, response: &mut Response<'_>) -> Option<Bytes> {
        let chunk = match self.stall {
            Some(stall) => tokio::time::timeout(stall, response.chunk()).await.ok()?,
            None => response.chunk().await,
        };
        chunk.ok().flatten()
    }

    /// Waits, unless the fleet ends meanwhile: then it says so.
    pub(super) async fn pause(&self, pause: Duration) -> bool {
        tokio::select! {
            biased;
            () = self.stop.cancelled() => false,
            () = tokio::time::sleep(pause) => true,
        }
    }
}

/// A range around a pause.
pub(super) fn around(pause: Duration) -> Range<f64> {
    let seconds = pause.as_secs_f64();
    seconds * 0.5..seconds * 1.5
}

/// The ring of a client's own. There are far fewer clients than numbers of rings.
fn ring(client: u32) -> u16 {
    u16::try_from(client).unwrap_or(u16::MAX - SHARED)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(clients: u32) -> Plan {
        Plan {
            url: "http://localhost:1/mcp".parse().unwrap(),
            path: "/mcp".to_owned(),
            name: "f".to_owned(),
            clients,
            seed: 1,
            pace: Pace::default(),
            stall: None,
            stop: CancellationToken::new(),
            give_up: CancellationToken::new(),
        }
    }

    #[test]
    fn every_ring_is_changed_by_exactly_one_client_and_heard() {
        for clients in [1, 2, 3, 7, 200] {
            let plan = plan(clients);
            let mut changed: Vec<u16> =
                (0..clients).flat_map(|client| plan.touches(client)).map(|(ring, _)| ring).collect();
            changed.sort_unstable();
            let all: Vec<u16> = (0..u16::try_from(clients).unwrap() + SHARED).collect();
            // A single client cannot change two shared rings in two places.
            if clients > 1 {
                assert_eq!(changed, all, "{clients}");
            }
            assert!((0..clients).all(|client| plan.rings(client).contains(&ring(client))));
        }
    }

    #[test]
    fn a_resource_is_known_by_its_name_to_those_who_listen_to_it() {
        let plan = plan(5);
        assert_eq!(plan.resource(3, &plan.uri(3, 9)), Some(Resource::OfRing { ring: 3, slot: 9 }));
        assert_eq!(plan.resource(3, &plan.uri(6, 0)), Some(Resource::OfRing { ring: 6, slot: 0 }));
        assert_eq!(plan.resource(3, &plan.uri(2, 0)), None);
        assert_eq!(plan.resource(3, &plan.prime(3)), Some(Resource::Prime));
        assert_eq!(plan.resource(3, &plan.prime(2)), None);
        assert_eq!(plan.resource(3, &plan.end()), Some(Resource::End));
        assert_eq!(plan.resource(3, "demo://counter"), None);
    }

    #[test]
    fn a_mix_is_dealt_in_its_proportions() {
        let mix = Mix { v2024_11_05: 0, v2025_03_26: 1, v2025_06_18: 0, v2025_11_25: 3, v2026_07_28: 2 };
        let round: Vec<_> = mix.round().iter().map(|revision| revision.as_str()).collect();
        assert_eq!(
            round,
            ["2025-03-26", "2025-11-25", "2026-07-28", "2025-11-25", "2026-07-28", "2025-11-25"]
        );
    }
}
