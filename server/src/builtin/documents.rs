//! Resources that never change.

use crate::{
    model::{Annotations, ResourceContents, Role},
    registry::{Resource, ResourceTemplate, one_of},
};

const GREETING: &str = "Hello from Trunkline. Any replica, any request.\n";

const LOGO_URI: &str = "demo://logo";

/// Two hubs and the line between them: a PNG of 16 by 16 pixels.
const LOGO: &str = "iVBORw0KGgoAAAANSUhEUgAAABAAAAAQAgMAAABinRfyAAAACVBMVEX///8UWqDwjB4BI75LAAAAIElEQVR42mNgwAVYHRgDGEQDWEMYRKOW\
                    wggQFyyBCwAA2PQFeYmzmHEAAAAASUVORK5CYII=";

/// `demo://greeting`: text.
pub(super) fn greeting() -> Resource {
    Resource::new("demo://greeting", "greeting", |_| async { Ok(GREETING) })
        .title("Greeting")
        .description("A line of text.")
        .mime_type("text/plain")
        .annotations(Annotations::default().with_audience(Role::User).with_priority(0.5))
}

/// `demo://logo`: bytes.
pub(super) fn logo() -> Resource {
    Resource::new(LOGO_URI, "logo", |_| async { Ok(ResourceContents::blob(LOGO_URI, LOGO)) })
        .title("Logo")
        .description("A small picture.")
        .mime_type("image/png")
}

/// `demo://notes/{id}`: a text for any id.
pub(super) fn notes() -> ResourceTemplate {
    ResourceTemplate::new("demo://notes/{id}", "note", |_, variables| async move {
        let id = variables.get("id").map_or("", String::as_str);
        Ok(format!("# Note {id}\n\nThere is a note under every id, and this one is under {id}.\n"))
    })
    .title("Note")
    .description("A note. There is one under every id.")
    .mime_type("text/markdown")
    .complete("id", one_of(["groceries", "ideas", "meeting", "travel"]))
}

#[cfg(test)]
mod tests {
    use base64::{Engine, engine::general_purpose::STANDARD};

    use super::*;

    #[test]
    fn the_logo_is_a_whole_picture() {
        let bytes = STANDARD.decode(LOGO).unwrap();
        // The signature of the format, then the length and type of the first chunk.
        assert!(bytes.starts_with(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"));
        // The length and type of the last chunk, and the check sum that every PNG ends with.
        assert!(bytes.ends_with(b"\0\0\0\0IEND\xae\x42\x60\x82"));
    }
}
