use super::*;
use crate::{
    report::testing,
    tally::{Check, ErrorKind},
};

/// What was written so far.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Written {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().clone()).unwrap()
    }
}

fn live(terminal: Terminal, width: usize) -> (Live<Written>, Written) {
    let written = Written::default();
    let live = Live::to(written.clone(), &testing::plan(), terminal, Style::PLAIN, Box::new(move || width));
    (live, written)
}

fn tell(live: &mut Live<Written>, seconds: std::ops::Range<u32>) {
    for second in seconds {
        let delta = testing::second(second);
        live.tell(Duration::from_secs(u64::from(second) + 1), Duration::from_secs(1), &delta);
    }
}

/// What a terminal shows after all that, as lines.
fn screen(text: &str) -> Vec<String> {
    let mut lines: Vec<Vec<char>> = vec![Vec::new()];
    let (mut row, mut column) = (0, 0);
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        match character {
            '\u{1b}' => {
                assert_eq!(rest.next(), Some('['));
                let mut number = String::new();
                let letter = loop {
                    match rest.next() {
                        Some(digit) if digit.is_ascii_digit() => number.push(digit),
                        other => break other,
                    }
                };
                match letter {
                    Some('A') => row -= number.parse::<usize>().unwrap(),
                    Some('K') => lines[row].truncate(column),
                    Some('J') => {
                        lines.truncate(row + 1);
                        lines[row].truncate(column);
                    }
                    other => panic!("{other:?}"),
                }
            }
            '\r' => column = 0,
            '\n' => {
                (row, column) = (row + 1, 0);
                lines.resize(lines.len().max(row + 1), Vec::new());
            }
            letter => {
                let line = &mut lines[row];
                line.resize(line.len().max(column + 1), ' ');
                line[column] = letter;
                column += 1;
            }
        }
    }
    lines.into_iter().map(String::from_iter).collect()
}

#[test]
fn on_a_terminal_it_is_drawn_in_place() {
    let (mut live, written) = live(Terminal::InPlace, 100);
    live.begin();
    tell(&mut live, 0..8);
    let shown = screen(&written.text());
    assert!(shown[0].starts_with("steady: 12 clients, poisson, 500/s"), "{shown:#?}");
    assert_eq!(shown.iter().filter(|line| line.starts_with("now ")).count(), 1, "{shown:#?}");
    assert!(shown.iter().any(|line| line.contains("8.00 s of 12.0 s")), "{shown:#?}");
    assert!(shown.iter().any(|line| line.starts_with("replicas  r0 50")), "{shown:#?}");
    live.finish();
    assert!(screen(&written.text()).iter().all(String::is_empty), "nothing is left of it");
}

#[test]
fn notes_stay_above_it() {
    let (mut live, written) = live(Terminal::InPlace, 100);
    live.begin();
    let notes = live.notes();
    notes.add("kill-replica:1\nwas\u{1b}[2J done");
    tell(&mut live, 0..3);
    live.notice("agent 2 is lost");
    live.finish();
    let shown = screen(&written.text());
    assert!(shown[0].ends_with("kill-replica:1") && shown[1].ends_with("was\\u{1b}[2J done"), "{shown:#?}");
    assert!(shown[2].ends_with("agent 2 is lost") && shown[3].is_empty(), "{shown:#?}");
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let (mut live, written) = live(Terminal::InPlace, 40);
    live.begin();
    tell(&mut live, 0..12);
    assert!(screen(&written.text()).iter().all(|line| line.chars().count() < 40));
}

#[test]
fn elsewhere_it_is_plain_lines() {
    let (mut live, written) = live(Terminal::Lines, 100);
    live.begin();
    tell(&mut live, 0..12);
    live.finish();
    let text = written.text();
    assert!(!text.contains('\u{1b}'));
    assert_eq!(text.lines().count(), 1 + 12, "{text}");
    assert!(text.lines().last().unwrap().contains("sessions 12"), "{text}");
}

#[test]
fn a_long_run_has_few_plain_lines() {
    let written = Written::default();
    let plan = Plan { duration: "1h".parse().unwrap(), ..testing::plan() };
    let mut live = Live::to(written.clone(), &plan, Terminal::Lines, Style::PLAIN, Box::new(|| 80));
    live.begin();
    tell(&mut live, 0..3600);
    let lines = written.text().lines().count();
    assert!((10..=40).contains(&lines), "{lines}");
}

#[test]
fn quiet_is_quiet() {
    let (mut live, written) = live(Terminal::Nothing, 100);
    live.begin();
    live.notice("something");
    tell(&mut live, 0..12);
    live.finish();
    assert_eq!(written.text(), "");
}

#[test]
fn what_is_wrong_is_told_at_once() {
    let (mut live, written) = live(Terminal::InPlace, 100);
    live.begin();
    let mut delta = testing::second(3);
    delta.findings.insert(Check::Swapped, 2);
    delta.operations.values_mut().next().unwrap().errors.insert(ErrorKind::Status(503), 4);
    live.tell(Duration::from_secs(1), Duration::from_secs(1), &delta);
    let shown = screen(&written.text());
    assert!(shown.iter().any(|line| line.starts_with("found     wrong 2")), "{shown:#?}");
    assert!(shown.iter().any(|line| line.starts_with("errors    http:503 4")), "{shown:#?}");
}
