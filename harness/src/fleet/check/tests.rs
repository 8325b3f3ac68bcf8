//! Each count, over a history in which the thing happens and one in which it almost does.

use std::ops::Range;

use trunkline_protocol::Revision;

use super::*;
use crate::fleet::{
    history::{Broke, End, Event},
    plan::SLOTS,
};

/// A history in the making. Each note comes a millisecond after the last.
struct Story {
    history: History,
    now: u64,
    calls: u32,
}

impl Story {
    fn new(client: u32, rings: &[u16]) -> Self {
        let history = History::new(client, Revision::V2025_11_25, rings.to_vec());
        Self { history, now: 0, calls: 0 }
    }

    fn note(&mut self, what: What) -> &mut Self {
        self.now += 1000;
        self.history.events.push(Event { at: At(self.now), what });
        self
    }

    fn wait(&mut self, seconds: u64) -> &mut Self {
        self.now += seconds * 1_000_000;
        self
    }

    /// Begins a call, and sends its request.
    fn begin(&mut self, kind: Kind) -> u32 {
        let call = self.calls;
        self.calls += 1;
        self.note(What::Called { call, kind }).note(What::Sent { call });
        call
    }

    fn head(&mut self, call: u32, status: u16) -> &mut Self {
        self.note(What::Head { call, status, retry_after: status == 503, replica: true })
    }

    fn answer(&mut self, call: u32, value: i64) -> &mut Self {
        self.note(What::Answered { call, answer: Answer::Value(value) })
    }

    fn over(&mut self, call: u32, end: End) -> &mut Self {
        self.note(What::Over { call, end })
    }

    /// A whole call.
    fn call(&mut self, kind: Kind, value: i64) -> &mut Self {
        let call = self.begin(kind);
        self.head(call, 200).answer(call, value).over(call, End::Done)
    }

    /// A call that breaks, and is not sent again.
    fn broken(&mut self, kind: Kind) -> &mut Self {
        let call = self.begin(kind);
        self.note(What::Broke { call, how: Broke::InFlight }).over(call, End::Unknown)
    }

    /// A call on a stream, with steps of progress.
    fn slow(&mut self, steps: u32, told: &[u32]) -> &mut Self {
        let call = self.begin(Kind::Slow { ms: 100, steps });
        self.head(call, 200).note(What::Streaming { call });
        self.told(call, told).answer(call, steps.into()).over(call, End::Done)
    }

    fn told(&mut self, call: u32, steps: &[u32]) -> &mut Self {
        for step in steps {
            self.note(What::Progress { call, step: *step });
        }
        self
    }

    /// A stream that listens.
    fn listens(&mut self) -> u32 {
        let call = self.begin(Kind::Listen);
        self.head(call, 200).note(What::Streaming { call }).note(What::Listening { call, resumed: false });
        call
    }

    fn hears(&mut self, ring: u16, slots: impl IntoIterator<Item = u16>) -> &mut Self {
        for slot in slots {
            self.note(What::Heard { ring, slot });
        }
        self
    }

    /// Changes of a ring, all acknowledged.
    fn touches(&mut self, ring: u16, places: Range<u16>) -> &mut Self {
        for slot in places {
            self.call(Kind::Touch { ring, slot: slot % SLOTS }, 0);
        }
        self
    }

    fn report(&self) -> Report {
        report(&[self])
    }
}

fn report(stories: &[&Story]) -> Report {
    let histories: Vec<History> = stories.iter().map(|story| story.history.clone()).collect();
    let to = histories.iter().filter_map(|history| history.events.last()).map(|event| event.at).max();
    check(&histories, Window { from: At(0), to: to.unwrap_or_default() })
}

/// Asserts that exactly these violations are found, each so often.
#[track_caller]
fn found(report: &Report, expected: &[(Count, u64)]) {
    let violations = report.violations(&[]).into_iter();
    let violations: Vec<_> = violations.map(|count| (count, report.count(count))).collect();
    assert_eq!(violations, expected, "{report}");
}

const PURE: Kind = Kind::Pure { value: 7 };
const COUNT: Kind = Kind::Count { session: 1, by: 3 };

