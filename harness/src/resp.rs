//! As much of Redis's protocol (RESP2) as tests need: one command on a connection of its own.
//!
//! The connection is to the server's Unix socket, so that it works whatever is done to the TCP side: TLS, cut connections,
//! a taken port. It shows in `CLIENT LIST` only while its command runs.

use std::{path::Path, time::Duration};

use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::UnixStream,
};

use crate::HarnessError;

/// A command that takes longer is one to a server that stands still.
const LIMIT: Duration = Duration::from_secs(10);

/// How deep an answer may nest: `CLUSTER SLOTS` and `XINFO STREAM FULL` have five levels.
const DEPTH: usize = 16;

/// What Redis answers.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// Nothing.
    Nil,
    /// A number.
    Integer(i64),
    /// Bytes, or a status such as `OK`.
    Bytes(Vec<u8>),
    /// A failed command within a transaction or a script; one that fails as a whole is an error of the call.
    Error(String),
    /// A list.
    List(Vec<Reply>),
}

/// Who is at the other end, and how to log in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer<'a> {
    pub(crate) name: &'a str,
    pub(crate) socket: &'a Path,
    /// A user and a password.
    pub(crate) login: Option<(&'a str, &'a str)>,
}

// === impl Reply ===

impl Reply {
    /// Bytes or a status as text, with what is not UTF-8 replaced; `None` for anything else.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        match self {
            Self::Bytes(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
            _ => None,
        }
    }

    /// A number, also where it is written as text.
    #[must_use]
    pub fn integer(&self) -> Option<i64> {
        match self {
            Self::Integer(number) => Some(*number),
            _ => self.text()?.parse().ok(),
        }
    }

    /// The members of a list; none for anything else.
    #[must_use]
    pub fn list(&self) -> &[Self] {
        match self {
            Self::List(members) => members,
            _ => &[],
        }
    }
}

/// Sends one command and reads its answer.
pub(crate) async fn command(peer: Peer<'_>, command: &[&str]) -> Result<Reply, HarnessError> {
    let name = command.first().copied().unwrap_or_default();
    match tokio::time::timeout(LIMIT, exchange(peer, command)).await {
        Ok(Ok(Reply::Error(message))) => Err(HarnessError::Refused { command: name.to_owned(), message }),
        Ok(reply) => reply,
        Err(_elapsed) => Err(HarnessError::Late {
            what: format!("the answer of {} to {name}", peer.name),
            limit: LIMIT,
            seen: "nothing".to_owned(),
        }),
    }
}

async fn exchange(peer: Peer<'_>, command: &[&str]) -> Result<Reply, HarnessError> {
    let failed = |source| HarnessError::Connection {
        server: format!("{} ({})", peer.name, peer.socket.display()),
        source,
    };
    let mut stream = BufReader::new(UnixStream::connect(peer.socket).await.map_err(failed)?);
    if let Some((user, password)) = peer.login {
        stream.write_all(&encode(&["AUTH", user, password])).await.map_err(failed)?;
        let answer = read(&mut stream, peer).await?;
        if let Reply::Error(_) = answer {
            return Ok(answer);
        }
    }
    stream.write_all(&encode(command)).await.map_err(failed)?;
    read(&mut stream, peer).await
}

fn encode(command: &[&str]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", command.len()).into_bytes();
    for part in command {
        bytes.extend_from_slice(format!("${}\r\n{part}\r\n", part.len()).as_bytes());
    }
    bytes
}

/// Reads one answer. Lists are filled from a stack of those that are not complete, since a future cannot hold itself.
async fn read(stream: &mut BufReader<UnixStream>, peer: Peer<'_>) -> Result<Reply, HarnessError> {
    let mut open: Vec<(usize, Vec<Reply>)> = Vec::new();
    loop {
        let mut reply = match read_one(stream, peer).await? {
            One::Whole(reply) => reply,
            One::List(0) => Reply::List(Vec::new()),
            One::List(length) if open.len() < DEPTH => {
                open.push((length, Vec::new()));
                continue;
            }
            One::List(_) => return Err(garbled(peer, "a list that nests too deep")),
        };
        loop {
            let Some((length, members)) = open.last_mut() else { return Ok(reply) };
            members.push(reply);
            if members.len() < *length {
                break;
            }
            reply = Reply::List(std::mem::take(members));
            open.pop();
        }
    }
}

enum One {
    Whole(Reply),
    /// So many members follow.
    List(usize),
}

async fn read_one(stream: &mut BufReader<UnixStream>, peer: Peer<'_>) -> Result<One, HarnessError> {
    let failed = |source| HarnessError::Connection { server: peer.name.to_owned(), source };
    let mut line = Vec::new();
    stream.read_until(b'\n', &mut line).await.map_err(failed)?;
    let line = String::from_utf8_lossy(&line).into_owned();
    let Some(text) = line.strip_suffix("\r\n") else { return Err(garbled(peer, &line)) };
    let (kind, rest) = text.split_at_checked(1).ok_or_else(|| garbled(peer, &line))?;
    let number = || rest.parse::<i64>().map_err(|_| garbled(peer, &line));
    Ok(match kind {
        "+" => One::Whole(Reply::Bytes(rest.as_bytes().to_vec())),
        "-" => One::Whole(Reply::Error(rest.to_owned())),
        ":" => One::Whole(Reply::Integer(number()?)),
        "$" => match usize::try_from(number()?) {
            Err(_negative) => One::Whole(Reply::Nil),
            Ok(length) => {
                let mut bytes = vec![0; length + 2];
                stream.read_exact(&mut bytes).await.map_err(failed)?;
                bytes.truncate(length);
                One::Whole(Reply::Bytes(bytes))
            }
        },
        "*" => match usize::try_from(number()?) {
            Err(_negative) => One::Whole(Reply::Nil),
            Ok(length) => One::List(length),
        },
        _ => return Err(garbled(peer, &line)),
    })
}

fn garbled(peer: Peer<'_>, answer: &str) -> HarnessError {
    /// As much as says what it is.
    const SHOWN: usize = 200;
    HarnessError::Garbled { server: peer.name.to_owned(), answer: answer.chars().take(SHOWN).collect() }
}
