//! The process and its pipes.

use std::{
    cell::Cell,
    fs,
    io::{BufRead, BufReader, Write},
    path::PathBuf,
    process::{self, ChildStdin, Command, ExitStatus},
    sync::{
        atomic::{AtomicUsize, Ordering},
        mpsc::{Receiver, sync_channel},
    },
};

use serde_json::{Value, json};

use crate::support::{DEADLINE, Modern, Session, within};

/// Lines that are read ahead of the test. More than any test leaves unread.
const LINES: usize = 10_000;

/// `trunkline stdio --demo`, and what a client does with it.
pub(crate) struct Stdio {
    child: process::Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    config: PathBuf,
    next: Cell<i64>,
}

// === impl Stdio ===

impl Stdio {
    /// With the defaults.
    pub(crate) fn start() -> Self {
        Self::with("")
    }

    /// With lines of configuration.
    pub(crate) fn with(config: &str) -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("stdio-{}-{}.toml", process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::write(&path, config).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_trunkline"))
            .args(["stdio", "--demo", "--config"])
            .arg(&path)
            .env_clear()
            .env("RUST_BACKTRACE", "0")
            .stdin(process::Stdio::piped())
            .stdout(process::Stdio::piped())
            // Logs are not the client's to read; what is said there is no failure.
            .stderr(process::Stdio::null())
            .spawn()
            .unwrap();
        let (read, lines) = sync_channel(LINES);
        let output = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in output.lines() {
                if read.send(line.expect("the output is UTF-8")).is_err() {
                    return;
                }
            }
        });
        let input = child.stdin.take();
        Self { child, input, lines, config: path, next: Cell::new(1) }
    }

    /// A process whose client has said hello in a revision, with capabilities.
    #[track_caller]
    pub(crate) fn hello(revision: &str, capabilities: &Value) -> Self {
        let mut stdio = Self::start();
        stdio.say_hello(revision, capabilities);
        stdio
    }

    /// Says hello.
    #[track_caller]
    pub(crate) fn say_hello(&mut self, revision: &str, capabilities: &Value) {
        self.send(&Session::hello(revision, capabilities));
        let answer = self.message();
        assert_eq!((&answer["id"], &answer["result"]["protocolVersion"]), (&json!(0), &json!(revision)));
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    }

    /// Writes a message as a line.
    #[track_caller]
    pub(crate) fn send(&mut self, message: &Value) {
        self.write(format!("{message}\n").as_bytes());
    }

    /// Writes exactly these bytes.
    #[track_caller]
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().expect("the input is open");
        input.write_all(bytes).expect("the process reads its input");
        input.flush().unwrap();
    }

    /// Sends a request, and returns its id.
    #[track_caller]
    pub(crate) fn request(&mut self, method: &str, params: &Value) -> i64 {
        let id = self.next.replace(self.next.get() + 1);
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Calls a tool, and returns the request's id.
    #[track_caller]
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> i64 {
        self.request("tools/call", &json!({"name": tool, "arguments": arguments}))
    }

    /// The next message. Fails if nothing comes in time, or what comes is none.
    #[track_caller]
    pub(crate) fn message(&mut self) -> Value {
        match self.lines.recv_timeout(DEADLINE) {
            Ok(line) => message(&line),
            Err(error) => panic!("no message: {error}"),
        }
    }

    /// The next message, which answers this request.
    #[track_caller]
    pub(crate) fn answer(&mut self, id: i64) -> Value {
        let answer = self.message();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// The next message, which is the notification of this method.
    #[track_caller]
    pub(crate) fn notification(&mut self, method: &str) -> Value {
        let mut message = self.message();
        assert_eq!(message["method"], method, "{message}");
        message["params"].take()
    }

    /// Closes the input, as a client that is done.
    pub(crate) fn close_input(&mut self) {
        self.input = None;
    }

    /// Everything that is still said, until the output is closed.
    #[track_caller]
    pub(crate) fn rest(&mut self) -> Vec<Value> {
        let mut rest = Vec::new();
        loop {
            match self.lines.recv_timeout(DEADLINE) {
                Ok(line) => rest.push(message(&line)),
                Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => return rest,
                Err(error) => panic!("the output stays open: {error}"),
            }
        }
    }

    /// Waits until the process has ended.
    #[track_caller]
    pub(crate) fn wait(&mut self) -> ExitStatus {
        let mut status = None;
        within(DEADLINE, || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        status.expect("the process ends")
    }

    /// Asks the process to end.
    pub(crate) fn sigterm(&self) {
        let killed = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status();
        assert!(killed.unwrap().success());
    }
}

impl Drop for Stdio {
    fn drop(&mut self) {
        // One that has ended by itself cannot be killed.
        let _killed = self.child.kill();
        let _reaped = self.child.wait();
        let _removed = fs::remove_file(&self.config);
    }
}

/// A line of output, which is a message, or an array of them where it answers a batch.
#[track_caller]
fn message(line: &str) -> Value {
    let message: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
    let all = message.as_array().map_or(std::slice::from_ref(&message), Vec::as_slice);
    assert!(!all.is_empty() && all.iter().all(|message| message["jsonrpc"] == "2.0"), "no message: {line}");
    message
}

/// A request of the revision without sessions.
pub(crate) fn modern(id: &Value, method: &str, params: &Value) -> Value {
    Modern::new(method, params).id(id.clone()).message()
}

/// The call of a tool in the revision without sessions.
pub(crate) fn modern_call(id: &Value, tool: &str, arguments: &Value) -> Modern {
    Modern::tool(tool, arguments).id(id.clone())
}

/// The cancellation of a request.
pub(crate) fn cancel(id: &Value) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})
}

/// The text of a tool's result.
#[track_caller]
pub(crate) fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text in {answer}"))
}
