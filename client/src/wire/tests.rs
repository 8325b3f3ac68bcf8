use super::*;

fn dialect(revision: Revision) -> Dialect {
    Dialect::new(
        revision,
        &Implementation::new("c", "1"),
        &ClientCapabilities::default().with_roots().with_elicitation_url(),
    )
}

fn parts<'a>(method: &'a str, params: &'a str) -> Parts<'a> {
    Parts { id: 7, method, params: params.as_bytes(), extra: b"", progress: false, log: None }
}

fn written(revision: Revision, parts: &Parts<'_>) -> String {
    String::from_utf8(dialect(revision).request(parts).unwrap().to_vec()).unwrap()
}

const META: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"roots":{},"elicitation":{"url":{}}}"#;

#[test]
fn an_older_request_has_no_more_than_it_needs() {
    let old = Revision::V2025_11_25;
    assert_eq!(written(old, &parts("ping", "")), r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#);
    assert_eq!(written(old, &parts("ping", " { } ")), r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#);
    assert_eq!(
        written(old, &Parts { progress: true, ..parts("a/b", r#"{"x":1}"#) }),
        r#"{"jsonrpc":"2.0","id":7,"method":"a/b","params":{"x":1,"_meta":{"progressToken":7}}}"#
    );
}

#[test]
fn a_modern_request_describes_itself() {
    let new = Revision::V2026_07_28;
    assert_eq!(
        written(new, &parts("a", "")),
        format!(r#"{{"jsonrpc":"2.0","id":7,"method":"a","params":{{"_meta":{{{META}}}}}}}"#)
    );
    let all =
        Parts { extra: br#""y":2"#, progress: true, log: Some(LogLevel::Info), ..parts("a", r#"{"x":1}"#) };
    assert_eq!(
        written(new, &all),
        format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"a","params":{{"x":1,"y":2,"_meta":{{{META},"progressToken":7,"io.modelcontextprotocol/logLevel":"info"}}}}}}"#
        )
    );
}

#[test]
fn a_meta_of_the_caller_is_kept_and_cannot_replace_ours() {
    let new = Revision::V2026_07_28;
    let params =
        r#"{"a":"\"_meta\"","_meta":{"traceparent":"t","io.modelcontextprotocol/protocolVersion":"x"}}"#;
    assert_eq!(
        written(new, &parts("a", params)),
        format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"a","params":{{"a":"\"_meta\"","_meta":{{{META},"traceparent":"t"}}}}}}"#
        )
    );
    let inside = r#"{"_meta":{"k":1}}"#;
    assert_eq!(
        written(Revision::V2025_11_25, &parts("a", inside)),
        r#"{"jsonrpc":"2.0","id":7,"method":"a","params":{"_meta":{"k":1}}}"#
    );
}

#[test]
fn what_would_break_out_of_the_message_is_refused() {
    for (method, params) in [("a\"b", ""), ("", ""), ("a", "[1]"), ("a", "{"), ("a", "1")] {
        let refused = dialect(Revision::V2025_11_25).request(&parts(method, params));
        assert!(matches!(refused, Err(Error::Refused(_))), "{method} {params}");
    }
}

#[test]
fn an_answer_belongs_to_its_request() {
    let read = |json: &str| read_answer(&Bytes::copy_from_slice(json.as_bytes()), 7);
    assert_eq!(read(r#"{"jsonrpc":"2.0","id":7,"result":{"a":1}}"#).unwrap(), r#"{"a":1}"#);
    assert_eq!(read(r#"[{"jsonrpc":"2.0","id":7,"result":{}}]"#).unwrap(), "{}");
    for (json, got) in [
        (r#"{"jsonrpc":"2.0","id":8,"result":{}}"#, "8"),
        (r#"{"jsonrpc":"2.0","id":"7","result":{}}"#, "\"7\""),
        (r#"[{"jsonrpc":"2.0","id":1,"result":{}}]"#, "1"),
    ] {
        assert!(matches!(read(json), Err(Error::WrongAnswer { got: id, .. }) if id == got), "{json}");
    }
    assert!(matches!(
        read(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"m"}}"#),
        Err(Error::Rpc(_))
    ));
    for json in ["<html>", "", "{}", r#"{"jsonrpc":"2.0","method":"a"}"#] {
        assert!(matches!(read(json), Err(Error::Malformed { .. })), "{json}");
    }
}

#[test]
fn only_the_type_makes_a_result_unfinished() {
    assert!(input_required(br#"{"content":[{"type":"text","text":"input_required"}]}"#).unwrap().is_none());
    let state = r#"{"resultType":"input_required","requestState":"a\u00e9\/"}"#;
    let found = input_required(state.as_bytes()).unwrap().unwrap();
    assert_eq!(found.request_state.unwrap().get(), r#""a\u00e9\/""#);
    assert!(found.input_requests.is_none());
}
