//! The session machine: what one replica knows of one session that nobody else can know for it. The calls that run here and
//! how to cancel them, the questions that wait here for an answer, and the stream that listens here.
//!
//! It does nothing itself. The driver keeps its handles in it (`C` cancels a call, `Q` takes a question's answer, `S` is the
//! listening stream of a GET), tells it what happens, and acts on the handles that come back. A handle comes back once.
//!
//! | event | [`Opening`](Phase::Opening) | [`Live`](Phase::Live) | [`Draining`](Phase::Draining) | [`Closed`](Phase::Closed) |
//! | --- | --- | --- | --- | --- |
//! | [`initialized`](Session::initialized) | to Live | – | – | – |
//! | [`begin_call`](Session::begin_call) | runs | runs | refused | refused |
//! | [`end_call`](Session::end_call) | deliver; discard if cancelled | the same | the same | discard |
//! | [`cancel_call`](Session::cancel_call) | fires once | fires once | fires once | – |
//! | [`ask`](Session::ask) | waits | waits | waits | refused |
//! | [`answer`](Session::answer) | once | once | once | – |
//! | [`open_listener`](Session::open_listener) | replaces | replaces | refused | refused |
//! | [`close_listener`](Session::close_listener) | if it is that one | the same | – | – |
//! | [`drain`](Session::drain) | to Draining | to Draining | – | – |
//! | [`close`](Session::close) | to Closed | to Closed | to Closed | – |
//!
//! A session serves calls before `notifications/initialized`, which may be late, lost, or have gone to another replica.
//! `initialize` itself is no call of a session, so no cancellation reaches it. Calls of the stateless revision have no session.

use std::mem;

use smallvec::SmallVec;

use crate::ids::RequestId;

/// One session on one replica. See the module's table.
#[derive(Debug)]
pub struct Session<C, Q, S> {
    // Lists, searched from the front: nearly always there are none to three of either, and an idle session holds no heap.
    // The first call has its place here: a session with one call at a time asks the allocator for nothing.
    calls: SmallVec<[Call<C>; 1]>,
    questions: Vec<Question<Q>>,
    listener: Option<S>,
    /// Of the newest listener. Would repeat after four billion streams of one session.
    generation: u32,
    bounds: Bounds,
    phase: Phase,
}

/// How far the session has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// `initialize` was answered, `notifications/initialized` was not seen. Usable.
    Opening,
    /// The client said it is ready.
    Live,
    /// This replica is leaving: running calls go on, nothing new begins.
    Draining,
    /// The session is over, or at least on this replica. Nothing is held.
    Closed,
}

/// Bounds on what one client holds open in one session on one replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The most calls in flight. They are searched one by one: keep it within a few hundred.
    pub calls: u16,
    /// The most questions that wait for an answer, over all calls.
    pub questions: u16,
}

/// Which listener, so that the end of an old one does not close its successor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListenerToken(u32);

/// Why a call does not begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallRefused {
    /// A call with this id is in flight.
    #[error("a request with this id is in flight")]
    DuplicateId,
    /// The bound is reached.
    #[error("the session has its limit of {limit} requests in flight")]
    TooManyInFlight {
        /// The bound.
        limit: u16,
    },
    /// This replica is leaving; another takes the call.
    #[error("this replica is shutting down")]
    Draining,
    /// The session is over.
    #[error("the session is closed")]
    Closed,
}

/// Why a question is not asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AskRefused {
    /// The call it belongs to is not in flight.
    #[error("the call that asks has ended")]
    CallEnded,
    /// The call it belongs to was cancelled.
    #[error("the call that asks was cancelled")]
    CallCancelled,
    /// A question with this id waits already.
    #[error("a question with this id is open")]
    DuplicateId,
    /// The bound is reached.
    #[error("the session has its limit of {limit} open questions")]
    TooManyOpen {
        /// The bound.
        limit: u16,
    },
    /// The session is over.
    #[error("the session is closed")]
    Closed,
}

