//! Calls by name, with typed results.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};
use trunkline_protocol::{
    Method,
    model::{
        CallToolResult, CompleteResult, Completion, GetPromptResult, ListPromptsResult,
        ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, LogLevel, Prompt,
        ReadResourceResult, Resource, ResourceTemplate, SetLevelParams, Tool,
    },
    revision::Era,
};

use crate::{
    call::Call,
    client::{Client, Way},
    error::Error,
};

/// What a completion is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompletionOf<'a> {
    /// An argument of a prompt.
    Prompt(&'a str),
    /// A variable of a resource template.
    ResourceTemplate(&'a str),
}

/// One page of a list.
trait Page: DeserializeOwned {
    /// What is listed.
    type Entry;
    /// The entries, and where the next page begins.
    fn parts(self) -> (Vec<Self::Entry>, Option<String>);
}

impl Page for ListToolsResult {
    type Entry = Tool;
    fn parts(self) -> (Vec<Tool>, Option<String>) {
        (self.tools, self.next_cursor)
    }
}

impl Page for ListPromptsResult {
    type Entry = Prompt;
    fn parts(self) -> (Vec<Prompt>, Option<String>) {
        (self.prompts, self.next_cursor)
    }
}

impl Page for ListResourcesResult {
    type Entry = Resource;
    fn parts(self) -> (Vec<Resource>, Option<String>) {
        (self.resources, self.next_cursor)
    }
}

impl Page for ListResourceTemplatesResult {
    type Entry = ResourceTemplate;
    fn parts(self) -> (Vec<ResourceTemplate>, Option<String>) {
        (self.resource_templates, self.next_cursor)
    }
}

// === impl Client ===

/// Typed calls. Each fails as [`Client::raw`] does, and with [`Error::Malformed`] if the result does not fit the method.
impl Client {
    /// Lists the tools, over all pages. One whose definition is invalid is left out (2026-07-28 *Custom Headers*).
    ///
    /// # Errors
    /// See above.
    pub async fn list_tools(&self) -> Result<Vec<Tool>, Error> {
        let mut tools = self.pages::<ListToolsResult>(Method::ToolsList).await?;
        if let Way::Http(link) = self.way() {
            tools.retain(|tool| link.mirrored.learn(tool));
        }
        Ok(tools)
    }

    /// Calls a tool. `arguments` is what its schema describes, written as a JSON object.
    ///
    /// A tool that failed is a result ([`CallToolResult::is_error`]) and no error: the server did its part.
    ///
    /// # Errors
    /// See above.
    pub async fn call_tool(&self, name: &str, arguments: &impl Serialize) -> Result<CallToolResult, Error> {
        let arguments = serde_json::to_string(arguments)
            .map_err(|error| Error::Refused(format!("the arguments of {name} are not JSON: {error}")))?;
        self.raw(&Call::tool(name, &arguments)).await?.read()
    }

    /// Lists the resources, over all pages.
    ///
    /// # Errors
    /// See above.
    pub async fn list_resources(&self) -> Result<Vec<Resource>, Error> {
        self.pages::<ListResourcesResult>(Method::ResourcesList).await
    }

    /// Lists the templates of resources, over all pages.
    ///
    /// # Errors
    /// See above.
    pub async fn list_resource_templates(&self) -> Result<Vec<ResourceTemplate>, Error> {
        self.pages::<ListResourceTemplatesResult>(Method::ResourcesTemplatesList).await
    }

    /// Reads a resource.
    ///
    /// # Errors
    /// See above.
    pub async fn read_resource(&self, uri: &str) -> Result<ReadResourceResult, Error> {
        let call = Call::with_params(Method::ResourcesRead, &json!({ "uri": uri }))?.named(uri);
        self.raw(&call).await?.read()
    }

    /// Subscribes to a resource, up to 2025-11-25; its changes are heard on [`Client::listen`] and
    /// [`Client::notifications`]. A session that has to be opened anew subscribes again. From 2026-07-28 on a subscription
    /// is a stream, and this is refused: name the resource to [`Client::listen`].
    ///
    /// # Errors
    /// See above.
    pub async fn subscribe(&self, uri: &str) -> Result<(), Error> {
        self.without_modern("resources/subscribe")?;
        self.typed::<Value>(Method::ResourcesSubscribe, &json!({ "uri": uri })).await?;
        if let Way::Http(link) = self.way() {
            link.subscribed.lock().insert(uri.to_owned());
        }
        Ok(())
    }

    /// Takes a subscription back, up to 2025-11-25.
    ///
    /// # Errors
    /// See above.
    pub async fn unsubscribe(&self, uri: &str) -> Result<(), Error> {
        self.without_modern("resources/unsubscribe")?;
        if let Way::Http(link) = self.way() {
            link.subscribed.lock().remove(uri);
        }
        self.typed::<Value>(Method::ResourcesUnsubscribe, &json!({ "uri": uri })).await.map(drop)
    }

    /// Lists the prompts, over all pages.
    ///
    /// # Errors
    /// See above.
    pub async fn list_prompts(&self) -> Result<Vec<Prompt>, Error> {
        self.pages::<ListPromptsResult>(Method::PromptsList).await
    }

    /// Fills in a prompt.
    ///
    /// # Errors
    /// See above.
    pub async fn get_prompt(
        &self,
        name: &str,
        arguments: Map<String, Value>,
    ) -> Result<GetPromptResult, Error> {
        let params = json!({ "name": name, "arguments": arguments });
        self.raw(&Call::with_params(Method::PromptsGet, &params)?.named(name)).await?.read()
    }

    /// Asks what an argument that begins with `value` could become.
    ///
    /// # Errors
    /// See above.
    pub async fn complete(
        &self,
        of: CompletionOf<'_>,
        argument: &str,
        value: &str,
    ) -> Result<Completion, Error> {
        let reference = match of {
            CompletionOf::Prompt(name) => json!({ "type": "ref/prompt", "name": name }),
            CompletionOf::ResourceTemplate(uri) => json!({ "type": "ref/resource", "uri": uri }),
        };
        let params = json!({ "ref": reference, "argument": { "name": argument, "value": value } });
        let result: CompleteResult = self.typed(Method::CompletionComplete, &params).await?;
        Ok(result.completion)
    }

    /// The least severe log messages that the client wants to hear. Up to 2025-11-25 the server is told; from then on each
    /// request says it.
    ///
    /// # Errors
    /// See above.
    pub async fn set_log_level(&self, level: LogLevel) -> Result<(), Error> {
        if self.revision().era() == Era::Legacy {
            self.typed::<Value>(Method::LoggingSetLevel, &SetLevelParams { level }).await?;
        }
        self.shared().set_log(Some(level));
        Ok(())
    }

    /// Asks whether the server is there. From 2026-07-28 on, which has no `ping`, it is asked to describe itself.
    ///
    /// # Errors
    /// See above.
    pub async fn ping(&self) -> Result<(), Error> {
        let method = match self.revision().era() {
            Era::Legacy => Method::Ping,
            Era::Modern => Method::ServerDiscover,
        };
        self.raw(&Call::new(method.name(), "")).await?;
        Ok(())
    }

    fn without_modern(&self, method: &str) -> Result<(), Error> {
        match self.revision().era() {
            Era::Legacy => Ok(()),
            Era::Modern => {
                Err(Error::Refused(format!("{} has no {method}; listen to the resource", self.revision())))
            }
        }
    }

    async fn typed<T: DeserializeOwned>(&self, method: Method, params: &impl Serialize) -> Result<T, Error> {
        self.raw(&Call::with_params(method, params)?).await?.read()
    }

    async fn pages<P: Page>(&self, method: Method) -> Result<Vec<P::Entry>, Error> {
        let (mut entries, mut cursor) = (Vec::new(), None::<String>);
        let limit = self.shared().config.limits.pages;
        for _ in 0..limit {
            let params = match &cursor {
                None => json!({}),
                Some(cursor) => json!({ "cursor": cursor }),
            };
            let (page, next) = self.typed::<P>(method, &params).await?.parts();
            entries.extend(page);
            // A page that leads to itself would never end.
            if next.is_some() && next == cursor {
                return Err(Error::malformed(format!("a page of {method} leads to itself")));
            }
            cursor = next;
            if cursor.is_none() {
                return Ok(entries);
            }
        }
        Err(Error::Endless { what: "pages of a list", limit })
    }
}
