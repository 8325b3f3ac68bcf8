//! Tools that say something before they answer: progress, log messages, or nothing for a while.

use std::time::Duration;

use tokio::time::sleep;
use trunkline::{Exchange, HandlerError, NoArguments, Tool, model::LogLevel};

/// Between two notifications, so that they are seen to arrive one by one.
const PAUSE: Duration = Duration::from_millis(50);

/// Longer than the server waits before it answers with a stream, so that there is one whose connection can break.
const LONG: Duration = Duration::from_millis(1500);

/// All of them.
pub(crate) fn tools() -> Vec<Tool> {
    [
        Tool::new("test_tool_with_progress", progress).description("Reports progress three times."),
        Tool::new("test_tool_with_logging", logging).description("Sends three log messages."),
        Tool::new("test_logging_tool", log_once).description("Sends one log message."),
        Tool::new("test_reconnection", wait)
            .description("Works for so long that the connection can be broken and taken up again."),
    ]
    .map(Tool::read_only)
    .into()
}

async fn progress(exchange: Exchange, _: NoArguments) -> Result<&'static str, HandlerError> {
    for done in [0.0, 50.0, 100.0] {
        exchange.progress(done, Some(100.0), None).await;
        sleep(PAUSE).await;
    }
    Ok("Reported progress three times")
}

async fn logging(exchange: Exchange, _: NoArguments) -> Result<&'static str, HandlerError> {
    for message in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
        exchange.log(LogLevel::Info, None, &message).await;
        sleep(PAUSE).await;
    }
    Ok("Sent three log messages")
}

async fn log_once(exchange: Exchange, _: NoArguments) -> Result<&'static str, HandlerError> {
    exchange.log(LogLevel::Info, Some("everything"), &"One message").await;
    Ok("Sent one log message to a client that wants it")
}

async fn wait(_: Exchange, _: NoArguments) -> Result<&'static str, HandlerError> {
    sleep(LONG).await;
    Ok("The answer is here, whichever connection it came by")
}
