//! HAProxy's configuration and runtime socket.

use std::{fmt::Write as _, net::SocketAddr};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::UnixStream,
};

use super::{Backend, CONNECTIONS, Policy, system_program};
use crate::{HarnessError, process::Program, scratch::Scratch};

pub(super) const FILE: &str = "haproxy.cfg";

const SOCKET: &str = "haproxy.socket";

/// - `http-no-delay`: without it an event of a stream is held back until the next one comes.
/// - `timeout server` and `timeout tunnel` outlast every stream of a test.
/// - `retry-on conn-failure`: a request that a replica may have seen is not sent again.
/// - `httpchk` at the admin port: a replica that drains is left out within 200 ms.
const DEFAULTS: &str = r#"defaults
    mode http
    option http-no-delay
    option redispatch 1
    retries 3
    retry-on conn-failure
    http-reuse safe
    option httpchk GET /readyz
    http-check expect status 200
    timeout connect 1s
    timeout check 1s
    timeout client 1h
    timeout server 1h
    timeout tunnel 1h
    timeout http-keep-alive 1h
    http-error status 503 content-type text/plain lf-string "no replica is ready" hdr Retry-After 1
"#;

pub(super) fn configuration(
    scratch: &Scratch,
    listen: SocketAddr,
    policy: &Policy,
    backends: &[Backend],
) -> String {
    let socket = scratch.path().join(SOCKET);
    let balance = match policy {
        Policy::RoundRobin => "balance roundrobin".to_owned(),
        Policy::LeastConnections => "balance leastconn".to_owned(),
        Policy::Sticky { header } => format!("balance hdr({header})\n    hash-type consistent"),
    };
    let mut text = format!(
        "global\n    maxconn {CONNECTIONS}\n    nbthread 1\n    stats socket {} level admin\n\
         {DEFAULTS}    maxconn {CONNECTIONS}\n    {balance}\n\
         frontend clients\n    bind {listen}\n    default_backend replicas\nbackend replicas\n",
        socket.display()
    );
    for Backend { name, address, admin } in backends {
        let _written = writeln!(
            text,
            "    server {name} {address} check addr {} port {} inter 200ms fall 1 rise 1",
            admin.ip(),
            admin.port()
        );
    }
    text
}

pub(super) fn program(scratch: &Scratch) -> Program {
    system_program("haproxy", "apt install haproxy").args(["-db", "-f"]).args([scratch.path().join(FILE)])
}

/// The backends that are up, by the runtime socket's table: name in the second column, status in the eighteenth.
pub(super) async fn up(scratch: &Scratch) -> Result<Vec<String>, HarnessError> {
    let socket = scratch.path().join(SOCKET);
    let ask = async {
        let mut stream = UnixStream::connect(&socket).await?;
        stream.write_all(b"show stat\n").await?;
        let mut table = String::new();
        stream.read_to_string(&mut table).await?;
        Ok(table)
    };
    let table = ask
        .await
        .map_err(|source| HarnessError::Connection { server: socket.display().to_string(), source })?;
    let up = table.lines().filter_map(|line| {
        let columns: Vec<&str> = line.split(',').collect();
        let ["replicas", name, ..] = columns[..] else { return None };
        (name != "BACKEND" && columns.get(17)?.starts_with("UP")).then(|| name.to_owned())
    });
    Ok(up.collect())
}
