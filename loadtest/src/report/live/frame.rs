//! What the live view says.

use std::{collections::VecDeque, time::Duration};

use crate::{
    plan::Plan,
    report::{
        format::{clean, count, duration, percent, plural, rate},
        table::Ink,
        text::Style,
    },
    tally::{Sketch, Tally, Thread},
};

/// Seconds that the small plots reach back, at most.
const PAST: usize = 60;

/// Columns of the bar that shows how far it is.
const BAR: usize = 30;

/// Replicas that are told of.
const REPLICAS: usize = 6;

/// Kinds of errors that are told of: the most frequent.
const ERRORS: usize = 3;

/// Eighths of a character's height.
const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Everything that is shown, kept up to date.
pub(super) struct Frame {
    pub(super) name: String,
    clients: u32,
    arrival: String,
    warmup: Duration,
    length: Duration,
    elapsed: Duration,
    total: Tally,
    /// The last of them is now.
    ticks: VecDeque<Tick>,
}

/// What happened since the last time, per second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Tick {
    rate: f64,
    failed: f64,
    p50: Option<Duration>,
    p99: Option<Duration>,
    sessions: u64,
    streams: u64,
    /// Of the busiest thread, the share of its time.
    busy: f64,
}

/// A line in several inks.
#[derive(Default)]
struct Line(Vec<(String, Ink)>);

// === impl Frame ===

impl Frame {
    pub(super) fn new(plan: &Plan) -> Self {
        Self {
            name: clean(&plan.scenario.name),
            clients: plan.clients,
            arrival: crate::report::model::arrival(plan.arrival),
            warmup: plan.warmup.get(),
            length: plan.warmup.get() + plan.duration.get(),
            elapsed: Duration::ZERO,
            total: Tally { slot_seconds: plan.slot_seconds(), ..Tally::default() },
            ticks: VecDeque::new(),
        }
    }

    /// Adds what was counted in the time since.
    pub(super) fn add(&mut self, elapsed: Duration, since: Duration, delta: &Tally) {
        self.elapsed = elapsed;
        self.total.merge(delta);
        // What the picture needs of the past is in the ticks.
        while self.total.timeline.len() > PAST {
            self.total.timeline.pop_first();
        }
        if self.ticks.len() == PAST {
            self.ticks.pop_front();
        }
        self.ticks.push_back(self.tick(since, delta));
    }

    fn tick(&self, since: Duration, delta: &Tally) -> Tick {
        let seconds = since.as_secs_f64().max(0.001);
        let (mut latency, mut succeeded, mut failed) = (Sketch::default(), 0, 0);
        for second in delta.timeline.values() {
            latency.add(&second.latency);
            succeeded += second.succeeded;
            failed += second.failures();
        }
        let at = |percent| (!latency.is_empty()).then(|| latency.percentile(percent));
        // How many are open is known of seconds that are over.
        let over = self.elapsed.as_secs() / u64::from(self.total.slot_seconds.max(1));
        let over = u32::try_from(over).unwrap_or(u32::MAX);
        let newest = self.total.timeline.range(..over).next_back().map(|(_, second)| second);
        Tick {
            rate: succeeded as f64 / seconds,
            failed: failed as f64 / seconds,
            p50: at(50.0),
            p99: at(99.0),
            sessions: newest.map_or(0, |second| second.sessions_open),
            streams: newest.map_or(0, |second| second.streams_open),
            busy: delta.threads.iter().map(Thread::load).fold(0.0, f64::max).min(1.0),
        }
    }

    /// What is run.
    pub(super) fn heading(&self) -> String {
        let clients = plural(self.clients.into(), "client");
        format!("{}: {clients}, {}, {}", self.name, self.arrival, duration(self.length))
    }

    /// One plain line.
    pub(super) fn line(&self) -> String {
        let now = self.now();
        let mut line = format!(
            "{:>10}  {:>10}  p50 {:>8}  p99 {:>8}  failed {}  sessions {}",
            duration(self.elapsed),
            rate(now.rate),
            shown(now.p50),
            shown(now.p99),
            rate(now.failed),
            count(now.sessions),
        );
        if now.streams > 0 {
            line.push_str(&format!("  streams {}", count(now.streams)));
        }
        if self.total.wrong() > 0 {
            line.push_str(&format!("  WRONG {}", count(self.total.wrong())));
        }
        line
    }

