//! stdio: the real server as a child, and children that misbehave.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "a failed test panics")]

#[path = "support/pipe.rs"]
mod pipe;

use std::{fs, path::Path, time::Duration};

use serde_json::json;
use tokio::process::Command;
use trunkline_client::{Call, Client, Error, Limits, StreamEvent};
use trunkline_harness::{binary, scratch::Scratch};
use trunkline_protocol::{Revision, model::ListenFilter};

use crate::pipe::{SOON, Yes, call, carries_everything, soon};

/// The beginning of a server written in shell: `answer RESULT` answers the request that was read last.
const SERVER: &str = r#"
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$(printf %s "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')" "$1"; }
handshake() {
    read -r line
    answer '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"shell","version":"1"}}'
    read -r line
}
"#;

fn shell(script: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(format!("{SERVER}\n{script}"));
    command
}

async fn connect(script: &str) -> Client {
    soon("the handshake", Client::stdio(shell(script)).handshake().connect()).await.unwrap()
}

/// Whether a process is running; one that nobody has waited for yet is not.
fn runs(pid: &str) -> bool {
    let status = fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
    status
        .is_ok_and(|status| !status.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z')))
}

/// What a process has written to a file, once it has.
async fn written(file: &Path) -> String {
    let wait = async {
        loop {
            match fs::read_to_string(file) {
                Ok(text) if text.ends_with('\n') => return text,
                _ => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
    };
    soon("a file", wait).await
}

async fn gone(pid: &str) {
    let wait = async {
        while runs(pid) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    soon("the end of the process", wait).await;
}

#[tokio::test]
async fn the_demo_is_served_in_both_eras_and_ends_by_itself() {
    let scratch = Scratch::new().unwrap();
    for revision in [Revision::V2024_11_05, Revision::V2025_11_25, Revision::V2026_07_28] {
        let status = scratch.path().join(revision.as_str());
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(r#""$0" stdio --demo; echo "$?" >"$1""#);
        command.arg(binary::trunkline().unwrap()).arg(&status);
        let client = Client::stdio(command).revision(revision).questions(Yes).connect();
        let client = soon("the connection", client).await.unwrap();
        assert_eq!(client.revision(), revision);
        carries_everything(&client).await;
        let counters = client.counters();
        assert_eq!((counters.stray_answers, counters.nonsense), (0, 0), "{counters:?}");
        soon("closing", client.close()).await.unwrap();
        assert_eq!(written(&status).await, "0\n", "it ended by itself when its stdin was closed");
        let error = call(&client, "echo", &json!({ "text": "hello" })).await.unwrap_err();
        assert!(matches!(error, Error::Closed), "{error}");
    }
}

#[tokio::test]
async fn a_program_that_does_not_exist_is_named() {
    let error = Client::stdio(Command::new("/no/such/program")).connect().await.err().unwrap();
    assert!(matches!(error, Error::Connect { .. }), "{error}");
    assert!(error.to_string().contains("/no/such/program"), "{error}");
}

#[tokio::test]
async fn a_child_that_dies_leaves_its_last_words() {
    let client = connect("handshake; read -r line; echo 'out of cheese' >&2; exit 3").await;
    let error = call(&client, "add", &json!({})).await.unwrap_err();
    assert!(matches!(error, Error::InFlight { .. }), "{error}");
    assert!(error.may_have_run());
    let text = error.to_string();
    assert!(text.contains("exit status: 3") && text.contains("out of cheese"), "{text}");
    let error = call(&client, "add", &json!({})).await.unwrap_err();
    assert!(matches!(error, Error::Unsent { .. }), "{error}");
    assert!(!error.may_have_run() && error.to_string().contains("out of cheese"), "{error}");
}

#[tokio::test]
async fn whoever_listens_is_told_of_the_end() {
    let client = connect("handshake; read -r line; echo 'out of cheese' >&2; exit 3").await;
    let mut heard = client.listen(ListenFilter::default());
    let opened = soon("the opening", heard.event()).await;
    assert!(matches!(opened, Some(StreamEvent::Opened(_))), "{opened:?}");
    call(&client, "add", &json!({})).await.unwrap_err();
    let Some(StreamEvent::Ended(error)) = soon("the end", heard.event()).await else { panic!("no end") };
    assert!(error.to_string().contains("out of cheese"), "{error}");
    assert!(soon("nothing more", heard.event()).await.is_none());
}

#[tokio::test]
async fn a_call_that_is_not_answered_in_time_is_taken_back() {
    let scratch = Scratch::new().unwrap();
    let seen = scratch.path().join("seen");
    let script = format!("handshake; read -r line; read -r line; echo \"$line\" >{}; cat", seen.display());
    let client = connect(&script).await;
    let slow = Call::tool("add", "{}").timeout(Duration::from_millis(10));
    let error = soon("the time-out", client.raw(&slow)).await.unwrap_err().error;
    assert!(matches!(error, Error::Timeout { .. }) && error.may_have_run(), "{error}");
    assert!(written(&seen).await.contains("notifications/cancelled"));
}

#[tokio::test]
async fn a_child_that_dies_at_once_says_why() {
    let script = "echo 'usage: server [options]'; echo 'no database' >&2; exit 1";
    let connecting = Client::stdio(shell(script)).handshake().connect();
    let text = soon("the failure", connecting).await.err().unwrap().to_string();
    assert!(text.contains("no database") && text.contains("usage: server"), "{text}");
}

#[tokio::test]
async fn garbage_between_the_messages_is_counted_and_no_more() {
    let script = "echo 'Listening on port 80'; echo; handshake; read -r line; echo '{oops'; answer '{\"content\":[]}'; cat";
    let client = connect(script).await;
    call(&client, "add", &json!({})).await.unwrap();
    assert_eq!(client.counters().nonsense, 2);
    soon("closing", client.close()).await.unwrap();
}

#[tokio::test]
async fn a_line_without_an_end_is_not_held() {
    let limits = Limits { event: 100_000, ..Limits::default() };
    let script = "handshake; read -r line; head -c 10000000 /dev/zero | tr '\\0' x; cat";
    let connecting = Client::stdio(shell(script)).handshake().limits(limits).connect();
    let client = soon("the handshake", connecting).await.unwrap();
    let error = call(&client, "add", &json!({})).await.unwrap_err();
    assert!(error.to_string().contains("limit of 100000 bytes"), "{error}");
}

#[tokio::test]
async fn a_child_that_only_closes_its_stdout_is_given_up() {
    let client = connect("handshake; read -r line; exec >&-; sleep 1000").await;
    let error = call(&client, "add", &json!({})).await.unwrap_err();
    assert!(error.to_string().contains("closed"), "{error}");
}

#[tokio::test]
async fn a_child_that_does_not_mind_the_end_of_its_stdin_is_asked_to_end() {
    let scratch = Scratch::new().unwrap();
    let (pid, word) = (scratch.path().join("pid"), scratch.path().join("word"));
    let script = format!(
        "trap 'echo asked >{}; exit 0' TERM; handshake; echo $$ >{}; while :; do sleep 0.05; done",
        word.display(),
        pid.display()
    );
    let client = connect(&script).await;
    let (pid, mut spent) = (written(&pid).await, Duration::ZERO);
    tokio::time::pause();
    // Time does not go on by itself as long as something blocks: the child has all it needs.
    let (done, wait) = std::sync::mpsc::channel::<()>();
    let held = tokio::task::spawn_blocking(move || wait.recv());
    let closing = tokio::spawn(async move { client.close().await });
    // The clock of the tests stands still.
    let begun = std::time::Instant::now();
    while !closing.is_finished() {
        assert!(runs(&pid) || word.exists(), "it was killed and not asked");
        assert!(begun.elapsed() < SOON, "it was not asked");
        // Up to the end of its own time, and not on to the end of what it has once it was asked.
        if !word.exists() && spent < Duration::from_secs(6) {
            spent += Duration::from_millis(100);
            tokio::time::advance(Duration::from_millis(100)).await;
        }
        tokio::task::yield_now().await;
    }
    closing.await.unwrap().unwrap();
    assert_eq!(fs::read_to_string(&word).unwrap(), "asked\n");
    assert!(!runs(&pid));
    drop(done);
    let _ended = held.await;
}

#[tokio::test]
async fn a_child_that_minds_nothing_is_killed_with_what_it_has_started() {
    let scratch = Scratch::new().unwrap();
    let (pids, other) = (scratch.path().join("pid"), scratch.path().join("other"));
    let script = format!(
        "trap '' TERM; handshake; sleep 1000 & echo $! >{}; echo $$ >{}; while :; do sleep 1000; done",
        other.display(),
        pids.display()
    );
    let client = connect(&script).await;
    let (pid, other) = (written(&pids).await, written(&other).await);
    assert!(runs(&pid) && runs(&other));
    // From here on nothing but the child's patience takes time.
    tokio::time::pause();
    client.close().await.unwrap();
    tokio::time::resume();
    gone(&pid).await;
    gone(&other).await;
}

#[tokio::test]
async fn a_child_that_ends_leaves_nothing_behind() {
    let scratch = Scratch::new().unwrap();
    let file = scratch.path().join("other");
    let client =
        connect(&format!("handshake; sleep 1000 & echo $! >{}; exec cat >/dev/null", file.display())).await;
    let other = written(&file).await;
    soon("closing", client.close()).await.unwrap();
    gone(&other).await;
}

#[tokio::test]
async fn a_client_that_is_dropped_takes_its_child_with_it() {
    let scratch = Scratch::new().unwrap();
    let file = scratch.path().join("pid");
    let client = connect(&format!("handshake; echo $$ >{}; exec cat", file.display())).await;
    let pid = written(&file).await;
    assert!(runs(&pid));
    drop(client);
    gone(&pid).await;
}
