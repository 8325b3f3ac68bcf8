//! Records, fields, expiry, bounds.

use std::sync::Arc;

use bytes::Bytes;
use trunkline_store::{Key, Kind, Record, Retry, SessionStore, StoreError};

use super::{Fixture, sample, session};

pub(super) async fn what_was_created_is_loaded<F: Fixture>(fixture: F) {
    let [here, there] = fixture.replicas().await;
    let every_byte: Vec<u8> = (0..=255).collect();
    let record =
        sample().with("empty", "").with("binary", every_byte).with("naïve name / with: {odd} bytes", "x");
    let key = session("!odd-but~legal:{id}/*?[a]\\%");
    assert!(here.create(&key, record.clone(), F::TICK * 100).await.unwrap());
    assert_eq!(here.load(&key).await.unwrap(), Some(record.clone()));
    assert_eq!(there.load(&key).await.unwrap(), Some(record));
    assert_eq!(there.load(&session("!odd-but~legal:{id}")).await.unwrap(), None);
}

pub(super) async fn creating_leaves_what_exists<F: Fixture>(fixture: F) {
    let [here, there] = fixture.replicas().await;
    let key = session("s");
    assert!(here.create(&key, sample(), F::TICK * 3).await.unwrap());
    assert!(!there.create(&key, Record::default().with("other", "x"), F::TICK * 100).await.unwrap());
    assert_eq!(here.load(&key).await.unwrap(), Some(sample()));
    fixture.pass(F::TICK * 4).await;
    assert_eq!(here.load(&key).await.unwrap(), None, "its expiry was left too");
}

pub(super) async fn a_record_without_fields_exists<F: Fixture>(fixture: F) {
    let [here, there] = fixture.replicas().await;
    let key = session("s");
    assert!(here.create(&key, Record::default(), F::TICK * 100).await.unwrap());
    assert_eq!(there.load(&key).await.unwrap(), Some(Record::default()));
    assert!(!there.create(&key, sample(), F::TICK).await.unwrap());
    assert!(here.set(&key, "only", Bytes::from("x")).await.unwrap());
    assert_eq!(here.remove(&key, "only").await.unwrap(), Some(true));
    assert_eq!(there.load(&key).await.unwrap(), Some(Record::default()));
    assert!(there.touch(&key, F::TICK * 100).await.unwrap());
    assert!(there.delete(&key).await.unwrap());
}

pub(super) async fn nothing_changes_an_absent_record<F: Fixture>(fixture: F) {
    let [here, there] = fixture.replicas().await;
    assert_absent::<F>(&here, &session("never")).await;
    assert_absent::<F>(&there, &session("never")).await;
}

pub(super) async fn kinds_do_not_share_keys<F: Fixture>(fixture: F) {
    let [here, _] = fixture.replicas().await;
    let kinds = [Kind::Session, Kind::Handle, Kind::Task, Kind::Nonce];
    for (index, kind) in kinds.into_iter().enumerate() {
        let record = Record::default().with("index", index.to_string());
        assert!(here.create(&Key::new(kind, "same"), record, F::TICK * 100).await.unwrap());
    }
    assert!(here.delete(&Key::new(Kind::Handle, "same")).await.unwrap());
    let mut left = Vec::new();
    for kind in kinds {
        let record = here.load(&Key::new(kind, "same")).await.unwrap();
        left.push(record.map(|record| record.text("index").unwrap().to_owned()));
    }
    assert_eq!(left, [Some("0".to_owned()), None, Some("2".to_owned()), Some("3".to_owned())]);
}

pub(super) async fn set_and_remove_touch_one_field<F: Fixture>(fixture: F) {
    let [here, there] = fixture.replicas().await;
    let key = session("s");
    here.create(&key, sample(), F::TICK * 100).await.unwrap();
    assert!(here.set(&key, "level", Bytes::from("info")).await.unwrap());
    assert!(there.set(&key, "level", Bytes::from("debug")).await.unwrap());
    assert!(there.set(&key, "gone", Bytes::from("soon")).await.unwrap());
    assert_eq!(here.remove(&key, "gone").await.unwrap(), Some(true));
    assert_eq!(there.remove(&key, "gone").await.unwrap(), Some(false));
    assert_eq!(there.remove(&key, "never").await.unwrap(), Some(false));
    assert_eq!(there.load(&key).await.unwrap(), Some(sample().with("level", "debug")));
}

