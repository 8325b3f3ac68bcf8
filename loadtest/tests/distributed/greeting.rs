//! Who may take part.

use tokio::{io::AsyncWriteExt, net::TcpStream};
use tokio_util::sync::CancellationToken;
use trunkline_loadtest::{
    distributed::{
        agent::{self, AgentError},
        secret::{Nonce, Role, Secret},
        wire::{FromAgent, FromCoordinator, VERSION},
    },
    plan::Plan,
};

use crate::{
    scripted::Scripted,
    stage::{Stage, agent_at, secret},
};

fn plan() -> Plan {
    Plan::new("http://127.0.0.1:1/mcp")
}

fn refused(message: FromCoordinator) -> String {
    match message {
        FromCoordinator::Refused { reason } => reason,
        other => panic!("not refused: {other:?}"),
    }
}

#[tokio::test]
async fn a_wrong_secret_is_refused_and_told_on_both_sides() {
    let stage = Stage::of(1, &plan()).await;
    let wrong = Secret::new("a secret of somebody else").unwrap();
    let options = agent::Options { secret: wrong, ..stage.agent("stranger") };
    let error = agent::run(&options, &CancellationToken::new(), &|_| {}).await.unwrap_err();
    assert!(matches!(&error, AgentError::Refused(why) if why.contains("another secret")), "{error}");
    stage.told.says("stranger (127.0.0.1").await;
    stage.told.says("was turned away: the coordinator has another secret").await;
    stage.stop.cancel();
    let error = stage.outcome().await.unwrap_err().to_string();
    assert!(error.contains("0 of 1 agents were ready"), "{error}");
}

#[tokio::test]
async fn a_proof_that_was_heard_is_worth_nothing_again() {
    let stage = Stage::of(2, &plan()).await;
    let mut first = Scripted::connect(stage.address).await;
    let mine = Nonce::draw();
    let theirs = first.challenged(VERSION, mine, "first").await;
    let proof = secret().prove(Role::Agent, mine, theirs);
    first.prove(proof).await;
    let FromCoordinator::Welcome { proof: welcome, .. } = first.hear().await else { panic!("welcome") };

    for played in [proof, welcome] {
        let mut again = Scripted::connect(stage.address).await;
        let fresh = again.challenged(VERSION, mine, "again").await;
        assert!(fresh != theirs);
        again.prove(played).await;
        assert!(refused(again.hear().await).contains("another secret"));
    }
}

#[tokio::test]
async fn a_coordinator_that_does_not_know_the_secret_gets_no_work_out_of_an_agent() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let options = agent_at(listener.local_addr().unwrap(), "careful");
    let stop = CancellationToken::new();
    let agent = tokio::spawn(async move { agent::run(&options, &stop, &|_| {}).await });
    let (stream, _) = listener.accept().await.unwrap();
    let mut impostor = crate::scripted::Impostor::of(stream);
    impostor.lure(&plan()).await;
    let error = agent.await.unwrap().unwrap_err();
    assert!(matches!(error, AgentError::Impostor(_)), "{error}");
    assert!(error.to_string().contains("does not know this secret"), "{error}");
}

#[tokio::test]
async fn another_version_is_refused_with_the_remedy() {
    let stage = Stage::of(1, &plan()).await;
    let mut old = Scripted::connect(stage.address).await;
    let hello =
        FromAgent::Hello { version: VERSION + 1, nonce: Nonce::draw(), name: "old\u{1b}[2J".to_owned() };
    old.say(hello).await;
    let why = refused(old.hear().await);
    assert!(why.contains("use the same release of both"), "{why}");
    stage.told.says("agent old[2J (").await;
}

#[tokio::test]
async fn strangers_neither_crash_it_nor_take_a_place() {
    let stage = Stage::of(1, &plan()).await;
    for bytes in [&b"GET / HTTP/1.1\r\n\r\n"[..], b"\xff\xff\xff\xff", b"\0\0\0\x02{}", b""] {
        let mut stream = TcpStream::connect(stage.address).await.unwrap();
        stream.write_all(bytes).await.unwrap();
    }
    let (mut agent, _) = Scripted::ready(stage.address, &secret(), "one").await;
    agent.begin().await;
    agent.done().await;
    // It counted nothing, and nothing was lost.
    assert_eq!(stage.outcome().await.unwrap().agents.len(), 1);
}

#[tokio::test]
async fn one_too_many_is_told_so() {
    let stage = Stage::of(1, &plan()).await;
    let (_first, _) = Scripted::ready(stage.address, &secret(), "first").await;
    let mut second = Scripted::connect(stage.address).await;
    let mine = Nonce::draw();
    let theirs = second.challenged(VERSION, mine, "second").await;
    second.prove(secret().prove(Role::Agent, mine, theirs)).await;
    assert!(refused(second.hear().await).contains("no more agents are wanted: 1 have joined"));
}
