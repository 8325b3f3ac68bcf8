//! A tail between a log that does what it likes, messages that are late or lost, readings that are overtaken, and followers that
//! come, go and sleep: whatever the order, each follower gets everything once and in order, or is told what it does not get.

use bytes::Bytes;
use rand::{Rng, SeedableRng, rngs::StdRng};

use super::*;
use crate::redis::{
    message::Page,
    place::{Next, Place, Taken},
};

/// As in Redis.
#[derive(Default)]
struct Log {
    serial: u64,
    incarnation: u64,
    entries: VecDeque<Entry>,
    newest: Position,
    trimmed: Position,
    ended: bool,
}

/// A reading on its way.
struct Underway {
    asked: Asked,
    after: Position,
    most: usize,
    reading: Option<Reading>,
    /// The follower that asked; nobody for a repair.
    by: Option<usize>,
}

struct Follower {
    place: Place,
    begun: bool,
    reads: bool,
    heard: Vec<Position>,
    over: Option<Next>,
    awake: bool,
}

struct World {
    random: StdRng,
    clock: u64,
    log: Log,
    tail: Tail,
    subscribed: bool,
    messages: VecDeque<Message>,
    underway: Vec<Underway>,
    repairing: bool,
    wanted: bool,
    followers: Vec<Follower>,
    /// Everything that there ever was, in order; with the places at which something was trimmed before it was read.
    history: Vec<Position>,
}

// === impl Log ===

impl Log {
    fn place(&self, minor: u64) -> Position {
        Position { major: self.incarnation, minor }
    }

    fn read(&self, after: Position, most: usize) -> Reading {
        if self.incarnation == 0 {
            return Reading::Gone(self.serial);
        }
        let seen = match after.major.cmp(&self.incarnation) {
            std::cmp::Ordering::Less => 0,
            std::cmp::Ordering::Equal => after.minor,
            std::cmp::Ordering::Greater => u64::MAX,
        };
        let of_earlier_log = after.major < self.incarnation && after != Position::default();
        let gap = seen < self.trimmed.minor || of_earlier_log;
        let from = if gap { self.trimmed } else { self.place(seen) };
        let entries = self.entries.iter().filter(|entry| entry.position > from).take(most).cloned().collect();
        Reading::Alive(Page {
            incarnation: self.incarnation,
            newest: self.newest,
            trimmed: self.trimmed,
            ended: self.ended,
            fence: 0,
            gap,
            entries,
        })
    }
}

// === impl World ===

impl World {
    fn new(seed: u64) -> Self {
        Self {
            random: StdRng::seed_from_u64(seed),
            clock: 1,
            log: Log::default(),
            tail: Tail::new(Arc::new(Held::new(1_000_000))),
            subscribed: true,
            messages: VecDeque::new(),
            underway: Vec::new(),
            repairing: false,
            wanted: false,
            followers: Vec::new(),
            history: Vec::new(),
        }
    }

    fn tell(&mut self, message: Message) {
        // One in many is lost for no reason at all.
        if self.subscribed && self.random.random_range(0..40) > 0 {
            self.messages.push_back(message);
        }
    }

    fn append(&mut self) {
        self.clock += self.random.random_range(1..4);
        if self.log.incarnation == 0 {
            self.log = Log { serial: self.clock, incarnation: self.clock, ..Log::default() };
        }
        if self.log.ended {
            return;
        }
        let previous = self.log.newest;
        let position = self.log.place(previous.minor + self.random.random_range(1..3));
        let last = self.random.random_range(0..60) == 0;
        let payload = Bytes::from_static(b"payload");
        self.log.entries.push_back(Entry { position, payload: payload.clone(), last });
        (self.log.newest, self.log.ended) = (position, last);
        self.history.push(position);
        while self.log.entries.len() > 12 {
            self.log.trimmed = self.log.entries.pop_front().unwrap().position;
        }
        let payload = (self.random.random_range(0..5) > 0).then_some(payload);
        let trimmed = self.log.trimmed;
        self.tell(Message::Entry(Appended { position, previous, trimmed, last, payload }));
    }

    /// Deleted, which is told; or expired, which is not.
    fn remove(&mut self) {
        if self.log.incarnation != 0 {
            let incarnation = self.log.incarnation;
            self.log = Log { serial: self.log.serial, ..Log::default() };
            if self.random.random() {
                self.tell(Message::Deleted(incarnation));
            }
        }
    }

    fn hear(&mut self) {
        if let Some(message) = self.messages.pop_front() {
            let news = self.tail.hear(message);
            self.spread(news);
        }
    }

    fn spread(&mut self, news: News) {
        if news.wake {
            self.followers.iter_mut().for_each(|follower| follower.awake = true);
        }
        self.wanted |= news.behind;
        if self.wanted && !self.repairing {
            (self.wanted, self.repairing) = (false, true);
            let asked = self.tail.ask();
            self.underway.push(Underway { asked, after: asked.after, most: 5, reading: None, by: None });
        }
    }