#[test]
fn a_quiet_day_has_no_violations() {
    let mut story = Story::new(0, &[0]);
    let listens = story.listens();
    story
        .note(What::Opened { session: 1 })
        .call(PURE, 7)
        .call(COUNT, 3)
        .call(COUNT, 6)
        .call(Kind::Remember { session: 1, value: 5 }, 5)
        .call(Kind::Recall { session: 1 }, 5)
        .slow(3, &[1, 2, 3])
        .touches(0, 0..20)
        .hears(0, (0..20).map(|slot| slot % SLOTS))
        .note(What::HeardEnd)
        .over(listens, End::Done);
    let report = story.report();
    found(&report, &[]);
    assert!(Count::ALL.iter().all(|count| !count.is_breakage() || report.count(*count) == 0), "{report}");
    assert_eq!((report.count(Count::Calls), report.count(Count::Answers)), (26, 26));
    assert_eq!(report.count(Count::Events), 23);
}

#[test]
fn a_session_is_lost_once_however_often_it_is_said() {
    let mut story = Story::new(0, &[]);
    let call = story.begin(PURE);
    story.head(call, 404).note(What::Lost { session: 1 }).over(call, End::SessionLost);
    let call = story.begin(PURE);
    story.head(call, 404).note(What::Lost { session: 1 }).over(call, End::SessionLost);
    found(&story.report(), &[(Count::SessionsLost, 1)]);
    story.history.revision = Revision::V2026_07_28;
    found(&story.report(), &[(Count::HandlesLost, 1)]);
}

#[test]
fn an_answer_is_lost_if_the_call_ends_or_never_ends_without_it() {
    let mut story = Story::new(0, &[]);
    let call = story.begin(PURE);
    story.head(call, 200).over(call, End::Done);
    let call = story.begin(PURE);
    story.note(What::Broke { call, how: Broke::Timeout }).over(call, End::TimedOut);
    story.begin(PURE);
    found(&story.report(), &[(Count::AnswersLost, 3)]);
}

#[test]
fn what_has_no_answer_and_what_was_refused_lost_none() {
    let mut story = Story::new(0, &[]);
    let call = story.begin(Kind::Plumbing { status: 202 });
    story.head(call, 202).over(call, End::Done);
    let call = story.begin(PURE);
    story.head(call, 503).note(What::Sent { call }).head(call, 200).answer(call, 7).over(call, End::Done);
    story.broken(COUNT).begin(Kind::Listen);
    let report = story.report();
    found(&report, &[]);
    assert_eq!((report.count(Count::Refusals), report.count(Count::UnknownOutcomes)), (1, 1));
    assert_eq!(report.count(Count::FailedInFlight), 1);
}

#[test]
fn a_second_answer_is_a_duplicate_also_after_the_end() {
    let mut story = Story::new(0, &[]);
    let call = story.begin(PURE);
    story.head(call, 200).answer(call, 7).answer(call, 7).over(call, End::Done).answer(call, 7);
    found(&story.report(), &[(Count::AnswersDuplicated, 2)]);
}

#[test]
fn progress_is_complete_in_order_and_once_each() {
    let of = |told: &[u32]| Story::new(0, &[]).slow(4, told).report();
    found(&of(&[1, 2, 3, 4]), &[]);
    found(&of(&[1, 2, 4]), &[(Count::EventsLost, 1)]);
    found(&of(&[1, 2]), &[(Count::EventsLost, 2)]);
    found(&of(&[2, 3, 4]), &[(Count::EventsLost, 1)]);
    found(&of(&[]), &[(Count::EventsLost, 4)]);
    found(&of(&[1, 2, 2, 3, 4]), &[(Count::EventsDuplicated, 1)]);
    found(&of(&[1, 2, 3, 4, 1]), &[(Count::EventsDuplicated, 1)]);
    found(&of(&[1, 3, 2, 4]), &[(Count::EventsOutOfOrder, 1)]);
    found(&of(&[1, 2, 3, 4, 5]), &[(Count::EventsDuplicated, 1)]);
}

#[test]
fn a_sign_of_life_is_no_step_and_goes_no_step_back() {
    let of = |after: u32| {
        let mut story = Story::new(0, &[]);
        let call = story.begin(Kind::Slow { ms: 100, steps: 3 });
        story.head(call, 200).told(call, &[1, 2]).note(What::SignOfLife { call, after });
        story.told(call, &[3]).answer(call, 3).over(call, End::Done).report()
    };
    found(&of(2), &[]);
    found(&of(1), &[(Count::EventsOutOfOrder, 1)]);
}

