//! How each revision asks the client, and what the client's words mean.

use serde_json::value::{RawValue, to_raw_value};

use super::{
    Inexpressible, Related, Revision, adapt,
    object::{ObjectWriter, write_meta},
};
use crate::{
    ids::RequestId,
    model::{ClientCapabilities, ElicitParams, Implementation, InputRequest, InputResponse, Tool},
    params::read,
};

// === impl Revision ===

impl Revision {
    /// Whether the question can be put in this revision's words, whatever the client declared.
    ///
    /// # Errors
    /// [`Inexpressible`] names what the revision lacks.
    pub fn can_ask(self, question: &InputRequest) -> Result<(), Inexpressible> {
        adapt::question(self, question).map(drop)
    }

    /// Writes a question as a request of ours, envelope and all (up to 2025-11-25).
    ///
    /// # Errors
    /// [`Inexpressible`] if this revision cannot ask it; nothing is appended then.
    pub fn write_question(
        self,
        out: &mut Vec<u8>,
        id: &RequestId,
        question: &InputRequest,
        related: Related<'_>,
    ) -> Result<(), Inexpressible> {
        let question = adapt::question(self, question)?;
        let mut request = ObjectWriter::begin(out);
        request.field("jsonrpc", "2.0");
        request.field("id", id);
        request.field("method", question.method().name());
        request.object("params", |params| {
            self.write_params(params, &question);
            write_meta(self, params, None, None, related);
        });
        request.end();
        Ok(())
    }

    /// Writes the parameters of a question alone.
    ///
    /// # Errors
    /// [`Inexpressible`] if this revision cannot ask it; nothing is appended then.
    pub fn write_question_params(
        self,
        out: &mut Vec<u8>,
        question: &InputRequest,
    ) -> Result<(), Inexpressible> {
        let question = adapt::question(self, question)?;
        let mut params = ObjectWriter::begin(out);
        self.write_params(&mut params, &question);
        params.end();
        Ok(())
    }

    fn write_params(self, params: &mut ObjectWriter<'_>, question: &InputRequest) {
        match question {
            InputRequest::Elicit(elicit) => match &**elicit {
                ElicitParams::Form(form) if !self.features().elicitation_modes => params.members(form),
                with_mode => params.members(with_mode),
            },
            InputRequest::Sample(sampling) => params.members(sampling),
            InputRequest::Roots => {}
        }
    }

    /// Reads the client's answer to a question that this revision asked.
    ///
    /// # Errors
    /// A message that names what does not fit.
    pub fn read_response(self, asked: &InputRequest, raw: &RawValue) -> Result<InputResponse, String> {
        let mut response = asked.read_response(raw)?;
        if let (InputRequest::Elicit(asked), InputResponse::Elicit(result)) = (asked, &mut response) {
            adapt::elicit_result(self, asked, result);
        }
        Ok(response)
    }

    /// Reads what a client declares. What this revision does not have is as if it had not been said.
    ///
    /// # Errors
    /// A message that names what does not fit.
    pub fn read_client_capabilities(self, raw: &RawValue) -> Result<ClientCapabilities, String> {
        read(raw, "client capabilities").map(|declared| self.known_capabilities(&declared))
    }

    /// Of what a client can do, what this revision has words for. For a server to heed, and for a client to declare.
    #[must_use]
    pub fn known_capabilities(self, declared: &ClientCapabilities) -> ClientCapabilities {
        adapt::client_capabilities(self, declared)
    }

    /// A program's description in this revision's words, for a client to declare itself.
    #[must_use]
    pub fn known_implementation(self, it: &Implementation) -> Implementation {
        adapt::implementation(self, it)
    }

    /// One tool as this revision lists it, to be kept and put into lists.
    ///
    /// # Panics
    /// Never: a tool is strings and JSON.
    #[must_use]
    pub fn encode_tool(self, tool: &Tool) -> Box<RawValue> {
        to_raw_value(&adapt::tool(self, tool)).expect("invariant: our types serialize")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{CreateMessageParams, ElicitSchema, PropertySchema};
    use serde_json::json;

    fn raw(json: &serde_json::Value) -> Box<RawValue> {
        RawValue::from_string(json.to_string()).unwrap()
    }

    #[test]
    fn an_answer_means_the_same_whatever_the_revision_asked_with() {
        let form = ElicitSchema::new().with("tags", PropertySchema::some_of(["a", "b"]));
        let asked: InputRequest = ElicitParams::form("Which?", form).into();
        for (revision, content) in [
            (Revision::V2025_06_18, json!({"tags.a": false, "tags.b": true})),
            (Revision::V2025_11_25, json!({"tags": ["b"]})),
            (Revision::V2026_07_28, json!({"tags": ["b"]})),
        ] {
            let answer = raw(&json!({"action": "accept", "content": content}));
            let InputResponse::Elicit(result) = revision.read_response(&asked, &answer).unwrap() else {
                unreachable!()
            };
            assert_eq!(result.accepted().unwrap()["tags"], json!(["b"]), "{revision}");
        }
    }

    #[test]
    fn a_question_that_cannot_be_put_appends_nothing() {
        let url: InputRequest = ElicitParams::url("Sign in", "https://example.com/", "e1").into();
        let form: InputRequest = ElicitParams::form("Who?", ElicitSchema::new()).into();
        let tools: InputRequest = CreateMessageParams::new("Why?", 5).with_tool(Tool::new("look")).into();
        for (question, first) in [
            (form, Revision::V2025_06_18),
            (url, Revision::V2025_11_25),
            (tools, Revision::V2025_11_25),
            (CreateMessageParams::new("Why?", 5).into(), Revision::V2024_11_05),
            (InputRequest::Roots, Revision::V2024_11_05),
        ] {
            for revision in Revision::ALL {
                let mut out = b"before".to_vec();
                let written = revision.write_question(&mut out, &1.into(), &question, Related::default());
                assert_eq!(written.is_ok(), revision >= first, "{revision} {question:?}");
                assert_eq!(written.is_ok(), revision.can_ask(&question).is_ok());
                assert_eq!(written.is_err(), out == b"before");
            }
        }
    }

    #[test]
    fn what_a_revision_does_not_have_is_not_heard() {
        let declared = raw(&json!({
            "roots": {"listChanged": true},
            "sampling": {"tools": {}},
            "elicitation": {"url": {}},
            "tasks": {"list": {}},
            "extensions": {"io.modelcontextprotocol/tasks": {}},
        }));
        let heard = |revision: Revision| {
            let heard = revision.read_client_capabilities(&declared).unwrap();
            serde_json::to_value(heard).unwrap()
        };
        let (roots, plain) = (json!({"listChanged": true}), json!({}));
        assert_eq!(heard(Revision::V2024_11_05), json!({"roots": roots, "sampling": plain}));
        assert_eq!(heard(Revision::V2025_03_26), json!({"roots": roots, "sampling": plain}));
        assert_eq!(
            heard(Revision::V2025_06_18),
            json!({"roots": roots, "sampling": plain, "elicitation": plain})
        );
        assert_eq!(
            heard(Revision::V2025_11_25),
            json!({
                "roots": roots,
                "sampling": {"tools": {}},
                "elicitation": {"url": {}},
                "tasks": {"list": {}},
            })
        );
        assert_eq!(
            heard(Revision::V2026_07_28),
            json!({
                "roots": plain,
                "sampling": {"tools": {}},
                "elicitation": {"url": {}},
                "extensions": {"io.modelcontextprotocol/tasks": {}},
            })
        );
    }
}