pub(super) async fn increment_adds<F: Fixture>(fixture: F) {
    let [here, there] = fixture.replicas().await;
    let key = session("s");
    here.create(&key, sample().with("given", "-41"), F::TICK * 100).await.unwrap();
    assert_eq!(here.increment(&key, "new", 5).await.unwrap(), Some(5));
    assert_eq!(there.increment(&key, "new", -7).await.unwrap(), Some(-2));
    assert_eq!(here.increment(&key, "given", 42).await.unwrap(), Some(1));
    assert_eq!(here.increment(&key, "zero", 0).await.unwrap(), Some(0));
    assert_eq!(here.increment(&key, "highest", i64::MAX).await.unwrap(), Some(i64::MAX));
    assert_eq!(here.increment(&key, "lowest", i64::MIN).await.unwrap(), Some(i64::MIN));
    let expected = sample().with("new", "-2").with("given", "1").with("zero", "0");
    let expected = expected.with("highest", i64::MAX.to_string()).with("lowest", i64::MIN.to_string());
    assert_eq!(there.load(&key).await.unwrap(), Some(expected), "and it is kept in decimal");
}

pub(super) async fn increment_refuses_what_is_no_integer<F: Fixture>(fixture: F) {
    let [here, _] = fixture.replicas().await;
    let key = session("s");
    let too_high = "9223372036854775808";
    let values = ["", "x", "1.0", "1e3", " 1", "1 ", "+1", "01", "-0", "--1", "0x1", too_high];
    let mut record = Record::default().with("high", i64::MAX.to_string()).with("low", i64::MIN.to_string());
    for (index, value) in values.into_iter().enumerate() {
        record = record.with(&format!("bad{index}"), value);
    }
    record = record.with("not text", &b"\xff1"[..]);
    here.create(&key, record.clone(), F::TICK * 100).await.unwrap();
    let steps = record.fields.keys().map(|field| (field, if &**field == "low" { -1 } else { 1 }));
    for (field, by) in steps {
        let error = here.increment(&key, field, by).await.expect_err(field);
        assert!(matches!(&error, StoreError::NotAnInteger { field: named } if **named == **field), "{error}");
        assert_eq!(error.retry(), Retry::Never);
    }
    assert_eq!(here.load(&key).await.unwrap(), Some(record), "nothing changed");
}

pub(super) async fn compare_and_set_compares<F: Fixture>(fixture: F) {
    let [here, there] = fixture.replicas().await;
    let key = session("s");
    here.create(&key, Record::default().with("keep", "x"), F::TICK * 100).await.unwrap();
    let some = |text: &'static str| Some(Bytes::from(text));
    // What is expected, what is new, whether that is done, what is there afterwards.
    let steps = [
        (some("a"), some("b"), false, None),
        (some(""), some("b"), false, None),
        (None, None, true, None),
        (None, some(""), true, some("")),
        (None, some("b"), false, some("")),
        (some(""), some("a"), true, some("a")),
        (None, None, false, some("a")),
        (some("b"), None, false, some("a")),
        (some("A"), some("c"), false, some("a")),
        (some("a"), some("a"), true, some("a")),
        (some("a"), some("b"), true, some("b")),
        (some("b"), None, true, None),
    ];
    for (index, (expected, new, done, after)) in steps.into_iter().enumerate() {
        let store = if index % 2 == 0 { &here } else { &there };
        let answer = store.compare_and_set(&key, "f", expected, new).await.unwrap();
        assert_eq!(answer, Some(done), "step {index}");
        let record = here.load(&key).await.unwrap().unwrap();
        assert_eq!(record.fields.get("f").cloned(), after, "step {index}");
        assert_eq!(record.text("keep"), Some("x"));
    }
}

