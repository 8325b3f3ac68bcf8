//! The least that a program can do over a pipe: a line out, a line in.

use std::process::Stdio;

use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    process::{Child, ChildStdin, ChildStdout, Command},
};
use trunkline_protocol::{Revision, revision::Era};

use crate::{
    Added, Problem,
    by_hand::{Answer, META, call, hello},
};

pub(crate) struct Pipe {
    // Killed when it is dropped.
    _child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
    line: String,
    meta: &'static str,
    next: u64,
}

// === impl Pipe ===

impl Pipe {
    pub(crate) async fn open(mut program: Command, revision: Revision) -> Result<Self, Problem> {
        let program = program.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = program.spawn()?;
        let requests = child.stdin.take().ok_or("no standard input")?;
        let answers = BufReader::new(child.stdout.take().ok_or("no standard output")?);
        let modern = revision.era() == Era::Modern;
        let meta = if modern { META } else { "" };
        let mut pipe = Self { _child: child, requests, answers, line: String::new(), meta, next: 1 };
        if !modern {
            pipe.ask(hello(revision)).await?;
            pipe.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_owned()).await?;
        }
        Ok(pipe)
    }

    async fn say(&mut self, mut line: String) -> Result<(), Problem> {
        line.push('\n');
        Ok(self.requests.write_all(line.as_bytes()).await?)
    }

    async fn ask(&mut self, line: String) -> Result<&str, Problem> {
        self.say(line).await?;
        self.line.clear();
        match self.answers.read_line(&mut self.line).await? {
            0 => Err("the server has ended".into()),
            _ => Ok(&self.line),
        }
    }

    pub(crate) async fn add(&mut self, a: u64, b: u64) -> Result<Added, Problem> {
        let id = self.next;
        self.next += 1;
        let meta = self.meta;
        let line = self.ask(call(id, a, b, meta)).await?;
        let answer: Answer = serde_json::from_str(line)?;
        if answer.id == id { Ok(answer.result) } else { Err("another call's answer".into()) }
    }
}
