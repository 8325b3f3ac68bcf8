//! The newest part of a log as one replica knows it, shared by all who follow the log there. No I/O, no waiting.
//!
//! It is a piece of the log without holes, from `base` to `newest`. Messages make it longer; a message that does not join on
//! is not taken, and the log is read again from the newest place known. What all followers have taken goes, and so does the
//! oldest beyond a bound: whoever is behind `base` reads the log.

#[cfg(test)]
mod tests;

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use super::message::{Appended, Message, Page, Reading};
use crate::{Entry, Position};

/// The most entries of a tail. 128: a burst that followers take a few milliseconds for.
const MOST_ENTRIES: usize = 128;

/// The most bytes of their payloads, the newest entry aside, which stays whatever its size.
const MOST_BYTES: usize = 256 * 1024;

/// What an entry takes beside its payload, so that empty entries count too.
const ENTRY_BYTES: usize = size_of::<Entry>();

/// Bytes of entries that one hub holds for its followers, and how many it may.
#[derive(Debug)]
pub(super) struct Held {
    bytes: AtomicUsize,
    most: usize,
}

#[derive(Debug)]
pub(super) struct Tail {
    held: Arc<Held>,
    /// The major half of all places. Zero while no log is known.
    incarnation: u64,
    /// The highest number that a log of this name had, once that is known.
    serial: Option<u64>,
    /// How many logs of this name were deleted or expired, as far as is known: whoever followed before is told.
    deaths: u64,
    /// Where the piece begins; `None` until something is known of the log.
    base: Option<Position>,
    newest: Position,
    entries: VecDeque<Entry>,
    bytes: usize,
    /// The place of the last entry, once the log has ended.
    end: Option<Position>,
    /// Counts when a log was found to have begun or ended: one that is gone since then was not asked for.
    lives: u64,
    followers: usize,
    /// Followers that have taken the newest entry.
    current: usize,
    /// Counts the entries that were added; a follower has taken the newest if it did so at this count.
    count: u64,
    /// The count when it was last looked at whether anybody takes anything.
    stale: u64,
}

/// What was known when something was asked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    pub(super) after: Position,
    lives: u64,
}

/// What follows from news.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct News {
    /// Followers have something to see.
    pub(super) wake: bool,
    /// The log holds entries that are not here: it is to be read from [`Tail::ask`]'s place on.
    pub(super) behind: bool,
    /// And that is because a message was missing.
    pub(super) missed: bool,
}

// === impl Held ===

