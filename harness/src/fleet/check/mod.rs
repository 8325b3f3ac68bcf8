//! Checks the histories of a fleet. It sees nothing but what the clients noted, and looks at all of it.
//!
//! - `calls`: each call by itself, from its beginning to its end
//! - `values`: counters, and what was remembered
//! - `rings`: which changes of resources each listener heard, beside those that were made

mod calls;
mod rings;
#[cfg(test)]
mod tests;
mod values;

use std::time::Duration;

use super::{
    history::{Answer, At, History, Kind, What},
    report::{Count, Report},
};

/// The time in which the clients made their calls: before it they open sessions, after it they come to their ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// When all clients were ready.
    pub from: At,
    /// When they were told to stop.
    pub to: At,
}

/// Checks histories.
#[must_use]
pub fn check(histories: &[History], window: Window) -> Report {
    let mut report = Report::of(histories.len());
    for history in histories {
        if history.full {
            let at = history.events.last().map_or(At::default(), |event| event.at);
            report.find(Count::Unchecked, history, at, 1, (None, "the history is full".to_owned()));
        }
        sessions(&mut report, history);
        calls::check(&mut report, history);
        values::check(&mut report, history);
    }
    report.opened.sort_unstable();
    rings::check(&mut report, histories);
    silence(&mut report, histories, window);
    report
}

/// Each lost session counts once, however many requests were told so.
fn sessions(report: &mut Report, history: &History) {
    let mut lost = std::collections::HashSet::new();
    let has_sessions = history.revision.era() == trunkline_protocol::revision::Era::Legacy;
    for event in &history.events {
        match event.what {
            What::Opened { .. } => {
                report.add(Count::Sessions, event.at, 1);
                if has_sessions {
                    report.opened.push(event.at);
                }
            }
            What::Lost { session } if lost.insert(session) => {
                let count = if has_sessions { Count::SessionsLost } else { Count::HandlesLost };
                report.find(count, history, event.at, 1, (None, format!("number {session}")));
            }
            _ => {}
        }
    }
}

/// The longest times without a success.
fn silence(report: &mut Report, histories: &[History], window: Window) {
    let mut all = Vec::new();
    for history in histories {
        let own = successes(history, window);
        let longest = gaps(&own, window).max_by_key(|(gap, _)| *gap);
        if let Some((gap, until)) = longest.filter(|(gap, _)| *gap > report.longest_silence) {
            report.longest_silence = gap;
            report.silent = Some((history.client, until));
        }
        all.extend(own);
    }
    all.sort_unstable();
    report.silence_of_all = gaps(&all, window).map(|(gap, _)| gap).max().unwrap_or_default();
}

/// When calls that are answered at once were answered well.
fn successes(history: &History, window: Window) -> Vec<At> {
    let mut at_once = std::collections::HashSet::new();
    let mut successes = Vec::new();
    for event in &history.events {
        match event.what {
            What::Called { call, kind } => {
                let waits = matches!(kind, Kind::Slow { .. } | Kind::Confirm { .. } | Kind::Prime);
                if kind.is_tool() && !waits {
                    at_once.insert(call);
                }
            }
            What::Answered { call, answer: Answer::Value(_) } if at_once.contains(&call) => {
                successes.push(event.at);
            }
            What::Over { call, .. } => {
                at_once.remove(&call);
            }
            _ => {}
        }
    }
    successes.retain(|at| *at >= window.from && *at <= window.to);
    successes
}

/// The times between one and the next, those before the first and after the last included.
fn gaps(times: &[At], window: Window) -> impl Iterator<Item = (Duration, At)> {
    let ends = times.iter().copied().chain([window.to]);
    let begins = [window.from].into_iter().chain(times.iter().copied());
    begins.zip(ends).map(|(begin, end)| (end.since(begin), end))
}
