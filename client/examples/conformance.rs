//! The client that the official conformance suite tests: `conformance URL`, started once for each scenario.
//!
//! The suite names the scenario in `MCP_CONFORMANCE_SCENARIO`, the revision in `MCP_CONFORMANCE_PROTOCOL_VERSION`, and gives
//! some scenarios more in `MCP_CONFORMANCE_CONTEXT` (JSON). It looks at what arrives at its server; all that is done here is to
//! use the client as a program would. Exit: 0 the scenario was played, 1 the client met an error, 2 it was called wrongly.

use std::{env, process::ExitCode, time::Duration};

use serde::Deserialize;
use serde_json::{Map, Value, json, value::RawValue};
use tokio::time::timeout;
use trunkline_client::{Call, Client, Questions, StreamEvent};
use trunkline_protocol::{
    Revision, RpcError,
    model::{
        ClientCapabilities, CreateMessageParams, CreateMessageResult, ElicitAction, ElicitParams,
        ElicitResult, ListRootsResult, ListenFilter, Role, Tool,
    },
};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The suite gives a scenario 30 s and kills only the shell around the client then.
const LIMIT: Duration = Duration::from_secs(20);

/// The whole scenario, but where the server is.
struct Scenario {
    name: String,
    revision: Revision,
    context: Option<String>,
}

/// A person who agrees with everything, and fills forms with what they suggest.
struct Agreeable;

/// What `http-custom-headers` wants called.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolCalls {
    tool_calls: Vec<ToolCall>,
}

#[derive(Deserialize)]
struct ToolCall {
    name: String,
    arguments: Box<RawValue>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let (Some(url), Some(scenario)) = (env::args().next_back(), Scenario::from_environment()) else {
        return complain("usage: conformance URL, in the environment that the conformance suite makes", 2);
    };
    match timeout(LIMIT, scenario.play(&url)).await {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(error)) => complain(&error.to_string(), 1),
        Err(_elapsed) => complain("the scenario took too long", 1),
    }
}

#[expect(clippy::print_stderr, reason = "the suite keeps it beside the scenario's checks")]
fn complain(what: &str, status: u8) -> ExitCode {
    eprintln!("conformance: {what}");
    ExitCode::from(status)
}

// === impl Scenario ===

impl Scenario {
    fn from_environment() -> Option<Self> {
        let name = env::var("MCP_CONFORMANCE_SCENARIO").ok()?;
        let revision = env::var("MCP_CONFORMANCE_PROTOCOL_VERSION").unwrap_or_default();
        let revision = Revision::from_name(&revision).unwrap_or(Revision::V2025_11_25);
        Some(Self { name, revision, context: env::var("MCP_CONFORMANCE_CONTEXT").ok() })
    }

    async fn play(&self, url: &str) -> Result<(), Failure> {
        // The servers of one era know nothing of the other's opening.
        let builder = Client::http(url).questions(Agreeable);
        let builder = match self.revision {
            Revision::V2026_07_28 => builder.revision(self.revision),
            _ => builder.handshake(),
        };
        let client = builder.connect().await?;
        let played = self.steps(&client).await;
        // The session ends as it should even when the scenario did not go well.
        let closed = client.close().await;
        played?;
        Ok(closed?)
    }

    async fn steps(&self, client: &Client) -> Result<(), Failure> {
        let tools = client.list_tools().await?;
        match &*self.name {
            "tools_call" => call(client, "add_numbers", &json!({ "a": 5, "b": 3 })).await,
            "sse-retry" => call(client, "test_reconnection", &json!({})).await,
            "elicitation-sep1034-client-defaults" => asked_beside_the_call(client).await,
            "sep-2322-client-request-state" => rounds(client).await,
            "http-standard-headers" => everything(client, &tools).await,
            "http-custom-headers" => self.replay(client).await,
            "http-invalid-tool-headers" => every_tool(client, &tools).await,
            "json-schema-2020-12-preservation" => echo_schema(client, &tools).await,
            _ if self.name.starts_with("auth/") => every_tool(client, &tools).await,
            _ => Ok(()),
        }
    }

