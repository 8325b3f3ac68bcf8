//! Lines: what counts as one, and what happens to those that are no message.

use serde_json::{Value, json};

use super::child::{Stdio, text};

/// The call of `echo` as a line without its end, of exactly so many bytes.
fn echo(id: i64, bytes: usize) -> String {
    let line = |text: &str| {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
               "params": {"name": "echo", "arguments": {"text": text}}})
        .to_string()
    };
    line(&"x".repeat(bytes.saturating_sub(line("").len())))
}

#[test]
fn lines_may_end_in_either_way_and_empty_ones_mean_nothing() {
    let mut stdio = Stdio::hello("2025-06-18", &json!({}));
    let lines = [
        "\n".to_owned(),
        "\r\n".to_owned(),
        " \t \n".to_owned(),
        format!("{}\r\n", echo(1, 0)),
        "\n\n\n".to_owned(),
        format!("  {} \t\n", echo(2, 0)),
        format!("{}\n{}\n", echo(3, 0), echo(4, 0)),
    ];
    for line in lines {
        stdio.write(line.as_bytes());
    }
    // In pieces, with a pause that only the system knows.
    let line = format!("{}\n", echo(5, 0));
    for piece in line.as_bytes().chunks(7) {
        stdio.write(piece);
    }
    for id in 1..=5 {
        assert_eq!(text(&stdio.answer(id)), "");
    }
}

#[test]
fn a_message_is_one_line_whatever_is_in_it() {
    let mut stdio = Stdio::hello("2025-06-18", &json!({}));
    let text_of_lines = "one\ntwo\r\n\u{2028}three\u{0}\u{1F980}";
    let id = stdio.call("echo", &json!({"text": text_of_lines}));
    assert_eq!(text(&stdio.answer(id)), text_of_lines);
    let id = stdio.call("payload", &json!({"bytes": 2_000_000}));
    assert_eq!(text(&stdio.answer(id)).len(), 2_000_000);
}

#[test]
fn what_is_no_message_is_answered_with_an_error_and_passed_over() {
    let mut stdio = Stdio::hello("2025-11-25", &json!({}));
    for (line, code) in [
        (&b"nonsense"[..], -32700),
        (b"{", -32700),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1", -32700),
        (b"\xff\xfe\x00", -32700),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\xff\"}", -32700),
        (b"Content-Length: 52", -32700),
        (b"42", -32600),
        (b"null", -32600),
        (b"\"text\"", -32600),
        (b"[]", -32600),
        (b"{}", -32600),
        (b"{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}", -32600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", -32600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":[1]}", -32600),
    ] {
        stdio.write(&[line, b"\n"].concat());
        let answer = stdio.message();
        assert_eq!(answer["error"]["code"], code, "{}: {answer}", String::from_utf8_lossy(line));
    }
    let deep = "[".repeat(100_000);
    stdio.write(format!("{deep}\n").as_bytes());
    assert!(stdio.message()["error"]["code"].is_i64());
    let id = stdio.call("echo", &json!({"text": "well"}));
    assert_eq!(text(&stdio.answer(id)), "well");
}

#[test]
fn a_line_that_is_too_long_is_refused_and_the_next_one_is_served() {
    const MOST: usize = 64 * 1024;
    let mut stdio = Stdio::with("limits.body = \"64KiB\"");
    stdio.say_hello("2025-06-18", &json!({}));
    // Exactly as long as it may be.
    stdio.write(format!("{}\n", echo(1, MOST)).as_bytes());
    stdio.answer(1);
    for (id, over) in [(2, 1), (4, 2), (6, 100), (8, MOST), (10, 40 * MOST)] {
        stdio.write(format!("{}\n{}\n", echo(id, MOST + over), echo(id + 1, 10)).as_bytes());
        let refused = stdio.message();
        assert_eq!(
            (&refused["id"], &refused["error"]["code"]),
            (&Value::Null, &json!(-32600)),
            "{over} too long"
        );
        assert!(refused["error"]["message"].as_str().unwrap().contains("65536"), "{refused}");
        stdio.answer(id + 1);
    }
    // One that never ends: the input does.
    stdio.write("x".repeat(2 * MOST).as_bytes());
    stdio.close_input();
    assert_eq!(stdio.rest().len(), 1);
    assert!(stdio.wait().success());
}

#[test]
fn a_batch_is_answered_as_one_where_the_revision_has_batches() {
    let mut stdio = Stdio::hello("2025-03-26", &json!({}));
    let echo = |id: i64, text: &str| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "echo", "arguments": {"text": text}}});
    let batch = json!([
        echo(1, "one"),
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call",
         "params": {"name": "slow", "arguments": {"ms": 20, "steps": 2}, "_meta": {"progressToken": 1}}},
        {"jsonrpc": "2.0", "id": "q", "result": {}},
        {"jsonrpc": "2.0", "id": 3, "method": "no/such"},
        {"jsonrpc": "1.0"},
        echo(4, "four"),
    ]);
    stdio.send(&batch);
    let answers = stdio.message();
    let mut ids: Vec<String> =
        answers.as_array().unwrap().iter().map(|answer| answer["id"].to_string()).collect();
    ids.sort();
    assert_eq!(ids, ["1", "2", "3", "4", "null"], "{answers}");
    // A batch that asks for nothing is answered with nothing.
    stdio.send(&json!([{"jsonrpc": "2.0", "method": "notifications/initialized"}]));
    stdio.send(&json!([echo(5, "five")]));
    assert_eq!(stdio.message()[0]["id"], 5);
    stdio.send(&json!([crate::support::Session::hello("2025-03-26", &json!({}))]));
    assert!(stdio.message()[0]["error"]["code"].is_i64());
}

#[test]
fn a_batch_is_refused_where_the_revision_has_none() {
    for revision in ["2024-11-05", "2025-06-18", "2025-11-25"] {
        let mut stdio = Stdio::hello(revision, &json!({}));
        stdio.send(&json!([{"jsonrpc": "2.0", "id": 1, "method": "ping"}]));
        let refused = stdio.message();
        assert_eq!((&refused["id"], &refused["error"]["code"]), (&Value::Null, &json!(-32600)), "{revision}");
        let id = stdio.request("ping", &json!({}));
        stdio.answer(id);
    }
}