    /// A reading takes a step: Redis reads, or what it read arrives.
    fn read(&mut self) {
        if self.underway.is_empty() {
            return;
        }
        let at = self.random.random_range(0..self.underway.len());
        let underway = &mut self.underway[at];
        if underway.reading.is_none() {
            underway.reading = Some(self.log.read(underway.after, underway.most));
            return;
        }
        let Underway { asked, reading, by, .. } = self.underway.swap_remove(at);
        let reading = reading.unwrap();
        let Some(by) = by else {
            self.repairing = false;
            let news = self.tail.learn(asked, &reading);
            return self.spread(news);
        };
        let follower = &mut self.followers[by];
        follower.reads = false;
        let (taken, news) = follower.place.take(&mut self.tail, asked, reading, !follower.begun);
        follower.awake = true;
        if taken != Taken::Stale && !follower.begun {
            follower.begun = true;
        }
        self.spread(news);
    }

    fn lose_connection(&mut self) {
        self.subscribed = false;
        self.messages.clear();
    }

    fn subscribe(&mut self) {
        if !self.subscribed {
            self.subscribed = true;
            self.look();
        }
    }

    /// A look at the meta alone, answered at once.
    fn look(&mut self) {
        let asked = self.tail.ask();
        let mut reading = self.log.read(asked.after, 0);
        if let Reading::Alive(page) = &mut reading {
            page.gap = false;
        }
        let news = self.tail.learn(asked, &reading);
        self.spread(news);
    }

    fn follow(&mut self) {
        let position = match self.random.random_range(0..3) {
            0 if self.history.is_empty() => Position::default(),
            0 => self.history[self.random.random_range(0..self.history.len())],
            1 => self.log.newest,
            _ => Position::default(),
        };
        let mut place = Place::new(position, &mut self.tail);
        // The look that has to come before is answered at once here.
        let mut begun = place.begins(&self.tail);
        if begun {
            self.look();
            begun = place.begins(&self.tail);
        }
        let follower =
            Follower { place, begun, reads: false, heard: vec![position], over: None, awake: true };
        self.followers.push(follower);
        self.ask(self.followers.len() - 1);
    }

    /// A follower that has not begun reads.
    fn ask(&mut self, by: usize) {
        let follower = &mut self.followers[by];
        if !follower.begun && !follower.reads {
            follower.reads = true;
            let asked = self.tail.ask_after(follower.place.position());
            self.underway.push(Underway { asked, after: asked.after, most: 3, reading: None, by: Some(by) });
        }
    }

    /// A follower is polled: it takes what there is, or waits, and then only news wake it.
    fn poll(&mut self, by: usize) {
        self.ask(by);
        let follower = &mut self.followers[by];
        if !follower.begun || follower.over.is_some() || !follower.awake || follower.reads {
            return;
        }
        match follower.place.next(&mut self.tail) {
            Next::Entry(entry) => follower.heard.push(entry.position),
            Next::Gap => follower.heard.push(Position { major: u64::MAX, minor: 0 }),
            Next::Wait => follower.awake = false,
            Next::Read => {
                follower.reads = true;
                let asked = self.tail.ask_after(follower.place.position());
                let underway = Underway { asked, after: asked.after, most: 3, reading: None, by: Some(by) };
                self.underway.push(underway);
            }
            over => follower.over = Some(over),
        }
    }

    fn step(&mut self) {
        match self.random.random_range(0..100) {
            0..25 => self.append(),
            25 => self.remove(),
            26 => self.lose_connection(),
            27..30 => self.subscribe(),
            30..32 => self.look(),
            32 => self.tail.let_go_of_stale(),
            33..35 if self.followers.len() < 12 => self.follow(),
            35..60 => self.hear(),
            60..75 => self.read(),
            _ if self.followers.is_empty() => {}
            _ => {
                let by = self.random.random_range(0..self.followers.len());
                self.poll(by);
            }
        }
    }

    /// Nothing happens any more but what was begun, and a look.
    fn settle(&mut self) {
        self.subscribe();
        for round in 0.. {
            while !self.messages.is_empty() {
                self.hear();
            }
            self.look();
            while !self.underway.is_empty() {
                self.read();
            }
            let before: usize = self.followers.iter().map(|follower| follower.heard.len()).sum();
            for _ in 0..50 {
                (0..self.followers.len()).for_each(|by| self.poll(by));
            }
            let after: usize = self.followers.iter().map(|follower| follower.heard.len()).sum();
            if before == after && self.underway.is_empty() {
                return;
            }
            assert!(round < 1000, "it does not settle");
        }
    }

