//! One follower's place in a log, and what it has read beyond it. No I/O, no waiting.

use std::collections::VecDeque;

use super::{
    message::Reading,
    tail::{Asked, News, Tail, cost},
};
use crate::{Entry, Position};

/// A follower's place. [`Place::leave`] before it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    position: Position,
    /// How many logs of this name had gone when it began.
    deaths: u64,
    /// The tail's count when it had taken everything.
    current_at: Option<u64>,
    /// Read and not taken yet.
    page: VecDeque<Entry>,
    /// What was missing lies before the page.
    gap: bool,
}

/// What a follower gets.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    Entry(Entry),
    /// What it would get now was trimmed.
    Gap,
    /// Nothing yet.
    Wait,
    /// Nothing, ever.
    End,
    /// The log it followed is gone.
    Gone,
    /// It is not known here: it is in the log, or nowhere.
    Read,
}

/// What a reading was good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// There is something to get.
    Something,
    /// There is nothing, for now.
    Nothing,
    /// It was overtaken by news.
    Stale,
}

// === impl Place ===

impl Place {
    pub(super) fn new(position: Position, tail: &mut Tail) -> Self {
        tail.join();
        Self { position, deaths: tail.deaths(), current_at: None, page: VecDeque::new(), gap: false }
    }

    pub(super) fn position(&self) -> Position {
        self.position
    }

    pub(super) fn leave(&mut self, tail: &mut Tail) {
        tail.held().remove(self.page.drain(..).map(|entry| cost(&entry)).sum());
        tail.leave(self.current_at);
    }

    /// Whether the log that is followed is gone.
    pub(super) fn is_dead(&self, tail: &Tail) -> bool {
        self.deaths != tail.deaths()
    }

    /// Whether nothing has to be read to begin here. What died before is of no concern.
    pub(super) fn begins(&mut self, tail: &Tail) -> bool {
        self.deaths = tail.deaths();
        tail.joins(self.position)
    }

    pub(super) fn next(&mut self, tail: &mut Tail) -> Next {
        if self.is_dead(tail) {
            return Next::Gone;
        }
        if std::mem::take(&mut self.gap) {
            return Next::Gap;
        }
        if let Some(entry) = self.page.pop_front() {
            tail.held().remove(cost(&entry));
            self.position = entry.position;
            return Next::Entry(entry);
        }
        if !tail.joins(self.position) {
            return Next::Read;
        }
        let Some((entry, is_newest)) = tail.after(self.position) else {
            tail.taken(&mut self.current_at);
            return if tail.ends_at(self.position) { Next::End } else { Next::Wait };
        };
        let entry = entry.clone();
        self.position = entry.position;
        if is_newest {
            tail.taken(&mut self.current_at);
        }
        Next::Entry(entry)
    }

    /// Takes what was read after this place. For the `first` time, what died before it was read is of no concern.
    pub(super) fn take(
        &mut self,
        tail: &mut Tail,
        asked: Asked,
        reading: Reading,
        first: bool,
    ) -> (Taken, News) {
        if tail.is_stale(asked, &reading) {
            return (Taken::Stale, News::default());
        }
        let news = tail.learn(asked, &reading);
        if first {
            self.deaths = tail.deaths();
        }
        match reading {
            Reading::Gone(_) if self.position != Position::default() => {
                // No other log is waited for.
                self.deaths = u64::MAX;
                return (Taken::Something, news);
            }
            Reading::Alive(page) if !self.is_dead(tail) => {
                tail.held().add(page.entries.iter().map(cost).sum());
                self.gap = page.gap;
                if page.gap {
                    self.position = page.trimmed;
                }
                self.page = page.entries.into();
            }
            _ => {}
        }
        let has_something = self.is_dead(tail) || self.gap || !self.page.is_empty();
        (if has_something { Taken::Something } else { Taken::Nothing }, news)
    }
}
