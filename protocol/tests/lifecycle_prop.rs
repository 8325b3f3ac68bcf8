//! The session machine against a naive model, over any sequence of events.
//!
//! A failing run prints its events as JSON. Put them into a file in `tests/regressions/lifecycle/`, and they are replayed
//! from then on.

use std::{fs, path::Path, rc::Rc};

use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use trunkline_protocol::{
    RequestId,
    lifecycle::{AskRefused, Bounds, CallRefused, ListenRefused, ListenerToken, Outcome, Phase, Session},
};

/// What happens to a session.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Event {
    Initialized,
    Begin {
        call: RequestId,
    },
    End {
        call: RequestId,
    },
    Cancel {
        call: RequestId,
    },
    Ask {
        question: RequestId,
        call: RequestId,
    },
    Answer {
        question: RequestId,
    },
    Listen,
    /// The stream that listened as the so-manieth ends, from 0.
    EndListener {
        nth: usize,
    },
    Drain,
    Close,
}

/// A run that can be replayed.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Script {
    /// Why it is kept.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    about: String,
    calls: u16,
    questions: u16,
    events: Vec<Event>,
}

/// A handle that tells, by its count of references, whether anybody still holds it. The number says which event made it.
type Handle = Rc<usize>;

// === the naive model: everything that ever happened, searched anew each time ===

struct CallRecord {
    id: RequestId,
    cancel: Handle,
    cancelled: bool,
    ended: Option<Outcome>,
}

struct QuestionRecord {
    id: RequestId,
    /// Its call's place in the list of all calls.
    call: usize,
    reply: Handle,
    answered: bool,
    dropped: bool,
}

struct ListenerRecord {
    stream: Handle,
    ended: bool,
}

#[derive(Default)]
struct Model {
    initialized: bool,
    draining: bool,
    closed: bool,
    calls: Vec<CallRecord>,
    questions: Vec<QuestionRecord>,
    listeners: Vec<ListenerRecord>,
}

impl Model {
    fn phase(&self) -> Phase {
        match (self.closed, self.draining, self.initialized) {
            (true, _, _) => Phase::Closed,
            (_, true, _) => Phase::Draining,
            (_, _, true) => Phase::Live,
            _ => Phase::Opening,
        }
    }

    fn running(&self, id: &RequestId) -> Option<usize> {
        self.calls.iter().position(|call| call.id == *id && call.ended.is_none())
    }

    fn in_flight(&self) -> usize {
        self.calls.iter().filter(|call| call.ended.is_none()).count()
    }

    fn open(&self) -> Vec<usize> {
        let open = |record: &QuestionRecord| !record.answered && !record.dropped;
        (0..self.questions.len()).filter(|index| open(&self.questions[*index])).collect()
    }

    fn listening(&self) -> Option<usize> {
        self.listeners.iter().position(|listener| !listener.ended)
    }

    fn is_idle(&self) -> bool {
        self.in_flight() == 0 && self.open().is_empty() && self.listening().is_none()
    }
}

// === machine and model side by side ===

struct Run {
    bounds: Bounds,
    session: Session<Handle, Handle, Handle>,
    model: Model,
    tokens: Vec<ListenerToken>,
}

type Check = Result<(), String>;

#[expect(
    clippy::needless_pass_by_value,
    reason = "lets go of what it compares, so that handles can be counted"
)]
fn same<T: PartialEq + std::fmt::Debug>(what: &str, machine: T, model: T) -> Check {
    if machine == model {
        Ok(())
    } else {
        Err(format!("{what}: the machine says {machine:?}, the model {model:?}"))
    }
}

fn sorted(mut handles: Vec<Handle>) -> Vec<Handle> {
    handles.sort();
    handles
}

impl Run {
    fn new(script: &Script) -> Self {
        let bounds = Bounds { calls: script.calls, questions: script.questions };
        Self { bounds, session: Session::opening(bounds), model: Model::default(), tokens: Vec::new() }
    }

    fn step(&mut self, number: usize, event: &Event) -> Check {
        match event {
            Event::Initialized => {
                let expected = self.model.phase() == Phase::Opening;
                self.model.initialized = true;
                same("initialized", self.session.initialized(), expected)
            }
            Event::Begin { call } => self.begin(call, number),
            Event::End { call } => self.end(call),
            Event::Cancel { call } => self.cancel(call),
            Event::Ask { question, call } => self.ask(question, call, number),
            Event::Answer { question } => self.answer(question),
            Event::Listen => self.listen(number),
            Event::EndListener { nth } => self.end_listener(*nth),
            Event::Drain => {
                let expected = self.model.listening().map(|index| self.finish_listener(index));
                self.model.draining = true;
                same("drain", self.session.drain(), expected)
            }
            Event::Close => self.close(),
        }
    }