    /// All of it, in lines of at most so many columns.
    pub(super) fn lines(&self, width: usize, style: Style) -> Vec<String> {
        let mut lines =
            vec![Line::default().strong(&self.heading()), self.progress(), self.present(), self.past()];
        lines.extend([self.open(), self.findings()]);
        if self.ticks.len() > 2 {
            lines.push(self.plots(width));
        }
        lines.extend(self.errors());
        lines.extend(self.replicas());
        lines.extend(self.generator());
        // The last column is left free: some terminals break the line there.
        lines.iter().map(|line| line.show(width.saturating_sub(1), style)).collect()
    }

    fn now(&self) -> Tick {
        self.ticks.back().copied().unwrap_or_default()
    }

    fn progress(&self) -> Line {
        let share = (self.elapsed.as_secs_f64() / self.length.as_secs_f64().max(0.001)).min(1.0);
        let full = (share * BAR as f64) as usize;
        let of = format!(" {} of {}", duration(self.elapsed), duration(self.length));
        let phase = match self.elapsed {
            elapsed if elapsed < self.warmup => "  warm-up: not counted yet",
            elapsed if elapsed >= self.length => "  ending: waiting for the last answers",
            _ => "",
        };
        Line::default().plain(&"█".repeat(full)).dim(&"░".repeat(BAR - full)).plain(&of).dim(phase)
    }

    fn present(&self) -> Line {
        let now = self.now();
        let failed = if now.failed > 0.0 { Ink::Caution } else { Ink::Plain };
        Line::default()
            .dim("now       ")
            .plain(&format!(
                "{:>11}   p50 {:>8}   p99 {:>8}   ",
                rate(now.rate),
                shown(now.p50),
                shown(now.p99)
            ))
            .ink(&format!("failed {}", rate(now.failed)), failed)
    }

    fn past(&self) -> Line {
        let overall = self.total.overall();
        let at = |percent| (!overall.latency.is_empty()).then(|| overall.latency.percentile(percent));
        let errors = if overall.failures() > 0 { Ink::Caution } else { Ink::Plain };
        let (ended, p50, p99) = (count(overall.ended()), shown(at(50.0)), shown(at(99.0)));
        Line::default()
            .dim("so far    ")
            .plain(&format!("{ended:>11}   p50 {p50:>8}   p99 {p99:>8}   "))
            .ink(&format!("errors {}", percent(overall.error_rate())), errors)
    }

    fn open(&self) -> Line {
        let now = self.now();
        let (sessions, streams) = (plural(now.sessions, "session"), plural(now.streams, "stream"));
        Line::default().dim("open      ").plain(&format!("{sessions}   {streams}"))
    }

    /// What ought to be 0.
    fn findings(&self) -> Line {
        let lost = self.total.sessions.lost + self.total.sessions.handles_lost;
        let told = |name: &str, times: u64, ink| {
            (format!("{name} {}   ", count(times)), if times > 0 { ink } else { Ink::Plain })
        };
        let findings = [
            told("wrong", self.total.wrong(), Ink::Bad),
            told("hung", self.total.hung(), Ink::Caution),
            told("sessions lost", lost, Ink::Caution),
        ];
        findings.iter().fold(Line::default().dim("found     "), |line, (text, ink)| line.ink(text, *ink))
    }

    fn plots(&self, width: usize) -> Line {
        // Two of them, with their names, beside each other.
        let room = (width.saturating_sub(26) / 2).clamp(4, PAST);
        let last = |of: fn(&Tick) -> f64| {
            let values: Vec<f64> =
                self.ticks.iter().skip(self.ticks.len().saturating_sub(room)).map(of).collect();
            spark(&values)
        };
        let rates = last(|tick| tick.rate);
        let slowest = last(|tick| tick.p99.unwrap_or_default().as_secs_f64());
        Line::default().dim("rate      ").plain(&rates).dim("   p99  ").plain(&slowest)
    }

