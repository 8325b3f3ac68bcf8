use super::*;

fn untyped(text: &str) -> Raw {
    Raw::Untyped(text.to_owned())
}

fn text(text: &str) -> Raw {
    Raw::Text(text.to_owned())
}

fn integer(digits: &str) -> Raw {
    Raw::Integer(digits.to_owned(), 10)
}

const ALL_TIMES: RangeInclusive<Duration> = Duration::ZERO..=Duration::MAX;
const ALL: RangeInclusive<usize> = 0..=usize::MAX;

#[test]
fn a_time_has_a_unit() {
    for (given, millis) in [
        ("250ms", 250),
        ("1s", 1000),
        ("0s", 0),
        ("2m", 120_000),
        ("1h", 3_600_000),
        ("7d", 604_800_000),
        ("1_000 ms", 1000),
    ] {
        assert_eq!(time(&text(given), &ALL_TIMES), Ok(Duration::from_millis(millis)), "{given}");
        assert_eq!(time(&untyped(given), &ALL_TIMES), Ok(Duration::from_millis(millis)), "{given}");
    }
    for bad in [
        "",
        "1",
        "s",
        "-1s",
        "+1s",
        "1.5s",
        "1S",
        "1sec",
        "1h30m",
        "_s",
        "1s ",
        " 1s",
        "99999999999999999999s",
        "é",
        "1µs",
    ] {
        assert!(time(&text(bad), &ALL_TIMES).is_err(), "{bad:?}");
    }
    for bad in [integer("1"), Raw::Boolean(true), Raw::List(vec!["1s".to_owned()]), Raw::Other("a float")] {
        assert!(time(&bad, &ALL_TIMES).is_err(), "{bad:?}");
    }
    assert_eq!(time(&integer("30"), &ALL_TIMES).unwrap_err().what, "30 has no unit");
}

#[test]
fn a_time_out_of_range_is_told_the_range() {
    let range = Duration::from_secs(1)..=Duration::from_secs(3600);
    for (given, fits) in
        [("999ms", false), ("1s", true), ("1h", true), ("61m", false), ("18446744073709551615d", false)]
    {
        assert_eq!(time(&text(given), &range).is_ok(), fits, "{given}");
    }
    let wrong = time(&text("90m"), &range).unwrap_err();
    assert_eq!(
        (wrong.what.as_str(), wrong.remedy.as_str()),
        ("90m is out of range", "write a value from 1s to 1h")
    );
}

#[test]
fn a_size_is_a_number_with_or_without_a_unit() {
    for (given, bytes) in [
        ("0", 0),
        ("65536", 65536),
        ("1B", 1),
        ("64KiB", 65536),
        ("4 MiB", 4 << 20),
        ("1GiB", 1 << 30),
        ("1_024", 1024),
    ] {
        assert_eq!(size(&text(given), &ALL), Ok(bytes), "{given}");
        assert_eq!(size(&untyped(given), &ALL), Ok(bytes), "{given}");
    }
    assert_eq!(size(&integer("65536"), &ALL), Ok(65536));
    assert_eq!(size(&Raw::Integer("ff".to_owned(), 16), &ALL), Ok(255));
    for bad in ["", "KiB", "4MB", "4kb", "4M", "-1", "1.5MiB", "1e6", "4mib"] {
        assert!(size(&text(bad), &ALL).is_err(), "{bad:?}");
    }
    assert!(size(&integer("-1"), &ALL).is_err());
    assert!(size(&text("5KiB"), &(0..=4096)).is_err());
    // 2^34 GiB are 2^64 bytes.
    assert!(size(&text("17179869184GiB"), &(0..=4096)).is_err(), "overflow must not wrap");
}

#[test]
fn what_is_shown_is_read_back() {
    for millis in [0, 1, 250, 1000, 1500, 60_000, 90_000, 3_600_000, 86_400_000, 90_000_000] {
        let given = Duration::from_millis(millis);
        assert_eq!(time(&text(&show_time(given)), &ALL_TIMES), Ok(given), "{}", show_time(given));
    }
    for bytes in [0, 1, 1023, 1024, 1536, 1 << 20, 3 << 29, 1 << 30] {
        assert_eq!(size(&text(&show_size(bytes)), &ALL), Ok(bytes), "{}", show_size(bytes));
    }
    assert_eq!(
        (show_time(Duration::from_secs(90)), show_size(3 << 29)),
        ("90s".to_owned(), "1536MiB".to_owned())
    );
}

#[test]
fn a_count_is_a_number_and_no_text() {
    assert_eq!(count(&integer("5"), &(1..=5)), Ok(5));
    assert_eq!(count(&untyped("200_000"), &ALL), Ok(200_000));
    assert_eq!(count(&integer("0"), &(1..=5)).unwrap_err().remedy, "write a value from 1 to 5");
    for bad in [
        integer("6"),
        integer("-1"),
        text("5"),
        untyped("5x"),
        untyped(""),
        untyped("+5"),
        Raw::Boolean(true),
    ] {
        assert!(count(&bad, &(1..=5)).is_err(), "{bad:?}");
    }
    assert_eq!(count(&text("5"), &(1..=5)).unwrap_err().remedy, "write a whole number, without quotes");
}

