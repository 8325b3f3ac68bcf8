//! An MCP server of 2025-11-25 with one tool, `add`, which takes as long as its sum says.

use std::{collections::BTreeSet, convert::Infallible, net::SocketAddr, sync::Arc, time::Duration};

use http_body_util::{BodyExt, Full};
use hyper::{
    Method, Request, Response,
    body::{Bytes, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::{net::TcpListener, runtime::Runtime};

/// What calls take, in milliseconds, and how many of ten take that.
pub(crate) const LEVELS: [(u64, u64); 3] = [(100, 6), (200, 3), (400, 1)];

/// The sums that it was asked for.
pub(crate) type Sums = Arc<Mutex<BTreeSet<i64>>>;

/// Gone when it is dropped.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) sums: Sums,
    _runtime: Runtime,
}

impl Server {
    pub(crate) fn start() -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let (address, sums) = (listener.local_addr().unwrap(), Sums::default());
        let asked = sums.clone();
        runtime.spawn(async move {
            let listener = TcpListener::from_std(listener).unwrap();
            while let Ok((stream, _)) = listener.accept().await {
                stream.set_nodelay(true).unwrap();
                let asked = asked.clone();
                let service = service_fn(move |request| answer(request, asked.clone()));
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
            }
        });
        Self { address, sums, _runtime: runtime }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }
}

async fn answer(request: Request<Incoming>, asked: Sums) -> Result<Response<Full<Bytes>>, Infallible> {
    match *request.method() {
        Method::POST => {}
        Method::DELETE => return Ok(response(200, String::new())),
        _ => return Ok(response(405, String::new())),
    }
    let body = request.into_body().collect().await.unwrap().to_bytes();
    let message: Value = serde_json::from_slice(&body).unwrap();
    let result = match message["method"].as_str().unwrap() {
        "initialize" => json!({
            "protocolVersion": "2025-11-25",
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "fake", "version": "1" },
        }),
        "tools/call" => {
            let arguments = &message["params"]["arguments"];
            let sum = arguments["a"].as_i64().unwrap() + arguments["b"].as_i64().unwrap();
            asked.lock().insert(sum);
            tokio::time::sleep(takes(sum)).await;
            json!({ "content": [], "structuredContent": { "sum": sum } })
        }
        _ => return Ok(response(202, String::new())),
    };
    let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
    Ok(response(200, answer.to_string()))
}

/// How long a call takes: the same for the same sum, whoever asks.
fn takes(sum: i64) -> Duration {
    // Spreads neighbours.
    let mut place = sum.unsigned_abs().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
    place %= 10;
    let mut level = LEVELS.into_iter();
    loop {
        let (millis, tenths) = level.next().unwrap();
        if place < tenths {
            return Duration::from_millis(millis);
        }
        place -= tenths;
    }
}

fn response(status: u16, text: String) -> Response<Full<Bytes>> {
    let response = Response::builder().status(status).header("content-type", "application/json");
    response.header("mcp-session-id", "session").body(Full::new(Bytes::from(text))).unwrap()
}
