//! How many tasks each principal has, as far as this replica began them.
//!
//! A task counts from its beginning until it expires, whether it runs or has ended: what is bounded is what the store keeps.
//! Each replica counts its own, so a principal has as many times the limit as there are replicas.

use std::{collections::HashMap, time::Duration};

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::principal::Principal;

/// What each principal has.
pub(super) struct Ledger {
    /// The most that one has.
    most: usize,
    book: Mutex<Book>,
}

#[derive(Default)]
struct Book {
    /// When each task expires.
    expiries: HashMap<Principal, Vec<Instant>>,
    /// Principals are gone through when there are this many.
    sweep_at: usize,
}

/// A place for a task. Dropped before it is [kept](Place::keep), it is free again.
pub(super) struct Place<'a> {
    ledger: &'a Ledger,
    principal: &'a Principal,
    expires: Instant,
    kept: bool,
}

/// Principals below which none are gone through.
const FEW: usize = 1024;

// === impl Ledger ===

impl Ledger {
    /// Nobody has a task, and nobody has more than `most`.
    pub(super) fn new(most: usize) -> Self {
        Self { most, book: Mutex::default() }
    }

    /// A place for a task that is kept for `ttl`, if there is one.
    pub(super) fn admit<'a>(&'a self, principal: &'a Principal, ttl: Duration) -> Option<Place<'a>> {
        let now = Instant::now();
        let mut book = self.book.lock();
        book.sweep(now);
        let tasks = book.expiries.entry(principal.clone()).or_default();
        tasks.retain(|expires| *expires > now);
        if tasks.len() >= self.most {
            return None;
        }
        tasks.push(now + ttl);
        Some(Place { ledger: self, principal, expires: now + ttl, kept: false })
    }
}

// === impl Book ===

impl Book {
    /// Forgets principals without tasks, each time their number has doubled.
    fn sweep(&mut self, now: Instant) {
        if self.expiries.len() < self.sweep_at.max(FEW) {
            return;
        }
        self.expiries.retain(|_, tasks| tasks.iter().any(|expires| *expires > now));
        self.sweep_at = self.expiries.len() * 2;
    }
}

// === impl Place ===

impl Place<'_> {
    /// The task is there: the place is taken until it expires.
    pub(super) fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if self.kept {
            return;
        }
        let mut book = self.ledger.book.lock();
        if let Some(tasks) = book.expiries.get_mut(self.principal)
            && let Some(at) = tasks.iter().position(|expires| *expires == self.expires)
        {
            tasks.swap_remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_place_is_free_again_when_its_task_has_expired() {
        let (ledger, ttl) = (Ledger::new(2), Duration::from_secs(60));
        let (a, b) = (Principal::named("a"), Principal::named("b"));
        ledger.admit(&a, ttl).unwrap().keep();
        drop(ledger.admit(&a, ttl).unwrap());
        ledger.admit(&a, 2 * ttl).unwrap().keep();
        assert!(ledger.admit(&a, ttl).is_none());
        assert!(ledger.admit(&b, ttl).is_some(), "another principal has places of its own");
        tokio::time::advance(ttl).await;
        ledger.admit(&a, ttl).unwrap().keep();
        assert!(ledger.admit(&a, ttl).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn principals_without_tasks_are_forgotten() {
        let ledger = Ledger::new(1);
        for round in 0..3 {
            for number in 0..FEW {
                let principal = Principal::named(&format!("{round}/{number}"));
                ledger.admit(&principal, Duration::from_secs(1)).unwrap().keep();
            }
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        assert!(ledger.book.lock().expiries.len() <= FEW);
    }
}