/// A stream that breaks goes on where it was, or its call is run again from the beginning: nothing else.
#[test]
fn progress_goes_on_after_a_break_or_begins_anew() {
    let of = |before: &[u32], how: Broke, after: &[u32]| {
        let mut story = Story::new(0, &[]);
        let call = story.begin(Kind::Slow { ms: 100, steps: 4 });
        story.head(call, 200).note(What::Streaming { call });
        story.told(call, before);
        story.note(What::Broke { call, how }).note(What::Sent { call }).head(call, 200);
        story.told(call, after);
        story.answer(call, 4).over(call, End::Done).report()
    };
    let report = of(&[1, 2], Broke::Stream, &[3, 4]);
    found(&report, &[]);
    assert_eq!((report.count(Count::Resumptions), report.count(Count::Reruns)), (1, 0));
    let report = of(&[1, 2], Broke::Stream, &[1, 2, 3, 4]);
    found(&report, &[]);
    assert_eq!((report.count(Count::Resumptions), report.count(Count::Reruns)), (1, 1));
    found(&of(&[1, 2], Broke::Stream, &[2, 3, 4]), &[(Count::EventsDuplicated, 1)]);
    found(&of(&[1, 2], Broke::Stream, &[4]), &[(Count::EventsLost, 1)]);
    found(&of(&[1, 2], Broke::Stream, &[1, 2, 1, 3, 4]), &[(Count::EventsDuplicated, 1)]);
    // Sent again by the client: another run.
    let report = of(&[1, 2], Broke::StreamForGood, &[1, 2, 3, 4]);
    found(&report, &[]);
    assert_eq!((report.count(Count::CutForGood), report.count(Count::Reruns)), (1, 0));
    found(&of(&[1, 2], Broke::StreamForGood, &[3, 4]), &[(Count::EventsLost, 2)]);
}

#[test]
fn a_question_comes_once_and_again_only_after_a_break() {
    let of = |questions: &[Option<u32>]| {
        let mut story = Story::new(0, &[]);
        let call = story.begin(Kind::Confirm { value: 1 });
        story.head(call, 200).note(What::Streaming { call });
        for question in questions {
            match question {
                Some(question) => {
                    story.note(What::Asked { call, question: *question }).note(What::Replied { call })
                }
                None => story.note(What::Broke { call, how: Broke::Stream }).note(What::Sent { call }),
            };
        }
        story.answer(call, 1).over(call, End::Done).report()
    };
    found(&of(&[Some(1)]), &[]);
    found(&of(&[]), &[(Count::EventsLost, 1)]);
    found(&of(&[Some(1), Some(1)]), &[(Count::EventsDuplicated, 1)]);
    found(&of(&[Some(1), Some(2)]), &[(Count::EventsDuplicated, 1)]);
    let report = of(&[Some(1), None, Some(2)]);
    found(&report, &[]);
    assert_eq!(report.count(Count::Reruns), 1);
    found(&of(&[Some(1), None, Some(1)]), &[(Count::EventsDuplicated, 1)]);
}

#[test]
fn a_call_hangs_when_the_server_is_silent_and_not_when_the_client_stays_away() {
    let mut story = Story::new(0, &[]);
    let call = story.begin(PURE);
    story.wait(11).head(call, 200).answer(call, 7).over(call, End::Done);
    let call = story.begin(Kind::Slow { ms: 5000, steps: 1 });
    story.head(call, 200).note(What::Streaming { call }).wait(14).note(What::Progress { call, step: 1 });
    story.wait(16).answer(call, 1).over(call, End::Done);
    found(&story.report(), &[(Count::Hung, 2)]);

    let mut story = Story::new(0, &[]);
    let call = story.begin(PURE);
    story.wait(9).head(call, 503).wait(60).note(What::Sent { call });
    story.wait(9).head(call, 200).answer(call, 7).over(call, End::Done);
    let call = story.begin(PURE);
    story.note(What::Broke { call, how: Broke::Unsent }).wait(60).note(What::Sent { call });
    story.head(call, 200).answer(call, 7).over(call, End::Done);
    story.listens();
    story.wait(60).hears(0, [0]);
    found(&story.report(), &[]);
}