/// Why a stream does not listen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ListenRefused {
    /// This replica is leaving; another takes the stream.
    #[error("this replica is shutting down")]
    Draining,
    /// The session is over.
    #[error("the session is closed")]
    Closed,
}

/// What becomes of a finished call's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It goes to the client.
    Deliver,
    /// Nobody waits for it: the call was cancelled, the session closed, or the call had ended before.
    Discard,
}

/// A call that ended.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "the outcome says whether the answer may be sent"]
pub struct Ended<Q> {
    /// What becomes of its answer.
    pub outcome: Outcome,
    /// Its questions that nobody answered; drop them.
    pub questions: Vec<Q>,
}

/// A stream that listens from now on.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a replaced stream has to be ended"]
pub struct Opened<S> {
    /// Names it in [`Session::close_listener`].
    pub token: ListenerToken,
    /// The stream before it; end it.
    pub replaced: Option<S>,
}

/// Everything a closed session held.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "the calls have to be cancelled and the stream ended"]
pub struct Released<C, Q, S> {
    /// Of calls that were not cancelled before; fire them.
    pub cancels: Vec<C>,
    /// Nobody will answer them; drop them.
    pub questions: Vec<Q>,
    /// End it.
    pub listener: Option<S>,
}

#[derive(Debug)]
struct Call<C> {
    id: RequestId,
    /// Gone once it was fired: the call is cancelled.
    cancel: Option<C>,
}

#[derive(Debug)]
struct Question<Q> {
    id: RequestId,
    call: RequestId,
    reply: Q,
}

// === impl Bounds ===

impl Default for Bounds {
    /// 64 calls: an agent fans out to a dozen or two. 16 questions: a person answers one at a time, and a model's few.
    fn default() -> Self {
        Self { calls: 64, questions: 16 }
    }
}

// === impl Session ===

impl<C, Q, S> Session<C, Q, S> {
    /// A session whose `initialize` was just answered.
    #[must_use]
    pub fn opening(bounds: Bounds) -> Self {
        Self {
            calls: SmallVec::new(),
            questions: Vec::new(),
            listener: None,
            generation: 0,
            bounds,
            phase: Phase::Opening,
        }
    }

    /// A session that another replica, or this one before, has seen live.
    #[must_use]
    pub fn live(bounds: Bounds) -> Self {
        Self { phase: Phase::Live, ..Self::opening(bounds) }
    }

