use super::*;

#[test]
fn revisions_are_dealt_by_their_shares() {
    let revisions = vec![(RevisionChoice::V2025_11_25, 3), (RevisionChoice::V2026_07_28, 1)];
    let plan = Plan { revisions, clients: 10, ..Plan::new("http://localhost/mcp") };
    let counted = plan.clients_by_revision();
    assert_eq!(counted[&RevisionChoice::V2025_11_25], 7);
    assert_eq!(counted[&RevisionChoice::V2026_07_28], 3);
    assert_eq!(plan.revision(1), RevisionChoice::V2026_07_28);
}

#[test]
fn shares_are_all_clients_once() {
    let mut all: Vec<u32> = (0..3).flat_map(|index| Share { index, of: 3 }.clients(10)).collect();
    all.sort_unstable();
    assert_eq!(all, (0..10).collect::<Vec<_>>());
}

#[test]
fn a_plan_travels_and_its_secrets_do_not_reach_a_report() {
    let mut plan = Plan::new("http://localhost/mcp");
    plan.headers.push(("x-key".to_owned(), "hunter2".to_owned()));
    plan.bearers.push("hunter3".to_owned());
    plan.slos.push("tools/call:p99.9<1s".parse().unwrap());
    let json = serde_json::to_string(&plan).unwrap();
    assert_eq!(serde_json::from_str::<Plan>(&json).unwrap(), plan);
    assert!(!serde_json::to_string(&plan.redacted()).unwrap().contains("hunter"));
}

#[test]
fn a_timeline_stays_small() {
    let mut plan = Plan::new("http://localhost/mcp");
    assert_eq!(plan.slot_seconds(), 1);
    plan.duration = "24h".parse().unwrap();
    assert_eq!(plan.slot_seconds(), 13);
}