#[test]
fn a_status_is_wrong_unless_something_explains_it() {
    for (kind, status, wrong) in [
        (PURE, 200, false),
        (PURE, 202, true),
        (PURE, 400, true),
        (PURE, 500, true),
        (PURE, 503, false),
        (PURE, 502, false),
        (Kind::Plumbing { status: 202 }, 200, true),
        (Kind::Plumbing { status: 202 }, 202, false),
        (Kind::Listen, 405, true),
    ] {
        let mut story = Story::new(0, &[]);
        let call = story.begin(kind);
        story.head(call, status).over(call, End::Refused);
        let expected = if wrong { &[(Count::WrongStatuses, 1)][..] } else { &[] };
        found(&story.report(), expected);
    }
}

#[test]
fn a_503_says_when_to_come_back() {
    let mut story = Story::new(0, &[]);
    let call = story.begin(PURE);
    story.note(What::Head { call, status: 503, retry_after: false, replica: true }).note(What::Sent { call });
    story.head(call, 503).note(What::Sent { call }).head(call, 200).answer(call, 7).over(call, End::Done);
    let report = story.report();
    found(&report, &[(Count::BareRefusals, 1)]);
    assert_eq!(report.count(Count::Refusals), 2);
}

#[test]
fn values_and_errors_are_seen() {
    found(&Story::new(0, &[]).call(PURE, 8).report(), &[(Count::WrongValues, 1)]);
    let confirm = Kind::Confirm { value: 1 };
    let mut story = Story::new(0, &[]);
    let call = story.begin(confirm);
    story.note(What::Asked { call, question: 1 }).answer(call, 2).over(call, End::Done);
    found(&story.report(), &[(Count::WrongValues, 1)]);
    for (answer, count) in [
        (Answer::Failed, Count::ErrorAnswers),
        (Answer::Error(-32603), Count::ErrorAnswers),
        (Answer::Unreadable, Count::WrongValues),
    ] {
        let mut story = Story::new(0, &[]);
        let call = story.begin(PURE);
        story.note(What::Answered { call, answer }).over(call, End::Done);
        found(&story.report(), &[(count, 1)]);
    }
    let mut story = Story::new(0, &[]);
    let call = story.begin(PURE);
    story.note(What::Stray { call }).answer(call, 7).over(call, End::Done).note(What::HeardOther);
    found(&story.report(), &[(Count::Misplaced, 2)]);
}

#[test]
fn a_counter_is_between_what_was_acknowledged_and_what_may_have_been_run() {
    let wrong: &[(Count, u64)] = &[(Count::WrongValues, 1)];
    // Run twice.
    found(&Story::new(0, &[]).call(COUNT, 3).call(COUNT, 9).report(), wrong);
    // Acknowledged and not run.
    found(&Story::new(0, &[]).call(COUNT, 3).call(COUNT, 3).report(), wrong);
    found(&Story::new(0, &[]).call(COUNT, 3).call(Kind::Count { session: 1, by: 0 }, 0).report(), wrong);
    // One unknown outcome explains one more, or none, now or later.
    found(&Story::new(0, &[]).call(COUNT, 3).broken(COUNT).call(COUNT, 6).report(), &[]);
    found(&Story::new(0, &[]).call(COUNT, 3).broken(COUNT).call(COUNT, 9).report(), &[]);
    found(&Story::new(0, &[]).call(COUNT, 3).broken(COUNT).call(COUNT, 6).call(COUNT, 12).report(), &[]);
    found(&Story::new(0, &[]).call(COUNT, 3).broken(COUNT).call(COUNT, 12).report(), wrong);
    found(&Story::new(0, &[]).call(COUNT, 3).broken(COUNT).call(COUNT, 9).call(COUNT, 9).report(), wrong);
    // Another session has another counter.
    found(&Story::new(0, &[]).call(COUNT, 3).call(Kind::Count { session: 2, by: 3 }, 3).report(), &[]);
}