impl Held {
    pub(super) fn new(most: usize) -> Self {
        Self { bytes: AtomicUsize::new(0), most }
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    pub(super) fn is_full(&self) -> bool {
        self.bytes() > self.most
    }

    pub(super) fn add(&self, bytes: usize) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn remove(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// What an entry takes.
pub(super) fn cost(entry: &Entry) -> usize {
    ENTRY_BYTES + entry.payload.len()
}

// === impl Tail ===

impl Tail {
    pub(super) fn new(held: Arc<Held>) -> Self {
        Self {
            held,
            incarnation: 0,
            serial: None,
            deaths: 0,
            base: None,
            newest: Position::default(),
            entries: VecDeque::new(),
            bytes: 0,
            end: None,
            lives: 0,
            followers: 0,
            current: 0,
            count: 0,
            stale: 0,
        }
    }

    pub(super) fn join(&mut self) {
        self.followers += 1;
    }

    /// A follower leaves that had taken everything at this count.
    pub(super) fn leave(&mut self, current_at: Option<u64>) {
        self.followers -= 1;
        if current_at == Some(self.count) {
            self.current -= 1;
        }
        self.let_go_of_taken();
    }

    /// How many logs of this name are known to have gone.
    pub(super) fn deaths(&self) -> u64 {
        self.deaths
    }

    pub(super) fn held(&self) -> &Held {
        &self.held
    }

    /// To read on from the newest place that is known here.
    pub(super) fn ask(&self) -> Asked {
        self.ask_after(self.newest)
    }

    pub(super) fn ask_after(&self, after: Position) -> Asked {
        Asked { after, lives: self.lives }
    }

    /// Whether anything is known here that messages can join on to.
    pub(super) fn is_begun(&self) -> bool {
        self.base.is_some()
    }

    /// Whether all followers have taken everything.
    pub(super) fn is_taken(&self) -> bool {
        self.entries.is_empty()
    }

    pub(super) fn hear(&mut self, message: Message) -> News {
        match message {
            Message::Deleted(incarnation) => self.deleted(incarnation),
            Message::Entry(appended) => self.appended(appended),
        }
    }

    fn appended(&mut self, appended: Appended) -> News {
        let major = appended.position.major;
        if self.is_past(major) {
            return News::default();
        }
        let mut news = News { wake: self.meet(major), ..News::default() };
        self.trim(appended.trimmed);
        if self.base.is_none() {
            (self.base, self.newest) = (Some(appended.previous), appended.previous);
        }
        if appended.position <= self.newest {
            return news;
        }
        match appended.payload {
            Some(payload) if appended.previous == self.newest => {
                let (position, last) = (appended.position, appended.last);
                self.push(Entry { position, payload, last });
                news.wake = true;
            }
            payload => {
                news.behind = true;
                news.missed = payload.is_some() || appended.previous != self.newest;
            }
        }
        news
    }

    fn deleted(&mut self, incarnation: u64) -> News {
        if self.is_past(incarnation) {
            return News::default();
        }
        self.die();
        self.serial = Some(self.serial.unwrap_or(0).max(incarnation));
        News { wake: true, ..News::default() }
    }

    /// Takes what a reading says, of the log or of its meta alone.
    pub(super) fn learn(&mut self, asked: Asked, reading: &Reading) -> News {
        if self.is_stale(asked, reading) {
            return News { behind: true, ..News::default() };
        }
        match reading {
            Reading::Gone(serial) => self.learn_gone(*serial),
            Reading::Alive(page) => self.learn_page(asked, page),
        }
    }

    /// Whether a reading says less than what is known, since it was overtaken by a message. What is known from before it was
    /// asked for gives way, whatever it is.
    pub(super) fn is_stale(&self, asked: Asked, reading: &Reading) -> bool {
        asked.lives != self.lives
            && match reading {
                // The log may have been made since.
                Reading::Gone(_) => true,
                Reading::Alive(page) => self.is_past(page.incarnation),
            }
    }

    fn learn_gone(&mut self, serial: u64) -> News {
        let missed = self.serial.is_some_and(|known| serial > known);
        let wake = self.incarnation != 0 || missed;
        if wake {
            self.die();
        }
        self.serial = Some(serial);
        if self.base.is_none() {
            self.base = Some(Position::default());
        }
        News { wake, ..News::default() }
    }

    fn learn_page(&mut self, asked: Asked, page: &Page) -> News {
        let mut wake = self.meet(page.incarnation);
        self.trim(page.trimmed);
        if self.base.is_none() {
            (self.base, self.newest) = (Some(page.newest), page.newest);
        }
        // What the page leaves out lies before its first entry: it joins on, or says that there is nothing to join on to.
        if page.gap && page.trimmed > self.newest {
            self.clear();
            (self.base, self.newest) = (Some(page.trimmed), page.trimmed);
            wake = true;
        }
        if asked.after <= self.newest {
            for entry in &page.entries {
                if entry.position > self.newest {
                    self.push(entry.clone());
                    wake = true;
                }
            }
        }
        if page.ended && self.end.is_none() {
            self.end = Some(page.newest);
            wake = true;
        }
        let behind = self.newest < page.newest;
        News { wake, behind, missed: behind }
    }

    /// The first entry after a place that joins on here, and whether it is the newest.
    pub(super) fn after(&self, position: Position) -> Option<(&Entry, bool)> {
        let at = self.entries.partition_point(|entry| entry.position <= position);
        self.entries.get(at).map(|entry| (entry, at + 1 == self.entries.len()))
    }

    /// Whether nothing follows a place that joins on here.
    pub(super) fn ends_at(&self, position: Position) -> bool {
        self.end.is_some_and(|end| end <= position)
    }

    /// A follower has taken the newest entry. Called once more for the same one, this does nothing.
    pub(super) fn taken(&mut self, current_at: &mut Option<u64>) {
        if *current_at != Some(self.count) {
            *current_at = Some(self.count);
            self.current += 1;
            self.let_go_of_taken();
        }
    }

    /// There was an entry at this place. It may have been told meanwhile.
    pub(super) fn miss(&self, newest: Position) -> News {
        let missed = self.newest < newest && !self.is_past(newest.major);
        News { wake: false, behind: missed, missed }
    }

    /// Knows nothing any more: whoever follows has to read.
    pub(super) fn forget(&mut self) {
        self.clear();
        self.base = None;
    }

    /// Lets go of what nobody has taken since the last look.
    pub(super) fn let_go_of_stale(&mut self) {
        if self.stale == self.count {
            self.clear();
        }
        self.stale = self.count;
    }

    /// Whether what comes after a place is known here, or will be: it is at `base` or after it, in the same log.
    pub(super) fn joins(&self, position: Position) -> bool {
        let of_this_log = position.major >= self.incarnation || position == Position::default();
        let of_no_log = self.incarnation == 0 && position != Position::default();
        of_this_log && !of_no_log && self.base.is_some_and(|base| base <= position)
    }

    fn let_go_of_taken(&mut self) {
        if self.current == self.followers {
            self.clear();
        }
    }

    /// Whether a log of this incarnation is known to be no more.
    fn is_past(&self, incarnation: u64) -> bool {
        if self.incarnation == 0 {
            self.serial.is_some_and(|serial| incarnation <= serial)
        } else {
            incarnation < self.incarnation
        }
    }

    /// A log of this incarnation is there. Whether one before it is no more.
    fn meet(&mut self, incarnation: u64) -> bool {
        let died = self.incarnation != 0 && self.incarnation != incarnation;
        if died {
            self.die();
        }
        if self.incarnation != incarnation {
            self.lives += 1;
        }
        self.incarnation = incarnation;
        self.serial = Some(incarnation);
        died
    }

    fn die(&mut self) {
        self.clear();
        self.deaths += 1;
        self.lives += 1;
        self.serial = Some(self.serial.unwrap_or(0).max(self.incarnation));
        self.incarnation = 0;
        self.end = None;
        (self.base, self.newest) = (Some(Position::default()), Position::default());
    }

    fn push(&mut self, entry: Entry) {
        // What follows an end shows that the end was lost in a failover.
        self.end = entry.last.then_some(entry.position);
        self.newest = entry.position;
        self.count += 1;
        self.current = 0;
        let cost = cost(&entry);
        self.bytes += cost;
        self.held.add(cost);
        self.entries.push_back(entry);
        while self.entries.len() > MOST_ENTRIES || self.bytes - cost > MOST_BYTES {
            self.pop();
        }
        while self.held.is_full() && !self.entries.is_empty() {
            self.pop();
        }
        self.let_go_of_taken();
    }

    fn pop(&mut self) {
        if let Some(entry) = self.entries.pop_front() {
            self.bytes -= cost(&entry);
            self.held.remove(cost(&entry));
            self.base = Some(entry.position);
        }
    }

    /// What is trimmed in the log is not to be had here either.
    fn trim(&mut self, trimmed: Position) {
        while self.entries.front().is_some_and(|entry| entry.position <= trimmed) {
            self.pop();
        }
    }

    fn clear(&mut self) {
        self.held.remove(self.bytes);
        self.bytes = 0;
        self.entries = VecDeque::new();
        if self.base.is_some() {
            self.base = Some(self.newest);
        }
    }
}

impl Drop for Tail {
    fn drop(&mut self) {
        self.held.remove(self.bytes);
    }
}
