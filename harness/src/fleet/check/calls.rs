//! Each call by itself: one answer, complete progress, no status without a reason, no waiting without end.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    time::Duration,
};

use super::super::{
    history::{Answer, At, Broke, End, Event, History, Kind, What},
    report::{Count, Report},
};

/// A call that waits for longer than this, beyond what it takes by itself, hangs.
const HUNG: Duration = Duration::from_secs(10);

/// What is known of a call under way.
struct Call {
    kind: Kind,
    answers: u32,
    good: bool,
    /// Since when it waits for the server, if it does.
    waits: Option<At>,
    /// The step of progress that is next.
    next: u32,
    /// Those that were passed over.
    missing: BTreeSet<u32>,
    /// Its stream broke after the last progress and the last question.
    broke: bool,
    questions: HashSet<u32>,
    over: bool,
}

/// The calls of one client.
struct Calls<'a> {
    report: &'a mut Report,
    history: &'a History,
    calls: HashMap<u32, Call>,
}

/// Checks the calls of one client.
pub(super) fn check(report: &mut Report, history: &History) {
    let mut calls = Calls { report, history, calls: HashMap::new() };
    for event in &history.events {
        calls.event(event);
    }
    calls.finish();
}

// === impl Call ===

impl Call {
    fn new(kind: Kind) -> Self {
        Self {
            kind,
            answers: 0,
            good: false,
            waits: None,
            next: 1,
            missing: BTreeSet::new(),
            broke: false,
            questions: HashSet::new(),
            over: false,
        }
    }

    /// How many answers it should have.
    fn wants_answer(&self) -> bool {
        !matches!(self.kind, Kind::Listen | Kind::Plumbing { status: 202 | 204 })
    }

    fn status_is_right(&self, status: u16) -> bool {
        let expected = match self.kind {
            Kind::Plumbing { status } => status,
            _ => 200,
        };
        // 404 is counted as a lost session; the others come from a balancer without a server, or say when to come back.
        status == expected || matches!(status, 404 | 429 | 502 | 503 | 504)
    }
}

// === impl Calls ===