#[test]
fn the_last_that_was_remembered_is_recalled_or_one_that_may_have_been() {
    let (remember, recall) = (|value| Kind::Remember { session: 1, value }, Kind::Recall { session: 1 });
    let story = |unsure: bool, recalled: i64| {
        let mut story = Story::new(0, &[]);
        story.call(remember(1), 1).call(remember(2), 2);
        if unsure {
            story.broken(remember(3));
        }
        story.call(recall, recalled).report()
    };
    found(&story(false, 2), &[]);
    found(&story(false, 1), &[(Count::WrongValues, 1)]);
    found(&story(false, 3), &[(Count::WrongValues, 1)]);
    found(&story(true, 3), &[]);
    found(&story(true, 2), &[]);
    found(&story(true, 1), &[(Count::WrongValues, 1)]);
}

/// One client makes twenty changes, another hears them.
fn listened(heard: &[u16]) -> Report {
    let mut listener = Story::new(0, &[0]);
    listener.listens();
    let mut other = Story::new(1, &[]);
    other.wait(1).touches(0, 0..20);
    listener.wait(10).hears(0, heard.iter().copied());
    report(&[&listener, &other])
}

#[test]
fn changes_are_heard_completely_in_order_and_once_each() {
    let all: Vec<u16> = (0..20).map(|slot| slot % SLOTS).collect();
    let without = |from: usize, to: usize| [&all[..from], &all[to..]].concat();
    found(&listened(&all), &[]);
    found(&listened(&without(3, 4)), &[(Count::EventsLost, 1)]);
    found(&listened(&without(3, 8)), &[(Count::EventsLost, 5)]);
    found(&listened(&without(0, 2)), &[(Count::EventsLost, 2)]);
    found(&listened(&without(18, 20)), &[(Count::EventsLost, 2)]);
    found(&listened(&[]), &[(Count::EventsLost, 20)]);
    let mut twice = all.clone();
    twice.insert(6, 5);
    found(&listened(&twice), &[(Count::EventsDuplicated, 1)]);
    let replayed = [&all[..7], &all[4..]].concat();
    found(&listened(&replayed), &[(Count::EventsDuplicated, 3)]);
    let mut swapped = all.clone();
    swapped.swap(7, 8);
    found(&listened(&swapped), &[(Count::EventsOutOfOrder, 1)]);
    // A whole round that is missing cannot be told from none by its slots, but by its number.
    found(&listened(&without(2, 18)), &[(Count::EventsLost, 16)]);
    // More than was made: a round ago they were.
    let beyond = [&all[..], &[4, 5]].concat();
    found(&listened(&beyond), &[(Count::EventsDuplicated, 2)]);
}

#[test]
fn a_change_that_was_never_made_is_not_heard() {
    let mut listener = Story::new(0, &[0]);
    listener.listens();
    let mut other = Story::new(1, &[]);
    other.wait(1).touches(0, 0..3);
    listener.wait(10).hears(0, [0, 1, 2, 3, 9]);
    found(&report(&[&listener, &other]), &[(Count::Misplaced, 2)]);
}

#[test]
fn a_change_that_may_have_been_made_may_be_heard() {
    let of = |heard: &[u16]| {
        let mut listener = Story::new(0, &[0]);
        listener.listens();
        let mut other = Story::new(1, &[]);
        let touch = |slot| Kind::Touch { ring: 0, slot };
        other.wait(1).call(touch(0), 0).broken(touch(1)).call(touch(2), 0).call(touch(3), 0);
        listener.wait(10).hears(0, heard.iter().copied());
        report(&[&listener, &other])
    };
    found(&of(&[0, 1, 2, 3]), &[]);
    found(&of(&[0, 2, 3]), &[]);
    // Late, by a replica that slept.
    found(&of(&[0, 2, 3, 1]), &[]);
    found(&of(&[0, 1, 2, 3, 1]), &[(Count::EventsDuplicated, 1)]);
    found(&of(&[0, 1, 3]), &[(Count::EventsLost, 1)]);
}

/// Its client has given it up before anybody listened, and it is made all the same.
#[test]
fn a_change_that_was_given_up_may_be_made_later() {
    let mut other = Story::new(1, &[]);
    other.touches(0, 0..2).broken(Kind::Touch { ring: 0, slot: 2 }).wait(2).touches(0, 3..5);
    let of = |heard: &[u16]| {
        let mut listener = Story::new(0, &[0]);
        listener.wait(1).listens();
        listener.wait(5).hears(0, heard.iter().copied());
        report(&[&listener, &other])
    };
    for may in [&[2, 3, 4][..], &[3, 4], &[3, 4, 2]] {
        found(&of(may), &[]);
    }
    found(&of(&[1, 3, 4]), &[(Count::EventsDuplicated, 1)]);
    found(&of(&[2, 2, 3, 4]), &[(Count::EventsDuplicated, 1)]);
}

