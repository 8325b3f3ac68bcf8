//! What is served: tools, resources, prompts and completions, and the handlers behind them.

mod ask;
mod becoming;
mod canonical;
mod catalog;
mod completion;
mod exchange;
mod fanout;
mod outcome;
mod prompt;
mod resource;
mod rounds;
mod run;
mod schema;
mod services;
mod state;
mod template;
mod tool;

use std::{collections::BTreeMap, sync::Arc};

use arc_swap::ArcSwap;
use trunkline_protocol::{
    Method, Revision, RpcError,
    model::{CompleteParams, Reference},
    params::{Params, read},
    revision::Era,
};

pub use ask::AskError;
pub(crate) use ask::{Answering, Asker, missing_capability, read_answer};
pub(crate) use becoming::Becoming;
pub use catalog::CatalogError;
pub(crate) use catalog::{Catalog, Declared, List, read_cursor, write_cursor};
pub use completion::{Completer, Typed, one_of};
pub use exchange::Exchange;
pub(crate) use exchange::{Asked, Asking, Caller, Client};
pub(crate) use fanout::{Fanout, Share};
pub use outcome::HandlerError;
pub(crate) use outcome::Outcome;
pub use prompt::{IntoPrompt, Prompt};
pub use resource::{IntoContents, Resource, ResourceTemplate};
pub(crate) use rounds::{Call, Rounds};
pub(crate) use run::{Begun, Running};
pub use schema::SchemaError;
pub(crate) use services::{Broadcast, Services};
pub use state::State;
pub use template::TemplateError;
pub use tool::{IntoToolResult, NoArguments, Structured, Tool, ToolError};

use crate::keys::KeyRing;

/// The catalog of this moment. A change makes a new one; requests that have begun go on with theirs.
pub(crate) struct Registry(ArcSwap<Catalog>);

// === impl Registry ===

impl Registry {
    /// A registry of this catalog.
    pub(crate) fn new(catalog: Catalog) -> Self {
        Self(ArcSwap::from_pointee(catalog))
    }

    /// The catalog of this moment.
    pub(crate) fn catalog(&self) -> arc_swap::Guard<Arc<Catalog>> {
        self.0.load()
    }
}

// === impl Catalog ===

impl Catalog {
    /// Begins a request that a handler serves. Lists are [`Catalog::list`]'s, and other methods the session's.
    pub(crate) fn begin(&self, exchange: Exchange, params: &Params<'_>, raw: Option<&str>) -> Begun {
        if let Err(reason) = resume(&exchange, params) {
            return Begun::Done(Outcome::Error(RpcError::invalid_params(reason)));
        }
        match exchange.asked().method {
            method if !self.offers(method) && exchange.caller().revision.era() == Era::Modern => {
                Begun::Done(Outcome::Error(RpcError::method_not_found(method.name())))
            }
            Method::ToolsCall => self.begin_tool(exchange, params),
            Method::ResourcesRead => self.begin_read(exchange),
            Method::PromptsGet => self.begin_prompt(exchange, params),
            Method::CompletionComplete => self.begin_completion(exchange, raw),
            method => Begun::Done(Outcome::Error(RpcError::method_not_found(method.name()))),
        }
    }

    /// The outcome of a list, which no handler works on. `None` of any other method.
    pub(crate) fn list(
        &self,
        revision: Revision,
        method: Method,
        params: &Params<'_>,
        keys: &KeyRing,
    ) -> Option<Outcome> {
        let list = match method {
            Method::ToolsList => List::Tools,
            Method::ResourcesList => List::Resources,
            Method::ResourcesTemplatesList => List::Templates,
            Method::PromptsList => List::Prompts,
            _ => return None,
        };
        if !self.offers(method) && revision.era() == Era::Modern {
            return Some(Outcome::Error(RpcError::method_not_found(method.name())));
        }
        let cursor = params.cursor.as_ref().map(|cursor| &*cursor.0);
        Some(self.page(revision, list, cursor, keys).map_or_else(Outcome::Error, Outcome::Encoded))
    }

    /// Whether the capability behind a method is declared. 2026-07-28 knows no method without it; clients of the older
    /// revisions ask for every list there might be, and are shown an empty one.
    fn offers(&self, method: Method) -> bool {
        match method {
            Method::ToolsCall | Method::ToolsList => self.has_tools(),
            Method::ResourcesRead | Method::ResourcesList | Method::ResourcesTemplatesList => {
                self.has_resources()
            }
            Method::PromptsGet | Method::PromptsList => self.has_prompts(),
            Method::CompletionComplete => self.has_completions(),
            _ => true,
        }
    }

