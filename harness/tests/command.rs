//! The command `trunkline-harness run`, and what it leaves behind however it ends.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::{
    path::PathBuf,
    process::{Output, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
};
use trunkline_harness::binary;

mod support;

fn command(arguments: &[&str], script: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trunkline-harness"));
    command
        .arg("run")
        .args(arguments)
        .args(["--", "sh", "-c", script, "sh", "{url}/mcp"])
        .env("TRUNKLINE_BIN", binary::trunkline().unwrap())
        .stdin(Stdio::null())
        .kill_on_drop(true);
    command
}

async fn run(arguments: &[&str], script: &str) -> Output {
    command(arguments, script).output().await.unwrap()
}

#[tokio::test]
async fn the_command_is_given_the_url_and_its_status_is_passed_on() {
    let output = run(
        &["--replicas", "2", "--balancer", "haproxy"],
        "echo \"$1|$TRUNKLINE_URL|$TRUNKLINE_REPLICAS\"; exit 7",
    )
    .await;
    assert_eq!(output.status.code(), Some(7), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let [url, base, replicas] = text.trim().split('|').collect::<Vec<_>>()[..] else { panic!("{text}") };
    assert_eq!(url, format!("{base}/mcp"));
    assert_eq!(replicas.split(' ').count(), 2);
    let logs = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(logs.contains("--- replica-1, last lines") && logs.contains("serving"), "{logs}");
}

#[tokio::test]
async fn replicas_are_drained_on_request() {
    let output = run(&["--drain"], "exit 0").await;
    assert!(output.status.success(), "{output:?}");
}

#[tokio::test]
async fn a_cluster_that_does_not_start_is_status_2() {
    let output = run(&["--set", "server.drain_grace=soon"], "exit 0").await;
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("DRAIN_GRACE"), "{output:?}");
}

/// A cluster with Redis and HAProxy under a command that waits: the ids of its servers, and their folders.
async fn waiting() -> (Child, Vec<u32>, Vec<PathBuf>) {
    let arguments = ["--replicas", "2", "--balancer", "haproxy"];
    // The command ends with its input: with the test, however that ends.
    let mut command = command(&arguments, "echo ready; exec cat");
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(lines.next_line().await.unwrap().as_deref(), Some("ready"));
    let ids = children(child.id().unwrap());
    // The watcher, two replicas, HAProxy, and the command.
    assert_eq!(ids.len(), 5, "{ids:?}");
    let folders = ids.iter().filter_map(|id| std::fs::read_link(format!("/proc/{id}/cwd")).ok());
    let temporary = std::env::temp_dir();
    let folders: Vec<PathBuf> = folders.filter(|folder| folder.parent() == Some(&*temporary)).collect();
    assert_eq!(folders.len(), 3, "{folders:?}");
    (child, ids, folders)
}

fn children(parent: u32) -> Vec<u32> {
    let processes = std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let is_child = |id: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        let field =
            stat.rsplit_once(')').and_then(|(_, rest)| rest.split_ascii_whitespace().nth(1)?.parse().ok());
        field == Some(parent)
    };
    processes.filter(is_child).collect()
}

async fn leaves_nothing(ids: &[u32], folders: &[PathBuf]) {
    support::eventually("all processes are gone", async || ids.iter().all(|id| !support::is_alive(*id)))
        .await;
    support::eventually("all folders are gone", async || folders.iter().all(|folder| !folder.exists())).await;
}

#[tokio::test]
async fn asked_to_end_it_ends_its_command_and_tears_the_cluster_down() {
    let (mut child, ids, folders) = waiting().await;
    // Kept, for a wait would close it and so end the command.
    let _input = child.stdin.take();
    let pid = Pid::from_raw(child.id().unwrap().try_into().unwrap()).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    let status = child.wait().await.unwrap();
    assert_eq!(status.code(), Some(128 + 15));
    leaves_nothing(&ids, &folders).await;
}

#[tokio::test]
async fn killed_it_leaves_no_server_and_no_folder() {
    let (mut child, ids, folders) = waiting().await;
    let _input = child.stdin.take();
    // Until then it is the shell that becomes it.
    support::eventually("the command runs", async || ids.iter().any(|id| is_the_command(*id))).await;
    let servers = ids.into_iter().filter(|id| !is_the_command(*id)).collect::<Vec<u32>>();
    assert_eq!(servers.len(), 4, "{servers:?}");
    child.kill().await.unwrap();
    // Nobody watches over the command itself: it is the caller's.
    leaves_nothing(&servers, &folders).await;
}

fn is_the_command(id: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{id}/comm")).is_ok_and(|name| name.trim() == "cat")
}