    /// Calls what the suite says, its arguments untouched.
    async fn replay(&self, client: &Client) -> Result<(), Failure> {
        let context = self.context.as_deref().ok_or("the scenario needs a context")?;
        let wanted: ToolCalls = serde_json::from_str(context)?;
        for wanted in wanted.tool_calls {
            client.raw(&Call::tool(&wanted.name, wanted.arguments.get())).await?;
        }
        Ok(())
    }
}

async fn call(client: &Client, tool: &str, arguments: &Value) -> Result<(), Failure> {
    client.raw(&Call::tool(tool, &arguments.to_string())).await?;
    Ok(())
}

/// A call whose question comes on the stream that belongs to no call: it has to be open before.
async fn asked_beside_the_call(client: &Client) -> Result<(), Failure> {
    let mut listening = client.listen(ListenFilter::default());
    match listening.event().await {
        Some(StreamEvent::Opened(_)) => call(client, "test_client_elicitation_defaults", &json!({})).await,
        other => Err(format!("the stream did not open: {other:?}").into()),
    }
}

/// Calls that take several rounds, and one between them that does not.
async fn rounds(client: &Client) -> Result<(), Failure> {
    for tool in
        ["test_mrtr_echo_state", "test_mrtr_unrelated", "test_mrtr_no_state", "test_mrtr_no_result_type"]
    {
        call(client, tool, &json!({})).await?;
    }
    Ok(())
}

/// One request of each kind.
async fn everything(client: &Client, tools: &[Tool]) -> Result<(), Failure> {
    for tool in tools.iter().take(1) {
        call(client, &tool.name, &json!({})).await?;
    }
    for resource in client.list_resources().await?.iter().take(1) {
        client.read_resource(&resource.uri).await?;
    }
    for prompt in client.list_prompts().await?.iter().take(1) {
        client.get_prompt(&prompt.name, Map::new()).await?;
    }
    Ok(())
}

/// Calls every tool that the client lets through.
async fn every_tool(client: &Client, tools: &[Tool]) -> Result<(), Failure> {
    for tool in tools {
        call(client, &tool.name, &json!({ "region": "north" })).await?;
    }
    Ok(())
}

/// Sends a schema back as it came.
async fn echo_schema(client: &Client, tools: &[Tool]) -> Result<(), Failure> {
    let tool = tools.iter().find(|tool| tool.name == "json_schema_2020_12_tool");
    let schema = tool.ok_or("there is no json_schema_2020_12_tool")?.input_schema.get();
    client.raw(&Call::tool("json_schema_echo", &format!("{{\"schema\":{schema}}}"))).await?;
    Ok(())
}

// === impl Agreeable ===

impl Questions for Agreeable {
    fn capabilities(&self) -> ClientCapabilities {
        serde_json::from_value(json!({ "elicitation": { "form": {} }, "sampling": {}, "roots": {} }))
            .unwrap_or_default()
    }

    async fn elicit(&self, params: ElicitParams) -> Result<ElicitResult, RpcError> {
        let ElicitParams::Form(form) = params else {
            return Ok(ElicitResult { action: ElicitAction::Decline, content: None, meta: None });
        };
        let mut content = Map::new();
        for (name, field) in form.requested_schema.properties {
            let required = form.requested_schema.required.contains(&name);
            if let Some(value) = field.default.or_else(|| required.then_some(Value::Bool(true))) {
                content.insert(name, value);
            }
        }
        Ok(ElicitResult { action: ElicitAction::Accept, content: Some(content), meta: None })
    }

    async fn sample(&self, _params: CreateMessageParams) -> Result<CreateMessageResult, RpcError> {
        Ok(CreateMessageResult {
            role: Role::Assistant,
            content: vec!["yes".into()],
            model: "none".to_owned(),
            stop_reason: Some("endTurn".to_owned()),
            meta: None,
        })
    }

    async fn roots(&self) -> Result<ListRootsResult, RpcError> {
        Ok(ListRootsResult::default())
    }
}
