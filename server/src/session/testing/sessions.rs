//! Sessions as replicas find them in the store: whole, once, by their owner alone, and not at all where it cannot be reached.

use std::{collections::BTreeSet, sync::Arc};

use serde_json::json;
use trunkline_protocol::{Revision, model::LogLevel};

use super::{Cluster, Replica, local};
use crate::{config::Limits, error::Refusal, principal::Principal, session::LiveSession};

fn cluster() -> Cluster {
    Cluster::new(Vec::new, Limits::default())
}

fn owner() -> Principal {
    Principal::named("somebody")
}

async fn find(replica: &Replica, id: &str) -> Result<Arc<LiveSession>, Refusal> {
    replica.core.directory.find(id, &owner()).await
}

/// The status that a caller is answered with.
#[track_caller]
fn status<T>(found: Result<T, Refusal>) -> u16 {
    found.err().map_or(200, |refusal| refusal.answer().status)
}

/// How often a replica has read a session from the store.
fn reads(replica: &Replica) -> usize {
    let page = replica.core.metrics();
    let line = page.lines().find_map(|line| line.strip_prefix("trunkline_sessions_restored_total "));
    line.unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_session_that_a_replica_has_not_seen_is_served_whole() {
    local(async {
        let cluster = cluster();
        let (a, b) = (cluster.replica("a").await, cluster.replica("b").await);
        let able = json!({"elicitation": {}, "roots": {}});
        let peer = a.initialize(&owner(), Revision::V2025_06_18, &able).await;
        a.ask(&peer, "logging/setLevel", json!({"level": "error"})).await;
        for uri in ["x://one", "x://two", "x://three"] {
            a.ask(&peer, "resources/subscribe", json!({"uri": uri})).await;
        }
        a.ask(&peer, "resources/unsubscribe", json!({"uri": "x://two"})).await;
        let found = find(&b, peer.session().id()).await.unwrap();
        let record = found.record();
        assert_eq!(record.revision, Revision::V2025_06_18);
        assert!(record.open);
        assert!(record.capabilities.supports_elicitation_form() && record.capabilities.supports_roots());
        assert!(!record.capabilities.supports_sampling());
        assert_eq!(record.client.as_ref().unwrap().name, "test");
        assert_eq!(record.principal, owner());
        assert_eq!(record.log_level, Some(LogLevel::Error));
        assert_eq!(record.subscriptions, BTreeSet::from(["x://one".into(), "x://three".into()]));
        // What changes there is seen here, and the other way round.
        let on_b = b.join(&owner(), peer.session().id()).await;
        b.ask(&on_b, "resources/subscribe", json!({"uri": "x://four"})).await;
        a.ask(&peer, "logging/setLevel", json!({"level": "debug"})).await;
        tokio::task::yield_now().await;
        for replica in [&a, &b] {
            let record = find(replica, peer.session().id()).await.unwrap().record();
            assert!(record.subscriptions.contains("x://four"));
            assert_eq!(record.log_level, Some(LogLevel::Debug));
        }
    })
    .await;
}

#[tokio::test]
async fn a_session_is_read_once_however_many_ask_for_it_together() {
    local(async {
        let cluster = cluster();
        let (a, b) = (cluster.replica("a").await, cluster.replica("b").await);
        let peer = a.initialize(&owner(), Revision::V2025_11_25, &json!({})).await;
        let id = peer.session().id().clone();
        let found = futures_util::future::join_all((0..50).map(|_| find(&b, &id))).await;
        let found: Vec<_> = found.into_iter().map(Result::unwrap).collect();
        assert!(found.iter().all(|session| Arc::ptr_eq(session, &found[0])), "there is one of it");
        assert_eq!(reads(&b), 1);
        find(&b, &id).await.unwrap();
        assert_eq!(reads(&b), 1);
    })
    .await;
}

/// A 404 would tell the client to throw its session away.
#[tokio::test]
async fn while_the_store_is_away_no_session_is_unknown_and_none_is_made() {
    local(async {
        let cluster = cluster();
        let (a, b) = (cluster.replica("a").await, cluster.replica("b").await);
        let peer = a.initialize(&owner(), Revision::V2025_11_25, &json!({})).await;
        let id = peer.session().id().clone();
        tokio::task::yield_now().await;
        cluster.store.set_away(true);
        for _ in 0..3 {
            assert_eq!(status(find(&b, &id).await), 503);
        }
        let made = a.core.directory.create_unopened(&owner()).await;
        assert_eq!(status(made), 503);
        assert_eq!(status(a.core.end(peer.session()).await), 503);
        let level = a.send(&peer, "logging/setLevel", json!({"level": "error"})).await;
        assert_eq!(status(level), 503);
        // The one that is here and unchanged goes on.
        assert_eq!(a.ask(&peer, "ping", json!({})).await["result"], json!({}));
        assert_eq!(status(find(&a, &id).await), 200);
        cluster.store.set_away(false);
        // Nothing was lost or half done.
        for replica in [&a, &b] {
            let found = find(replica, &id).await.unwrap();
            assert_eq!(found.record().log_level, None);
        }
    })
    .await;
}

#[tokio::test]
async fn for_anybody_but_its_owner_a_session_does_not_exist() {
    local(async {
        let cluster = cluster();
        let (a, b) = (cluster.replica("a").await, cluster.replica("b").await);
        let peer = a.initialize(&owner(), Revision::V2025_11_25, &json!({})).await;
        let id = peer.session().id().clone();
        for stranger in
            [Principal::anonymous(), Principal::named("somebody else"), Principal::named("Somebody")]
        {
            for replica in [&a, &b] {
                let found = replica.core.directory.find(&id, &stranger).await;
                assert!(matches!(found, Err(Refusal::SessionUnknown)), "{stranger:?}");
            }
        }
        assert_eq!(status(find(&a, &id).await), 200);
    })
    .await;
}

#[tokio::test]
async fn an_id_that_was_never_issued_costs_the_store_nothing() {
    local(async {
        let cluster = cluster();
        let a = cluster.replica("a").await;
        let peer = a.initialize(&owner(), Revision::V2025_11_25, &json!({})).await;
        let id = peer.session().id().to_string();
        tokio::task::yield_now().await;
        let before = cluster.store.asked();
        for forged in
            ["", "00000000-dead", &id[1..], &format!("{id}A"), &id.to_lowercase(), &"x".repeat(10_000)]
        {
            let found = find(&a, forged).await;
            assert!(matches!(found, Err(Refusal::SessionUnknown)), "{forged:.60}");
        }
        assert_eq!(cluster.store.asked(), before);
    })
    .await;
}

#[tokio::test]
async fn a_deleted_session_is_gone_from_every_replica_whether_it_hears_of_it_or_not() {
    local(async {
        let cluster = cluster();
        let (a, b) = (cluster.replica("a").await, cluster.deaf_replica("b"));
        let peer = a.initialize(&owner(), Revision::V2025_11_25, &json!({})).await;
        let id = peer.session().id().clone();
        let never_seen = cluster.replica("c").await;
        let on_b = b.join(&owner(), &id).await;
        tokio::task::spawn_local({
            let core = b.core.clone();
            async move { core.directory.follow_changes().await }
        });
        tokio::task::yield_now().await;
        a.core.end(peer.session()).await.unwrap();
        tokio::task::yield_now().await;
        for replica in [&a, &b, &never_seen] {
            let found = find(replica, &id).await;
            assert!(matches!(found, Err(Refusal::SessionUnknown)));
        }
        // Nothing brings it back: neither what is under way there, nor a second end.
        assert_eq!(status(b.send(&on_b, "resources/subscribe", json!({"uri": "x://one"})).await), 404);
        assert!(on_b.session().closed().is_cancelled(), "its streams end");
        let _again = a.core.end(peer.session()).await;
        assert_eq!(status(find(&never_seen, &id).await), 404);
    })
    .await;
}

#[tokio::test]
async fn a_call_that_is_cancelled_by_the_end_of_its_session_can_tell() {
    use std::{
        pin::pin,
        sync::atomic::{AtomicBool, Ordering},
        task::{Context, Wake},
    };

    /// Looks at the session in the very moment in which a call of it is cancelled.
    struct Looks {
        session: Arc<LiveSession>,
        was_over: AtomicBool,
    }
    impl Wake for Looks {
        fn wake(self: Arc<Self>) {
            self.was_over.store(self.session.closed().is_cancelled(), Ordering::SeqCst);
        }
    }
    local(async {
        let a = cluster().replica("a").await;
        let peer = a.initialize(&owner(), Revision::V2025_11_25, &json!({})).await;
        let session = peer.session().clone();
        let cancel = crate::cancel::Cancel::default();
        session.begin_call(1.into(), cancel.clone()).unwrap();
        let looks = Arc::new(Looks { session: session.clone(), was_over: AtomicBool::new(false) });
        let waker = looks.clone().into();
        let mut cancelled = pin!(cancel.token().cancelled());
        assert!(cancelled.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        a.core.end(&session).await.unwrap();
        assert!(cancel.is_cancelled() && looks.was_over.load(Ordering::SeqCst));
    })
    .await;
}
