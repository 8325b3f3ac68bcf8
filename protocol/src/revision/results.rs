//! How each revision writes the results of a server. All functions append one JSON object, the value of `result`.
//!
//! `server` is who answers, encoded once by [`Revision::encode_server_info`]; revisions that do not say so ignore it.

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use super::{
    Inexpressible, Related, Revision, adapt,
    object::{ObjectWriter, ResultWriter},
};
use crate::{
    error::RpcError,
    ids::RequestId,
    jsonrpc::write_json,
    model::{
        Caching, CallToolResult, Completion, ContentBlock, GetPromptResult, Implementation,
        InputRequiredResult, Prompt, ReadResourceResult, Resource, ResourceTemplate, ServerCapabilities,
        TextContent, Tool,
    },
};

// === impl Revision ===

impl Revision {
    /// Who answers, as the `server` of the other functions.
    ///
    /// # Panics
    /// Never: an implementation is strings.
    #[must_use]
    pub fn encode_server_info(self, server: &Implementation) -> Box<RawValue> {
        to_raw_value(&adapt::implementation(self, server)).expect("invariant: our types serialize")
    }

    /// A result that says nothing: of `ping`, `logging/setLevel`, `resources/subscribe`, `tasks/update` and the like.
    pub fn write_empty_result(self, out: &mut Vec<u8>, server: Option<&RawValue>) {
        ResultWriter::complete(self, out).end(server, None);
    }

    /// The result of `initialize`, which settles this revision. The same bytes for every client.
    pub fn write_initialize_result(
        self,
        out: &mut Vec<u8>,
        capabilities: &ServerCapabilities,
        server: &Implementation,
        instructions: Option<&str>,
    ) {
        let mut result = ResultWriter::complete(self, out);
        result.field("protocolVersion", self.as_str());
        result.field("capabilities", &adapt::server_capabilities(self, capabilities));
        result.field("serverInfo", &adapt::implementation(self, server));
        result.option("instructions", instructions);
        result.end(None, None);
    }

    /// The result of `server/discover`. `supported` are the revisions that requests may name.
    pub fn write_discover_result(
        self,
        out: &mut Vec<u8>,
        supported: &[Self],
        capabilities: &ServerCapabilities,
        instructions: Option<&str>,
        caching: Caching,
        server: Option<&RawValue>,
    ) {
        let mut result = ResultWriter::complete(self, out);
        result.array("supportedVersions", supported.iter().map(|revision| revision.as_str()));
        result.field("capabilities", &adapt::server_capabilities(self, capabilities));
        result.option("instructions", instructions);
        result.caching(caching);
        result.end(server, None);
    }

    /// The result of `tools/list`.
    pub fn write_tools_list<'a>(
        self,
        out: &mut Vec<u8>,
        tools: impl IntoIterator<Item = &'a Tool>,
        next_cursor: Option<&str>,
        caching: Caching,
        server: Option<&RawValue>,
    ) {
        let mut result = ResultWriter::complete(self, out);
        result.array("tools", tools.into_iter().map(|tool| adapt::tool(self, tool)));
        end_list(result, next_cursor, caching, server);
    }

    /// The result of `resources/list`.
    pub fn write_resources_list<'a>(
        self,
        out: &mut Vec<u8>,
        resources: impl IntoIterator<Item = &'a Resource>,
        next_cursor: Option<&str>,
        caching: Caching,
        server: Option<&RawValue>,
    ) {
        let mut result = ResultWriter::complete(self, out);
        result.array("resources", resources.into_iter().map(|resource| adapt::resource(self, resource)));
        end_list(result, next_cursor, caching, server);
    }

    /// The result of `resources/templates/list`.
    pub fn write_resource_templates_list<'a>(
        self,
        out: &mut Vec<u8>,
        templates: impl IntoIterator<Item = &'a ResourceTemplate>,
        next_cursor: Option<&str>,
        caching: Caching,
        server: Option<&RawValue>,
    ) {
        let mut result = ResultWriter::complete(self, out);
        result.array(
            "resourceTemplates",
            templates.into_iter().map(|template| adapt::resource_template(self, template)),
        );
        end_list(result, next_cursor, caching, server);
    }

    /// The result of `prompts/list`.
    pub fn write_prompts_list<'a>(
        self,
        out: &mut Vec<u8>,
        prompts: impl IntoIterator<Item = &'a Prompt>,
        next_cursor: Option<&str>,
        caching: Caching,
        server: Option<&RawValue>,
    ) {
        let mut result = ResultWriter::complete(self, out);
        result.array("prompts", prompts.into_iter().map(|prompt| adapt::prompt(self, prompt)));
        end_list(result, next_cursor, caching, server);
    }

    /// The result of `tools/call`. Copies only content that this revision has to rewrite.
    pub fn write_call_tool_result(
        self,
        out: &mut Vec<u8>,
        result: &CallToolResult,
        server: Option<&RawValue>,
    ) {
        let mut writer = ResultWriter::complete(self, out);
        write_call_members(self, &mut writer, result);
        writer.end(server, result.meta.as_deref());
    }

    /// The result of `resources/read`.
    pub fn write_read_resource_result(
        self,
        out: &mut Vec<u8>,
        result: &ReadResourceResult,
        caching: Caching,
        server: Option<&RawValue>,
    ) {
        let mut writer = ResultWriter::complete(self, out);
        writer.field("contents", &*adapt::resource_contents(self, &result.contents));
        writer.caching(caching);
        writer.end(server, result.meta.as_deref());
    }

    /// The result of `prompts/get`.
    pub fn write_get_prompt_result(
        self,
        out: &mut Vec<u8>,
        result: &GetPromptResult,
        server: Option<&RawValue>,
    ) {
        let mut writer = ResultWriter::complete(self, out);
        writer.option("description", result.description.as_deref());
        writer.field("messages", &*adapt::messages(self, &result.messages));
        writer.end(server, result.meta.as_deref());
    }

    /// The result of `completion/complete`. Values past [`Completion::MAX_VALUES`] are cut off, and said to be.
    pub fn write_complete_result(
        self,
        out: &mut Vec<u8>,
        completion: &Completion,
        server: Option<&RawValue>,
    ) {
        let most = completion.values.len().min(Completion::MAX_VALUES);
        let cut = most < completion.values.len();
        let mut result = ResultWriter::complete(self, out);
        result.object("completion", |object| {
            object.field("values", &completion.values[..most]);
            object.option("total", completion.total.as_ref());
            object.option("hasMore", if cut { Some(&true) } else { completion.has_more.as_ref() });
        });
        result.end(server, None);
    }

    /// A result that asks the client and makes it come back (from 2026-07-28).
    ///
    /// # Errors
    /// [`Inexpressible`] if one of the questions cannot be asked in this revision; nothing is appended then.
    pub fn write_input_required_result(
        self,
        out: &mut Vec<u8>,
        result: &InputRequiredResult,
        server: Option<&RawValue>,
    ) -> Result<(), Inexpressible> {
        let questions = adapt::questions(self, &result.input_requests)?;
        let mut writer = ResultWriter::of_type(self, out, "input_required");
        if !questions.is_empty() {
            writer.field("inputRequests", &questions);
        }
        writer.option("requestState", result.request_state.as_deref());
        writer.end(server, result.meta.as_deref());
        Ok(())
    }

    /// The result of `subscriptions/listen`, sent when the server ends the stream (from 2026-07-28).
    pub fn write_listen_result(self, out: &mut Vec<u8>, listen: &RequestId, server: Option<&RawValue>) {
        let related = Related { subscription: Some(listen), task: None };
        ResultWriter::complete(self, out).end_related(server, None, related);
    }

    /// The error for a resource that does not exist. Its code changed with 2026-07-28.
    #[must_use]
    pub fn resource_not_found(self, uri: &str) -> RpcError {
        #[derive(Serialize)]
        struct Data<'a> {
            uri: &'a str,
        }
        let code = self.features().resource_not_found;
        RpcError::new(code, "the resource does not exist").with_data(&Data { uri })
    }
}

