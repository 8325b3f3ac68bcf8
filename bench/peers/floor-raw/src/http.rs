//! HTTP/1.1 by hand: bodies with a length, connections that are kept.

use std::io::{self, Write};

use memchr::memmem::Finder;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use crate::{Problem, answer};

/// The longest request that is read, head and body: more than any that is measured.
const LONGEST: usize = 4 * 1024 * 1024;

/// Where a request ends in what was read.
#[derive(Debug, PartialEq)]
enum Found {
    /// Not all of it is here.
    Part,
    /// It cannot be understood.
    Bad,
    /// The body's first byte, and the first one behind it.
    Whole { body: usize, end: usize },
}

/// Serves a port, on one thread.
pub(crate) fn serve(port: u16) -> Result<(), Problem> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(("127.0.0.1", port)).await?;
        loop {
            let (socket, _) = listener.accept().await?;
            socket.set_nodelay(true)?;
            // A connection that breaks is nobody else's affair.
            tokio::spawn(async move { drop(converse(socket).await) });
        }
    })
}

async fn converse(mut socket: TcpStream) -> io::Result<()> {
    let separator = Finder::new("\r\n\r\n");
    let (mut read, mut written, mut body) = (Vec::with_capacity(8192), Vec::with_capacity(512), Vec::new());
    loop {
        match find(&read, &separator) {
            Found::Part if read.len() > LONGEST => return refuse(&mut socket).await,
            Found::Part => {
                if socket.read_buf(&mut read).await? == 0 {
                    return Ok(());
                }
            }
            Found::Bad => return refuse(&mut socket).await,
            Found::Whole { body: from, end } => {
                body.clear();
                if answer::write(&read[from..end], &mut body).is_err() {
                    return refuse(&mut socket).await;
                }
                written.clear();
                write!(
                    written,
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
                    body.len()
                )?;
                written.extend_from_slice(&body);
                socket.write_all(&written).await?;
                read.drain(..end);
            }
        }
    }
}

async fn refuse(socket: &mut TcpStream) -> io::Result<()> {
    socket.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").await
}

fn find(read: &[u8], separator: &Finder<'_>) -> Found {
    let Some(head) = separator.find(read) else {
        return Found::Part;
    };
    let Some(length) = length(&read[..head]) else {
        return Found::Bad;
    };
    let body = head + 4;
    match body.checked_add(length) {
        Some(end) if end <= read.len() => Found::Whole { body, end },
        Some(end) if end <= LONGEST => Found::Part,
        _ => Found::Bad,
    }
}

/// The body's length, as the head tells it.
fn length(head: &[u8]) -> Option<usize> {
    let name = b"content-length:";
    let mut lines = head.split(|byte| *byte == b'\n');
    let line = lines.find(|line| line.len() > name.len() && line[..name.len()].eq_ignore_ascii_case(name))?;
    std::str::from_utf8(&line[name.len()..]).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_ends_where_its_length_says() {
        let separator = Finder::new("\r\n\r\n");
        let whole = b"POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}POST";
        assert_eq!(find(whole, &separator), Found::Whole { body: 50, end: 52 });
        assert_eq!(find(&whole[..51], &separator), Found::Part);
        assert_eq!(find(&whole[..40], &separator), Found::Part);
        assert_eq!(find(b"GET / HTTP/1.1\r\n\r\n", &separator), Found::Bad);
        assert_eq!(find(b"POST / HTTP/1.1\r\ncontent-length: 99999999\r\n\r\n", &separator), Found::Bad);
    }
}
