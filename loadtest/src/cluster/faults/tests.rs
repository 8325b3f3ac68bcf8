use super::*;

fn fault(text: &str) -> Fault {
    parse(&[text]).unwrap().remove(0)
}

fn errors(text: &str) -> Vec<String> {
    parse(&[text]).unwrap_err().iter().map(ToString::to_string).collect()
}

#[test]
fn every_kind_is_read_and_written() {
    for text in [
        "kill-replica@10s",
        "kill-replica:1@10s+5s",
        "drain-replica:2@0s",
        "drain-replica@1s+3s",
        "roll@5s",
        "roll@5s+2s",
        "stop-replica:0@1s500ms+4s",
        "cut-replica@10s+5s",
        "cut-replica:1,how=refused@10s+5s",
        "cut-replica:how=refused@10s+5s",
        "restart-redis@20s",
        "flush-redis@20s",
        "stop-redis@20s+3s",
        "kill-primary@20s",
        "kill-primary@20s+5s",
        "kill-connections@250ms",
    ] {
        assert_eq!(fault(text).to_string(), text);
    }
    for kind in Kind::ALL {
        let lasts = if kind.needs_a_duration() { "+1s" } else { "" };
        assert_eq!(fault(&format!("{}@1s{lasts}", kind.as_str())).kind, kind);
    }
}

#[test]
fn a_target_is_a_number_or_named() {
    assert_eq!(fault("kill-replica:replica=2@1s"), fault("kill-replica:2@1s"));
    assert_eq!(fault("cut-replica:replica=2, how=frozen@1s+1s").replica, Some(2));
}

#[test]
fn every_mistake_says_what_to_write() {
    for (text, expected) in [
        ("kill-replica", "write KIND@TIME"),
        ("kill-replica@", "is not a duration"),
        ("kill-replica@10", "30s, 250ms or 1m30s"),
        ("kill-replica@10s+x", "the duration after the +"),
        ("kil-replica@10s", "did you mean kill-replica?"),
        ("reboot@10s", "there is no fault \"reboot\"; there are kill-replica, drain-replica"),
        ("kill-replica:one@10s", "numbered from 0"),
        ("kill-replica:1,2@10s", "names the replica twice"),
        ("kill-replica:how=refused@10s", "knows no \"how\"; it has replica"),
        ("cut-replica:how=slow@10s+1s", "neither frozen nor refused"),
        ("restart-redis:1@10s", "hurts no single replica"),
        ("restart-redis@10s+5s", "has no duration"),
        ("stop-replica@10s", "needs a duration, as stop-replica@10s+5s"),
        ("", "write KIND@TIME"),
    ] {
        let errors = errors(text);
        assert!(errors.iter().any(|error| error.contains(expected)), "{text}: {errors:?}");
    }
}

#[test]
fn all_mistakes_are_told_at_once() {
    let texts = ["kill-replica@10", "roll@5s", "reboot@x", "stop-redis:how=a,3@1s+2s"];
    let errors = parse(&texts).unwrap_err();
    assert_eq!(errors.len(), 5, "{errors:?}");
}

#[test]
fn who_is_not_named_is_the_next_in_turn() {
    let mut faults = parse(&[
        "drain-replica@30s",
        "restart-redis@25s",
        "kill-replica@10s",
        "kill-replica:2@20s",
        "kill-replica@40s",
    ])
    .unwrap();
    assign(&mut faults, 3);
    let replicas: Vec<Option<usize>> = faults.iter().map(|fault| fault.replica).collect();
    assert_eq!(replicas, [Some(0), Some(2), None, Some(0), Some(1)]);
}

#[test]
fn a_run_lasts_until_the_last_fault_has_settled() {
    let settle = Duration::from_secs(10);
    assert_eq!(least_duration(&[], settle), Duration::ZERO);
    let faults = parse(&["kill-replica@10s+30s", "restart-redis@20s"]).unwrap();
    assert_eq!(least_duration(&faults, settle), Duration::from_secs(50));
}
