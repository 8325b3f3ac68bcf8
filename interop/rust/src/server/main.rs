//! The interop server on the official Rust SDK, which speaks both eras. `interop/servers/README.md` says what it serves.
//!
//! `trunkline-interop-server [--port N]`: streamable HTTP at /mcp, or stdio. HTTP+SSE is not in this SDK.

#![expect(deprecated, reason = "what a client may still meet")]

mod kind;

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use anyhow::{Context, Result};
use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult,
        CompletionInfo, ContentBlock, GetPromptRequestParams, GetPromptResponse, GetPromptResult,
        InputRequests, InputRequiredResult, JsonObject, ListPromptsResult, ListResourcesResult,
        ListToolsResult, PaginatedRequestParams, ProgressNotificationParam, Prompt, PromptArgument,
        PromptMessage, ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult,
        Resource, ResourceContents, ResourceUpdatedNotificationParam, Role, ServerCapabilities, ServerConfig,
        SubscribeRequestParams, SubscriptionFilter, Tool,
    },
    service::{RequestContext, SubscriptionContext},
    transport::{
        stdio,
        streamable_http_server::{StreamableHttpService, session::local::LocalSessionManager},
    },
};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::broadcast};

use self::kind::Kind;

/// What can be done in a test before a slow listener loses a change.
const CHANGES: usize = 64;

const GREETING: &str = "interop://greeting";

#[derive(Clone)]
struct Server {
    changes: broadcast::Sender<Change>,
    /// Calls of `hang` that were cancelled.
    cancelled: Arc<AtomicU32>,
}

#[derive(Clone, Copy)]
enum Change {
    Tools,
    Greeting,
}

#[tokio::main]
async fn main() -> Result<()> {
    let server = Server { changes: broadcast::channel(CHANGES).0, cancelled: Arc::default() };
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => {
            server.serve(stdio()).await?.waiting().await?;
        }
        ["--port", port] => {
            let sessions = Arc::new(LocalSessionManager::default());
            let service =
                StreamableHttpService::new(move || Ok(server.clone()), sessions, Default::default());
            let listener = TcpListener::bind(("127.0.0.1", port.parse::<u16>().context("--port")?)).await?;
            axum::serve(listener, axum::Router::new().nest_service("/mcp", service)).await?;
        }
        _ => anyhow::bail!("usage: trunkline-interop-server [--port N]"),
    }
    Ok(())
}

// === impl Server ===

impl Server {
    /// Puts a question: as a request, or from 2026-07-28 on as a further round.
    async fn question(
        kind: Kind,
        request: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.clone().unwrap_or_default();
        let answer = match (is_modern(context), &request.input_responses) {
            (true, None) => {
                let mut asked = InputRequests::new();
                asked.insert("question".to_owned(), kind.as_round(&arguments)?);
                return Ok(InputRequiredResult::new(Some(asked), Some("asked".to_owned())).into());
            }
            (true, Some(answers)) => answers.get("question").cloned().unwrap_or_default(),
            (false, _) => kind.as_request(&arguments, context).await?,
        };
        Ok(text(kind.words(&answer)))
    }

    async fn hang(&self, context: &RequestContext<RoleServer>) -> Result<CallToolResponse, ErrorData> {
        if let Some(token) = context.meta.get_progress_token() {
            let report = ProgressNotificationParam::new(token, 1.0).with_total(2.0);
            context.peer.notify_progress(report).await.map_err(internal)?;
        }
        context.ct.cancelled().await;
        self.cancelled.fetch_add(1, Ordering::SeqCst);
        Ok(text("never"))
    }

    async fn changed(
        &self,
        change: Change,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let _nobody_listens = self.changes.send(change);
        match change {
            _ if is_modern(context) => {}
            Change::Tools => context.peer.notify_tool_list_changed().await.map_err(internal)?,
            Change::Greeting => {
                let updated = ResourceUpdatedNotificationParam::new(GREETING);
                context.peer.notify_resource_updated(updated).await.map_err(internal)?;
            }
        }
        Ok(text(match change {
            Change::Tools => "touched",
            Change::Greeting => "updated",
        }))
    }

