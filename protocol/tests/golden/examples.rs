//! One rich example of every shape: each has every member that any revision knows.

use serde_json::{Value, json, value::RawValue};
use trunkline_protocol::{
    ProgressToken,
    error::RpcError,
    model::{
        Annotations, CallToolResult, Completion, ContentBlock, CreateMessageParams, ElicitParams,
        ElicitSchema, GetPromptResult, Icon, Implementation, IncludeContext, InputRequest,
        InputRequiredResult, ListenFilter, LogLevel, LogMessageParams, MetaMap, ModelHint, ModelPreferences,
        ProgressParams, Prompt, PromptArgument, PromptMessage, PropertySchema, ReadResourceResult, Resource,
        ResourceContents, ResourceTemplate, Role, SamplingMessage, ServerCapabilities, Task, TaskDetail,
        TaskStatus, TaskSupport, Theme, Tool, ToolAnnotations, ToolChoice, ToolChoiceMode, ToolUseContent,
    },
};

pub(crate) fn raw(json: &Value) -> Box<RawValue> {
    RawValue::from_string(json.to_string()).unwrap()
}

fn icon() -> Icon {
    Icon::new("https://example.com/icon.png")
        .with_mime_type("image/png")
        .with_size("48x48")
        .with_theme(Theme::Dark)
}

fn annotations() -> Annotations {
    Annotations::default()
        .with_audience(Role::User)
        .with_audience(Role::Assistant)
        .with_priority(0.5)
        .with_last_modified("2025-01-12T15:00:58Z")
}

pub(crate) fn implementation() -> Implementation {
    Implementation::new("demo", "1.2.3")
        .with_title("Demo")
        .with_description("Shows everything.")
        .with_icon(icon())
        .with_website("https://example.com/")
}

pub(crate) fn capabilities() -> ServerCapabilities {
    let mut capabilities = ServerCapabilities::default()
        .with_tools(true)
        .with_prompts(true)
        .with_resources(true, true)
        .with_completions()
        .with_logging()
        .with_tasks();
    let mut experiments = MetaMap::new();
    experiments.insert("com.example/trial".into(), json!({}));
    capabilities.experimental = Some(Box::new(experiments));
    capabilities
}

pub(crate) fn tools() -> Vec<Tool> {
    let input = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "anything": true,
        },
        "required": ["region"],
        "additionalProperties": false,
    });
    let output = json!({"type": "object", "properties": {"sum": {"type": "number"}}, "required": ["sum"]});
    let rich = Tool::new("add")
        .with_title("Add")
        .with_description("Adds two numbers.")
        .with_icon(icon())
        .with_input_schema(raw(&input))
        .with_output_schema(raw(&output))
        .with_annotations(
            ToolAnnotations::read_only().with_destructive(false).with_idempotent(true).with_open_world(false),
        )
        .with_task_support(TaskSupport::Optional)
        .with_meta("com.example/price", 3);
    let of_array = Tool::new("list")
        .with_description("Lists numbers.")
        .with_output_schema(raw(&json!({"type": "array", "items": {"type": "number"}})));
    vec![rich, of_array]
}

pub(crate) fn resources() -> Vec<Resource> {
    vec![
        Resource::new("test://plain", "plain"),
        Resource::new("test://a", "a")
            .with_title("The A")
            .with_description("The first letter.")
            .with_mime_type("text/plain")
            .with_size(1)
            .with_icon(icon())
            .with_annotations(annotations())
            .with_meta("com.example/shelf", "A"),
    ]
}

pub(crate) fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new("test://{letter}", "letter")
            .with_title("Letters")
            .with_description("One letter.")
            .with_mime_type("text/plain")
            .with_icon(icon())
            .with_annotations(annotations())
            .with_meta("com.example/shelf", "all"),
    ]
}

pub(crate) fn read_resource() -> ReadResourceResult {
    ReadResourceResult::new(vec![
        ResourceContents::text("test://a", "a").with_mime_type("text/plain").with_meta("com.example/age", 1),
        ResourceContents::blob("test://a.png", "iVBORw==").with_mime_type("image/png"),
    ])
}

fn content() -> Vec<ContentBlock> {
    let link = resources().remove(1);
    vec![
        ContentBlock::text("plain"),
        ContentBlock::text("annotated").with_annotations(annotations()).with_meta("com.example/k", 1),
        ContentBlock::image("iVBORw==", "image/png").with_annotations(annotations()),
        ContentBlock::audio("UklGRg==", "audio/wav")
            .with_annotations(annotations())
            .with_meta("com.example/k", 1),
        ContentBlock::link(link),
        ContentBlock::resource(
            ResourceContents::text("test://a", "a")
                .with_mime_type("text/plain")
                .with_meta("com.example/age", 1),
        )
        .with_annotations(annotations())
        .with_meta("com.example/k", 1),
    ]
}

pub(crate) fn call_result() -> CallToolResult {
    CallToolResult { is_error: true, ..CallToolResult::content(content()) }
        .with_structured(raw(&json!({"sum": 3})))
        .with_meta("com.example/cost", 2)
}

/// An answer of data alone, and of data that is no object.
pub(crate) fn call_data() -> CallToolResult {
    CallToolResult::default().with_structured(raw(&json!([1, 2])))
}

pub(crate) fn prompts() -> Vec<Prompt> {
    vec![
        Prompt::new("plain"),
        Prompt::new("greet")
            .with_title("Greet")
            .with_description("Greets somebody.")
            .with_icon(icon())
            .with_argument(
                PromptArgument::required("who").with_title("Who").with_description("Whom to greet."),
            )
            .with_argument(PromptArgument::new("how"))
            .with_meta("com.example/tone", "warm"),
    ]
}

