//! A tool that asks the user.

use schemars::JsonSchema;
use serde::Deserialize;

use super::read_only;
use crate::{
    model::{ElicitAction, ElicitParams, ElicitResult, ElicitSchema, PropertySchema},
    registry::{Exchange, HandlerError, Tool},
};

/// The one field of the form.
const FIELD: &str = "confirmed";

#[derive(Deserialize, JsonSchema)]
struct Confirm {
    /// What the user is asked; yes and no should be answers to it.
    #[schemars(length(min = 1, max = 1000))]
    question: String,
}

/// `confirm(question)`: `yes`, `no`, `declined` or `cancelled`, as the user does.
pub(super) fn tool() -> Tool {
    Tool::new("confirm", confirm)
        .title("Confirm")
        .description("Asks the user a question, and returns yes, no, declined or cancelled.")
        .annotations(read_only())
}

async fn confirm(exchange: Exchange, asked: Confirm) -> Result<&'static str, HandlerError> {
    let field = PropertySchema::boolean().with_title("Yes").with_description("Whether the answer is yes");
    let form = ElicitParams::form(asked.question, ElicitSchema::new().with(FIELD, field));
    let answer = exchange.elicit("confirm", form).await?;
    Ok(word(&answer))
}

fn word(answer: &ElicitResult) -> &'static str {
    match answer.action {
        ElicitAction::Decline => "declined",
        ElicitAction::Cancel => "cancelled",
        ElicitAction::Accept => {
            let confirmed = answer.accepted().and_then(|fields| fields.get(FIELD)?.as_bool());
            if confirmed == Some(true) { "yes" } else { "no" }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_answer_has_a_word() {
        for (answer, expected) in [
            (r#"{"action":"accept","content":{"confirmed":true}}"#, "yes"),
            (r#"{"action":"accept","content":{"confirmed":false}}"#, "no"),
            (r#"{"action":"decline","content":{"confirmed":true}}"#, "declined"),
            (r#"{"action":"cancel"}"#, "cancelled"),
        ] {
            assert_eq!(word(&serde_json::from_str(answer).unwrap()), expected, "{answer}");
        }
    }
}
