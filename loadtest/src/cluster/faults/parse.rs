//! Text to faults.

use super::{Fault, How, Kind};
use crate::units::{Span, UnitError};

/// The longest text of a fault that is quoted back.
const QUOTED: usize = 80;

/// What is wrong with one `--fault`, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("--fault {text:?}: {problem}")]
pub struct FaultError {
    text: String,
    problem: Problem,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum Problem {
    #[error("it has no time; write KIND@TIME, as kill-replica@10s")]
    NoTime,
    #[error("there is no fault {name:?}{}; there are {all}", suggestion(.near))]
    Kind { name: String, near: Option<&'static str>, all: String },
    #[error("{0}")]
    Time(UnitError),
    #[error("the duration after the + {0}")]
    Duration(UnitError),
    #[error("{0} needs a duration, as {0}@10s+5s")]
    DurationMissing(&'static str),
    #[error("{0} has no duration; leave out what follows the +")]
    DurationUnknown(&'static str),
    #[error("{0} hurts no single replica; leave out what follows the :")]
    NoReplica(&'static str),
    #[error("{0:?} is no replica; they are numbered from 0, as kill-replica:1@10s")]
    Replica(String),
    #[error("it names the replica twice")]
    ReplicaTwice,
    #[error("{kind} knows no {key:?}; it has {known}")]
    Key { kind: &'static str, key: String, known: &'static str },
    #[error("how={0:?} is neither frozen nor refused")]
    How(String),
}

/// Reads all of them, or tells everything that is wrong.
///
/// # Errors
/// One for each mistake, in the order of the faults.
pub fn parse<S: AsRef<str>>(texts: &[S]) -> Result<Vec<Fault>, Vec<FaultError>> {
    let (mut faults, mut errors) = (Vec::new(), Vec::new());
    for text in texts.iter().map(AsRef::as_ref) {
        match one(text) {
            Ok(fault) => faults.push(fault),
            Err(problems) => errors.extend(problems.into_iter().map(|problem| {
                let text = text.chars().take(QUOTED).collect();
                FaultError { text, problem }
            })),
        }
    }
    if errors.is_empty() { Ok(faults) } else { Err(errors) }
}

fn one(text: &str) -> Result<Fault, Vec<Problem>> {
    let mut problems = Vec::new();
    let (what, when) = match text.split_once('@') {
        Some((what, when)) => (what, Some(when)),
        None => (text, None),
    };
    let (name, target) = match what.split_once(':') {
        Some((name, target)) => (name, Some(target)),
        None => (what, None),
    };
    let kind = Kind::ALL.into_iter().find(|kind| kind.as_str() == name.trim());
    if kind.is_none() {
        let all = Kind::ALL.map(Kind::as_str).join(", ");
        problems.push(Problem::Kind { name: name.to_owned(), near: nearest(name.trim()), all });
    }
    let times = when.ok_or(Problem::NoTime).and_then(times).unwrap_or_else(|problem| {
        problems.push(problem);
        (Span::default(), None)
    });
    let Some(kind) = kind else { return Err(problems) };
    let mut fault = Fault { kind, replica: None, how: How::default(), at: times.0, lasts: times.1 };
    if let Some(target) = target {
        target.split(',').for_each(|part| aim(&mut fault, part.trim(), &mut problems));
    }
    match fault.lasts {
        None if kind.needs_a_duration() && problems.is_empty() => {
            problems.push(Problem::DurationMissing(kind.as_str()));
        }
        Some(_) if !kind.may_have_a_duration() => problems.push(Problem::DurationUnknown(kind.as_str())),
        _ => {}
    }
    if problems.is_empty() { Ok(fault) } else { Err(problems) }
}

fn times(when: &str) -> Result<(Span, Option<Span>), Problem> {
    let (at, lasts) = match when.split_once('+') {
        Some((at, lasts)) => (at, Some(lasts)),
        None => (when, None),
    };
    let at = at.parse().map_err(Problem::Time)?;
    let lasts = lasts.map(|lasts| lasts.parse().map_err(Problem::Duration)).transpose()?;
    Ok((at, lasts))
}

/// Reads `1`, `replica=1` or `how=refused`.
fn aim(fault: &mut Fault, part: &str, problems: &mut Vec<Problem>) {
    let kind = fault.kind;
    let (key, value) = part.split_once('=').unwrap_or(("replica", part));
    match key {
        "replica" if !kind.hurts_a_replica() => problems.push(Problem::NoReplica(kind.as_str())),
        "replica" => match value.parse() {
            Ok(_) if fault.replica.is_some() => problems.push(Problem::ReplicaTwice),
            Ok(replica) => fault.replica = Some(replica),
            Err(_) => problems.push(Problem::Replica(value.to_owned())),
        },
        "how" if kind == Kind::CutReplica => match value {
            "frozen" => fault.how = How::Frozen,
            "refused" => fault.how = How::Refused,
            other => problems.push(Problem::How(other.to_owned())),
        },
        _ => problems.push(Problem::Key { kind: kind.as_str(), key: key.to_owned(), known: known(kind) }),
    }
}

fn known(kind: Kind) -> &'static str {
    match kind {
        Kind::CutReplica => "replica and how",
        kind if kind.hurts_a_replica() => "replica",
        _ => "none",
    }
}

fn suggestion(near: &Option<&'static str>) -> String {
    near.map(|near| format!(", did you mean {near}?")).unwrap_or_default()
}

/// The kind that was probably meant: one that begins alike, or differs in few letters.
fn nearest(name: &str) -> Option<&'static str> {
    let near = Kind::ALL.map(Kind::as_str).into_iter().min_by_key(|kind| distance(kind, name))?;
    (distance(near, name) <= 3).then_some(near)
}

/// How many letters have to be changed, put in or left out.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let changed = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