pub(super) async fn a_record_expires_without_touch<F: Fixture>(fixture: F) {
    let [here, there] = fixture.replicas().await;
    let key = session("s");
    here.create(&key, sample(), F::TICK * 5).await.unwrap();
    fixture.pass(F::TICK * 3).await;
    // None of these renews it.
    assert!(here.load(&key).await.unwrap().is_some());
    assert!(here.set(&key, "a", Bytes::from("x")).await.unwrap());
    assert_eq!(there.remove(&key, "a").await.unwrap(), Some(true));
    assert_eq!(there.increment(&key, "n", 1).await.unwrap(), Some(1));
    assert_eq!(here.compare_and_set(&key, "c", None, Some(Bytes::from("x"))).await.unwrap(), Some(true));
    assert!(!here.create(&key, sample(), F::TICK * 100).await.unwrap());
    fixture.pass(F::TICK * 3).await;
    assert_eq!(there.load(&key).await.unwrap(), None);
}

pub(super) async fn touch_renews<F: Fixture>(fixture: F) {
    let [here, there] = fixture.replicas().await;
    let key = session("s");
    here.create(&key, sample(), F::TICK * 4).await.unwrap();
    for _ in 0..3 {
        fixture.pass(F::TICK * 2).await;
        assert!(there.touch(&key, F::TICK * 4).await.unwrap());
    }
    assert_eq!(here.load(&key).await.unwrap(), Some(sample()), "long after its first time to live");
    assert!(here.touch(&key, F::TICK).await.unwrap());
    fixture.pass(F::TICK * 2).await;
    assert_eq!(there.load(&key).await.unwrap(), None, "touch also shortens");
    assert!(here.create(&key, sample(), std::time::Duration::MAX).await.unwrap());
    assert!(here.touch(&key, std::time::Duration::MAX).await.unwrap(), "however long");
    assert!(here.load(&key).await.unwrap().is_some());
}

pub(super) async fn an_expired_record_does_not_exist<F: Fixture>(fixture: F) {
    let [here, there] = fixture.replicas().await;
    let key = session("s");
    here.create(&key, sample(), F::TICK).await.unwrap();
    fixture.pass(F::TICK * 2).await;
    assert_absent::<F>(&here, &key).await;
    assert!(there.create(&key, Record::default().with("new", "x"), F::TICK * 100).await.unwrap());
    let expected = Record::default().with("new", "x");
    assert_eq!(here.load(&key).await.unwrap(), Some(expected), "nothing of the old one");
}

pub(super) async fn a_deleted_record_does_not_exist<F: Fixture>(fixture: F) {
    let [here, there] = fixture.replicas().await;
    let (key, other) = (session("s"), session("other"));
    here.create(&key, sample(), F::TICK * 100).await.unwrap();
    here.create(&other, sample(), F::TICK * 100).await.unwrap();
    assert!(there.delete(&key).await.unwrap());
    assert_absent::<F>(&here, &key).await;
    assert_absent::<F>(&there, &key).await;
    assert!(here.create(&key, Record::default(), F::TICK * 100).await.unwrap());
    assert_eq!(there.load(&key).await.unwrap(), Some(Record::default()), "nothing of the old one");
    assert_eq!(there.load(&other).await.unwrap(), Some(sample()));
}