    /// How far the session has come.
    #[must_use]
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Whether it holds no call, no question and no listener: nothing is lost if it is forgotten here.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        // A question belongs to a call in flight.
        self.calls.is_empty() && self.listener.is_none()
    }

    /// How many calls are in flight, cancelled ones that have not ended among them.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.calls.len()
    }

    /// How many questions wait.
    #[must_use]
    pub fn open_questions(&self) -> usize {
        self.questions.len()
    }

    /// The stream that carries what belongs to no call.
    #[must_use]
    pub fn listener(&self) -> Option<&S> {
        self.listener.as_ref()
    }

    /// `notifications/initialized` arrived. Whether the session became live by it.
    pub fn initialized(&mut self) -> bool {
        let opening = self.phase == Phase::Opening;
        if opening {
            self.phase = Phase::Live;
        }
        opening
    }

    /// A call begins. Each ends in one [`Self::end_call`], whatever happens to it meanwhile.
    ///
    /// # Errors
    /// [`CallRefused`]; the call must not run.
    pub fn begin_call(&mut self, id: RequestId, cancel: C) -> Result<(), CallRefused> {
        match self.phase {
            Phase::Opening | Phase::Live => {}
            Phase::Draining => return Err(CallRefused::Draining),
            Phase::Closed => return Err(CallRefused::Closed),
        }
        if self.find_call(&id).is_some() {
            return Err(CallRefused::DuplicateId);
        }
        if self.calls.len() >= usize::from(self.bounds.calls) {
            return Err(CallRefused::TooManyInFlight { limit: self.bounds.calls });
        }
        self.calls.push(Call { id, cancel: Some(cancel) });
        Ok(())
    }

    /// A call's handler is done. Its id may be used again.
    pub fn end_call(&mut self, id: &RequestId) -> Ended<Q> {
        let Some(index) = self.find_call(id) else {
            return Ended { outcome: Outcome::Discard, questions: Vec::new() };
        };
        let call = self.calls.swap_remove(index);
        let outcome = if call.cancel.is_some() { Outcome::Deliver } else { Outcome::Discard };
        let questions =
            self.questions.extract_if(.., |open| open.call == *id).map(|open| open.reply).collect();
        self.give_back_heap();
        Ended { outcome, questions }
    }

    /// The client no longer wants a call's answer. Returns what stops it, once; an unknown or finished call, and one
    /// cancelled before, has none.
    pub fn cancel_call(&mut self, id: &RequestId) -> Option<C> {
        let index = self.find_call(id)?;
        self.calls[index].cancel.take()
    }

    /// A running call asks the client. The question waits until [`Self::answer`], or until its call ends.
    ///
    /// # Errors
    /// [`AskRefused`]; the question must not be sent.
    pub fn ask(&mut self, question: RequestId, call: &RequestId, reply: Q) -> Result<(), AskRefused> {
        if self.phase == Phase::Closed {
            return Err(AskRefused::Closed);
        }
        let asking = self.find_call(call).ok_or(AskRefused::CallEnded)?;
        if self.calls[asking].cancel.is_none() {
            return Err(AskRefused::CallCancelled);
        }
        if self.questions.iter().any(|open| open.id == question) {
            return Err(AskRefused::DuplicateId);
        }
        if self.questions.len() >= usize::from(self.bounds.questions) {
            return Err(AskRefused::TooManyOpen { limit: self.bounds.questions });
        }
        self.questions.push(Question { id: question, call: call.clone(), reply });
        Ok(())
    }

    /// An answer arrived, or the asking call gave the question up. Returns who waits for it; nobody does where it is late
    /// or was never asked.
    pub fn answer(&mut self, question: &RequestId) -> Option<Q> {
        let index = self.questions.iter().position(|open| open.id == *question)?;
        let reply = self.questions.swap_remove(index).reply;
        self.give_back_heap();
        Some(reply)
    }

    /// A stream listens. The newest carries the messages, so that a client which lost its connection without noticing is
    /// not locked out by the stream it left behind.
    ///
    /// # Errors
    /// [`ListenRefused`].
    pub fn open_listener(&mut self, stream: S) -> Result<Opened<S>, ListenRefused> {
        match self.phase {
            Phase::Opening | Phase::Live => {}
            Phase::Draining => return Err(ListenRefused::Draining),
            Phase::Closed => return Err(ListenRefused::Closed),
        }
        self.generation = self.generation.wrapping_add(1);
        Ok(Opened { token: ListenerToken(self.generation), replaced: self.listener.replace(stream) })
    }

    /// A stream ended. Returns it if it was the one that listened.
    pub fn close_listener(&mut self, token: ListenerToken) -> Option<S> {
        if token.0 == self.generation { self.listener.take() } else { None }
    }

    /// This replica is leaving. Returns the listening stream, to be ended with a hint when to come back; the session then
    /// goes on elsewhere, and calls go on here until they end.
    pub fn drain(&mut self) -> Option<S> {
        if self.phase != Phase::Closed {
            self.phase = Phase::Draining;
        }
        self.listener.take()
    }

    /// The session is over: deleted, expired, or the time to drain is. Returns all that it held; calls that still run end
    /// in [`Outcome::Discard`].
    pub fn close(&mut self) -> Released<C, Q, S> {
        self.phase = Phase::Closed;
        Released {
            cancels: mem::take(&mut self.calls).into_iter().filter_map(|call| call.cancel).collect(),
            questions: mem::take(&mut self.questions).into_iter().map(|open| open.reply).collect(),
            listener: self.listener.take(),
        }
    }

    fn find_call(&self, id: &RequestId) -> Option<usize> {
        self.calls.iter().position(|call| call.id == *id)
    }

    /// Sessions wait far longer than they work.
    fn give_back_heap(&mut self) {
        if self.calls.is_empty() {
            self.calls = SmallVec::new();
        }
        if self.questions.is_empty() {
            self.questions = Vec::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::mem::size_of;

    use super::*;

    type Small = Session<Box<u8>, Box<u8>, Box<u8>>;

    fn id(number: i64) -> RequestId {
        RequestId::Number(number)
    }

    fn live() -> Session<&'static str, &'static str, &'static str> {
        Session::live(Bounds { calls: 2, questions: 2 })
    }

    #[test]
    fn an_idle_session_is_small_and_holds_no_heap() {
        assert!(size_of::<Small>() <= 88, "{}", size_of::<Small>());
        let mut session = live();
        session.begin_call(id(1), "cancel").unwrap();
        session.ask("q1".into(), &id(1), "reply").unwrap();
        session.ask("q2".into(), &id(1), "reply").unwrap();
        session.answer(&"q1".into());
        session.answer(&"q2".into());
        assert_eq!(session.questions.capacity(), 0);
        assert_eq!(session.end_call(&id(1)).outcome, Outcome::Deliver);
        assert!(session.is_idle());
        session.begin_call(id(1), "cancel").unwrap();
        assert!(!session.calls.spilled());
        session.begin_call(id(2), "cancel").unwrap();
        assert!(session.calls.spilled());
        for call in [1, 2] {
            let _ended = session.end_call(&id(call));
        }
        assert!(!session.calls.spilled());
    }

    #[test]
    fn a_session_is_usable_before_the_client_says_it_is_ready() {
        let mut session: Small = Session::opening(Bounds::default());
        assert_eq!(session.phase(), Phase::Opening);
        session.begin_call(id(1), Box::new(0)).unwrap();
        assert!(session.initialized());
        assert!(!session.initialized());
        assert_eq!(session.phase(), Phase::Live);
        assert_eq!(session.end_call(&id(1)).outcome, Outcome::Deliver);
    }

    #[test]
    fn an_id_in_flight_is_not_begun_again_until_its_handler_is_done() {
        let mut session = live();
        session.begin_call(id(1), "a").unwrap();
        assert_eq!(session.begin_call(id(1), "b"), Err(CallRefused::DuplicateId));
        assert_eq!(session.cancel_call(&id(1)), Some("a"));
        assert_eq!(session.begin_call(id(1), "b"), Err(CallRefused::DuplicateId), "its handler still runs");
        assert_eq!(session.end_call(&id(1)).outcome, Outcome::Discard);
        session.begin_call(id(1), "b").unwrap();
        assert_eq!(session.end_call(&id(1)).outcome, Outcome::Deliver);
        assert_eq!(session.end_call(&id(1)).outcome, Outcome::Discard, "never two answers");
    }

    #[test]
    fn a_cancellation_fires_once_and_only_while_the_call_runs() {
        let mut session = live();
        assert_eq!(session.cancel_call(&id(0)), None, "initialize is no call of a session");
        session.begin_call(id(1), "a").unwrap();
        assert_eq!(session.cancel_call(&"1".into()), None, "1 is not \"1\"");
        assert_eq!(session.cancel_call(&id(1)), Some("a"));
        assert_eq!(session.cancel_call(&id(1)), None);
        let _ = session.end_call(&id(1));
        assert_eq!(session.cancel_call(&id(1)), None);
    }

    #[test]
    fn calls_and_questions_have_their_bounds() {
        let mut session = live();
        session.begin_call(id(1), "a").unwrap();
        session.begin_call(id(2), "b").unwrap();
        assert_eq!(session.begin_call(id(3), "c"), Err(CallRefused::TooManyInFlight { limit: 2 }));
        session.ask("q1".into(), &id(1), "x").unwrap();
        session.ask("q2".into(), &id(2), "y").unwrap();
        assert_eq!(session.ask("q3".into(), &id(1), "z"), Err(AskRefused::TooManyOpen { limit: 2 }));
        assert_eq!((session.in_flight(), session.open_questions()), (2, 2));
    }

    #[test]
    fn a_question_ends_with_its_call() {
        let mut session = live();
        session.begin_call(id(1), "a").unwrap();
        session.begin_call(id(2), "b").unwrap();
        session.ask("q1".into(), &id(1), "x").unwrap();
        session.ask("q2".into(), &id(2), "y").unwrap();
        assert_eq!(session.ask("q1".into(), &id(2), "z"), Err(AskRefused::DuplicateId));
        assert_eq!(session.end_call(&id(1)).questions, ["x"]);
        assert_eq!(session.answer(&"q1".into()), None, "late");
        assert_eq!(session.answer(&"q2".into()), Some("y"));
        assert_eq!(session.answer(&"q2".into()), None, "once");
        assert_eq!(session.ask("q3".into(), &id(1), "z"), Err(AskRefused::CallEnded));
        session.cancel_call(&id(2));
        assert_eq!(session.ask("q3".into(), &id(2), "z"), Err(AskRefused::CallCancelled));
    }

    #[test]
    fn the_newest_listener_carries_the_messages_and_an_old_end_leaves_it_alone() {
        let mut session = live();
        let first = session.open_listener("first").unwrap();
        assert_eq!(first.replaced, None);
        let second = session.open_listener("second").unwrap();
        assert_eq!(second.replaced, Some("first"));
        assert_eq!(session.close_listener(first.token), None);
        assert_eq!(session.listener(), Some(&"second"));
        assert!(!session.is_idle());
        assert_eq!(session.close_listener(second.token), Some("second"));
        assert_eq!(session.close_listener(second.token), None);
        assert!(session.is_idle());
    }

    #[test]
    fn a_drain_ends_the_listener_and_lets_calls_go_on() {
        let mut session = live();
        session.begin_call(id(1), "a").unwrap();
        let _ = session.open_listener("stream").unwrap();
        assert_eq!(session.drain(), Some("stream"));
        assert_eq!(session.drain(), None);
        assert_eq!(session.begin_call(id(2), "b"), Err(CallRefused::Draining));
        assert_eq!(session.open_listener("again"), Err(ListenRefused::Draining));
        session.ask("q".into(), &id(1), "x").unwrap();
        assert_eq!(session.answer(&"q".into()), Some("x"));
        assert!(!session.initialized());
        assert_eq!(session.end_call(&id(1)).outcome, Outcome::Deliver);
        assert!(session.is_idle());
    }

    #[test]
    fn a_closed_session_gives_everything_back_and_takes_nothing() {
        let mut session = live();
        session.begin_call(id(1), "a").unwrap();
        session.begin_call(id(2), "b").unwrap();
        session.cancel_call(&id(1));
        session.ask("q".into(), &id(2), "x").unwrap();
        let opened = session.open_listener("stream").unwrap();
        let released = session.close();
        assert_eq!(released.cancels, ["b"], "the other was fired before");
        assert_eq!((released.questions, released.listener), (vec!["x"], Some("stream")));
        assert_eq!(session.drain(), None);
        assert_eq!(session.phase(), Phase::Closed);
        assert_eq!(session.begin_call(id(3), "c"), Err(CallRefused::Closed));
        assert_eq!(session.ask("r".into(), &id(2), "y"), Err(AskRefused::Closed));
        assert_eq!(session.open_listener("again"), Err(ListenRefused::Closed));
        assert_eq!(session.close_listener(opened.token), None);
        assert_eq!(session.end_call(&id(2)).outcome, Outcome::Discard);
        assert_eq!(session.answer(&"q".into()), None);
        let again = session.close();
        assert!(again.cancels.is_empty() && again.questions.is_empty() && again.listener.is_none());
    }
}
