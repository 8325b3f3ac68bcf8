//! What the histories of a fleet come to.

use std::{collections::BTreeMap, fmt, time::Duration};

use trunkline_protocol::Revision;

use super::history::{At, Event, History};

/// How many examples of each violation are kept, and how much of the history before each.
const EXAMPLES: usize = 3;
const BEFORE: usize = 25;

/// One thing that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Count {
    /// Sessions that the server did not know any more.
    SessionsLost,
    /// The same of handles, where there are no sessions.
    HandlesLost,
    /// Calls that ended without an answer, though nothing broke that would excuse it.
    AnswersLost,
    /// Answers beyond the first to one call.
    AnswersDuplicated,
    /// Progress and changes of resources that did not come.
    EventsLost,
    /// Those that came again.
    EventsDuplicated,
    /// Those that came after later ones.
    EventsOutOfOrder,
    /// Messages on a stream to which they do not belong.
    Misplaced,
    /// Times in which a call waited for the server for more than ten seconds beyond what it takes.
    Hung,
    /// Responses with a status that nothing explains.
    WrongStatuses,
    /// Answers that say something else than they should.
    WrongValues,
    /// Calls that were answered with an error.
    ErrorAnswers,
    /// Responses 429 or 503 that do not say when to come back.
    BareRefusals,
    /// Clients of whose history not everything was kept.
    Unchecked,
    /// Calls that broke before their answer, on connections that carry no stream to be resumed.
    FailedInFlight,
    /// Calls on streams that broke and cannot be resumed.
    CutForGood,
    /// Calls that broke and were not sent again, so that nobody knows whether they were run.
    UnknownOutcomes,
    /// Calls that began anew on another replica.
    Reruns,
    /// Responses 429 and 503.
    Refusals,
    /// Streams of calls that broke and went on.
    Resumptions,
    /// Streams that listen that broke and went on.
    ListenersResumed,
    /// Streams that listen that began anew, so that something may have been missed.
    ListenersRestarted,
    /// Sessions that were opened.
    Sessions,
    /// Calls of tools.
    Calls,
    /// Their answers.
    Answers,
    /// Progress, questions and changes of resources.
    Events,
}

/// Where a violation was found.
#[derive(Clone, Debug)]
pub struct Example {
    /// What it is.
    pub count: Count,
    /// The client.
    pub client: u32,
    /// What it speaks.
    pub revision: Revision,
    /// When.
    pub at: At,
    /// What it says beyond that.
    pub note: String,
    /// The client's history until then.
    pub before: Vec<Event>,
}

/// What was found in the histories of a fleet: the counts are the result of looking at each event of each client.
#[derive(Clone, Debug, Default)]
pub struct Report {
    counts: BTreeMap<Count, Tally>,
    examples: Vec<Example>,
    /// The longest time in which a client that kept calling had no success.
    pub longest_silence: Duration,
    /// Whose that was, and when it ended.
    pub silent: Option<(u32, At)>,
    /// The longest time in which no client had a success.
    pub silence_of_all: Duration,
    /// Who was refused by whom, and how often.
    pub refused: BTreeMap<String, u64>,
    /// When sessions of the older revisions were opened, in order: those whose number a server bounds.
    pub opened: Vec<At>,
    /// How many clients there are.
    pub clients: usize,
}

/// How often something was counted, and when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// How often.
    pub times: u64,
    /// The first time.
    pub first: At,
    /// The last time.
    pub last: At,
}

// === impl Count ===

impl Count {
    /// Everything that is counted, in the order in which it is shown.
    pub const ALL: [Self; 26] = [
        Self::SessionsLost,
        Self::HandlesLost,
        Self::AnswersLost,
        Self::AnswersDuplicated,
        Self::EventsLost,
        Self::EventsDuplicated,
        Self::EventsOutOfOrder,
        Self::Misplaced,
        Self::Hung,
        Self::WrongStatuses,
        Self::WrongValues,
        Self::ErrorAnswers,
        Self::BareRefusals,
        Self::Unchecked,
        Self::FailedInFlight,
        Self::CutForGood,
        Self::UnknownOutcomes,
        Self::Reruns,
        Self::Refusals,
        Self::Resumptions,
        Self::ListenersResumed,
        Self::ListenersRestarted,
        Self::Sessions,
        Self::Calls,
        Self::Answers,
        Self::Events,
    ];

    /// Whether it must be zero, whatever is done to the servers that leaves Redis and its data alone.
    #[must_use]
    pub fn is_violation(self) -> bool {
        self <= Self::Unchecked
    }

    /// Whether it happens when something breaks under a call, and never otherwise.
    #[must_use]
    pub fn is_breakage(self) -> bool {
        self > Self::Unchecked && self <= Self::Refusals
    }

