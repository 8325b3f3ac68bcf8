//! What abandoned sessions cost. A process of its own, whose memory nothing else changes.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a failed test panics")]

use std::time::Duration;

use trunkline_store::{
    Key, Kind, Record, SessionStore,
    memory::{MemoryLimits, MemoryStore},
};

/// Bytes of memory that are this process's now.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 1024
}

/// A session as a client of the desktop kind leaves it.
fn typical() -> Record {
    let client = r#"{"name":"a-desktop-client","title":"A Desktop Client","version":"1.24.3"}"#;
    let capabilities = r#"{"roots":{"listChanged":true},"sampling":{},"elicitation":{}}"#;
    Record::default()
        .with("schema", "1")
        .with("revision", "2025-11-25")
        .with("client", client)
        .with("capabilities", capabilities)
        .with("principal", "https://issuer.example.com/realms/company|3f8a52b0-7f2d-4c5e-9a11")
        .with("level", "info")
        .with("sub:file:///projects/readme.md", "")
        .with("val:counter", "17")
}

/// The allocator keeps what was freed, so that it is free shows when it is used again.
#[tokio::test(start_paused = true)]
async fn abandoned_sessions_cost_less_than_a_kibibyte_each_and_then_nothing() {
    const SESSIONS: usize = 100_000;
    let store = MemoryStore::new(MemoryLimits::default());
    let before = resident();
    for round in 0..4 {
        for n in 0..SESSIONS {
            let key = Key::new(Kind::Session, &format!("{round}-{n:041}"));
            assert!(store.create(&key, typical(), Duration::from_secs(60)).await.unwrap());
        }
        assert_eq!(store.len(), SESSIONS);
        let each = (resident() - before) / SESSIONS;
        assert!((200..1024).contains(&each), "{each} bytes a session in round {round}");

        tokio::time::sleep(Duration::from_secs(75)).await;
        assert!(store.is_empty());
    }
}
