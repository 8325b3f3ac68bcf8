use super::*;
use crate::error::code;

fn read(body: &str) -> Result<Body<'_>, Malformed> {
    parse(body.as_bytes(), Bounds::default())
}

fn refused(body: &str) -> (Option<RequestId>, i64) {
    let malformed = read(body).expect_err(body);
    (malformed.id, malformed.error.code)
}

#[test]
fn a_request_keeps_its_parameters_as_they_came() {
    let Ok(Body::Single(Message::Request(request))) =
        read(r#"{"jsonrpc":"2.0","id":7,"method":"initialize","params":{ "a" : 1 }}"#)
    else {
        panic!("a request");
    };
    assert_eq!(request.id, RequestId::Number(7));
    assert_eq!(request.method, "initialize");
    assert_eq!(request.params.map(RawValue::get), Some(r#"{ "a" : 1 }"#));
}

#[test]
fn parameters_are_read_the_same_in_one_pass_and_in_two() {
    let params = r#"{"name":"add","arguments":{"a":[1, 2]},"_meta":{"progressToken":"t"}}"#;
    let orders = [
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#),
        format!(r#"{{"params":{params},"jsonrpc":"2.0","id":1,"method":"tools/call"}}"#),
    ];
    for body in &orders {
        let Ok(Body::Single(Message::Request(mut request))) = read(body) else { panic!("a request") };
        let read = request.take_params().unwrap();
        assert_eq!(read.name.unwrap().0, "add");
        assert_eq!(read.arguments.map(RawValue::get), Some(r#"{"a":[1, 2]}"#));
        assert!(read.meta.unwrap().progress_token.is_some());
    }
}

#[test]
fn parameters_that_do_not_fit_are_no_fault_of_the_envelope() {
    let Ok(Body::Single(Message::Request(mut request))) =
        read(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5}}"#)
    else {
        panic!("a request");
    };
    assert!(request.take_params().unwrap_err().contains("expected a string"));
    for params in ["[]", r#"["add"]"#, "5"] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{params}}}"#);
        assert_eq!(refused(&body), (Some(RequestId::Number(3)), code::INVALID_REQUEST), "{body}");
    }
    let null = r#"{"jsonrpc":"2.0","id":3,"method":"tools/list","params":null}"#;
    assert!(matches!(read(null), Ok(Body::Single(Message::Request(_)))));
}

#[test]
fn parameters_that_come_twice_are_refused_wherever_the_method_stands() {
    for (one, other) in [(r#"{"name":"a"}"#, r#"{"name":"b"}"#), (r#"{"name":"a"}"#, "null"), ("null", "{}")]
    {
        let around =
            format!(r#"{{"jsonrpc":"2.0","id":3,"params":{one},"method":"tools/call","params":{other}}}"#);
        let behind =
            format!(r#"{{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{one},"params":{other}}}"#);
        for body in [around, behind] {
            assert_eq!(refused(&body), (Some(RequestId::Number(3)), code::INVALID_REQUEST), "{body}");
        }
    }
}

#[test]
fn notifications_and_responses_are_told_apart() {
    let note = read(r#"{"method":"notifications/initialized","jsonrpc":"2.0"}"#);
    assert!(matches!(note, Ok(Body::Single(Message::Notification(_)))));
    let answer = read(r#"{"jsonrpc":"2.0","id":"q","result":null}"#);
    assert!(matches!(answer, Ok(Body::Single(Message::Response(Response { outcome: Ok(_), .. })))));
    let failure = read(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"no"}}"#);
    assert!(matches!(failure, Ok(Body::Single(Message::Response(Response { id: None, outcome: Err(_) })))));
}

#[test]
fn what_is_not_json_is_a_parse_error() {
    for body in ["", "{", "nonsense", "{\"jsonrpc\":\"2.0\",\"id\":1,", "[1,", "{\"method\":5 oops}"] {
        assert_eq!(refused(body), (None, code::PARSE), "{body}");
    }
    let invalid_utf8 = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}";
    assert_eq!(parse(invalid_utf8, Bounds::default()).unwrap_err().error.code, code::PARSE);
}

#[test]
fn json_that_is_no_message_is_an_invalid_request_and_names_the_id() {
    for body in ["1", "null", "\"x\"", "{}", r#"{"jsonrpc":"2.0"}"#, r#"{"jsonrpc":"2.0","method":5}"#] {
        assert_eq!(refused(body), (None, code::INVALID_REQUEST), "{body}");
    }
    let with_id = [
        r#"{"jsonrpc":"1.0","id":3,"method":"ping"}"#,
        r#"{"id":3,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":3,"method":5}"#,
        r#"{"jsonrpc":"2.0","id":3,"method":"ping","params":[1]}"#,
        r#"{"jsonrpc":"2.0","id":3,"method":"ping","result":{}}"#,
    ];
    for body in with_id {
        assert_eq!(refused(body), (Some(RequestId::Number(3)), code::INVALID_REQUEST), "{body}");
    }
    for id in ["null", "1.5", "true", "[]"] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
        assert_eq!(refused(&body), (None, code::INVALID_REQUEST), "{body}");
    }
}

#[test]
fn a_repeated_member_is_refused() {
    for body in [
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}"#,
        r#"{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"ping"}"#,
        r#"{"jsonrpc":"1.0","jsonrpc":"2.0","id":1,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{},"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"a"},"error":{"code":1,"message":"a"}}"#,
    ] {
        assert_eq!(refused(body), (Some(RequestId::Number(1)), code::INVALID_REQUEST), "{body}");
    }
    // With two of them there is no telling which one to answer.
    assert_eq!(refused(r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#), (None, code::INVALID_REQUEST));
}

#[test]
fn a_batch_keeps_its_order_and_its_bad_members() {
    let Ok(Body::Batch(members)) = read(r#" [{"jsonrpc":"2.0","id":1,"method":"ping"}, 5]"#) else {
        panic!("a batch");
    };
    assert!(matches!(members[0], Ok(Message::Request(_))));
    assert_eq!(members[1].as_ref().unwrap_err().error.code, code::INVALID_REQUEST);
}

#[test]
fn an_empty_or_overlong_batch_is_refused() {
    assert_eq!(refused("[]"), (None, code::INVALID_REQUEST));
    let long = format!("[{}1]", "1,".repeat(Bounds::default().batch));
    assert_eq!(refused(&long), (None, code::INVALID_REQUEST));
}

#[test]
fn nesting_is_bounded_and_brackets_in_strings_do_not_count() {
    let deep = format!("{{\"x\":{}{}}}", "[".repeat(64), "]".repeat(64));
    assert_eq!(refused(&deep), (None, code::INVALID_REQUEST));
    let text = "[\\\"{".repeat(100);
    let fine = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"x":"{text}"}}}}"#);
    assert!(read(&fine).is_ok());
}

#[test]
fn what_is_written_can_be_read_again() {
    let mut out = Vec::new();
    write_error(&mut out, Some(&"a\"b".into()), &RpcError::invalid_params("no").with_data(&[1]));
    assert_eq!(
        out,
        br#"{"jsonrpc":"2.0","id":"a\"b","error":{"code":-32602,"message":"no","data":[1]}}"#.to_vec()
    );
    let mut out = Vec::new();
    write_result(&mut out, &1.into(), |out| out.extend_from_slice(b"{}"));
    assert_eq!(out, br#"{"jsonrpc":"2.0","id":1,"result":{}}"#.to_vec());
    assert!(matches!(parse(&out, Bounds::default()), Ok(Body::Single(Message::Response(_)))));
}
