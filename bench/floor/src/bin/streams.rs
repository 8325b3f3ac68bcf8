//! Holds many sessions or streams open, for the benchmarks to see what one of them costs the server.
//!
//! Everything is asked for one after the other, in blocking calls: what counts is what stays, not how fast it came. It says
//! on standard output when a step is done, and waits on standard input for leave to take the next. Streams are not
//! read after their head: what the server sends in the meantime waits in the kernel.

use std::{
    fs,
    io::{self, BufRead, Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use clap::{Parser, ValueEnum};

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// The first of the ids of requests, as in the other parts of the benchmarks.
const FIRST_ID: usize = 10_000_000;

#[derive(Parser)]
#[command(about = "Opens sessions or streams, and holds them.")]
struct Flags {
    /// The server's port on 127.0.0.1.
    #[arg(long)]
    port: u16,
    /// The folder of recorded requests.
    #[arg(long)]
    requests: PathBuf,
    /// How many.
    #[arg(long)]
    count: usize,
    /// The path of the endpoint.
    #[arg(long, default_value = "/mcp")]
    path: String,
    /// What to open.
    what: What,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    /// `initialize`, and nothing after it.
    Abandoned,
    /// Sessions past their handshake, with one call each.
    Used,
    /// Used sessions, each with a GET stream (2025-11-25).
    Get,
    /// `subscriptions/listen` (2026-07-28).
    Listen,
}

/// A recorded request.
struct Template {
    head: String,
    body: String,
}

/// The head of an answer.
struct Answer {
    head: String,
}

struct Requests {
    host: String,
    initialize: Template,
    initialized: Template,
    call: Template,
    get: Template,
    listen: Template,
}

fn main() -> ExitCode {
    match run(&Flags::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _said = writeln!(io::stderr(), "streams: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(flags: &Flags) -> io::Result<()> {
    let requests = Requests::read(flags)?;
    let mut sessions = Vec::new();
    if flags.what != What::Listen {
        let mut connection = connect(flags.port)?;
        for number in 0..flags.count {
            sessions.push(requests.open_session(&mut connection, number, flags.what != What::Abandoned)?);
        }
    }
    step("sessions", sessions.len())?;
    let template = match flags.what {
        What::Abandoned | What::Used => return step("streams", 0),
        What::Get => &requests.get,
        What::Listen => &requests.listen,
    };
    // Streams without a session leave its place empty.
    sessions.resize(flags.count, String::new());
    let mut streams = Vec::new();
    for (number, session) in sessions.iter().enumerate() {
        let mut stream = connect(flags.port)?;
        stream.write_all(&template.fill(&requests.host, session, number))?;
        Answer::read(&mut stream)?.expect("200", "text/event-stream")?;
        streams.push(stream);
    }
    step("streams", streams.len())
}

/// Says that `count` are open, and waits for a line.
fn step(what: &str, count: usize) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{what} {count}")?;
    out.flush()?;
    io::stdin().lock().read_line(&mut String::new())?;
    Ok(())
}

fn connect(port: u16) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(stream)
}

// === impl Requests ===

impl Requests {
    fn read(flags: &Flags) -> io::Result<Self> {
        let template = |name: &str| Template::read(&flags.requests, name, &flags.path);
        Ok(Self {
            host: format!("127.0.0.1:{}", flags.port),
            initialize: template("initialize-2025-11-25")?,
            initialized: template("initialized-2025-11-25")?,
            call: template("call-2025-11-25")?,
            get: template("get-2025-11-25")?,
            listen: template("listen-2026-07-28")?,
        })
    }

    /// Opens a session, and uses it once if asked to.
    fn open_session(&self, connection: &mut TcpStream, number: usize, used: bool) -> io::Result<String> {
        connection.write_all(&self.initialize.fill(&self.host, "", number))?;
        let answer = Answer::read(connection)?;
        answer.expect("200", "application/json")?;
        let session = answer.header("mcp-session-id").ok_or_else(|| fault("no session id"))?.to_owned();
        if used {
            connection.write_all(&self.initialized.fill(&self.host, &session, number))?;
            Answer::read(connection)?.expect("202", "")?;
            connection.write_all(&self.call.fill(&self.host, &session, number))?;
            Answer::read(connection)?.expect("200", "application/json")?;
        }
        Ok(session)
    }
}

// === impl Template ===

impl Template {
    fn read(folder: &Path, name: &str, path: &str) -> io::Result<Self> {
        let text = fs::read_to_string(folder.join(format!("{name}.http")))?;
        let (head, body) =
            text.split_once("\n\n").ok_or_else(|| fault("a recorded request without a head"))?;
        let head = head.replacen("/mcp", path, 1).replace('\n', "\r\n");
        Ok(Self { head, body: body.trim_end().to_owned() })
    }

    fn fill(&self, host: &str, session: &str, number: usize) -> Vec<u8> {
        let head = self.head.replace("{host}", host).replace("{session}", session);
        let id = (FIRST_ID + number).to_string();
        let body = self.body.replace("{id}", &id).replace("{a}", "100").replace("{b}", "1000");
        if body.is_empty() {
            return format!("{head}\r\n\r\n").into_bytes();
        }
        format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).into_bytes()
    }
}

// === impl Answer ===

impl Answer {
    /// Reads an answer's head, and its body where it has a length.
    fn read(stream: &mut TcpStream) -> io::Result<Self> {
        let (mut got, mut chunk) = (Vec::new(), [0; 4096]);
        loop {
            let count = stream.read(&mut chunk)?;
            if count == 0 {
                return Err(fault("the server closed the connection"));
            }
            got.extend_from_slice(&chunk[..count]);
            let text = String::from_utf8_lossy(&got);
            let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
            let answer = Self { head: head.to_owned() };
            let length = answer.header("content-length").map_or(Ok(0), str::parse);
            if body.len() >= length.map_err(|_| fault("a content-length that is no number"))? {
                return Ok(answer);
            }
        }
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    fn expect(&self, status: &str, media: &str) -> io::Result<()> {
        let is = self.head.split(' ').nth(1).unwrap_or_default();
        let kind = self.header("content-type").unwrap_or_default();
        if is == status && kind.starts_with(media) { Ok(()) } else { Err(fault(&self.head)) }
    }
}

fn fault(what: &str) -> io::Error {
    io::Error::other(format!("not the answer that was expected: {what}"))
}
