//! What a person sees while a run goes on: a few lines that are drawn again in place on a terminal, and otherwise one plain
//! line now and then.

mod frame;

use std::{
    collections::VecDeque,
    io::{self, IsTerminal, Stderr, Write},
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;

use self::frame::Frame;
use super::{format::clean, table::Ink, text::Style};
use crate::{driver::Observer, plan::Plan, tally::Tally};

/// Notes that wait to be shown; they are shown every second, and nothing says more than that in one.
const NOTES: usize = 100;

/// About how many plain lines a whole run has: enough to see that it goes on, few enough for a log.
const LINES: u64 = 30;

/// The steps between two plain lines, in seconds.
const STEPS: [u64; 8] = [1, 2, 5, 10, 20, 30, 60, 300];

/// The width where the terminal does not tell its own.
const WIDTH: usize = 80;

/// How a run is shown while it goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Terminal {
    /// Not at all.
    Nothing,
    /// A plain line now and then, for logs and pipes.
    Lines,
    /// A few lines that are drawn again in place.
    InPlace,
}

/// Shows how a run goes on: an [`Observer`].
pub struct Live<W = Stderr> {
    out: W,
    terminal: Terminal,
    style: Style,
    /// Only where the terminal is asked for it.
    width: Box<dyn Fn() -> usize + Send>,
    frame: Frame,
    notes: Notes,
    begun: Option<Instant>,
    told: Instant,
    /// Lines of the frame that is on the terminal.
    drawn: usize,
    /// When the next plain line is due, in seconds.
    next_line: u64,
    /// Between two plain lines, in seconds.
    step: u64,
}

/// Where others say what a person should know: a fault that was done, an agent that was lost. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Notes {
    waiting: Arc<Mutex<VecDeque<String>>>,
}

// === impl Terminal ===

impl Terminal {
    /// What fits this process's standard error, which live views go to: standard output is for the report.
    #[must_use]
    pub fn of_stderr(quiet: bool) -> Self {
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        match (quiet, io::stderr().is_terminal() && !dumb) {
            (true, _) => Self::Nothing,
            (false, true) => Self::InPlace,
            (false, false) => Self::Lines,
        }
    }
}

// === impl Notes ===

impl Notes {
    /// Says something in a line. It is shown within a second or so, while a run goes on. Beyond a bound the oldest is lost.
    pub fn add(&self, text: &str) {
        let mut waiting = self.waiting.lock();
        if waiting.len() == NOTES {
            waiting.pop_front();
        }
        waiting.push_back(text.to_owned());
    }

    fn take(&self) -> Vec<String> {
        self.waiting.lock().drain(..).collect()
    }
}

// === impl Live ===

impl Live {
    /// Shows a plan's run on standard error.
    #[must_use]
    pub fn new(plan: &Plan, terminal: Terminal) -> Self {
        Self::to(io::stderr(), plan, terminal, Style::of_stderr(), Box::new(width))
    }
}

impl<W: Write> Live<W> {
    fn to(
        out: W,
        plan: &Plan,
        terminal: Terminal,
        style: Style,
        width: Box<dyn Fn() -> usize + Send>,
    ) -> Self {
        let length = (plan.warmup.get() + plan.duration.get()).as_secs();
        let step = STEPS.into_iter().find(|step| length / step <= LINES).unwrap_or(STEPS[STEPS.len() - 1]);
        Self {
            out,
            terminal,
            style,
            width,
            frame: Frame::new(plan),
            notes: Notes::default(),
            begun: None,
            told: Instant::now(),
            drawn: 0,
            next_line: 0,
            step,
        }
    }

    /// The same under another name than the scenario's: the policy's, where several runs follow each other.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        self.frame.name = clean(name);
        self
    }

    /// Where others say what a person should know.
    #[must_use]
    pub fn notes(&self) -> Notes {
        self.notes.clone()
    }

    /// Shows a note at once.
    pub fn notice(&mut self, text: &str) {
        self.notes.add(text);
        self.show_notes();
        self.draw();
    }

    /// Takes the frame off the terminal: what follows is for the report.
    pub fn finish(&mut self) {
        self.show_notes();
        self.erase();
    }

    fn tell(&mut self, elapsed: Duration, since: Duration, delta: &Tally) {
        self.frame.add(elapsed, since, delta);
        self.show_notes();
        match self.terminal {
            Terminal::Nothing => {}
            Terminal::InPlace => self.draw(),
            Terminal::Lines => {
                if elapsed.as_secs() >= self.next_line {
                    self.next_line = elapsed.as_secs() + self.step;
                    let line = self.frame.line();
                    self.write(&format!("{line}\n"));
                }
            }
        }
    }

    fn show_notes(&mut self) {
        let notes = self.notes.take();
        if notes.is_empty() || self.terminal == Terminal::Nothing {
            return;
        }
        self.erase();
        let at =
            self.begun.map(|begun| format!("{:>6.1} s  ", begun.elapsed().as_secs_f64())).unwrap_or_default();
        for note in notes.iter().flat_map(|note| note.lines()) {
            let line = self.style.ink(&clean(note), Ink::Caution);
            self.write(&format!("{at}{line}\n"));
        }
    }

    fn draw(&mut self) {
        if self.terminal != Terminal::InPlace || self.begun.is_none() {
            return;
        }
        let lines = self.frame.lines((self.width)(), self.style);
        let mut text = self.back();
        for line in &lines {
            text.push_str(line);
            // The rest of an earlier, longer line.
            text.push_str("\u{1b}[K\n");
        }
        text.push_str("\u{1b}[J");
        self.drawn = lines.len();
        self.write(&text);
    }

    fn erase(&mut self) {
        if self.drawn > 0 {
            let text = format!("{}\u{1b}[J", self.back());
            self.drawn = 0;
            self.write(&text);
        }
    }

    /// Moves to the first line of what is drawn.
    fn back(&self) -> String {
        if self.drawn > 0 { format!("\u{1b}[{}A\r", self.drawn) } else { String::new() }
    }

    fn write(&mut self, text: &str) {
        // A run does not end because nobody looks.
        let _unseen = self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush());
    }
}

impl<W: Write + Send> Observer for Live<W> {
    fn begin(&mut self) {
        let now = Instant::now();
        (self.begun, self.told) = (Some(now), now);
        if self.terminal == Terminal::Lines {
            let heading = self.frame.heading();
            self.write(&format!("{heading}\n"));
            self.next_line = self.step;
        }
        self.draw();
    }

    fn progress(&mut self, delta: &Tally) {
        let now = Instant::now();
        let begun = self.begun.unwrap_or(now);
        let since = now.saturating_duration_since(self.told);
        self.told = now;
        self.tell(now.saturating_duration_since(begun), since, delta);
    }
}

/// How many columns standard error's terminal has.
fn width() -> usize {
    rustix::termios::tcgetwinsize(io::stderr())
        .ok()
        .map(|size| usize::from(size.ws_col))
        .filter(|width| *width > 0)
        .unwrap_or(WIDTH)
}

#[cfg(test)]
mod tests;
