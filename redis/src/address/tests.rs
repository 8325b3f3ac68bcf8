//! What is read, what is refused, and that no password is ever shown.

use super::*;

fn parse(url: &str) -> Address {
    url.parse().unwrap_or_else(|error| panic!("{url}: {error}"))
}

#[test]
fn each_kind_of_address_is_read() {
    let plain = parse("redis://localhost");
    assert_eq!(plain.mode, Mode::Standalone);
    assert_eq!(plain.hosts, [Host::new("localhost", 6379)]);
    assert_eq!((plain.tls, plain.database, plain.replicas), (false, 0, None));

    let tls = parse("rediss://app:p%40ss%2Fw%3Ard@[::1]:7000/3?replicas=2");
    assert_eq!(tls.hosts, [Host::new("::1", 7000)]);
    assert_eq!((tls.tls, tls.database, tls.replicas), (true, 3, Some(2)));
    assert_eq!(tls.credentials.user.as_deref(), Some("app"));
    assert_eq!(tls.credentials.password.as_deref(), Some("p@ss/w:rd"));

    let sentinel = parse("redis+sentinel://:p@a,b:1,c/the%20main/?sentinel_user=s&sentinel_password=t%26u");
    assert_eq!(sentinel.mode, Mode::Sentinel { master: "the main".to_owned() });
    assert_eq!(sentinel.hosts, [Host::new("a", 26379), Host::new("b", 1), Host::new("c", 26379)]);
    assert_eq!(sentinel.credentials.user, None);
    assert_eq!(sentinel.sentinel_credentials.user.as_deref(), Some("s"));
    assert_eq!(sentinel.sentinel_credentials.password.as_deref(), Some("t&u"));
    assert_eq!(parse("rediss+sentinel://a/m/5").database, 5);

    let cluster = parse("rediss+cluster://a:1,b:2/");
    assert_eq!((cluster.mode, cluster.tls), (Mode::Cluster, true));
    assert_eq!(cluster.hosts, [Host::new("a", 1), Host::new("b", 2)]);
}

#[test]
fn a_wrong_address_says_which_part_and_shows_no_password() {
    let wrong = [
        ("", "scheme"),
        ("http://:hunter2@a", "scheme"),
        ("redis+://:hunter2@a", "scheme"),
        ("redis+sentinels://:hunter2@a/m", "scheme"),
        ("redis:hunter2@a", "scheme"),
        ("redis://", "host"),
        ("redis://:hunter2@", "host"),
        ("redis://:hunter2@:7000", "host"),
        ("redis://:hunter2@a:", "port"),
        ("redis://:hunter2@a:0", "port"),
        ("redis://:hunter2@a:70000", "port"),
        ("redis://:hunter2@[::1", "host"),
        ("redis://:hunter2@[::1]7", "host"),
        ("redis://:hunter2@a b", "host"),
        ("redis://:hunter2@a,b", "hosts"),
        ("redis://hunter2@a", "user or password"),
        ("redis://:hun/ter2@a", "user or password"),
        ("redis://:hun?ter2@a", "user or password"),
        ("redis://:hunter2@a/x", "database"),
        ("redis://:hunter2@a/1/2", "database"),
        ("redis://:hunter2@a/-1", "database"),
        ("redis+cluster://:hunter2@a/1", "database"),
        ("redis+sentinel://:hunter2@a", "master"),
        ("redis+sentinel://:hunter2@a/", "master"),
        ("redis+sentinel://:hunter2@a/m/hunter2", "database"),
        ("redis://:%ffhunter2@a", "escapes"),
        ("redis://:hunter2@a?replicas=hunter2", "replicas"),
        ("redis://:hunter2@a?hunter2=1", "options"),
        ("redis://:hunter2@a?sentinel_password=hunter2", "options"),
    ];
    for (url, part) in wrong {
        let error = url.parse::<Address>().expect_err(url);
        assert_eq!(error.part, part, "{url}");
        assert!(!format!("{error} {error:?}").contains("ter2"), "{error}");
    }
}

#[test]
fn no_form_of_an_address_shows_a_password() {
    let address = parse("redis+sentinel://app:hunter2@a,b/m/1?sentinel_password=hunter3&sentinel_user=s");
    assert_eq!(address.to_string(), "redis+sentinel://app@a:26379,b:26379/m/1");
    assert_eq!(format!("{address:?}"), "Address(redis+sentinel://app@a:26379,b:26379/m/1)");
    assert_eq!(parse("rediss://:x@[::1]").to_string(), "rediss://[::1]:6379");
    assert_eq!(parse("redis+cluster://a").to_string(), "redis+cluster://a:6379");
}
