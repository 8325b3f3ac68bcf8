//! From an outcome to the bytes of its answer, in the caller's revision.

use trunkline_protocol::{
    RequestId, Revision, RpcError,
    jsonrpc::{write_error, write_result},
    model::Caching,
};

use crate::{
    outbox::Reply,
    registry::{Catalog, Outcome},
};

/// Writes the answer to a request. `most` bounds its size in bytes.
pub(crate) fn encode(
    catalog: &Catalog,
    revision: Revision,
    id: &RequestId,
    outcome: &Outcome,
    most: usize,
) -> Reply {
    let mut out = Vec::with_capacity(capacity(outcome));
    if let Err(error) = write(catalog, revision, id, outcome, &mut out) {
        out.clear();
        write_error(&mut out, Some(id), &error);
        return Reply { status: 200, body: out.into() };
    }
    if out.len() > most {
        let too_large = Outcome::tool_error(too_large(out.len(), most));
        out.clear();
        // An error of a few hundred bytes is always written.
        let _written = write(catalog, revision, id, &too_large, &mut out);
    }
    Reply { status: outcome.status(revision), body: out.into() }
}

/// What a model is told of a result that is over the limit.
pub(super) fn too_large(bytes: usize, most: usize) -> String {
    format!(
        "the result of {bytes} bytes is larger than the limit of {most} (limits.result_bytes); ask for less"
    )
}

/// A guess that saves most answers from growing twice.
fn capacity(outcome: &Outcome) -> usize {
    match outcome {
        Outcome::Encoded(result) => result.len() + 64,
        Outcome::Tool(result) => {
            256 + result.content.iter().filter_map(|block| block.as_text()).map(str::len).sum::<usize>()
                + result.structured_content.as_ref().map_or(0, |json| json.get().len())
        }
        _ => 512,
    }
}

fn write(
    catalog: &Catalog,
    revision: Revision,
    id: &RequestId,
    outcome: &Outcome,
    out: &mut Vec<u8>,
) -> Result<(), RpcError> {
    let server = catalog.server(revision);
    match outcome {
        Outcome::Tool(result) => {
            write_result(out, id, |out| revision.write_call_tool_result(out, result, server));
        }
        Outcome::Prompt(result) => {
            write_result(out, id, |out| revision.write_get_prompt_result(out, result, server));
        }
        Outcome::Resource(result) => {
            // What a handler reads may depend on who asks, unless it says that it does not.
            let caching = Caching {
                ttl_ms: result.ttl_ms.unwrap_or_default(),
                scope: result.cache_scope.unwrap_or_default(),
            };
            write_result(out, id, |out| revision.write_read_resource_result(out, result, caching, server));
        }
        Outcome::Completion(completion) => {
            write_result(out, id, |out| revision.write_complete_result(out, completion, server));
        }
        Outcome::InputRequired(required) => {
            let mut written = Ok(());
            write_result(out, id, |out| {
                written = revision.write_input_required_result(out, required, server);
            });
            written.map_err(|error| RpcError::internal(error.to_string()))?;
        }
        Outcome::Encoded(result) => write_result(out, id, |out| out.extend_from_slice(result)),
        Outcome::Empty => write_result(out, id, |out| out.extend_from_slice(&catalog.empty(revision))),
        Outcome::Error(error) => write_error(out, Some(id), error),
        Outcome::ResourceNotFound(uri) => write_error(out, Some(id), &revision.resource_not_found(uri)),
        // Nothing: no answer follows a cancellation.
        Outcome::Cancelled => {}
    }
    Ok(())
}