fn end_list(
    mut result: ResultWriter<'_>,
    next_cursor: Option<&str>,
    caching: Caching,
    server: Option<&RawValue>,
) {
    result.option("nextCursor", next_cursor);
    result.caching(caching);
    result.end(server, None);
}

/// The members of a tool's answer but `_meta`. Also what a task carries as its `result`.
pub(super) fn write_call_members(revision: Revision, writer: &mut ObjectWriter<'_>, result: &CallToolResult) {
    let structured = result.structured_content.as_deref();
    let kept = structured.filter(|json| adapt::has_structured(revision, json));
    match structured {
        // An answer of data alone would be no answer at all to those who cannot read it.
        Some(json) if kept.is_none() && result.content.is_empty() => {
            writer.array("content", [ContentBlock::text(json.get())]);
        }
        _ => write_content(writer.key("content"), &adapt::content(revision, &result.content)),
    }
    if let Some(json) = kept {
        writer.raw("structuredContent", json);
    }
    if result.is_error {
        writer.field("isError", &true);
    }
}

/// Writes content that this revision has words for. Plain text, which most of it is, without a detour.
fn write_content(out: &mut Vec<u8>, content: &[ContentBlock]) {
    out.push(b'[');
    for (index, block) in content.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        match block {
            ContentBlock::Text(TextContent { text, annotations: None, meta: None }) => {
                out.extend_from_slice(br#"{"type":"text","text":"#);
                write_json(out, text.as_str());
                out.push(b'}');
            }
            other => write_json(out, other),
        }
    }
    out.push(b']');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn called(revision: Revision, result: &CallToolResult) -> String {
        let mut out = Vec::new();
        revision.write_call_tool_result(&mut out, result, None);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn an_answer_of_data_alone_is_text_where_data_cannot_be_said() {
        let data = |json: &str| {
            CallToolResult::default().with_structured(RawValue::from_string(json.to_owned()).unwrap())
        };
        let text = r#"{"content":[{"type":"text","text":"[1,2]"}]}"#;
        assert_eq!(called(Revision::V2025_03_26, &data("[1,2]")), text);
        assert_eq!(called(Revision::V2025_11_25, &data("[1,2]")), text);
        assert_eq!(called(Revision::V2025_11_25, &data("{}")), r#"{"content":[],"structuredContent":{}}"#);
        // What was said beside the data is not said twice.
        let both = data("[1,2]").with_content(ContentBlock::text("one and two"));
        assert_eq!(
            called(Revision::V2025_06_18, &both),
            r#"{"content":[{"type":"text","text":"one and two"}]}"#
        );
    }

    #[test]
    fn a_completion_is_cut_and_says_so() {
        let written = |count: usize| {
            let mut out = Vec::new();
            let completion = Completion::new((0..count).map(|n| n.to_string()));
            Revision::V2024_11_05.write_complete_result(&mut out, &completion, None);
            let result: crate::model::CompleteResult = serde_json::from_slice(&out).unwrap();
            (result.completion.values.len(), result.completion.has_more)
        };
        assert_eq!(written(100), (100, None));
        assert_eq!(written(101), (100, Some(true)));
    }
}
