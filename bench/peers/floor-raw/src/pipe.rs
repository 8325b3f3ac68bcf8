//! A line in, a line out.

use std::io::{self, BufRead, Write};

use crate::answer;

/// Answers the lines of standard input until there are no more.
pub(crate) fn serve() -> io::Result<()> {
    let (mut requests, mut answers) = (io::stdin().lock(), io::stdout().lock());
    let (mut line, mut said) = (Vec::new(), Vec::new());
    while requests.read_until(b'\n', &mut line)? > 0 {
        answer::write(&line, &mut said)?;
        if !said.is_empty() {
            said.push(b'\n');
            answers.write_all(&said)?;
            answers.flush()?;
        }
        line.clear();
        said.clear();
    }
    Ok(())
}
