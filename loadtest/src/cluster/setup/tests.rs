use super::*;
use crate::cluster::faults::parse;

fn setup(balancer: LoadBalancer, store: Store, faults: &[&str]) -> Setup {
    Setup {
        replicas: 3,
        balancer,
        store,
        policies: vec!["round-robin".parse().unwrap()],
        faults: parse(faults).unwrap(),
        settle: Duration::from_secs(10),
        binary: None,
        settings: Vec::new(),
    }
}

fn plan() -> Plan {
    Plan { clients: 100, ..Plan::new("http://127.0.0.1:1/mcp") }
}

fn mistakes(mut setup: Setup, plan: &Plan) -> Vec<String> {
    setup.check(plan).unwrap_err().iter().map(ToString::to_string).collect()
}

#[test]
fn what_makes_sense_passes_with_every_replica_named() {
    let faults = ["restart-redis@20s", "kill-replica@10s", "cut-replica@30s+5s", "kill-connections@1s"];
    let mut setup = setup(LoadBalancer::Haproxy, Store::Redis, &faults);
    setup.check(&plan()).unwrap();
    let replicas: Vec<Option<usize>> = setup.faults.iter().map(|fault| fault.replica).collect();
    assert_eq!(replicas, [None, Some(0), None, Some(1)]);
    assert_eq!(setup.to_string(), "3 replicas behind HAProxy, sessions in one Redis");
}

#[test]
fn all_mistakes_are_told_at_once() {
    let faults = [
        "kill-primary@1s",
        "kill-replica:3@1s",
        "cut-replica@1s+1s",
        "flush-redis@1s",
        "kill-connections@1s",
    ];
    let mut several = setup(LoadBalancer::None, Store::Memory, &faults);
    several.policies.push("least-conn".parse().unwrap());
    let mistakes = mistakes(several, &plan());
    for expected in [
        "needs --store sentinel",
        "no replica 3; they are numbered from 0 to 2",
        "needs --store redis, since",
        "needs --store redis, sentinel or cluster",
        "needs --lb haproxy or nginx",
        "clients talk to one replica",
        "a policy is a balancer's",
    ] {
        assert_eq!(
            mistakes.iter().filter(|mistake| mistake.contains(expected)).count(),
            1,
            "{expected}: {mistakes:?}"
        );
    }
    assert_eq!(mistakes.len(), 7);
}

#[test]
fn a_balancer_has_only_so_many_connections() {
    let crowd = Plan { clients: 4001, connections: 2, ..plan() };
    let mistakes = mistakes(setup(LoadBalancer::Nginx, Store::Redis, &[]), &crowd);
    assert!(mistakes[0].contains("8002 connections"), "{mistakes:?}");
}

#[test]
fn a_run_is_lengthened_where_faults_need_it() {
    let setup = setup(LoadBalancer::Haproxy, Store::Redis, &["kill-replica@10s+15s"]);
    let short = Plan { duration: Span(Duration::from_secs(30)), ..plan() };
    assert_eq!(setup.lengthened(&short), Some(Span(Duration::from_secs(35))));
    let warm = Plan { warmup: Span(Duration::from_secs(5)), ..short.clone() };
    assert_eq!(setup.lengthened(&warm), None);
    assert_eq!(setup.lengthened(&Plan { duration: Span(Duration::from_secs(60)), ..short }), None);
}

#[test]
fn policies_and_settings_are_read() {
    let policy = |text: &str| text.parse::<NamedPolicy>().map(|named| named.policy);
    assert_eq!(policy("sticky"), Ok(Policy::Sticky { header: "Mcp-Session-Id".to_owned() }));
    assert_eq!(policy("sticky:X-Client"), Ok(Policy::Sticky { header: "X-Client".to_owned() }));
    for text in ["", "random", "sticky:", "sticky:a b", "round-robin:x"] {
        assert!(policy(text).unwrap_err().to_string().contains("round-robin, least-conn, sticky"), "{text}");
    }
    assert!("limits.streams=5000".parse::<Setting>().is_ok());
    for text in ["limits=5", "limits.streams", ".x=1", "x.=1", ""] {
        assert!(text.parse::<Setting>().unwrap_err().to_string().contains("SECTION.KEY=VALUE"), "{text}");
    }
}

#[test]
fn a_binary_that_is_not_there_is_named_with_the_remedy() {
    let setup =
        Setup { binary: Some("nowhere/trunkline".into()), ..setup(LoadBalancer::None, Store::Memory, &[]) };
    let error = setup.builder(&Policy::RoundRobin).unwrap_err().to_string();
    assert!(error.contains("nowhere/trunkline") && error.contains("--binary"), "{error}");
}