    /// Its name in a table.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::SessionsLost => "sessions lost",
            Self::HandlesLost => "handles lost",
            Self::AnswersLost => "answers lost",
            Self::AnswersDuplicated => "answers duplicated",
            Self::EventsLost => "stream events lost",
            Self::EventsDuplicated => "stream events duplicated",
            Self::EventsOutOfOrder => "stream events out of order",
            Self::Misplaced => "messages on a wrong stream",
            Self::Hung => "calls hung over 10 s",
            Self::WrongStatuses => "wrong status codes",
            Self::WrongValues => "wrong values",
            Self::ErrorAnswers => "answers with an error",
            Self::BareRefusals => "503 or 429 without Retry-After",
            Self::Unchecked => "histories cut short",
            Self::FailedInFlight => "plain calls failed in flight",
            Self::CutForGood => "calls cut on streams without resumption",
            Self::UnknownOutcomes => "calls with an unknown outcome",
            Self::Reruns => "calls re-run",
            Self::Refusals => "503 or 429 seen",
            Self::Resumptions => "call streams resumed",
            Self::ListenersResumed => "listening streams resumed",
            Self::ListenersRestarted => "listening streams begun anew",
            Self::Sessions => "sessions opened",
            Self::Calls => "calls",
            Self::Answers => "answers",
            Self::Events => "stream events",
        }
    }
}

// === impl Report ===

impl Report {
    /// How often something was counted.
    #[must_use]
    pub fn count(&self, count: Count) -> u64 {
        self.tally(count).times
    }

    /// How often something was counted, and when.
    #[must_use]
    pub fn tally(&self, count: Count) -> Tally {
        self.counts.get(&count).copied().unwrap_or_default()
    }

    /// The violations that were found, apart from those a test expects.
    #[must_use]
    pub fn violations(&self, expected: &[Count]) -> Vec<Count> {
        let found = self.counts.iter().filter(|(_, tally)| tally.times > 0).map(|(count, _)| *count);
        found.filter(|count| count.is_violation() && !expected.contains(count)).collect()
    }

    /// Some examples of what was found.
    #[must_use]
    pub fn examples(&self) -> &[Example] {
        &self.examples
    }

    pub(super) fn of(clients: usize) -> Self {
        Self { clients, ..Self::default() }
    }

    pub(super) fn add(&mut self, count: Count, at: At, times: u64) {
        if times == 0 {
            return;
        }
        let tally = self.counts.entry(count).or_insert(Tally { times: 0, first: at, last: at });
        tally.times += times;
        tally.first = tally.first.min(at);
        tally.last = tally.last.max(at);
    }

    pub(super) fn refused(&mut self, who: String) {
        *self.refused.entry(who).or_default() += 1;
    }

    /// Counts a violation, and keeps it as an example if there are few.
    /// Of the history before it, what belongs to the call is kept, and the last of the rest.
    pub(super) fn find(
        &mut self,
        count: Count,
        history: &History,
        at: At,
        times: u64,
        (call, note): (Option<u32>, String),
    ) {
        if times == 0 {
            return;
        }
        self.add(count, at, times);
        if self.examples.iter().filter(|example| example.count == count).count() >= EXAMPLES {
            return;
        }
        let until = history.events.partition_point(|event| event.at <= at);
        let recent = until.saturating_sub(if call.is_some() { BEFORE / 2 } else { BEFORE });
        let earlier = history.events[..recent].iter();
        let own = earlier.filter(|event| call.is_some() && event.what.call() == call);
        let before = own.chain(&history.events[recent..until]).copied().collect();
        let (client, revision) = (history.client, history.revision);
        self.examples.push(Example { count, client, revision, at, note, before });
    }
}

/// A small table, and the examples below it.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  {:<44} {:>9}", "clients", self.clients)?;
        for count in Count::ALL {
            let tally = self.tally(count);
            write!(f, "  {:<44} {:>9}", count.name(), tally.times)?;
            if tally.times > 0 && (count.is_violation() || count.is_breakage()) {
                write!(f, "   from {} to {}", tally.first, tally.last)?;
            }
            writeln!(f)?;
        }
        for (who, times) in &self.refused {
            writeln!(f, "  {who:<44} {times:>9}")?;
        }
        let silent = self.silent.map(|(client, at)| format!("   client {client}, until {at}"));
        let silence = self.longest_silence.as_secs_f64();
        writeln!(
            f,
            "  {:<44} {silence:>8.3}s{}",
            "longest time without a success",
            silent.unwrap_or_default()
        )?;
        writeln!(
            f,
            "  {:<44} {:>8.3}s",
            "the same, of all clients together",
            self.silence_of_all.as_secs_f64()
        )?;
        for example in &self.examples {
            writeln!(f, "{example}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Example {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, revision) = (self.count.name(), self.revision.as_str());
        write!(f, "  {name}: client {} ({revision}) at {}: {}", self.client, self.at, self.note)?;
        for event in &self.before {
            write!(f, "\n      {} {:?}", event.at, event.what)?;
        }
        Ok(())
    }
}
