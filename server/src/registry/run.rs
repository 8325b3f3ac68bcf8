//! A handler at work: polled by whoever serves the request, isolated from everybody else's.

use std::{
    any::Any,
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use trunkline_protocol::{Method, RpcError};

use super::{
    exchange::{Exchange, shown},
    outcome::{HandlerFuture, Outcome, report},
};

/// A handler that has been started.
pub(crate) struct Running {
    exchange: Exchange,
    handler: HandlerFuture,
    limit: Duration,
}

/// A request that has begun.
pub(crate) enum Begun {
    /// It is done without a handler, or was refused.
    Done(Outcome),
    /// A handler works on it.
    Running(Running),
}

// === impl Running ===

impl Running {
    /// A handler that may take `limit` from when it is first seen waiting.
    pub(crate) fn new(exchange: Exchange, handler: HandlerFuture, limit: Duration) -> Self {
        Self { exchange, handler, limit }
    }

    /// The request it works on.
    pub(crate) fn exchange(&self) -> &Exchange {
        &self.exchange
    }

    /// Lets the handler go as far as it can without waiting. Most are done then, and cost no task and no timer.
    pub(crate) async fn first_poll(&mut self) -> Option<Outcome> {
        poll_fn(|cx| match self.poll(cx) {
            Poll::Ready(outcome) => Poll::Ready(Some(outcome)),
            Poll::Pending => Poll::Ready(None),
        })
        .await
    }

    /// Runs the handler until it is done, is cancelled, stops to ask, or is out of time.
    pub(crate) async fn finish(mut self) -> Outcome {
        let cancelled = self.exchange.cancellation().clone();
        let limit = self.limit;
        let outcome = tokio::select! {
            biased;
            () = cancelled.cancelled() => Some(Outcome::Cancelled),
            outcome = poll_fn(|cx| self.poll(cx)) => Some(outcome),
            () = tokio::time::sleep(limit) => None,
        };
        outcome.unwrap_or_else(|| {
            // What the handler has started elsewhere is told to stop, too.
            cancelled.cancel();
            let message =
                format!("the call took longer than its limit of {} s and was stopped", limit.as_secs_f32());
            self.failure(message)
        })
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Outcome> {
        let handler = &mut self.handler;
        match catch_unwind(AssertUnwindSafe(|| Pin::as_mut(handler).poll(cx))) {
            Ok(Poll::Ready(outcome)) => Poll::Ready(outcome),
            Ok(Poll::Pending) => match self.exchange.started_rounds() {
                Some(rounds) if rounds.has_asked() => Poll::Ready(self.ask()),
                _ => Poll::Pending,
            },
            Err(panic) => Poll::Ready(panicked(&self.exchange, panic.as_ref())),
        }
    }

    /// The outcome of a call that stopped to ask.
    fn ask(&self) -> Outcome {
        let keys = &self.exchange.services().keys;
        match self.exchange.started_rounds().map(|rounds| rounds.finish(keys)) {
            Some(Ok(Some(required))) => Outcome::InputRequired(Box::new(required)),
            Some(Err(reason)) => self.failure(reason),
            Some(Ok(None)) | None => self.failure("the call stopped without a question".to_owned()),
        }
    }

    fn failure(&self, message: String) -> Outcome {
        failure(&self.exchange, message)
    }
}

/// A failure that the client can read, as the method has a place for it.
fn failure(exchange: &Exchange, message: String) -> Outcome {
    match exchange.asked().method {
        Method::ToolsCall => Outcome::tool_error(message),
        _ => Outcome::Error(RpcError::internal(message)),
    }
}

/// Starts a handler so that its panic is its own.
pub(crate) fn guarded<T>(exchange: &Exchange, start: impl FnOnce() -> T) -> Result<T, Outcome> {
    catch_unwind(AssertUnwindSafe(start)).map_err(|panic| panicked(exchange, panic.as_ref()))
}

fn panicked(exchange: &Exchange, panic: &(dyn Any + Send)) -> Outcome {
    let said = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("(a panic without a message)");
    exchange.services().metrics.panicked();
    failure(exchange, report(&shown(&exchange.asked().target), said))
}
