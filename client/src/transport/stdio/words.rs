//! What a process writes to stderr: to the log, and the last of it into the error that says how it ended.

use std::{collections::VecDeque, sync::Arc};

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt};

/// The lines that an error repeats. A panic or a stack trace says in its last lines what it is about.
const LINES: usize = 10;

/// The longest part of a line that is kept and logged, in bytes.
const LINE: usize = 500;

/// As much as is read at once.
const READ: usize = 16 * 1024;

/// The last lines.
#[derive(Default)]
pub(super) struct Words {
    last: Mutex<VecDeque<String>>,
}

/// Reads stderr to its end, so that the process never waits for somebody to read it.
pub(super) async fn drain(mut stderr: impl AsyncRead + Unpin, name: String, words: Arc<Words>) {
    let (mut buffer, mut line) = (vec![0; READ], Vec::new());
    while let Ok(read @ 1..) = stderr.read(&mut buffer).await {
        for byte in &buffer[..read] {
            if *byte == b'\n' {
                words.say(&name, &line);
                line.clear();
            } else if line.len() < LINE {
                line.push(*byte);
            }
        }
    }
    words.say(&name, &line);
}

// === impl Words ===

impl Words {
    fn say(&self, name: &str, line: &[u8]) {
        let line = String::from_utf8_lossy(line.trim_ascii_end());
        if line.is_empty() {
            return;
        }
        tracing::debug!(server = name, "{line}");
        let mut last = self.last.lock();
        if last.len() == LINES {
            last.pop_front();
        }
        last.push_back(line.into_owned());
    }

    /// The last lines. Empty if there were none.
    pub(super) fn last(&self) -> String {
        let last = self.last.lock();
        last.iter().map(String::as_str).collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_last_lines_are_kept_and_cut() {
        let mut text: String = (0..1000).map(|n| format!("line {n}\n\r\n")).collect();
        text.push_str(&"x".repeat(10 * LINE));
        let words = Arc::new(Words::default());
        drain(text.as_bytes(), "program".to_owned(), words.clone()).await;
        let last = words.last();
        let lines: Vec<&str> = last.lines().collect();
        assert_eq!(lines.len(), LINES);
        assert_eq!(lines[LINES - 2], "line 999");
        assert_eq!(lines[LINES - 1].len(), LINE);
    }
}
