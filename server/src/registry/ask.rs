//! Questions to the client, written once and asked the way its revision has: as a request on the call's stream, in a
//! further round of the call, or through a task.

use std::{fmt, future::Future, pin::Pin, sync::Arc};

use serde_json::{Value, value::RawValue};
use trunkline_protocol::{
    RequestId, Revision, RpcError,
    error::code,
    model::{ClientCapabilities, ElicitAction, ElicitParams, ElicitResult, InputRequest, InputResponse},
};

use crate::outbox::Outbox;

/// Why a question has no answer.
///
/// Not a `std::error::Error`, so that `?` in a handler tells it from an unexpected failure.
#[derive(Debug)]
#[non_exhaustive]
pub enum AskError {
    /// The client did not declare that it can be asked this.
    Unsupported {
        /// What it would have to declare.
        needs: Box<ClientCapabilities>,
        /// Whether its revision has an error of its own for that.
        modern: bool,
    },
    /// There is no way to ask: the client accepts no stream on this request, or the request takes no questions.
    NoWay,
    /// The client did not answer in time.
    TimedOut,
    /// Too many questions of this session wait for an answer.
    TooMany,
    /// The call was cancelled.
    Cancelled,
    /// The session or the connection has ended.
    Closed,
    /// The client answered with an error.
    Refused(RpcError),
    /// The client answered with something that does not fit the question.
    Malformed(String),
}

/// An answer on its way.
pub(crate) type Answering<'a> = Pin<Box<dyn Future<Output = Result<Box<RawValue>, AskError>> + Send + 'a>>;

/// Asks questions while the call goes on.
pub(crate) trait Asker: Send + Sync {
    /// Asks for a call on its way back, and waits for the answer. `key` names the question within its call.
    fn ask<'a>(
        &'a self,
        call: &'a RequestId,
        outbox: &'a Arc<Outbox>,
        key: &'a str,
        question: &'a InputRequest,
    ) -> Answering<'a>;
}

/// Reads an answer of a client of this revision, and checks that it fits what was asked.
///
/// # Errors
/// What does not fit.
pub(crate) fn read_answer(
    revision: Revision,
    question: &InputRequest,
    answer: &RawValue,
) -> Result<InputResponse, String> {
    let answer = revision.read_response(question, answer)?;
    if let (InputRequest::Elicit(asked), InputResponse::Elicit(result)) = (question, &answer) {
        check_elicited(asked, result)?;
    }
    Ok(answer)
}

/// An accepted form must hold what its schema asks for.
fn check_elicited(asked: &ElicitParams, result: &ElicitResult) -> Result<(), String> {
    let ElicitParams::Form(form) = asked else { return Ok(()) };
    if result.action != ElicitAction::Accept {
        return Ok(());
    }
    let schema = serde_json::to_value(&form.requested_schema).map_err(|error| error.to_string())?;
    let validator = jsonschema::validator_for(&schema).map_err(|error| error.to_string())?;
    let content = Value::Object(result.content.clone().unwrap_or_default());
    validator.validate(&content).map_err(|error| format!("{}: {error}", error.instance_path()))
}

/// Whether a client that declared `has` can do all that `needs` names. Experiments and the tasks of 2025-11-25 are not looked
/// at: what they need of a client is between the two.
pub(crate) fn covers(has: &ClientCapabilities, needs: &ClientCapabilities) -> bool {
    const ABILITIES: [fn(&ClientCapabilities) -> bool; 5] = [
        ClientCapabilities::supports_roots,
        ClientCapabilities::supports_sampling,
        ClientCapabilities::supports_sampling_tools,
        ClientCapabilities::supports_elicitation_form,
        ClientCapabilities::supports_elicitation_url,
    ];
    let mut extensions = needs.extensions.iter().flat_map(|named| named.keys());
    ABILITIES.iter().all(|able| able(has) || !able(needs))
        && extensions.all(|name| has.supports_extension(name))
}

/// The error that tells a client of the modern era what it lacks.
pub(crate) fn missing_capability(needs: &ClientCapabilities) -> RpcError {
    RpcError::new(code::MISSING_CAPABILITY, "the request needs client capabilities that were not declared")
        .with_data(&serde_json::json!({"requiredCapabilities": needs}))
}

// === impl AskError ===

impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsupported { needs, .. } => {
                let needs = serde_json::to_string(needs).unwrap_or_default();
                write!(f, "this needs a client with the capabilities {needs}, which yours did not declare")
            }
            Self::NoWay => {
                f.write_str("the client cannot be asked here: it accepts no stream on this request")
            }
            Self::TimedOut => f.write_str("the question was not answered in time"),
            Self::TooMany => f.write_str("too many questions of this session wait for an answer"),
            Self::Cancelled => f.write_str("the call was cancelled"),
            Self::Closed => f.write_str("the client has gone before it answered"),
            Self::Refused(error) => write!(f, "the client answered with an error: {error}"),
            Self::Malformed(reason) => write!(f, "the client's answer does not fit the question: {reason}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_covers_what_it_declared_and_no_more() {
        let none = ClientCapabilities::default;
        let kinds = [
            none().with_roots(),
            none().with_sampling(),
            none().with_elicitation_form(),
            none().with_elicitation_url(),
            none().with_extension("com.example/x"),
        ];
        for (has, needs) in kinds.iter().flat_map(|has| kinds.iter().map(move |needs| (has, needs))) {
            assert_eq!(covers(has, needs), has == needs, "{has:?} {needs:?}");
            assert!(covers(has, &none()) && !covers(&none(), needs));
        }
        assert!(!covers(&kinds[1], &none().with_sampling_tools()));
        assert!(covers(&none().with_sampling_tools().with_roots(), &kinds[1]));
    }
}