#[test]
fn a_boolean_is_a_word_only_where_nothing_has_a_type() {
    assert_eq!(boolean(&Raw::Boolean(true)), Ok(true));
    assert_eq!(boolean(&untyped("false")), Ok(false));
    for bad in [text("true"), untyped("yes"), untyped("1"), untyped(""), untyped("True"), integer("1")] {
        assert!(boolean(&bad).is_err(), "{bad:?}");
    }
}

#[test]
fn a_choice_names_all_words() {
    let names = [("on", 1), ("off", 2)];
    assert_eq!(choice(&text("off"), &names), Ok(2));
    assert_eq!(choice(&text("of"), &names).unwrap_err().remedy, r#"write one of "on", "off""#);
    assert!(choice(&Raw::Boolean(true), &names).is_err());
}

#[test]
fn an_address_is_numeric() {
    for good in ["127.0.0.1:8080", "[::]:0", "0.0.0.0:65535"] {
        assert!(address(&text(good)).is_ok(), "{good}");
    }
    for bad in [
        "localhost:8080",
        ":8080",
        "8080",
        "127.0.0.1",
        "127.0.0.1:65536",
        "::1:80",
        "http://127.0.0.1:80",
        "",
    ] {
        assert!(address(&text(bad)).is_err(), "{bad}");
    }
}

#[test]
fn a_path_is_plain() {
    for good in ["/", "/mcp", "/a/b-c_d.e~f", "/..x"] {
        assert_eq!(path(&text(good)), Ok(good.to_owned()));
    }
    let long = format!("/{}", "a".repeat(256));
    for bad in [
        "", "mcp", "/mcp/", "//", "/a//b", "/a/./b", "/..", "/{tail}", "/a?b", "/a#b", "/a b", "/%41", "/é",
        &long,
    ] {
        assert!(path(&text(bad)).is_err(), "{bad}");
    }
}

#[test]
fn a_prefix_is_plain() {
    for good in ["t", "trunkline", "a-b.c:d_e", &"x".repeat(64)] {
        assert_eq!(prefix(&text(good)), Ok(good.to_owned()));
    }
    for bad in ["", "a b", "{a}", "é", "a*", &"x".repeat(65)] {
        assert!(prefix(&text(bad)).is_err(), "{bad}");
    }
}

#[test]
fn a_public_url_is_a_base() {
    let parsed = |given: &str| public_url(&text(given)).map(|url| url.unwrap());
    for (given, origin, host, mount) in [
        ("https://mcp.example.com", "https://mcp.example.com", "mcp.example.com", ""),
        ("https://MCP.example.com:443/", "https://mcp.example.com", "mcp.example.com", ""),
        ("http://10.0.0.5:8080/a/b/", "http://10.0.0.5:8080", "10.0.0.5", "/a/b"),
        ("http://[::1]:8080", "http://[::1]:8080", "[::1]", ""),
    ] {
        let url = parsed(given).unwrap();
        assert_eq!((url.origin().as_str(), url.host(), url.mount()), (origin, host, mount), "{given}");
        assert_eq!(
            (url.to_string(), url.of("/mcp")),
            (format!("{origin}{mount}"), format!("{origin}{mount}/mcp"))
        );
    }
    for bad in [
        "mcp.example.com",
        "/mcp",
        "ftp://a",
        "https://",
        "https://u:hunter2@a",
        "https://u@a",
        "https://a?b",
        "https://a#b",
        "https://a.example.",
        "https://a..example",
        "https://a!b",
    ] {
        let wrong = parsed(bad).unwrap_err();
        assert!(!format!("{wrong:?}").contains("hunter2"));
    }
    assert_eq!(public_url(&untyped("")), Ok(None));
}

#[test]
fn lists_tell_which_item_is_wrong() {
    let given = Raw::List(["https://a.example", "a b"].map(str::to_owned).to_vec());
    assert_eq!(origins(&given).unwrap_err().item, Some(1));
    assert_eq!(hosts(&given).unwrap_err().item, Some(0));
    assert_eq!(
        origins(&untyped("https://a.example, *,")).unwrap(),
        ["https://a.example", "*"].map(|entry| AllowedOrigin::parse(entry).unwrap())
    );
    assert_eq!(origins(&untyped("")), Ok(Vec::new()));
    assert!(origins(&text("https://a.example")).is_err(), "a list is a list in TOML");
}

#[test]
fn what_is_no_origin_or_host_is_told_with_its_reason() {
    let list = |item: &str| Raw::List(vec![item.to_owned()]);
    for (bad, reason) in
        [("https://a/b", "without a path"), ("null", "sandboxed"), ("1x://a", "malformed scheme")]
    {
        let wrong = origins(&list(bad)).unwrap_err();
        assert!(wrong.what.starts_with(&format!("{bad:?} ")) && wrong.what.contains(reason), "{wrong:?}");
    }
    for (bad, reason) in [("a/b", "is no host"), ("https://a", "has no scheme"), ("", "is no host")] {
        let wrong = hosts(&list(bad)).unwrap_err();
        assert!(wrong.what.starts_with(&format!("{bad:?} ")) && wrong.what.contains(reason), "{wrong:?}");
    }
    let long = hosts(&list(&format!("a\n{}", "é".repeat(10_000)))).unwrap_err();
    assert!(long.what.len() < 250 && !long.what.contains('\n'), "{}", long.what);
}

#[test]
fn the_scheme_of_a_backend_says_which() {
    assert_eq!(backend(&text("memory")), Ok(Backend::Memory));
    for url in [
        "redis://:hunter2@redis:6379/0",
        "rediss://app:hunter2@redis",
        "redis+sentinel://:hunter2@s1,s2:26380/main",
        "redis+cluster://:hunter2@c1,c2",
    ] {
        assert_eq!(backend(&text(url)), Ok(Backend::Redis(Box::new(url.parse().unwrap()))));
    }
    for bad in [
        "",
        "Memory",
        "redis",
        "redis://",
        "http://:hunter2@a",
        "memory://",
        "redis://:hunter2@a,b",
        "redis+sentinel://:hunter2@a",
    ] {
        let wrong = backend(&text(bad)).unwrap_err();
        assert!(!format!("{wrong:?}").contains("hunter2"), "{wrong:?}");
    }
    assert!(!format!("{:?}", backend(&text("redis://:hunter2@a")).unwrap()).contains("hunter2"));
}

/// 32 bytes in base64, as `openssl rand -base64 32` writes them, with characters of the standard alphabet.
const KEY: &str = "+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/8=";

#[test]
fn a_ring_takes_either_alphabet_padded_or_not() {
    let spellings = [KEY.to_owned(), KEY.replace('=', ""), KEY.replace('+', "-").replace('/', "_")];
    for spelling in spellings {
        let ring = ring(&Raw::List(vec![format!("k1:{spelling}")])).unwrap();
        assert_eq!((ring[0].name.as_str(), &ring[0].bytes[..3]), ("k1", &[0xfb, 0xff, 0xbf][..]));
    }
    assert_eq!(ring(&untyped("")), Ok(Vec::new()));
    let two = ring(&untyped(&format!("k2:{}, k1:{KEY}", "A".repeat(43)))).unwrap();
    assert_eq!(two.iter().map(|key| key.name.as_str()).collect::<Vec<_>>(), ["k2", "k1"]);
}

#[test]
fn a_bad_ring_is_told_without_its_keys() {
    let other = "A".repeat(43);
    let many: Vec<String> = (0..17).map(|i| format!("k{i}:{}A", base64_of(i))).collect();
    let cases: &[(&[&str], &str)] = &[
        (&[KEY], "key 1 has no name"),
        (&[&format!("{KEY}:k1")], "the name of key 1"),
        (&[&format!(":{KEY}")], "the name of key 1"),
        (&[&format!("a b:{KEY}")], "the name of key 1"),
        (&["k1:"], "has 0 bytes, not 32"),
        (&["k1:AAAA"], "has 3 bytes, not 32"),
        (&[&format!("k1:{KEY}{KEY}")], "is not base64"),
        (&[&format!("k1:{}", KEY.replace('8', "9"))], "is not base64"),
        (&["k1:hunter2!"], "is not base64"),
        (&[&format!("k1:{KEY}"), &format!("k1:{other}")], "two keys are named \"k1\""),
        (&[&format!("k1:{KEY}"), &format!("k2:{}", KEY.replace('=', ""))], "\"k1\" and \"k2\" are the same"),
        (&many.iter().map(String::as_str).collect::<Vec<_>>(), "17 keys are too many"),
    ];
    for (items, what) in cases {
        let wrong = ring(&Raw::List(items.iter().map(|&item| item.to_owned()).collect())).unwrap_err();
        assert!(wrong.what.contains(what), "{wrong:?} {what}");
        let told = format!("{wrong:?}");
        for secret in ["+/+/", "AAAA", "hunter2"] {
            assert!(!told.contains(secret), "{told}");
        }
    }
    assert!(ring(&text("k1:x")).is_err(), "a list is a list in TOML");
    assert!(
        !format!("{:?}", ring(&untyped(&format!("k1:{KEY}"))).unwrap()).contains("251"),
        "the bytes are shown"
    );
}

/// 42 characters that differ by `i`.
fn base64_of(i: usize) -> String {
    format!("{i:042}")
}

#[test]
fn a_value_in_a_message_is_short_and_on_one_line() {
    let wrong = time(&text(&format!("a\nb{}", "é".repeat(10_000))), &ALL_TIMES).unwrap_err();
    assert!(wrong.what.len() < 200 && !wrong.what.contains('\n'), "{}", wrong.what);
}