    fn errors(&self) -> Option<Line> {
        let mut errors: Vec<_> = self.total.errors().into_iter().collect();
        errors.sort_by_key(|(_, times)| std::cmp::Reverse(*times));
        let words: Vec<String> =
            errors.iter().take(ERRORS).map(|(kind, times)| format!("{kind} {}", count(*times))).collect();
        let more = errors.len().saturating_sub(ERRORS);
        let rest = if more > 0 { format!("   {} more", plural(more as u64, "kind")) } else { String::new() };
        (!words.is_empty())
            .then(|| Line::default().dim("errors    ").ink(&words.join("   "), Ink::Caution).dim(&rest))
    }

    fn replicas(&self) -> Option<Line> {
        let answered = &self.total.replicas.answered;
        let all: u64 = answered.values().sum();
        let share = |times: u64| percent(times as f64 / all.max(1) as f64);
        let words: Vec<String> = answered
            .iter()
            .take(REPLICAS)
            .map(|(name, times)| format!("{} {}", clean(name), share(*times)))
            .collect();
        let rest = if answered.len() > REPLICAS {
            format!("   {} more", answered.len() - REPLICAS)
        } else {
            String::new()
        };
        (!words.is_empty()).then(|| Line::default().dim("replicas  ").plain(&words.join("   ")).dim(&rest))
    }

    fn generator(&self) -> Option<Line> {
        let busy = self.now().busy;
        let dropped = self.total.arrivals.dropped;
        let line = Line::default().dim("generator ");
        let ink = if busy > 0.9 { Ink::Caution } else { Ink::Plain };
        let line = line.ink(&format!("busiest thread {}", percent(busy)), ink);
        let given_up = format!("   {} given up", plural(dropped, "start"));
        let line = if dropped > 0 { line.ink(&given_up, Ink::Caution) } else { line };
        (busy > 0.0 || dropped > 0).then_some(line)
    }
}

// === impl Line ===

impl Line {
    fn ink(mut self, text: &str, ink: Ink) -> Self {
        self.0.push((text.to_owned(), ink));
        self
    }

    fn plain(self, text: &str) -> Self {
        self.ink(text, Ink::Plain)
    }

    fn dim(self, text: &str) -> Self {
        self.ink(text, Ink::Dim)
    }

    fn strong(self, text: &str) -> Self {
        self.ink(text, Ink::Strong)
    }

    /// Cut off at so many columns: a line that is broken by the terminal would be two.
    fn show(&self, width: usize, style: Style) -> String {
        let mut room = width;
        let mut shown = String::new();
        for (text, ink) in &self.0 {
            let cut: String = text.chars().take(room).collect();
            room -= cut.chars().count();
            shown.push_str(&style.ink(&cut, *ink));
        }
        shown
    }
}

fn shown(latency: Option<Duration>) -> String {
    latency.map_or_else(|| "–".to_owned(), duration)
}

/// Values as little bars, from 0 to the greatest.
fn spark(values: &[f64]) -> String {
    let most = values.iter().copied().fold(0.0, f64::max);
    let block = |value: &f64| {
        let level = if most > 0.0 { (value / most * (BLOCKS.len() - 1) as f64).round() as usize } else { 0 };
        BLOCKS[level.min(BLOCKS.len() - 1)]
    };
    values.iter().map(block).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_bars_reach_from_nothing_to_the_greatest() {
        assert_eq!(spark(&[0.0, 5.0, 10.0]), "▁▅█");
        assert_eq!(spark(&[0.0, 0.0]), "▁▁");
    }

    #[test]
    fn a_line_is_cut_where_the_terminal_ends() {
        let line = Line::default().plain("abc").ink("def", Ink::Bad).dim("ghi");
        assert_eq!(line.show(5, Style::PLAIN), "abcde");
        assert_eq!(line.show(5, Style::COLOR), "abc\u{1b}[1;31mde\u{1b}[0m");
    }
}
