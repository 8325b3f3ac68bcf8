//! Rounds of questions (2026-07-28 *Multi Round-Trip Requests*): an unfinished result is answered, and the request sent again.

use bytes::Bytes;
use futures_util::future::try_join_all;
use trunkline_protocol::{
    jsonrpc::write_json,
    model::{InputRequest, OrderedMap},
};

use crate::{
    client::Way,
    error::Error,
    shared::{Ctx, Shared},
    wire::{InputRequired, input_required},
};

/// Answers questions until the result is finished.
pub(crate) async fn finish(
    shared: &Shared,
    way: &Way,
    ctx: &mut Ctx<'_>,
    mut result: Bytes,
) -> Result<Bytes, Error> {
    for _ in 0..shared.config.limits.rounds {
        let Some(required) = input_required(&result)? else { return Ok(result) };
        let extra = Box::pin(answers(shared, &required)).await?;
        ctx.trace.rounds += 1;
        result = Box::pin(way.call(ctx, &extra)).await?;
    }
    match input_required(&result)? {
        None => Ok(result),
        Some(_) => Err(Error::Endless { what: "rounds of questions", limit: shared.config.limits.rounds }),
    }
}

/// The members that the next request has more: the answers, and the server's own state as it came.
async fn answers(shared: &Shared, required: &InputRequired<'_>) -> Result<Vec<u8>, Error> {
    if required.input_requests.is_none() && required.request_state.is_none() {
        return Err(Error::malformed("an unfinished result has neither questions nor a state"));
    }
    let mut extra = Vec::new();
    if let Some(raw) = required.input_requests {
        let questions: OrderedMap<InputRequest> = serde_json::from_str(raw.get())
            .map_err(|error| Error::malformed(format!("the questions cannot be read: {error}")))?;
        if questions.len() > shared.config.limits.questions {
            return Err(Error::Endless {
                what: "questions in one round",
                limit: shared.config.limits.questions,
            });
        }
        let asked = questions.into_iter().map(|(key, question)| async move {
            let method = question.method().name();
            match shared.ask(question).await {
                Ok(answer) => Ok((key, answer)),
                Err(reason) => Err(Error::Unanswered { question: method, reason: Box::new(reason) }),
            }
        });
        write_answers(&mut extra, &try_join_all(asked).await?);
    }
    if let Some(state) = required.request_state {
        if !extra.is_empty() {
            extra.push(b',');
        }
        extra.extend_from_slice(b"\"requestState\":");
        extra.extend_from_slice(state.get().as_bytes());
    }
    Ok(extra)
}

fn write_answers(out: &mut Vec<u8>, answers: &[(String, Vec<u8>)]) {
    out.extend_from_slice(b"\"inputResponses\":{");
    for (at, (key, answer)) in answers.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        write_json(out, key);
        out.push(b':');
        out.extend_from_slice(answer);
    }
    out.push(b'}');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_one_object_in_their_order() {
        let mut out = Vec::new();
        write_answers(&mut out, &[("b\"".into(), b"{}".to_vec()), ("a".into(), b"{\"x\":1}".to_vec())]);
        assert_eq!(out, br#""inputResponses":{"b\"":{},"a":{"x":1}}"#);
        let mut none = Vec::new();
        write_answers(&mut none, &[]);
        assert_eq!(none, br#""inputResponses":{}"#);
    }
}