    fn begin_tool(&self, exchange: Exchange, params: &Params<'_>) -> Begun {
        let name = &*exchange.asked().target;
        let Some(tool) = self.tool(name) else {
            return invalid(format!("there is no tool {:?}", exchange::shown(name)));
        };
        let limit = tool.time_limit.unwrap_or(exchange.services().limits.tool_time);
        if tool.repeatable {
            exchange.outbox().allow_repeat();
        }
        match run::guarded(&exchange, || tool.start(exchange.clone(), params.arguments)) {
            Ok(Ok(handler)) => Begun::Running(Running::new(exchange, handler, limit)),
            Ok(Err(fault)) => Begun::Done(Outcome::tool_error(format!("invalid arguments: {fault}"))),
            Err(outcome) => Begun::Done(outcome),
        }
    }

    fn begin_read(&self, exchange: Exchange) -> Begun {
        let uri = &*exchange.asked().target;
        let started = run::guarded(&exchange, || {
            self.resource(uri)
                .map(|resource| resource.read(exchange.clone()))
                .or_else(|| self.templates().iter().find_map(|template| template.read(&exchange, uri)))
        });
        running(exchange, started.map(|handler| handler.ok_or(None)))
    }

    fn begin_prompt(&self, exchange: Exchange, params: &Params<'_>) -> Begun {
        let name = &*exchange.asked().target;
        let Some(prompt) = self.prompt(name) else {
            return invalid(format!("there is no prompt {:?}", exchange::shown(name)));
        };
        let arguments: BTreeMap<String, String> = match params.arguments.map(|raw| read(raw, "arguments")) {
            None => BTreeMap::new(),
            Some(Ok(arguments)) => arguments,
            Some(Err(reason)) => return invalid(reason),
        };
        let started = run::guarded(&exchange, || prompt.start(exchange.clone(), arguments));
        running(exchange, started.map(|handler| handler.map_err(Some)))
    }

    fn begin_completion(&self, exchange: Exchange, raw: Option<&str>) -> Begun {
        let asked: CompleteParams = match serde_json::from_str(raw.unwrap_or("{}")) {
            Ok(asked) => asked,
            Err(error) => return invalid(format!("invalid params: {error}")),
        };
        let completers = match &asked.reference {
            Reference::Prompt { name } => self.prompt(name).map(|prompt| &prompt.completers),
            Reference::Resource { uri } => self
                .templates()
                .iter()
                .find(|template| template.definition.uri_template == *uri)
                .map(|template| &template.completers),
        };
        let Some(completers) = completers else {
            return invalid("there is no such prompt or resource template".to_owned());
        };
        let others = asked.context.map(|context| context.arguments).unwrap_or_default();
        let typed = Typed { value: asked.argument.value, others };
        let argument = asked.argument.name;
        let started = run::guarded(&exchange, || completers.start(&argument, exchange.clone(), typed));
        running(exchange, started.map(Ok))
    }
}

/// Takes up an earlier round of this call, if this is a later one.
fn resume(exchange: &Exchange, params: &Params<'_>) -> Result<(), String> {
    if params.request_state.is_none() && params.input_responses.is_none() {
        return Ok(());
    }
    let state = params.request_state.as_ref().map(|state| &*state.0);
    exchange.resume(state, params.input_responses)
}

fn invalid(reason: String) -> Begun {
    Begun::Done(Outcome::Error(RpcError::invalid_params(reason)))
}

/// A handler that was started, or why not: `Err(None)` for a resource that does not exist.
fn running(
    exchange: Exchange,
    started: Result<Result<outcome::HandlerFuture, Option<String>>, Outcome>,
) -> Begun {
    let limit = exchange.services().limits.tool_time;
    // What is read has no effect.
    exchange.outbox().allow_repeat();
    match started {
        Ok(Ok(handler)) => Begun::Running(Running::new(exchange, handler, limit)),
        Ok(Err(Some(reason))) => invalid(reason),
        Ok(Err(None)) => {
            let uri = exchange.asked().target.to_string();
            Begun::Done(Outcome::ResourceNotFound(uri))
        }
        Err(outcome) => Begun::Done(outcome),
    }
}