pub(super) async fn what_is_too_large_changes_nothing<F: Fixture>(fixture: F) {
    let [here, _] = fixture.replicas().await;
    let limits = fixture.limits();
    let long_key = session(&"k".repeat(limits.key_bytes + 1));
    let long_name = "n".repeat(limits.name_bytes + 1);
    let large = Bytes::from(vec![b'v'; limits.value_bytes + 1]);
    let (key, full) = (session("s"), session("full"));
    let many =
        |fields: usize| (0..fields).fold(Record::default(), |record, n| record.with(&n.to_string(), "1"));

    assert_too_large(here.create(&long_key, sample(), F::TICK).await);
    assert_too_large(here.create(&key, sample().with(&long_name, "x"), F::TICK).await);
    assert_too_large(here.create(&key, sample().with("f", large.clone()), F::TICK).await);
    assert_too_large(here.create(&key, many(limits.fields + 1), F::TICK).await);
    // Names and values are measured first, whether there is a record or not.
    assert_too_large(here.set(&key, "f", large.clone()).await);
    assert_too_large(here.increment(&key, &long_name, 1).await);
    assert_too_large(here.compare_and_set(&key, "f", None, Some(large.clone())).await);
    assert_absent::<F>(&here, &key).await;

    here.create(&key, sample(), F::TICK * 100).await.unwrap();
    here.create(&full, many(limits.fields), F::TICK * 100).await.unwrap();
    assert_too_large(here.set(&key, &long_name, Bytes::new()).await);
    assert_too_large(here.set(&key, "schema", large.clone()).await);
    assert_too_large(here.set(&full, "one more", Bytes::new()).await);
    assert_too_large(here.increment(&key, &long_name, 1).await);
    assert_too_large(here.increment(&full, "one more", 1).await);
    assert_too_large(here.compare_and_set(&key, "schema", Some(Bytes::from("1")), Some(large)).await);
    assert_too_large(here.compare_and_set(&key, &long_name, None, Some(Bytes::new())).await);
    assert_too_large(here.compare_and_set(&full, "one more", None, Some(Bytes::new())).await);
    assert_eq!(here.load(&key).await.unwrap(), Some(sample()));
    assert_eq!(here.load(&full).await.unwrap(), Some(many(limits.fields)));
}

pub(super) async fn what_is_at_its_bound_is_taken<F: Fixture>(fixture: F) {
    let [here, _] = fixture.replicas().await;
    let limits = fixture.limits();
    let key = session(&"k".repeat(limits.key_bytes));
    let name = "n".repeat(limits.name_bytes);
    let value = Bytes::from(vec![b'v'; limits.value_bytes]);
    let mut record = (2..limits.fields).fold(Record::default(), |record, n| record.with(&n.to_string(), "1"));
    assert!(here.create(&key, record.clone(), F::TICK * 100).await.unwrap());
    assert!(here.set(&key, &name, value.clone()).await.unwrap());
    assert_eq!(here.increment(&key, "counter", 1).await.unwrap(), Some(1));
    // A full record still takes other values of its fields, and a new field for an old one.
    assert_eq!(here.increment(&key, "counter", 1).await.unwrap(), Some(2));
    assert!(here.set(&key, "2", Bytes::from("other")).await.unwrap());
    assert_eq!(
        here.compare_and_set(&key, "counter", Some(Bytes::from("2")), None).await.unwrap(),
        Some(true)
    );
    assert_eq!(here.compare_and_set(&key, "new", None, Some(Bytes::from("x"))).await.unwrap(), Some(true));
    record = record.with(&name, value).with("2", "other").with("new", "x");
    assert_eq!(here.load(&key).await.unwrap(), Some(record));
}

/// Every operation says that the record does not exist, and none makes it.
async fn assert_absent<F: Fixture>(store: &Arc<dyn SessionStore>, key: &Key) {
    let value = || Bytes::from("x");
    assert_eq!(store.load(key).await.unwrap(), None);
    assert!(!store.set(key, "f", value()).await.unwrap());
    assert_eq!(store.remove(key, "f").await.unwrap(), None);
    assert_eq!(store.increment(key, "f", 1).await.unwrap(), None);
    assert_eq!(store.compare_and_set(key, "f", None, Some(value())).await.unwrap(), None);
    assert_eq!(store.compare_and_set(key, "f", None, None).await.unwrap(), None);
    assert_eq!(store.compare_and_set(key, "f", Some(value()), None).await.unwrap(), None);
    assert!(!store.touch(key, F::TICK * 100).await.unwrap());
    assert!(!store.delete(key).await.unwrap());
    assert_eq!(store.load(key).await.unwrap(), None);
}

fn assert_too_large<T: std::fmt::Debug>(answer: Result<T, StoreError>) {
    let error = answer.expect_err("over a bound");
    assert!(matches!(error, StoreError::TooLarge { size, limit, .. } if size == limit + 1), "{error}");
    assert_eq!(error.retry(), Retry::Never);
}
