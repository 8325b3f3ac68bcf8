//! Recorded requests with gaps.

use std::fmt::Write;

use trunkline_protocol::Revision;

/// The recorded calls of `add`, of one official client or another. `{host}`, `{session}`, `{id}`, `{a}` and `{b}` are gaps.
const CALLS: [(Revision, &str); 5] = [
    (Revision::V2024_11_05, include_str!("../../../../bench/requests/call-2024-11-05.http")),
    (Revision::V2025_03_26, include_str!("../../../../bench/requests/call-2025-03-26.http")),
    (Revision::V2025_06_18, include_str!("../../../../bench/requests/call-2025-06-18.http")),
    (Revision::V2025_11_25, include_str!("../../../../bench/requests/call-2025-11-25.http")),
    (Revision::V2026_07_28, include_str!("../../../../bench/requests/call-2026-07-28.http")),
];

/// The members of a recorded body that are put in place of others.
const ADD: &str = r#"{"name":"add","arguments":{"a":{a},"b":{b}}"#;

/// Ids have eight digits, the numbers to add three and four, and their sum four: all requests of a kind are of one length, and
/// so are their answers.
pub(super) const FIRST_ID: u64 = 10_000_000;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::bench) enum Operation {
    /// `tools/call` of `add`: two small numbers, a structured result.
    Add,
    /// `tools/call` of `text`: so many bytes of text.
    Text(u32),
    /// `tools/call` of `order`: a schema of twelve fields with `$defs`.
    Order,
    /// `tools/list`.
    List,
}

/// A request, but for what differs each time.
pub(in crate::bench) struct Template {
    head: String,
    body: String,
}

// === impl Operation ===

impl Operation {
    /// As a table's title.
    pub(in crate::bench) fn title(self) -> String {
        match self {
            Self::Add => "tools/call add".into(),
            Self::Text(bytes) => format!("tools/call text, {bytes} bytes"),
            Self::Order => "tools/call order, twelve fields".into(),
            Self::List => "tools/list".into(),
        }
    }
}

/// The numbers of a request: what it adds, and the quantity that it orders.
pub(super) fn numbers(number: u64) -> (u64, u64) {
    (100 + number % 900, 1000 + number % 7)
}

// === impl Template ===

impl Template {
    /// The recorded request of a revision that does this.
    pub(in crate::bench) fn recorded(operation: Operation, revision: Revision) -> Self {
        let Self { head, body } = Self::call(revision);
        match operation {
            Operation::Add => Self { head, body },
            Operation::Text(bytes) => {
                let text = format!(r#"{{"name":"text","arguments":{{"size":{bytes}}}"#);
                Self { head: named(&head, "text"), body: body.replace(ADD, &text) }
            }
            Operation::Order => Self { head: named(&head, "order"), body: body.replace(ADD, ORDER) },
            Operation::List => {
                let head = head.replace("mcp-name: add\n", "").replace("tools/call", "tools/list");
                let body = body.replace(&format!("{ADD},"), "{").replace(&format!("{ADD}}}"), "{}");
                Self { head, body: body.replace("tools/call", "tools/list") }
            }
        }
    }

    /// `initialize` of one of the older revisions.
    pub(super) fn initialize(revision: Revision) -> Self {
        let Self { head, .. } = Self::call(revision);
        let lines = head.lines().filter(|line| !line.starts_with("mcp-"));
        let head = lines.fold(String::new(), |head, line| head + line + "\n");
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":{{id}},"method":"initialize","params":{{"protocolVersion":"{}","capabilities":{{}},"clientInfo":{{"name":"bench","version":"1.0.0"}}}}}}"#,
            revision.as_str()
        );
        Self { head, body }
    }

    /// `notifications/initialized`.
    pub(super) fn initialized(revision: Revision) -> Self {
        let Self { head, .. } = Self::call(revision);
        Self { head, body: r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.into() }
    }

    fn call(revision: Revision) -> Self {
        let recorded = CALLS.iter().find(|(recorded, _)| *recorded == revision).map_or("", |(_, text)| text);
        let (head, body) = recorded.split_once("\n\n").unwrap_or_default();
        // A body's end is the file's, which an editor may give a line's end.
        Self { head: format!("{head}\n"), body: body.trim_end().to_owned() }
    }