#[test]
fn a_change_that_was_refused_was_not_made() {
    let mut listener = Story::new(0, &[0]);
    listener.listens();
    let mut other = Story::new(1, &[]);
    let touch = Kind::Touch { ring: 0, slot: 0 };
    other.wait(1);
    let call = other.begin(touch);
    other.head(call, 404).note(What::Lost { session: 1 }).over(call, End::SessionLost).call(touch, 0);
    listener.wait(10).hears(0, [0]);
    found(&report(&[&listener, &other]), &[(Count::SessionsLost, 1)]);
}

/// What is missing at the end of a stream that could not be resumed is nobody's fault; what is missing in it is.
#[test]
fn a_stream_that_begins_anew_begins_with_what_comes_then() {
    let of = |resumed: bool, first: &[u16], second: &[u16]| {
        let mut listener = Story::new(0, &[0]);
        let call = listener.listens();
        let mut other = Story::new(1, &[]);
        other.wait(1).touches(0, 0..4).wait(10).touches(0, 4..8);
        listener.wait(3).hears(0, first.iter().copied());
        if resumed {
            listener.note(What::Broke { call, how: Broke::Stream }).note(What::Sent { call }).head(call, 200);
            listener.note(What::Streaming { call }).note(What::Listening { call, resumed });
        } else {
            listener.note(What::Broke { call, how: Broke::StreamForGood }).over(call, End::Unknown);
            listener.wait(1).listens();
        }
        listener.wait(15).hears(0, second.iter().copied());
        report(&[&listener, &other])
    };
    found(&of(false, &[0, 1], &[4, 5, 6, 7]), &[]);
    found(&of(true, &[0, 1], &[2, 3, 4, 5, 6, 7]), &[]);
    found(&of(true, &[0, 1], &[4, 5, 6, 7]), &[(Count::EventsLost, 2)]);
    found(&of(false, &[0, 3], &[4, 5, 6, 7]), &[(Count::EventsLost, 2)]);
    found(&of(false, &[0, 1], &[5, 6, 7]), &[(Count::EventsLost, 1)]);
    found(&of(true, &[0, 1], &[1, 2, 3, 4, 5, 6, 7]), &[(Count::EventsDuplicated, 1)]);
}

/// Between the moment at which the server begins to listen for a client and the one at which the client knows it.
#[test]
fn what_is_made_while_a_stream_opens_may_be_heard() {
    let of = |heard: &[u16]| {
        let mut listener = Story::new(0, &[0]);
        let mut other = Story::new(1, &[]);
        other.touches(0, 0..2);
        listener.wait(1);
        let call = listener.begin(Kind::Listen);
        other.wait(2).touches(0, 2..4).wait(3).touches(0, 4..6);
        listener.wait(4).head(call, 200).note(What::Streaming { call });
        listener.note(What::Listening { call, resumed: false }).wait(5).hears(0, heard.iter().copied());
        report(&[&listener, &other])
    };
    for may in [&[2, 3, 4, 5][..], &[3, 4, 5], &[4, 5]] {
        found(&of(may), &[]);
    }
    found(&of(&[2, 3, 3, 4, 5]), &[(Count::EventsDuplicated, 1)]);
    found(&of(&[3, 5]), &[(Count::EventsLost, 1)]);
}

#[test]
fn a_history_that_was_cut_short_is_told() {
    let mut story = Story::new(0, &[]);
    story.call(PURE, 7);
    story.history.full = true;
    found(&story.report(), &[(Count::Unchecked, 1)]);
}

#[test]
fn the_longest_silence_counts_from_the_first_moment_to_the_last() {
    let mut one = Story::new(0, &[]);
    one.call(PURE, 7).wait(2).call(PURE, 7).wait(3);
    one.slow(1, &[1]);
    let mut two = Story::new(1, &[]);
    two.wait(1).call(PURE, 7).wait(3).call(PURE, 7);
    let report = report(&[&one, &two]);
    assert_eq!(report.longest_silence.as_secs(), 3);
    assert!((1..=2).contains(&report.silence_of_all.as_secs()), "{report}");
}
