//! A prompt.

use std::collections::BTreeMap;

use crate::{
    model::{GetPromptResult, PromptMessage},
    protocol::RpcError,
    registry::{Exchange, HandlerError, Prompt, one_of},
};

/// The styles, and what they ask for. The first one is taken where none is given.
const STYLES: [(&str, &str); 3] = [
    ("short", "Summarize the following text in one or two sentences."),
    ("long", "Summarize the following text in a few paragraphs. Keep every point that matters."),
    ("bullet", "Summarize the following text as a list of bullet points, the most important first."),
];

/// `summarize(text, style)`: asks a model for a summary.
pub(super) fn prompt() -> Prompt {
    Prompt::new("summarize", |_: Exchange, arguments| async move { write(&arguments) })
        .title("Summarize")
        .description("Asks for a summary of a text.")
        .required("text", "The text to summarize")
        .optional("style", "short, long or bullet; short if left out")
        .complete("style", one_of(STYLES.map(|(style, _)| style)))
}

fn write(arguments: &BTreeMap<String, String>) -> Result<GetPromptResult, HandlerError> {
    let text = arguments.get("text").map_or("", String::as_str);
    let style = arguments.get("style").map_or(STYLES[0].0, String::as_str);
    let Some((_, order)) = STYLES.iter().find(|(name, _)| *name == style) else {
        let reason = format!("{style:?} is no style; there are short, long and bullet");
        return Err(HandlerError::rpc(RpcError::invalid_params(reason)));
    };
    let messages = vec![PromptMessage::user(format!("{order}\n\n{text}"))];
    Ok(GetPromptResult::new(messages).with_description(format!("A {style} summary")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(arguments: &[(&str, &str)]) -> Option<String> {
        let arguments = arguments.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let prompt = write(&arguments).ok()?;
        prompt.messages[0].content.as_text().map(str::to_owned)
    }

    #[test]
    fn the_style_decides_what_is_asked_of_the_model() {
        let short = said(&[("text", "a tale")]).unwrap();
        assert!(short.contains("one or two sentences") && short.ends_with("\n\na tale"), "{short}");
        assert_eq!(said(&[("text", "a tale"), ("style", "short")]), Some(short));
        assert!(said(&[("text", "a tale"), ("style", "bullet")]).unwrap().contains("bullet points"));
    }

    #[test]
    fn an_unknown_style_is_refused() {
        assert_eq!(said(&[("text", "a tale"), ("style", "epic")]), None);
    }
}
