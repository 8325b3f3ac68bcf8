//! A client of the Model Context Protocol: every revision, over HTTP and stdio.
//!
//! ```no_run
//! use trunkline_client::Client;
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::http("http://127.0.0.1:8080/mcp").connect().await?;
//! for tool in client.list_tools().await? {
//!     println!("{}", tool.name);
//! }
//! let sum = client.call_tool("add", &serde_json::json!({ "a": 2, "b": 3 })).await?;
//! println!("{:?}", sum.structured_content);
//! client.close().await?;
//! # Ok(())
//! # }
//! ```
//!
//! A [`Client`] speaks the newest revision that both ends have, or the one that [`Builder::revision`] names. What differs
//! between revisions stays inside: a question of the server reaches the same [`Questions`], whether it came as a request or
//! as a round of a call; what happens on the server is heard on [`Client::listen`], whether the stream is a GET or a
//! subscription.
//!
//! Failures say what may have happened: [`Error::may_have_run`] tells whether a call may be sent again without running
//! anything twice. The client itself sends nothing twice that may have run, unless the call says that it may be.
//!
//! Downhill:
//!
//! - `client`, `typed`: what programs use
//! - `connect`, `handshake`: which revision is spoken
//! - `rounds`, `questions`: what a server asks
//! - `wire`: messages in the words of a revision
//! - `transport`: HTTP, HTTP+SSE, stdio

mod builder;
mod cache;
mod call;
mod client;
mod config;
mod connect;
mod error;
mod handshake;
mod limits;
mod notifications;
mod questions;
mod retry;
mod rounds;
mod shared;
mod token;
mod transport;
mod typed;
mod wire;

pub use builder::Builder;
pub use call::{Answer, Call, Trace};
pub use client::{Client, Failure};
pub use error::{Error, Kind, Phase, StatusError};
pub use limits::Limits;
pub use notifications::{Notification, Notifications, Opened, Source, StreamEvent};
pub use questions::Questions;
pub use retry::Retry;
pub use shared::Counters;
pub use token::TokenSource;
pub use trunkline_protocol as protocol;
pub use trunkline_protocol::model::ListenFilter;
pub use typed::CompletionOf;
