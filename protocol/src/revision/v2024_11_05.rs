//! 2024-11-05: no sound, no hints on tools, no declared completion.

use super::step::Adapter;
use crate::model::{AudioContent, ContentBlock, ServerCapabilities, TextContent, Tool};

pub(super) struct V2024_11_05;

impl Adapter for V2024_11_05 {
    /// The method is there; only the declaration is not.
    fn server_capabilities(&self, it: &mut ServerCapabilities) {
        it.completions = None;
    }

    fn tool(&self, it: &mut Tool) {
        it.annotations = None;
    }

    fn touches_content(&self) -> bool {
        true
    }

    fn content(&self, it: &mut ContentBlock) {
        if let ContentBlock::Audio(audio) = it {
            let (text, annotations) = (audio_as_text(audio), audio.annotations.take());
            *it = ContentBlock::Text(TextContent { text, annotations, meta: None });
        }
    }
}

/// Says that there is sound. The sound itself, in base64, would cost a model thousands of tokens and tell it nothing.
fn audio_as_text(audio: &AudioContent) -> String {
    format!(
        "[audio: {}, {} bytes; protocol 2024-11-05 cannot carry it]",
        audio.mime_type,
        decoded_len(&audio.data)
    )
}

/// How many bytes a base64 text stands for.
fn decoded_len(base64: &str) -> usize {
    base64.trim_end_matches('=').len() * 3 / 4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sound_becomes_text_that_says_what_it_was() {
        for (base64, bytes) in [("", 0), ("AA==", 1), ("AAA=", 2), ("AAAA", 3), ("AAAAAA==", 4)] {
            let mut block = ContentBlock::audio(base64, "audio/wav");
            V2024_11_05.content(&mut block);
            let text = block.as_text().unwrap();
            assert!(text.starts_with(&format!("[audio: audio/wav, {bytes} bytes;")), "{text}");
        }
    }
}