    async fn slow(
        request: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let steps = request.arguments.as_ref().and_then(|given| given["steps"].as_u64()).unwrap_or_default();
        for step in 1..=steps {
            if let Some(token) = context.meta.get_progress_token() {
                #[expect(clippy::cast_precision_loss, reason = "a handful of steps")]
                let report = ProgressNotificationParam::new(token, step as f64)
                    .with_total(steps as f64)
                    .with_message(format!("step {step}"));
                context.peer.notify_progress(report).await.map_err(internal)?;
            }
        }
        Ok(text("done"))
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(
            ServerCapabilities::builder()
                .enable_tools()
                .enable_tool_list_changed()
                .enable_resources()
                .enable_resources_subscribe()
                .enable_prompts()
                .enable_completions()
                .build(),
        )
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(vec![
            tool("add", "Adds two numbers.", &json!({"a": {"type": "number"}, "b": {"type": "number"}})),
            tool("echo", "Says it again.", &json!({"text": {"type": "string"}})),
            tool(
                "slow",
                "Reports progress as often as it is told to.",
                &json!({"steps": {"type": "number"}}),
            ),
            tool("ask", "Asks the person.", &json!({"question": {"type": "string"}})),
            tool("sample", "Asks the model.", &json!({"prompt": {"type": "string"}})),
            tool("roots", "Asks for the folders.", &json!({})),
            tool("hang", "Reports progress once, and then does nothing until it is cancelled.", &json!({})),
            tool("cancelled", "Says how many calls of `hang` were cancelled.", &json!({})),
            tool("touch", "Says that the list of tools changed.", &json!({})),
            tool("update", "Says that the resource changed.", &json!({})),
        ]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.clone().unwrap_or_default();
        match &*request.name {
            "add" => {
                let sum =
                    arguments["a"].as_i64().unwrap_or_default() + arguments["b"].as_i64().unwrap_or_default();
                let mut result = CallToolResult::success(vec![ContentBlock::text(sum.to_string())]);
                result.structured_content = Some(json!({"result": sum}));
                Ok(result.into())
            }
            "echo" => Ok(text(arguments["text"].as_str().unwrap_or_default())),
            "slow" => Self::slow(&request, &context).await,
            "ask" => Self::question(Kind::Person, &request, &context).await,
            "sample" => Self::question(Kind::Model, &request, &context).await,
            "roots" => Self::question(Kind::Folders, &request, &context).await,
            "hang" => self.hang(&context).await,
            "cancelled" => Ok(text(self.cancelled.load(Ordering::SeqCst).to_string())),
            "touch" => self.changed(Change::Tools, &context).await,
            "update" => self.changed(Change::Greeting, &context).await,
            other => Err(ErrorData::invalid_params(format!("unknown tool {other}"), None)),
        }
    }

    async fn list_resources(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(vec![Resource::new(GREETING, "greeting")]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        Ok(ReadResourceResult::new(vec![ResourceContents::text("hello", request.uri)]).into())
    }

    async fn list_prompts(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let name = PromptArgument::new("name").with_required(true);
        Ok(ListPromptsResult::with_all_items(vec![Prompt::new(
            "greet",
            Some("A greeting."),
            Some(vec![name]),
        )]))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let name = arguments.get("name").and_then(Value::as_str).unwrap_or_default();
        let message = PromptMessage::new_text(Role::User, format!("Say hello to {name}."));
        Ok(GetPromptResult::new(vec![message]).into())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let fits = |name: &&str| name.starts_with(&request.argument.value);
        let names = ["Ada", "Alan", "Grace"].into_iter().filter(fits).map(str::to_owned).collect();
        let values = CompletionInfo::new(names).map_err(|error| ErrorData::internal_error(error, None))?;
        Ok(CompleteResult::new(values))
    }

    async fn subscribe(
        &self,
        _request: SubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut changes = self.changes.subscribe();
        loop {
            tokio::select! {
                () = context.cancelled() => return Ok(()),
                Ok(change) = changes.recv() => {
                    let told = match change {
                        Change::Tools => context.sink().notify_tool_list_changed().await,
                        Change::Greeting => context.sink().notify_resource_updated(GREETING).await,
                    };
                    if told.is_err() {
                        return Ok(());
                    }
                }
            }
        }
    }
}

fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version == ProtocolVersion::V_2026_07_28)
}

fn internal(error: impl std::fmt::Display) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

fn tool(name: &'static str, description: &'static str, properties: &Value) -> Tool {
    let mut schema = JsonObject::new();
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("properties".to_owned(), properties.clone());
    Tool::new(name, description, schema)
}

fn text(text: impl Into<String>) -> CallToolResponse {
    CallToolResult::success(vec![ContentBlock::text(text.into())]).into()
}