    fn begin(&mut self, id: &RequestId, number: usize) -> Check {
        let cancel = Rc::new(number);
        let expected = match self.model.phase() {
            Phase::Closed => Err(CallRefused::Closed),
            Phase::Draining => Err(CallRefused::Draining),
            _ if self.model.running(id).is_some() => Err(CallRefused::DuplicateId),
            _ if self.model.in_flight() >= usize::from(self.bounds.calls) => {
                Err(CallRefused::TooManyInFlight { limit: self.bounds.calls })
            }
            _ => Ok(()),
        };
        same("begin_call", self.session.begin_call(id.clone(), Rc::clone(&cancel)), expected)?;
        if expected.is_ok() {
            self.model.calls.push(CallRecord { id: id.clone(), cancel, cancelled: false, ended: None });
        }
        Ok(())
    }

    fn end(&mut self, id: &RequestId) -> Check {
        let ended = self.session.end_call(id);
        let Some(index) = self.model.running(id) else {
            same("the questions of no call", ended.questions, Vec::new())?;
            return same("the end of no call", ended.outcome, Outcome::Discard);
        };
        let expected = if self.model.calls[index].cancelled { Outcome::Discard } else { Outcome::Deliver };
        self.model.calls[index].ended = Some(expected);
        let mut dropped = Vec::new();
        for open in self.model.open() {
            let question = &mut self.model.questions[open];
            if question.call == index {
                question.dropped = true;
                dropped.push(Rc::clone(&question.reply));
            }
        }
        same("the questions of a call", sorted(ended.questions), dropped)?;
        same("the end of a call", ended.outcome, expected)
    }

    fn cancel(&mut self, id: &RequestId) -> Check {
        let running = self.model.running(id).map(|index| &mut self.model.calls[index]);
        let expected = running.filter(|call| !call.cancelled).map(|call| {
            call.cancelled = true;
            Rc::clone(&call.cancel)
        });
        same("cancel_call", self.session.cancel_call(id), expected)
    }

    fn ask(&mut self, id: &RequestId, call: &RequestId, number: usize) -> Check {
        let reply = Rc::new(number);
        let (open, running) = (self.model.open(), self.model.running(call));
        let expected = match running {
            _ if self.model.closed => Err(AskRefused::Closed),
            None => Err(AskRefused::CallEnded),
            Some(index) if self.model.calls[index].cancelled => Err(AskRefused::CallCancelled),
            _ if open.iter().any(|index| self.model.questions[*index].id == *id) => {
                Err(AskRefused::DuplicateId)
            }
            _ if open.len() >= usize::from(self.bounds.questions) => {
                Err(AskRefused::TooManyOpen { limit: self.bounds.questions })
            }
            Some(index) => Ok(index),
        };
        same("ask", self.session.ask(id.clone(), call, Rc::clone(&reply)), expected.map(drop))?;
        if let Ok(call) = expected {
            let record = QuestionRecord { id: id.clone(), call, reply, answered: false, dropped: false };
            self.model.questions.push(record);
        }
        Ok(())
    }

    fn answer(&mut self, id: &RequestId) -> Check {
        let open = self.model.open().into_iter().find(|index| self.model.questions[*index].id == *id);
        let expected = open.map(|index| {
            self.model.questions[index].answered = true;
            Rc::clone(&self.model.questions[index].reply)
        });
        same("answer", self.session.answer(id), expected)
    }

    fn listen(&mut self, number: usize) -> Check {
        let stream = Rc::new(number);
        let opened = self.session.open_listener(Rc::clone(&stream));
        let refused = match self.model.phase() {
            Phase::Closed => Some(ListenRefused::Closed),
            Phase::Draining => Some(ListenRefused::Draining),
            _ => None,
        };
        if let Some(reason) = refused {
            return same("open_listener", opened.err(), Some(reason));
        }
        let opened = opened.map_err(|error| format!("open_listener: {error}"))?;
        let replaced = self.model.listening().map(|index| self.finish_listener(index));
        self.model.listeners.push(ListenerRecord { stream, ended: false });
        self.tokens.push(opened.token);
        same("the listener before", opened.replaced, replaced)
    }

    fn end_listener(&mut self, nth: usize) -> Check {
        let Some(token) = self.tokens.get(nth).copied() else { return Ok(()) };
        let expected = (!self.model.listeners[nth].ended).then(|| self.finish_listener(nth));
        same("close_listener", self.session.close_listener(token), expected)
    }

    fn finish_listener(&mut self, index: usize) -> Handle {
        self.model.listeners[index].ended = true;
        Rc::clone(&self.model.listeners[index].stream)
    }

    fn close(&mut self) -> Check {
        let released = self.session.close();
        let mut cancels = Vec::new();
        for call in self.model.calls.iter_mut().filter(|call| call.ended.is_none()) {
            if !call.cancelled {
                cancels.push(Rc::clone(&call.cancel));
            }
            call.ended = Some(Outcome::Discard);
        }
        let mut replies = Vec::new();
        for open in self.model.open() {
            self.model.questions[open].dropped = true;
            replies.push(Rc::clone(&self.model.questions[open].reply));
        }
        let listener = self.model.listening().map(|index| self.finish_listener(index));
        self.model.closed = true;
        same("the calls of a closed session", sorted(released.cancels), cancels)?;
        same("the questions of a closed session", sorted(released.questions), replies)?;
        same("the listener of a closed session", released.listener, listener)
    }

