//! The server that the benchmarks measure. Its tools are those that every peer has: `add`, `text` and `order`.

use std::process::ExitCode;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use trunkline::{Exchange, HandlerError, Server, Structured, Tool};

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
    /// How many bytes.
    size: u32,
}

/// Twelve fields, four of them of types of their own.
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

async fn add(_: Exchange, Numbers { a, b }: Numbers) -> Result<Structured<Sum>, HandlerError> {
    Ok(Structured(Sum { sum: a.wrapping_add(b) }))
}

async fn text(_: Exchange, Size { size }: Size) -> Result<String, HandlerError> {
    Ok("x".repeat(size as usize))
}

async fn order(_: Exchange, order: Order) -> Result<Structured<Total>, HandlerError> {
    let total = order.items.iter().map(|item| item.quantity.saturating_mul(item.price)).sum();
    Ok(Structured(Total { total, lines: order.items.len() }))
}

fn main() -> ExitCode {
    Server::new("bench-ours", "1.0.0")
        .tool(Tool::new("add", add).description("Adds two numbers.").read_only())
        .tool(Tool::new("text", text).description("A text of so many bytes.").read_only())
        .tool(Tool::new("order", order).description("What an order comes to.").read_only())
        .run()
}
