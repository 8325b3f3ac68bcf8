//! The floor: what a hand-written actix-web handler costs that reads the same request as the server and sends as many
//! bytes. It has no protocol in it: no revision, no session, no header is looked at, nothing is validated, counted or
//! bounded. The distance to it is the price of everything the server does besides.

use std::{io, io::Write, net::SocketAddr, path::PathBuf, time::Duration};

use actix_web::{App, HttpResponse, HttpServer, http::header::ContentType, web};
use bytes::Bytes;
use clap::Parser;
use futures_util::{StreamExt, stream};
use serde::Deserialize;
use serde_json::value::RawValue;

/// As the server's.
const BACKLOG: u32 = 4096;

/// The handlers' longest body: the server's default of `limits.body`.
const BODY: usize = 4 * 1024 * 1024;

#[derive(Parser)]
#[command(about = "A server without a protocol, to measure against.")]
struct Flags {
    /// Where to listen.
    #[arg(long, default_value = "127.0.0.1:8081")]
    bind: SocketAddr,
    /// Bytes of the answer to a call, 127 or more with an id of eight digits and a sum of four.
    #[arg(long, default_value_t = 256)]
    length: usize,
    /// The file whose bytes answer `POST /list`.
    #[arg(long)]
    list: Option<PathBuf>,
    /// Threads that serve connections.
    #[arg(long, default_value_t = 1)]
    workers: usize,
}

/// What the handlers answer.
struct Answers {
    length: usize,
    list: Bytes,
}

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(borrow)]
    id: &'a RawValue,
    method: &'a str,
    #[serde(borrow)]
    params: Params<'a>,
}

#[derive(Deserialize)]
struct Params<'a> {
    name: &'a str,
    arguments: Numbers,
}

#[derive(Deserialize)]
struct Numbers {
    a: i64,
    b: i64,
}

/// What comes before calls, so that a client of the protocol can be measured against the floor, too.
#[derive(Deserialize)]
struct Greeting<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    method: &'a str,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Initialize<'a> {
    protocol_version: &'a str,
}

#[derive(Deserialize)]
struct List<'a> {
    method: &'a str,
}

#[actix_web::main]
async fn main() -> io::Result<()> {
    let flags = Flags::parse();
    let list = match &flags.list {
        Some(path) => Bytes::from(std::fs::read(path)?),
        None => Bytes::new(),
    };
    let answers = web::Data::new(Answers { length: flags.length, list });
    HttpServer::new(move || {
        App::new()
            .app_data(answers.clone())
            .app_data(web::PayloadConfig::new(BODY))
            .route("/mcp", web::post().to(call))
            .route("/list", web::post().to(list_tools))
            .route("/stream", web::post().to(open_stream))
    })
    .workers(flags.workers)
    .backlog(BACKLOG)
    .keep_alive(Duration::from_secs(75))
    .client_request_timeout(Duration::from_secs(5))
    .tcp_nodelay(true)
    .bind_auto_h2c(flags.bind)?
    .run()
    .await
}

async fn call(body: Bytes, answers: web::Data<Answers>) -> HttpResponse {
    match serde_json::from_slice::<Call<'_>>(&body) {
        Ok(Call { id, method: "tools/call", params: Params { name: "add", arguments } }) => {
            json(answer(id, arguments, answers.length).into())
        }
        _ => greet(&body).unwrap_or_else(|| HttpResponse::BadRequest().finish()),
    }
}

/// Answers as little as a client needs to go on to calls.
fn greet(body: &[u8]) -> Option<HttpResponse> {
    let Greeting { id, method, params } = serde_json::from_slice(body).ok()?;
    let result = match method {
        "initialize" => {
            let version = serde_json::from_str::<Initialize<'_>>(params?.get()).ok()?.protocol_version;
            format!(
                r#"{{"protocolVersion":"{version}","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"floor","version":"1"}}}}"#
            )
        }
        "server/discover" => r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"floor","version":"1"},"ttlMs":0,"cacheScope":"public"}"#.to_owned(),
        _ if id.is_none() => return Some(HttpResponse::Accepted().finish()),
        _ => return None,
    };
    let id = id?;
    Some(json(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#).into()))
}

async fn list_tools(body: Bytes, answers: web::Data<Answers>) -> HttpResponse {
    match serde_json::from_slice::<List<'_>>(&body) {
        Ok(List { method: "tools/list" }) => json(answers.list.clone()),
        _ => HttpResponse::BadRequest().finish(),
    }
}

/// A stream that says one thing and then nothing.
async fn open_stream(_: Bytes) -> HttpResponse {
    let begin = stream::once(async { Ok::<_, io::Error>(Bytes::from_static(b"data: {}\n\n")) });
    HttpResponse::Ok().content_type("text/event-stream").streaming(begin.chain(stream::pending()))
}

/// An answer to `add`, filled up with spaces to the wanted length.
fn answer(id: &RawValue, Numbers { a, b }: Numbers, length: usize) -> Vec<u8> {
    let sum = a.wrapping_add(b);
    let mut bytes = Vec::with_capacity(length);
    write!(
        bytes,
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"{{\"sum\":{sum}}}"}}],"structuredContent":{{"sum":{sum}}}}}}}"#
    )
    .expect("invariant: a vector takes every byte");
    if bytes.len() < length {
        bytes.resize(length, b' ');
    }
    bytes
}

fn json(body: Bytes) -> HttpResponse {
    HttpResponse::Ok().content_type(ContentType::json()).body(body)
}