    /// The bytes of one request. Without a session, the header that would name it is left out.
    pub(super) fn fill(&self, host: &str, session: Option<&str>, number: u64) -> Vec<u8> {
        let (a, b) = numbers(number);
        let mut body = self.body.replace("{id}", &(FIRST_ID + number).to_string());
        body = body.replace("{a}", &a.to_string()).replace("{b}", &b.to_string());
        let mut request = String::with_capacity(self.head.len() + body.len() + 128);
        for line in self.head.lines() {
            let line = line.replace("{host}", host);
            let line = match session {
                None if line.contains("{session}") => continue,
                None => line,
                Some(session) => line.replace("{session}", session),
            };
            request += &line;
            request += "\r\n";
        }
        // Writing into a string does not fail.
        let _written = write!(request, "Content-Length: {}\r\n\r\n{body}", body.len());
        request.into_bytes()
    }

    /// Whether it is of a revision with sessions.
    #[cfg(test)]
    fn names_a_session(&self) -> bool {
        self.head.contains("{session}")
    }
}

/// The head of a call of another tool, where the head says which.
fn named(head: &str, tool: &str) -> String {
    head.replace("mcp-name: add", &format!("mcp-name: {tool}"))
}

/// An order. What its answer says of it: three lines, and the price of the quantity of each.
const ORDER: &str = r#"{"name":"order","arguments":{"customer":{"name":"Ada Lovelace","email":"ada@example.com"},"address":{"street":"1 Analytical Way","city":"London","zip":"EC1A","country":"GB"},"items":[{"sku":"A-1","quantity":{a},"price":2},{"sku":"B-2","quantity":1,"price":{b}},{"sku":"C-3","quantity":3,"price":5}],"priority":"high","note":"Leave at the door","gift":true,"coupon":"TENOFF","currency":"GBP","channel":"web","locale":"en-GB","newsletter":false,"reference":"R-1815"}"#;

/// What [`ORDER`] comes to.
pub(super) fn total(number: u64) -> u64 {
    let (a, b) = numbers(number);
    2 * a + b + 15
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use trunkline_protocol::revision::Era;

    use super::*;

    fn body(request: &[u8]) -> Value {
        let text = std::str::from_utf8(request).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("Content-Length: {}", body.len())), "{head}");
        assert!(!head.contains('{') && !head.contains("\n\n"), "{head}");
        serde_json::from_str(body).unwrap()
    }

    #[test]
    fn every_request_is_whole_in_every_revision() {
        for (revision, _) in CALLS {
            let legacy = revision.era() == Era::Legacy;
            for operation in [Operation::Add, Operation::Text(9), Operation::Order, Operation::List] {
                let template = Template::recorded(operation, revision);
                assert_eq!(template.names_a_session(), legacy, "{revision}");
                let request = template.fill("h", Some("s"), 7);
                let message = body(&request);
                assert_eq!(message["id"], 10_000_007);
                let arguments = &message["params"]["arguments"];
                match operation {
                    Operation::Add => assert_eq!(arguments["b"], 1000),
                    Operation::Text(size) => assert_eq!(arguments["size"], size),
                    Operation::Order => assert_eq!(arguments["items"][0]["quantity"], 107),
                    Operation::List => assert_eq!(message["method"], "tools/list"),
                }
                assert_eq!(message["params"]["_meta"].is_null(), legacy, "{revision} {operation:?}");
                let head = String::from_utf8(request).unwrap();
                let name =
                    ["add", "text", "order"].into_iter().find(|name| message["params"]["name"] == **name);
                if let (false, Some(name)) = (legacy, name) {
                    assert!(head.contains(&format!("mcp-name: {name}\r\n")), "{head}");
                }
            }
        }
    }

    #[test]
    fn without_a_session_none_is_named() {
        let template = Template::recorded(Operation::Add, Revision::V2025_11_25);
        let request = String::from_utf8(template.fill("h", None, 0)).unwrap();
        assert!(!request.contains("mcp-session-id"), "{request}");
        let initialize = Template::initialize(Revision::V2025_11_25).fill("h", None, 0);
        assert_eq!(body(&initialize)["params"]["protocolVersion"], "2025-11-25");
    }
}