    /// What a follower heard follows its place without holes, but where it was told of one.
    fn check(&self, follower: &Follower) {
        let gap = |position: &Position| position.major == u64::MAX;
        let mut parts = follower.heard.split(gap);
        let first = parts.next().unwrap();
        if first[0] != Position::default() {
            assert!(self.is_whole(first), "{:?}", follower.heard);
        } else if first.len() > 1 {
            assert!(self.is_whole(&first[1..]), "{:?}", follower.heard);
            let start = self.history.iter().position(|known| *known == first[1]).unwrap();
            let begins_log = start == 0 || self.history[start - 1].major != first[1].major;
            assert!(begins_log, "the beginning is missing: {:?}", follower.heard);
        }
        let rest: Vec<_> = parts.collect();
        assert!(rest.iter().all(|part| self.is_whole(part)), "{:?}", follower.heard);
        let all: Vec<_> = follower.heard.iter().filter(|position| !gap(position)).collect();
        assert!(all.is_sorted_by(|a, b| a < b), "in order, once each: {:?}", follower.heard);

        let last = *all[all.len() - 1];
        match &follower.over {
            // It may have had more to come, which went with the log.
            Some(Next::Gone) => assert!(last.major != self.log.incarnation || last == Position::default()),
            Some(Next::End) => {
                let newest = self.history.iter().rfind(|known| known.major == last.major);
                assert_eq!(Some(&last), newest, "not the end: {:?}", follower.heard);
            }
            Some(other) => panic!("{other:?}"),
            None if self.log.incarnation == 0 => assert_eq!(last, Position::default(), "it was not told"),
            None => {
                assert_eq!(last, self.log.newest, "it is behind: {:?}", follower.heard);
                assert!(!self.log.ended, "it was not told of the end");
            }
        }
    }

    fn is_whole(&self, part: &[Position]) -> bool {
        let Some(first) = part.first() else { return true };
        let start = self.history.iter().position(|known| known == first);
        start.is_some_and(|start| self.history[start..].starts_with(part))
    }
}

fn tail() -> Tail {
    Tail::new(Arc::new(Held::new(1_000_000)))
}

fn at(minor: u64) -> Position {
    if minor == 0 { Position::default() } else { Position { major: 7, minor } }
}

/// Entry `minor` of log 7, which follows the one before it.
fn told(minor: u64, trimmed: u64) -> Message {
    Message::Entry(Appended {
        position: at(minor),
        previous: at(minor - 1),
        trimmed: at(trimmed),
        last: false,
        payload: Some(Bytes::from(minor.to_string())),
    })
}