    /// What holds after every event, told by who holds which handle.
    fn invariants(&self) -> Check {
        let (session, model) = (&self.session, &self.model);
        same("phase", session.phase(), model.phase())?;
        same("is_idle", session.is_idle(), model.is_idle())?;
        same("in_flight", session.in_flight(), model.in_flight())?;
        same("open_questions", session.open_questions(), model.open().len())?;
        same("listener", session.listener(), model.listening().map(|index| &model.listeners[index].stream))?;
        for call in &model.calls {
            // Fired, delivered or discarded: in each case the machine let go, and what it let go it cannot hand out again.
            let held = call.ended.is_none() && !call.cancelled;
            same("holds a cancel handle", Rc::strong_count(&call.cancel) > 1, held)?;
        }
        for question in &model.questions {
            let held = !question.answered && !question.dropped;
            same("holds a reply handle", Rc::strong_count(&question.reply) > 1, held)?;
            let ended = model.calls[question.call].ended.is_some();
            if held && ended {
                return Err("a question outlives its call".to_owned());
            }
        }
        for listener in &model.listeners {
            same("holds a stream", Rc::strong_count(&listener.stream) > 1, !listener.ended)?;
        }
        let listening = model.listeners.iter().filter(|listener| !listener.ended).count();
        if listening > 1 {
            return Err(format!("{listening} streams listen"));
        }
        Ok(())
    }

    /// What holds once every handler is done: each call that began has exactly one end, and nothing is held.
    fn finish(mut self) -> Check {
        let begun: Vec<RequestId> = self.model.calls.iter().map(|call| call.id.clone()).collect();
        for id in &begun {
            self.end(id)?;
            self.invariants()?;
        }
        for call in &self.model.calls {
            let outcome = call.ended.ok_or("a call without an end")?;
            let wanted = call.cancelled || self.model.closed;
            if call.cancelled && outcome == Outcome::Deliver {
                return Err("a cancelled call was answered".to_owned());
            }
            if !wanted && outcome == Outcome::Discard {
                return Err("an answer was lost".to_owned());
            }
        }
        self.close()?;
        self.invariants()?;
        same("is_idle at the end", self.session.is_idle(), true)
    }
}

fn run(script: &Script) -> Check {
    let mut run = Run::new(script);
    for (number, event) in script.events.iter().enumerate() {
        run.step(number, event)
            .and_then(|()| run.invariants())
            .map_err(|reason| format!("event {number}, {event:?}: {reason}"))?;
    }
    run.finish()
}

// === scripts ===

/// Few ids, so that they meet; a number and its digits as text are two of them.
fn call() -> impl Strategy<Value = RequestId> {
    prop_oneof![Just(1.into()), Just(2.into()), Just(3.into()), Just("1".into())]
}

fn question() -> impl Strategy<Value = RequestId> {
    prop_oneof![Just("q1".into()), Just("q2".into()), Just("q3".into())]
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        1 => Just(Event::Initialized),
        8 => call().prop_map(|call| Event::Begin { call }),
        5 => call().prop_map(|call| Event::End { call }),
        3 => call().prop_map(|call| Event::Cancel { call }),
        6 => (question(), call()).prop_map(|(question, call)| Event::Ask { question, call }),
        4 => question().prop_map(|question| Event::Answer { question }),
        3 => Just(Event::Listen),
        3 => (0_usize..4).prop_map(|nth| Event::EndListener { nth }),
    ]
}

/// Mostly life, then perhaps a drain and a close, each followed by what comes too late.
fn script() -> impl Strategy<Value = Script> {
    let life = |most| prop::collection::vec(event(), 0..most);
    let end = |event: Event| proptest::option::of(Just(event));
    let parts = (life(50), end(Event::Drain), life(15), end(Event::Close), life(10));
    (parts, 0_u16..4, 0_u16..3).prop_map(|((mut events, drain, leaving, close, after), calls, questions)| {
        events.extend(drain);
        events.extend(leaving);
        events.extend(close);
        events.extend(after);
        Script { about: String::new(), calls, questions, events }
    })
}

proptest! {
    // A script is a few microseconds. Failures are kept as JSON, not as seeds.
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_sequence_of_events_keeps_every_promise(script in script()) {
        if let Err(reason) = run(&script) {
            let json = serde_json::to_string(&script).unwrap();
            prop_assert!(false, "{reason}\nreplay with: {json}");
        }
    }
}

#[test]
fn kept_scripts_still_pass() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/regressions/lifecycle");
    let mut replayed = 0;
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let script: Script = serde_json::from_slice(&fs::read(&path).unwrap())
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        if let Err(reason) = run(&script) {
            panic!("{}: {reason}", path.display());
        }
        replayed += 1;
    }
    assert!(replayed >= 5, "{replayed} scripts in {}", folder.display());
}
