use super::*;

fn origin(entry: &str, value: &str) -> bool {
    OriginPolicy::parse([entry]).unwrap().allows([value.as_bytes()])
}

fn host(entry: &str, value: &str) -> bool {
    HostPolicy::parse([entry]).unwrap().allows([value.as_bytes()])
}

#[test]
fn loopback_is_allowed_by_default_and_nothing_else() {
    let (origins, hosts) = (OriginPolicy::default(), HostPolicy::default());
    for name in ["localhost", "LOCALHOST", "127.0.0.1", "127.9.9.9", "[::1]", "[0:0:0:0:0:0:0:1]"] {
        for port in ["", ":80", ":49152"] {
            let authority = format!("{name}{port}");
            assert!(hosts.allows([authority.as_bytes()]), "{authority}");
            assert!(origins.allows([format!("http://{authority}").as_bytes()]), "{authority}");
            assert!(origins.allows([format!("https://{authority}").as_bytes()]), "{authority}");
        }
    }
    for name in [
        "evil.example.com",
        "localhost.evil.example.com",
        "127.0.0.1.evil.example.com",
        "128.0.0.1",
        "10.0.0.5",
        "0.0.0.0",
        "127.1",
        "0x7f.0.0.1",
        "127.0.0.01",
        "2130706433",
        "[::2]",
        "[::]",
        "[fe80::1]",
        "[::ffff:127.0.0.1]",
    ] {
        assert!(!hosts.allows([name.as_bytes()]), "{name}");
        assert!(!origins.allows([format!("http://{name}").as_bytes()]), "{name}");
    }
}

#[test]
fn by_default_only_web_pages_of_this_machine_may_call() {
    for value in
        ["ftp://localhost", "file://", "chrome-extension://localhost", "http://localhost@evil.example"]
    {
        assert!(!OriginPolicy::default().allows([value.as_bytes()]), "{value}");
    }
}

#[test]
fn an_absent_origin_passes_and_an_absent_host_does_not() {
    assert!(OriginPolicy::default().allows(None));
    assert!(OriginPolicy::parse([]).unwrap().allows(None));
    assert!(!HostPolicy::parse(["*"]).unwrap().allows(None));
}

#[test]
fn repeated_values_are_refused() {
    let twice = [&b"http://localhost"[..], b"http://localhost"];
    assert!(!OriginPolicy::default().allows(twice));
    assert!(!HostPolicy::default().allows([&b"localhost"[..], b"localhost"]));
}

#[test]
fn null_and_malformed_origins_are_refused_by_every_policy() {
    let malformed = [
        "null",
        "",
        " ",
        "*",
        "localhost",
        "//localhost",
        "://localhost",
        "http://",
        "http:localhost",
        "http:///",
        "http://localhost/",
        "http://localhost/path",
        "http://localhost?",
        "http://user@localhost",
        "http://localhost@evil.example",
        "http://evil.example#localhost",
        "http://evil.example\\@localhost",
        "http://localhost:",
        "http://localhost:x",
        "http://localhost:70000",
        "http://localhost:+80",
        "http://localhost:80:80",
        "http://localhost http://localhost",
        "http://localhost,http://localhost",
        "http://[::1",
        "http://::1",
        "http://[::1]x",
        "http://[fe80::1%25eth0]",
        "http://local host",
        "http://localhost\0",
        "http://.localhost",
        "http://localhost.",
        "http://a..b",
        "1http://localhost",
        "http://ｌocalhost",
        "http://*.localhost",
    ];
    for policy in [OriginPolicy::default(), OriginPolicy::parse(["*"]).unwrap()] {
        for value in malformed {
            assert!(!policy.allows([value.as_bytes()]), "{value:?}");
        }
        assert!(!policy.allows([&b"http://\xff"[..]]));
    }
}

#[test]
fn malformed_hosts_are_refused_by_every_policy() {
    let long = "a".repeat(254);
    let malformed = [
        "",
        " ",
        "*",
        ":",
        ":80",
        "a b",
        "a ",
        "a/b",
        "user@a",
        "a:x",
        "a:99999",
        "a:+80",
        "a:80:80",
        "a:80:",
        "a::",
        "::1",
        "[::1",
        "[::1]x",
        "[127.0.0.1]",
        "http://a",
        "a,b",
        "a..b",
        &long,
    ];
    for policy in [HostPolicy::default(), HostPolicy::parse(["*"]).unwrap()] {
        for value in malformed {
            assert!(!policy.allows([value.as_bytes()]), "{value:?}");
        }
    }
}

#[test]
fn a_host_entry_fits_any_port_and_both_web_schemes() {
    for value in ["https://app.example.com", "http://APP.example.com:3000"] {
        assert!(origin("app.example.com", value), "{value}");
    }
    for value in [
        "https://example.com",
        "https://x.app.example.com",
        "app://app.example.com",
        "https://app.example.com.evil.net",
    ] {
        assert!(!origin("app.example.com", value), "{value}");
    }
    assert!(host("app.example.com", "app.example.com:8443") && host("App.Example.com", "app.example.com"));
}