impl Calls<'_> {
    fn find(&mut self, count: Count, at: At, times: u64, (call, note): (u32, String)) {
        self.report.find(count, self.history, at, times, (Some(call), format!("call {call}: {note}")));
    }

    fn event(&mut self, event: &Event) {
        let at = event.at;
        if let What::Called { call, kind } = event.what {
            if kind.is_tool() {
                self.report.add(Count::Calls, at, 1);
            }
            self.calls.insert(call, Call::new(kind));
            return;
        }
        if event.what == What::HeardOther {
            let note = "a change that was not asked for".to_owned();
            self.report.find(Count::Misplaced, self.history, at, 1, (None, note));
            return;
        }
        let Some(number) = event.what.call() else { return };
        let Some(mut call) = self.calls.remove(&number) else {
            self.find(Count::Unchecked, at, 1, (number, "was not begun".to_owned()));
            return;
        };
        self.waited(&mut call, number, event);
        self.took(&mut call, number, event);
        self.calls.insert(number, call);
    }

    /// How long the server let the client wait.
    fn waited(&mut self, call: &mut Call, number: u32, event: &Event) {
        if let Some(since) = call.waits.take() {
            let waited = event.at.since(since);
            if waited > HUNG + call.kind.takes() {
                let note = (number, format!("waited for {waited:?}"));
                self.find(Count::Hung, event.at, 1, note);
            }
        }
        let waits = match event.what {
            What::Sent { .. } | What::Progress { .. } | What::SignOfLife { .. } | What::Replied { .. } => {
                true
            }
            // One that listens waits for others.
            What::Streaming { .. } => call.kind != Kind::Listen,
            _ => false,
        };
        call.waits = waits.then_some(event.at);
    }

    fn took(&mut self, call: &mut Call, number: u32, event: &Event) {
        let at = event.at;
        match event.what {
            What::Head { status, retry_after, replica, .. } => {
                self.head(call, number, at, status, retry_after);
                if matches!(status, 429 | 502..=504) {
                    let by = if replica { "a replica" } else { "the balancer" };
                    self.report.refused(format!("{status} by {by} to {}", call.kind.name()));
                }
            }
            What::Broke { how, .. } => self.broke(call, at, how),
            What::Progress { step, .. } => self.progress(call, number, at, step),
            // It must be more than what was reported before.
            What::SignOfLife { after, .. } if after + 1 < call.next => {
                self.find(Count::EventsOutOfOrder, at, 1, (number, format!("a sign of life after {after}")));
            }
            What::Asked { question, .. } => self.asked(call, number, at, question),
            What::Answered { answer, .. } => self.answered(call, number, at, answer),
            What::Stray { .. } => {
                self.find(Count::Misplaced, at, 1, (number, "something else is on its stream".to_owned()));
            }
            What::Over { end, .. } => self.over(call, number, at, end),
            What::Listening { resumed: true, .. } => self.report.add(Count::ListenersResumed, at, 1),
            _ => {}
        }
    }

    fn head(&mut self, call: &Call, number: u32, at: At, status: u16, retry_after: bool) {
        if !call.status_is_right(status) {
            self.find(Count::WrongStatuses, at, 1, (number, format!("{status} to {:?}", call.kind)));
        }
        if matches!(status, 429 | 503) {
            self.report.add(Count::Refusals, at, 1);
            if !retry_after {
                self.find(Count::BareRefusals, at, 1, (number, format!("{status} to {:?}", call.kind)));
            }
        }
    }

    fn broke(&mut self, call: &mut Call, at: At, how: Broke) {
        let listens = call.kind == Kind::Listen;
        let count = match how {
            Broke::Unsent | Broke::Timeout => return,
            Broke::Stream if listens => return,
            Broke::StreamForGood if listens => Count::ListenersRestarted,
            Broke::InFlight | Broke::Body | Broke::Gateway => Count::FailedInFlight,
            Broke::StreamForGood => Count::CutForGood,
            Broke::Stream => Count::Resumptions,
        };
        self.report.add(count, at, 1);
        call.broke = true;
        if how != Broke::Stream {
            // What comes next is another run, with progress of its own.
            call.next = 1;
            call.missing.clear();
        }
    }

    fn progress(&mut self, call: &mut Call, number: u32, at: At, step: u32) {
        self.report.add(Count::Events, at, 1);
        let broke = std::mem::take(&mut call.broke);
        if step == call.next {
            call.next += 1;
        } else if step > call.next {
            call.missing.extend(call.next..step);
            call.next = step + 1;
        } else if step == 1 && broke {
            self.report.add(Count::Reruns, at, 1);
            call.missing.clear();
            call.next = 2;
        } else if call.missing.remove(&step) {
            self.find(Count::EventsOutOfOrder, at, 1, (number, format!("progress {step}")));
        } else {
            self.find(Count::EventsDuplicated, at, 1, (number, format!("progress {step}")));
        }
    }

    fn asked(&mut self, call: &mut Call, number: u32, at: At, question: u32) {
        self.report.add(Count::Events, at, 1);
        let broke = std::mem::take(&mut call.broke);
        let again = !call.questions.is_empty();
        if !call.questions.insert(question) {
            self.find(Count::EventsDuplicated, at, 1, (number, "a question".to_owned()));
        } else if again && broke {
            self.report.add(Count::Reruns, at, 1);
        } else if again {
            self.find(Count::EventsDuplicated, at, 1, (number, "a further question".to_owned()));
        }
    }

    fn answered(&mut self, call: &mut Call, number: u32, at: At, answer: Answer) {
        if call.kind.is_tool() {
            self.report.add(Count::Answers, at, 1);
        }
        call.answers += 1;
        if call.answers > 1 {
            self.find(Count::AnswersDuplicated, at, 1, (number, format!("{answer:?}")));
            return;
        }
        match answer {
            Answer::Value(value) => {
                call.good = true;
                let expected = match call.kind {
                    Kind::Pure { value } | Kind::Confirm { value } => Some(value),
                    Kind::Slow { steps, .. } => Some(i64::from(steps)),
                    _ => None,
                };
                if let Some(expected) = expected.filter(|expected| *expected != value) {
                    let note = (number, format!("{value} and not {expected}"));
                    self.find(Count::WrongValues, at, 1, note);
                }
                self.complete(call, number, at);
            }
            Answer::Failed | Answer::Error(_) => {
                self.find(Count::ErrorAnswers, at, 1, (number, format!("{:?}: {answer:?}", call.kind)));
            }
            Answer::Unreadable => {
                self.find(Count::WrongValues, at, 1, (number, "unreadable".to_owned()));
            }
        }
    }

    /// Everything that has to come before a good answer.
    fn complete(&mut self, call: &Call, number: u32, at: At) {
        match call.kind {
            Kind::Slow { steps, .. } => {
                let late = (steps + 1).saturating_sub(call.next);
                let missing = u64::from(late) + call.missing.len() as u64;
                self.find(Count::EventsLost, at, missing, (number, "progress".to_owned()));
                let beyond = call.next.saturating_sub(steps + 1);
                self.find(Count::EventsDuplicated, at, beyond.into(), (number, "progress".to_owned()));
            }
            Kind::Confirm { .. } if call.questions.is_empty() => {
                self.find(Count::EventsLost, at, 1, (number, "the question".to_owned()));
            }
            _ => {}
        }
    }

    fn over(&mut self, call: &mut Call, number: u32, at: At, end: End) {
        call.over = true;
        if call.answers > 0 {
            return;
        }
        match end {
            End::Done if !call.wants_answer() => {}
            End::Done | End::TimedOut => {
                self.find(Count::AnswersLost, at, 1, (number, format!("{:?}: {end:?}", call.kind)));
            }
            End::Unknown if call.kind != Kind::Listen => self.report.add(Count::UnknownOutcomes, at, 1),
            // Each has been counted where it happened.
            End::Unknown | End::SessionLost | End::Refused | End::Closing => {}
        }
    }

    fn finish(mut self) {
        let at = self.history.events.last().map_or(At::default(), |event| event.at);
        let mut open: Vec<_> =
            self.calls.iter().filter(|(_, call)| !call.over && call.kind != Kind::Listen).collect();
        open.sort_unstable_by_key(|(number, _)| **number);
        let lost: Vec<_> =
            open.iter().filter(|(_, call)| call.answers == 0).map(|(n, c)| (**n, c.kind)).collect();
        for (number, kind) in lost {
            self.find(Count::AnswersLost, at, 1, (number, format!("{kind:?} has no end")));
        }
    }
}
