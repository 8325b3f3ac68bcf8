//! Prompts.

use std::{collections::BTreeMap, future::Future, sync::Arc};

use trunkline_protocol::model::{
    self, ContentBlock, GetPromptResult, Icon, PromptArgument, PromptMessage, Role,
};

use super::{
    completion::{Completer, Completers},
    exchange::Exchange,
    outcome::{HandlerError, HandlerFuture, Outcome},
};

type Get = Arc<dyn Fn(Exchange, BTreeMap<String, String>) -> HandlerFuture + Send + Sync>;

/// A prompt: messages that a person can choose to begin with, made from arguments.
pub struct Prompt {
    definition: model::Prompt,
    completers: Completers,
    get: Get,
}

/// A prompt as the registry keeps it.
pub(crate) struct PromptEntry {
    /// What clients are told.
    pub(crate) definition: model::Prompt,
    /// Completes its arguments.
    pub(crate) completers: Completers,
    get: Get,
}

/// What getting a prompt may return.
pub trait IntoPrompt {
    /// The result.
    fn into_prompt(self) -> GetPromptResult;
}

// === impl Prompt ===

impl Prompt {
    /// A prompt.
    pub fn new<R, F, Fut>(name: &str, get: F) -> Self
    where
        R: IntoPrompt,
        F: Fn(Exchange, BTreeMap<String, String>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, HandlerError>> + Send + 'static,
    {
        let get = move |exchange: Exchange, arguments: BTreeMap<String, String>| {
            let getting = get(exchange, arguments);
            let result: HandlerFuture = Box::pin(async move {
                match getting.await {
                    Ok(prompt) => Outcome::Prompt(Box::new(prompt.into_prompt())),
                    Err(failure) => Outcome::of_failure(failure, "the prompt"),
                }
            });
            result
        };
        Self { definition: model::Prompt::new(name), completers: Completers::default(), get: Arc::new(get) }
    }

    /// A name for people.
    #[must_use]
    pub fn title(mut self, title: &str) -> Self {
        self.definition = self.definition.with_title(title);
        self
    }

    /// What it is for.
    #[must_use]
    pub fn description(mut self, description: &str) -> Self {
        self.definition = self.definition.with_description(description);
        self
    }

    /// A picture.
    #[must_use]
    pub fn icon(mut self, icon: Icon) -> Self {
        self.definition = self.definition.with_icon(icon);
        self
    }

    /// An argument that must be given.
    #[must_use]
    pub fn required(mut self, name: &str, description: &str) -> Self {
        let argument = PromptArgument::required(name).with_description(description);
        self.definition = self.definition.with_argument(argument);
        self
    }

    /// An argument that may be given.
    #[must_use]
    pub fn optional(mut self, name: &str, description: &str) -> Self {
        let argument = PromptArgument::new(name).with_description(description);
        self.definition = self.definition.with_argument(argument);
        self
    }

    /// Completes an argument while it is typed.
    #[must_use]
    pub fn complete(mut self, argument: &str, completer: impl Completer) -> Self {
        self.completers.add(argument, completer);
        self
    }

    pub(crate) fn compile(self) -> PromptEntry {
        PromptEntry { definition: self.definition, completers: self.completers, get: self.get }
    }
}

// === impl PromptEntry ===

impl PromptEntry {
    /// Checks the arguments and starts.
    ///
    /// # Errors
    /// Which argument is missing.
    pub(crate) fn start(
        &self,
        exchange: Exchange,
        arguments: BTreeMap<String, String>,
    ) -> Result<HandlerFuture, String> {
        let mut required = self.definition.arguments.iter().filter(|a| a.required == Some(true));
        match required.find(|argument| !arguments.contains_key(&argument.name)) {
            Some(missing) => Err(format!("the argument {:?} is missing", missing.name)),
            None => Ok((self.get)(exchange, arguments)),
        }
    }
}

// === impl IntoPrompt ===

impl IntoPrompt for GetPromptResult {
    fn into_prompt(self) -> GetPromptResult {
        self
    }
}

impl IntoPrompt for Vec<PromptMessage> {
    fn into_prompt(self) -> GetPromptResult {
        GetPromptResult { messages: self, ..GetPromptResult::default() }
    }
}

impl IntoPrompt for String {
    fn into_prompt(self) -> GetPromptResult {
        vec![PromptMessage { role: Role::User, content: ContentBlock::text(self) }].into_prompt()
    }
}