#[test]
fn a_port_in_an_entry_counts() {
    assert!(host("a.example:8443", "a.example:8443"));
    assert!(!host("a.example:8443", "a.example:8444") && !host("a.example:8443", "a.example"));
    assert!(
        host("a.example:443", "a.example") && host("a.example:80", "a.example"),
        "left out by the client"
    );
    assert!(origin("a.example:443", "https://a.example") && !origin("a.example:443", "http://a.example"));
    assert!(
        origin("a.example:3000", "http://a.example:3000")
            && !origin("a.example:3000", "http://a.example:3001")
    );
    assert!(host("[::1]:8080", "[::1]:8080") && !host("[::1]:8080", "[::1]:8081"));
}

#[test]
fn a_host_may_have_an_empty_port_which_is_the_default_one() {
    assert!(host("a.example", "a.example:") && host("[::1]:443", "[::1]:") && host("*", "127.0.0.1:"));
    assert!(!host("a.example:8443", "a.example:"));
    assert!(!origin("a.example", "https://a.example:"), "no browser writes an origin so");
}

#[test]
fn a_server_goes_by_the_address_it_listens_on_and_by_any_if_on_all() {
    let bound = |address: &str, value: &str| {
        HostPolicy::from_iter([AllowedHost::bound_to(address.parse().unwrap())]).allows([value.as_bytes()])
    };
    assert!(bound("10.0.0.5", "10.0.0.5") && bound("10.0.0.5", "10.0.0.5:8080"));
    assert!(bound("2001:db8::1", "[2001:DB8::1]:8080") && bound("2001:db8::1", "[2001:db8:0::1]"));
    for value in ["10.0.0.6", "[2001:db8::1]", "localhost", "mcp.internal", "10.0.0.5.evil.example"] {
        assert!(!bound("10.0.0.5", value), "{value}");
    }
    for all in ["0.0.0.0", "::"] {
        for value in ["10.1.2.3:8080", "[2001:db8::1]", "127.0.0.1"] {
            assert!(bound(all, value), "{value}");
        }
        for value in ["localhost", "evil.example", "mcp.internal:8080", "10.1.2", "0xa010203"] {
            assert!(!bound(all, value), "{value}");
        }
    }
}

#[test]
fn a_whole_origin_is_scheme_host_and_port() {
    assert!(
        origin("https://a.example", "https://a.example")
            && origin("https://a.example", "https://A.example:443")
    );
    assert!(origin("https://a.example:443", "https://a.example"));
    for value in ["http://a.example", "https://a.example:8443", "https://b.a.example", "http://a.example:443"]
    {
        assert!(!origin("https://a.example", value), "{value}");
    }
    assert!(origin("app://bundle-1", "app://bundle-1") && !origin("app://bundle-1", "app://bundle-1:1"));
    assert!(origin("HTTP://*.a.example:3000", "http://b.a.example:3000"));
    assert!(origin("http://a.example:80/", "http://a.example"), "a slash that an address bar adds");
    assert!(origin("vscode-webview://AbC", "vscode-webview://abc"));
}

#[test]
fn a_wildcard_fits_what_is_below_only() {
    for value in ["a.example.com", "b.a.EXAMPLE.com", "a.example.com:1"] {
        assert!(host("*.example.com", value), "{value}");
        assert!(origin("*.example.com", &format!("https://{value}")), "{value}");
    }
    for value in ["example.com", "aexample.com", ".example.com", "a.example.com.evil.net", "[::1]"] {
        assert!(!host("*.example.com", value), "{value}");
    }
    assert!(!host("*.0.1", "10.0.0.1"), "an address is below nothing");
}

#[test]
fn a_star_fits_whatever_is_well_formed() {
    assert!(host("*", "anything.example:1") && host("*", "[fe80::1]"));
    assert!(origin("*", "https://anything.example") && origin("*", "vscode-webview://abc"));
}

#[test]
fn entries_that_mean_nothing_are_named() {
    for entry in [
        "",
        "null",
        "a b",
        "http://",
        "https://a.example//",
        "https://a.example/b",
        "https://a.example?b",
        "https://u@a.example",
        "a.example/",
        "a.example:",
        "data:x",
        ":80",
        "a:x",
        "a:99999",
        "::1",
        "*.",
        "*.*.a",
        "a.*",
        "*.[::1]",
        "1x://a",
        "a,b",
    ] {
        let error = OriginPolicy::parse(["localhost", entry]).expect_err(entry);
        assert_eq!(error.entry, entry);
        assert!(HostPolicy::parse([entry]).is_err(), "{entry}");
    }
    let error = HostPolicy::parse(["https://a.example"]).unwrap_err();
    assert!(error.to_string().contains("has no scheme"), "{error}");
}
