//! Completion of arguments while they are typed.

use std::{collections::BTreeMap, future::Future, sync::Arc};

use trunkline_protocol::model::Completion;

use super::{
    exchange::Exchange,
    outcome::{HandlerError, HandlerFuture, Outcome},
};

type Erased = Arc<dyn Fn(Exchange, Typed) -> HandlerFuture + Send + Sync>;

/// What has been typed so far.
#[derive(Clone, Debug, Default)]
pub struct Typed {
    /// The beginning of the value.
    pub value: String,
    /// The other arguments that are already filled in (from 2025-06-18).
    pub others: BTreeMap<String, String>,
}

/// Completes an argument: a closure from what was typed to the values it may become, the best first. At most 100 are sent.
pub trait Completer: Send + Sync + 'static {
    /// The values.
    fn complete(
        &self,
        exchange: Exchange,
        typed: Typed,
    ) -> impl Future<Output = Result<Vec<String>, HandlerError>> + Send + 'static;
}

/// Completers by argument.
#[derive(Clone, Default)]
pub(crate) struct Completers(BTreeMap<String, Erased>);

impl<F, Fut> Completer for F
where
    F: Fn(Exchange, Typed) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Vec<String>, HandlerError>> + Send + 'static,
{
    fn complete(
        &self,
        exchange: Exchange,
        typed: Typed,
    ) -> impl Future<Output = Result<Vec<String>, HandlerError>> + Send + 'static {
        self(exchange, typed)
    }
}

/// Completes from a fixed list: those that begin with what was typed.
pub fn one_of<const N: usize>(values: [&'static str; N]) -> impl Completer {
    move |_: Exchange, typed: Typed| {
        let matching = values.iter().filter(|value| value.starts_with(&typed.value));
        let matching: Vec<String> = matching.map(|value| (*value).to_owned()).collect();
        async move { Ok(matching) }
    }
}

// === impl Completers ===

impl Completers {
    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds one for an argument.
    pub(crate) fn add(&mut self, argument: &str, completer: impl Completer) {
        let erased = move |exchange: Exchange, typed: Typed| {
            let completing = completer.complete(exchange, typed);
            let result: HandlerFuture = Box::pin(async move {
                match completing.await {
                    Ok(values) => Outcome::Completion(Box::new(cut(values))),
                    Err(failure) => Outcome::of_failure(failure, "the completion"),
                }
            });
            result
        };
        self.0.insert(argument.to_owned(), Arc::new(erased));
    }

    /// Starts completing; an argument without a completer has no values.
    pub(crate) fn start(&self, argument: &str, exchange: Exchange, typed: Typed) -> HandlerFuture {
        match self.0.get(argument) {
            Some(complete) => complete(exchange, typed),
            None => Box::pin(async { Outcome::Completion(Box::new(cut(Vec::new()))) }),
        }
    }
}

/// At most as many values as may be sent, and how many there are (*Completion*).
fn cut(mut values: Vec<String>) -> Completion {
    let total = values.len();
    values.truncate(Completion::MAX_VALUES);
    Completion { has_more: Some(total > values.len()), total: u64::try_from(total).ok(), values }
}
