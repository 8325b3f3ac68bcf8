//! What is not asked for as the usage says is told so.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::process::Command;

#[test]
fn a_mistake_is_told() {
    for mistake in [
        "",
        "ours",
        "theirs http http://127.0.0.1:1/mcp 2025-11-25 1 1",
        "ours http http://127.0.0.1:1/mcp 2025-11-25 1 0",
        "hand stdio 2025-11-25 1 1 true",
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_bench-client"))
            .args(mistake.split_whitespace())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{mistake}");
        assert!(String::from_utf8_lossy(&output.stderr).starts_with("usage: "), "{mistake}");
    }
}

#[test]
fn a_pipe_is_called_by_hand_and_by_our_client() {
    // A server of one line a request: the sum of 100 and 1000 and on, as the client counts.
    let server = "import json,sys
for line in sys.stdin:
    asked=json.loads(line)
    if 'id' not in asked: continue
    n=asked['params'].get('arguments',{})
    result={'protocolVersion':'2025-11-25','capabilities':{'tools':{}},'serverInfo':{'name':'s','version':'1'}}
    if n: result={'content':[],'structuredContent':{'sum':n['a']+n['b']}}
    print(json.dumps({'jsonrpc':'2.0','id':asked['id'],'result':result}),flush=True)";
    for how in ["ours", "hand"] {
        let output = Command::new(env!("CARGO_BIN_EXE_bench-client"))
            .args([how, "stdio", "2025-11-25", "20", "1", "--", "python3", "-c", server])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{how}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(said.contains(r#""calls":20"#), "{how}: {said}");
    }
}
