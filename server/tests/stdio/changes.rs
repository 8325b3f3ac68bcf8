//! What the client hears without having asked for it in that moment.

use serde_json::{Value, json};

use super::child::{Stdio, cancel, modern, text};
use crate::support::LEGACY;

const URI: &str = "demo://greeting";
const OTHER: &str = "demo://logo";
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// Touches a resource: its answer and, if it is subscribed to, the update, in whichever order they come.
#[track_caller]
fn touch(stdio: &mut Stdio, uri: &str, updates: usize) -> Vec<Value> {
    let id = stdio.call("touch", &json!({"uri": uri}));
    let (answers, updates): (Vec<_>, Vec<_>) =
        (0..=updates).map(|_| stdio.message()).partition(|message| message["id"] == id);
    assert_eq!(answers.len(), 1);
    updates
        .into_iter()
        .map(|mut update| {
            assert_eq!(update["method"], "notifications/resources/updated");
            update["params"].take()
        })
        .collect()
}

#[test]
fn a_session_hears_of_the_resources_it_has_subscribed_to() {
    for revision in LEGACY {
        let mut stdio = Stdio::hello(revision, &json!({}));
        let id = stdio.request("resources/subscribe", &json!({"uri": URI}));
        assert_eq!(stdio.answer(id)["result"], json!({}));
        touch(&mut stdio, OTHER, 0);
        assert_eq!(touch(&mut stdio, URI, 1), [json!({"uri": URI})], "{revision}");
        let id = stdio.request("resources/unsubscribe", &json!({"uri": URI}));
        stdio.answer(id);
        touch(&mut stdio, URI, 0);
        let id = stdio.call("echo", &json!({"text": "nothing came"}));
        assert_eq!(text(&stdio.answer(id)), "nothing came");
    }
}

#[test]
fn a_subscription_of_2026_07_28_delivers_what_it_names_and_marks_it() {
    let mut stdio = Stdio::hello("2025-06-18", &json!({}));
    let listen = |id: &Value, uris: Value| {
        modern(id, "subscriptions/listen", &json!({"notifications": {"resourceSubscriptions": uris}}))
    };
    let (one, two) = (json!("one"), json!(2000));
    for (id, uris) in [(&one, json!([URI])), (&two, json!([URI, OTHER]))] {
        stdio.send(&listen(id, uris.clone()));
        let acknowledged = stdio.notification("notifications/subscriptions/acknowledged");
        assert_eq!(acknowledged["_meta"][SUBSCRIPTION], *id);
        assert_eq!(acknowledged["notifications"]["resourceSubscriptions"], uris);
    }
    let heard = |updates: Vec<Value>| -> Vec<(Value, Value)> {
        let mut heard: Vec<_> = updates
            .into_iter()
            .map(|update| (update["_meta"][SUBSCRIPTION].clone(), update["uri"].clone()))
            .collect();
        heard.sort_by_key(|(id, _)| id.to_string());
        heard
    };
    let both = heard(touch(&mut stdio, URI, 2));
    assert_eq!(both, [(one.clone(), json!(URI)), (two.clone(), json!(URI))]);
    assert_eq!(heard(touch(&mut stdio, OTHER, 1)), [(two.clone(), json!(OTHER))]);
    // The same id a second time is refused, and the first goes on.
    stdio.send(&listen(&one, json!([OTHER])));
    let refused = stdio.message();
    assert_eq!((&refused["id"], refused["error"]["code"].is_i64()), (&one, true), "{refused}");
    assert_eq!(heard(touch(&mut stdio, OTHER, 1)), [(two.clone(), json!(OTHER))]);
    // Cancelled, it says no more; the other one goes on.
    stdio.send(&cancel(&one));
    assert_eq!(heard(touch(&mut stdio, URI, 1)), [(two.clone(), json!(URI))]);
    // What is left is closed in good form.
    stdio.close_input();
    let rest = stdio.rest();
    let [farewell] = &rest[..] else { panic!("{rest:?}") };
    assert_eq!((&farewell["id"], &farewell["result"]["resultType"]), (&two, &json!("complete")));
    assert_eq!(farewell["result"]["_meta"][SUBSCRIPTION], two);
    assert!(stdio.wait().success());
}