pub(crate) fn prompt_result() -> GetPromptResult {
    let mut messages: Vec<_> = content().into_iter().map(PromptMessage::user).collect();
    messages.push(PromptMessage::assistant("Gladly."));
    GetPromptResult::new(messages).with_description("Greets somebody.")
}

pub(crate) fn completion() -> Completion {
    Completion { total: Some(1000), ..Completion::new((0..120).map(|n| n.to_string())) }
}

pub(crate) fn form() -> InputRequest {
    let fields = ElicitSchema::new()
        .with("name", PropertySchema::string().with_title("Name").with_length(1, 80).with_default("x"))
        .with("email", PropertySchema::string().with_description("Where to write.").with_format("email"))
        .with_optional("age", PropertySchema::integer().with_range(0.0, 150.0).with_default(30))
        .with_optional("score", PropertySchema::number().with_default(95.5))
        .with_optional("sure", PropertySchema::boolean().with_default(true))
        .with_optional("size", PropertySchema::one_of(["s", "m"]).with_default("m"))
        .with_optional("colour", PropertySchema::one_of_titled([("r", "Red"), ("g", "Green")]))
        .with_optional("days", PropertySchema::some_of(["mon", "tue"]).with_default(json!(["mon"])))
        .with_optional("tags", PropertySchema::some_of_titled([("a", "A"), ("b", "B")]).with_title("Tags"));
    ElicitParams::form("Who are you?", fields).into()
}

pub(crate) fn page() -> InputRequest {
    ElicitParams::url("Sign in.", "https://example.com/sign-in", "e1").into()
}

pub(crate) fn sampling() -> InputRequest {
    sampling_params().into()
}

fn sampling_params() -> CreateMessageParams {
    let mut question = SamplingMessage::user("What is this?");
    question.content.push(ContentBlock::image("iVBORw==", "image/png"));
    question.content.push(ContentBlock::audio("UklGRg==", "audio/wav").with_meta("com.example/k", 1));
    let mut metadata = MetaMap::new();
    metadata.insert("provider".into(), json!("x"));
    CreateMessageParams {
        messages: vec![question, SamplingMessage::assistant("A picture.")],
        model_preferences: Some(ModelPreferences {
            hints: vec![ModelHint { name: Some("small".into()) }],
            cost_priority: Some(1.0),
            speed_priority: Some(0.5),
            intelligence_priority: Some(0.0),
        }),
        system_prompt: Some("Be short.".into()),
        include_context: Some(IncludeContext::ThisServer),
        temperature: Some(0.25),
        max_tokens: 100,
        stop_sequences: vec!["END".into()],
        metadata: Some(Box::new(metadata)),
        tools: Vec::new(),
        tool_choice: None,
    }
}

pub(crate) fn sampling_with_tools() -> InputRequest {
    let input = json!({"region": "eu"}).as_object().cloned().unwrap();
    let mut asked = SamplingMessage::assistant(ContentBlock::text(""));
    asked.content = vec![ContentBlock::ToolUse(Box::new(ToolUseContent {
        id: "u1".into(),
        name: "add".into(),
        input,
        meta: None,
    }))];
    let mut answer = ContentBlock::tool_result("u1", vec![ContentBlock::text("3")]);
    if let ContentBlock::ToolResult(result) = &mut answer {
        result.structured_content = Some(json!(3));
        result.is_error = Some(false);
    }
    let mut params = sampling_params().with_message(asked).with_message(SamplingMessage::user(answer));
    params.tools = tools();
    params.tool_choice = Some(ToolChoice { mode: Some(ToolChoiceMode::Auto) });
    params.into()
}

pub(crate) fn input_required() -> InputRequiredResult {
    let input_requests =
        [("who", form()), ("page", page()), ("model", sampling_with_tools()), ("roots", InputRequest::Roots)];
    InputRequiredResult {
        input_requests: input_requests.into_iter().collect(),
        request_state: Some("sealed".into()),
        meta: None,
    }
}

pub(crate) fn task(status: TaskStatus) -> Task {
    Task {
        task_id: "t1".into(),
        status,
        status_message: Some("Half done.".into()),
        created_at: "2025-11-25T10:30:00Z".into(),
        last_updated_at: "2025-11-25T10:40:00Z".into(),
        ttl_ms: Some(60_000),
        poll_interval_ms: Some(5000),
        is_error: status == TaskStatus::Completed,
    }
}

/// Kept for ever, and nothing said beside.
pub(crate) fn eternal_task() -> Task {
    Task::new("t2", "2025-11-25T10:30:00Z", None)
}

pub(crate) fn waiting() -> TaskDetail {
    TaskDetail::InputRequests(input_required().input_requests)
}

pub(crate) fn failure() -> TaskDetail {
    TaskDetail::Error(RpcError::internal("the disk is full"))
}

pub(crate) fn progress() -> ProgressParams {
    ProgressParams {
        progress_token: ProgressToken("p1".into()),
        progress: 1.0,
        total: Some(2.0),
        message: Some("half".into()),
    }
}

pub(crate) fn log_message() -> LogMessageParams {
    LogMessageParams { level: LogLevel::Notice, logger: Some("disk".into()), data: raw(&json!({"free": 12})) }
}

pub(crate) fn filter() -> ListenFilter {
    ListenFilter {
        tools_list_changed: true,
        prompts_list_changed: true,
        resources_list_changed: true,
        resource_subscriptions: vec!["test://a".into()],
        task_ids: vec!["t1".into()],
    }
}