fn taken(next: Next) -> u64 {
    match next {
        Next::Entry(entry) => entry.position.minor,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_was_trimmed_in_the_log_is_not_to_be_had_here() {
    let mut tail = tail();
    let mut slow = Place::new(at(0), &mut tail);
    for minor in 1..=4 {
        tail.hear(told(minor, 0));
    }
    assert_eq!(taken(slow.next(&mut tail)), 1);
    tail.hear(told(5, 1));
    assert_eq!(taken(slow.next(&mut tail)), 2, "what it has read is no loss");
    tail.hear(told(6, 3));
    assert_eq!(slow.next(&mut tail), Next::Read);
}

#[test]
fn a_message_that_is_late_is_no_news() {
    let mut tail = tail();
    let mut place = Place::new(at(0), &mut tail);
    for minor in 1..=3 {
        assert_eq!(tail.hear(told(minor, 0)), News { wake: true, ..News::default() });
    }
    assert_eq!(tail.hear(told(2, 0)), News::default());
    assert_eq!(tail.hear(told(3, 0)), News::default());
    assert_eq!([1, 2, 3], [(); 3].map(|()| taken(place.next(&mut tail))));
    assert_eq!(place.next(&mut tail), Next::Wait);
    assert_eq!(tail.hear(told(5, 0)), News { wake: false, behind: true, missed: true });
    // The log that is gone, and what was said of it before.
    assert_eq!(tail.hear(Message::Deleted(7)), News { wake: true, ..News::default() });
    assert_eq!(tail.hear(told(4, 0)), News::default());
    assert_eq!(tail.hear(Message::Deleted(7)), News::default());
    assert_eq!(place.next(&mut tail), Next::Gone);
}

#[test]
fn a_log_that_came_and_went_unheard_is_gone() {
    let mut tail = tail();
    let mut early = Place::new(at(0), &mut tail);
    let asked = tail.ask();
    let (taken, _) = early.take(&mut tail, asked, Reading::Gone(3), true);
    assert_eq!((taken, early.next(&mut tail)), (Taken::Nothing, Next::Wait));
    let mut late = Place::new(at(0), &mut tail);
    assert_eq!(tail.learn(tail.ask(), &Reading::Gone(3)), News::default());
    assert_eq!(early.next(&mut tail), Next::Wait);

    let asked = tail.ask();
    let (taken, news) = late.take(&mut tail, asked, Reading::Gone(9), true);
    assert_eq!((taken, late.next(&mut tail)), (Taken::Nothing, Next::Wait), "it came after");
    assert!(news.wake);
    assert_eq!(early.next(&mut tail), Next::Gone);
}

#[test]
fn a_place_in_no_log_is_looked_for() {
    let mut tail = tail();
    let asked = tail.ask();
    tail.learn(asked, &Reading::Gone(9));
    let mut place = Place::new(at(2), &mut tail);
    assert!(!place.begins(&tail));
    assert_eq!(place.next(&mut tail), Next::Read);
    let asked = tail.ask_after(at(2));
    place.take(&mut tail, asked, Reading::Gone(9), true);
    assert_eq!(place.next(&mut tail), Next::Gone);
}

#[test]
fn a_gap_is_told_once() {
    let mut tail = tail();
    let mut place = Place::new(Position { major: 3, minor: 9 }, &mut tail);
    let empty = Page {
        incarnation: 7,
        newest: at(0),
        trimmed: at(0),
        ended: false,
        fence: 1,
        gap: true,
        entries: Vec::new(),
    };
    let asked = tail.ask_after(place.position());
    let (good, _) = place.take(&mut tail, asked, Reading::Alive(empty), true);
    assert_eq!((good, place.next(&mut tail)), (Taken::Something, Next::Gap));
    assert_eq!(place.next(&mut tail), Next::Wait);
    tail.hear(told(1, 0));
    assert_eq!(taken(place.next(&mut tail)), 1);
}

#[test]
fn entries_that_a_failover_lost_do_not_hold_up_what_follows() {
    let mut tail = tail();
    let mut current = Place::new(at(0), &mut tail);
    for minor in 1..=4 {
        tail.hear(told(minor, 0));
        assert_eq!(taken(current.next(&mut tail)), minor);
    }
    // 3 and 4 are lost, and 6 comes after 2.
    let Message::Entry(after) = told(6, 0) else { panic!() };
    let next = Message::Entry(Appended { previous: at(2), ..after });
    assert_eq!(tail.hear(next), News { wake: false, behind: true, missed: true });
    let page = Page {
        incarnation: 7,
        newest: at(6),
        trimmed: at(0),
        ended: false,
        fence: 0,
        gap: false,
        entries: vec![Entry { position: at(6), payload: Bytes::from("6"), last: false }],
    };
    assert_eq!(tail.learn(tail.ask(), &Reading::Alive(page)), News { wake: true, ..News::default() });
    assert_eq!(taken(current.next(&mut tail)), 6);
}

#[test]
fn a_tail_is_bounded_and_goes_when_it_was_taken() {
    let mut tail = tail();
    let mut slow = Place::new(at(0), &mut tail);
    let mut quick = Place::new(at(0), &mut tail);
    for minor in 1..=1000 {
        tail.hear(told(minor, 0));
        assert_eq!(taken(quick.next(&mut tail)), minor);
        assert!(tail.entries.len() <= MOST_ENTRIES);
    }
    assert_eq!(slow.next(&mut tail), Next::Read);
    slow.leave(&mut tail);
    assert!(tail.is_taken(), "by all who are left");
    for minor in 1001..=1010 {
        let Message::Entry(small) = told(minor, 0) else { panic!() };
        let payload = Some(Bytes::from(vec![b'x'; 100_000]));
        tail.hear(Message::Entry(Appended { payload, ..small }));
        assert!(tail.held().bytes() < MOST_BYTES + 200_000);
    }
    assert_eq!(quick.next(&mut tail), Next::Read);
    tail.let_go_of_stale();
    tail.let_go_of_stale();
    assert_eq!(tail.held().bytes(), 0, "nobody took it for long");
    // Beyond what the hub may hold, not even the newest stays.
    tail.held().add(1_000_001);
    tail.hear(told(1011, 0));
    assert!(tail.is_taken());
}

#[test]
fn each_follower_gets_everything_once_in_order_or_is_told() {
    let only = std::env::var("SEED").ok().map(|seed| seed.parse().unwrap());
    for seed in only.map_or(0..3000, |seed: u64| seed..seed + 1) {
        let outcome = std::panic::catch_unwind(|| {
            let mut world = World::new(seed);
            for _ in 0..600 {
                world.step();
            }
            world.settle();
            world.followers.iter().for_each(|follower| world.check(follower));
            for follower in &mut world.followers {
                follower.place.leave(&mut world.tail);
            }
            assert_eq!(world.tail.held().bytes(), 0, "nobody holds anything");
        });
        assert!(outcome.is_ok(), "with SEED={seed}");
    }
}
