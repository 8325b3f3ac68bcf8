//! The benchmark's tools on the official Rust SDK: `serve PORT sessions|stateless`, `stdio`, and its client.

mod client;

use std::sync::Arc;

use anyhow::{Context, Result};
use axum::{Router, serve::ListenerExt};
use rmcp::{
    Json, ServerHandler, ServiceExt,
    handler::server::{router::tool::ToolRouter, wrapper::Parameters},
    schemars::JsonSchema,
    tool, tool_handler, tool_router,
    transport::{
        stdio,
        streamable_http_server::{
            StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
        },
    },
};
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;

use crate::client::Over;

const USAGE: &str = "rmcp-peer serve PORT sessions|stateless, stdio, \
    client http URL REVISION CALLS IN_FLIGHT, or client stdio REVISION CALLS IN_FLIGHT -- COMMAND...";

#[derive(Deserialize, JsonSchema)]
struct Numbers {
    a: i64,
    b: i64,
}

#[derive(Serialize, JsonSchema)]
struct Sum {
    sum: i64,
}

#[derive(Deserialize, JsonSchema)]
struct Size {
    size: u32,
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "read to be validated")]
struct Order {
    customer: Customer,
    address: Address,
    items: Vec<Item>,
    priority: Priority,
    note: Option<String>,
    gift: bool,
    coupon: Option<String>,
    currency: String,
    channel: String,
    locale: String,
    newsletter: bool,
    reference: String,
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "read to be validated")]
struct Customer {
    name: String,
    email: String,
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "read to be validated")]
struct Address {
    street: String,
    city: String,
    zip: String,
    country: String,
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "read to be validated")]
struct Item {
    sku: String,
    quantity: u64,
    price: u64,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Priority {
    Low,
    Normal,
    High,
}

#[derive(Serialize, JsonSchema)]
struct Total {
    total: u64,
    lines: usize,
}

#[derive(Clone)]
struct Server {
    tool_router: ToolRouter<Self>,
}

#[tool_router]
impl Server {
    fn new() -> Self {
        Self { tool_router: Self::tool_router() }
    }

    #[tool(description = "Adds two numbers.")]
    fn add(&self, Parameters(Numbers { a, b }): Parameters<Numbers>) -> Json<Sum> {
        Json(Sum { sum: a.wrapping_add(b) })
    }

    #[tool(description = "A text of so many bytes.")]
    fn text(&self, Parameters(Size { size }): Parameters<Size>) -> String {
        "x".repeat(size as usize)
    }

    #[tool(description = "What an order comes to.")]
    fn order(&self, Parameters(order): Parameters<Order>) -> Json<Total> {
        let total = order.items.iter().map(|item| item.quantity * item.price).sum();
        Json(Total { total, lines: order.items.len() })
    }
}

#[tool_handler(router = self.tool_router)]
impl ServerHandler for Server {}

/// One worker, as every other row has.
#[tokio::main(flavor = "multi_thread", worker_threads = 1)]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["stdio"] => {
            Server::new().serve(stdio()).await?.waiting().await?;
        }
        ["serve", port, mode] => {
            let mut config = StreamableHttpServerConfig::default();
            if mode == "stateless" {
                config.legacy_session_mode = false;
                config.json_response = true;
            }
            let sessions = Arc::new(LocalSessionManager::default());
            let service = StreamableHttpService::new(|| Ok(Server::new()), sessions, config);
            let listener = TcpListener::bind(("127.0.0.1", port.parse::<u16>().context("PORT")?)).await?;
            // Without this each answer waits for the client's delayed acknowledgement, some 40 ms.
            let listener = listener.tap_io(|socket| drop(socket.set_nodelay(true)));
            axum::serve(listener, Router::new().nest_service("/mcp", service)).await?;
        }
        ["client", "http", url, revision, calls, in_flight] => {
            client::measure(Over::Http(url), revision, calls.parse()?, in_flight.parse()?).await?;
        }
        ["client", "stdio", revision, calls, in_flight, "--", program, ref words @ ..] => {
            client::measure(Over::Pipe(program, words), revision, calls.parse()?, in_flight.parse()?).await?;
        }
        _ => anyhow::bail!("usage: {USAGE}"),
    }
    Ok(())
}
