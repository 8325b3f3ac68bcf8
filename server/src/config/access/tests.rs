use super::super::{AllowedHost, AllowedOrigin, PublicUrl, ServerConfig};

fn server(bind: &str, public_url: Option<&str>, hosts: &[&str], origins: &[&str]) -> ServerConfig {
    ServerConfig {
        bind: bind.parse().unwrap(),
        public_url: public_url.map(|url| PublicUrl::parse(url).unwrap()),
        allowed_hosts: hosts.iter().map(|host| AllowedHost::parse(host).unwrap()).collect(),
        allowed_origins: origins.iter().map(|origin| AllowedOrigin::parse(origin).unwrap()).collect(),
        ..ServerConfig::default()
    }
}

#[track_caller]
fn assert_hosts(server: &ServerConfig, served: &[&str], refused: &[&str]) {
    let rule = server.host_rule();
    for host in served {
        assert!(rule.permits(host), "{host} is refused");
    }
    for host in refused {
        assert!(!rule.permits(host), "{host} is served");
    }
}

#[track_caller]
fn assert_origins(server: &ServerConfig, served: &[&str], refused: &[&str]) {
    let rule = server.origin_rule();
    for origin in served {
        assert!(rule.permits(origin), "{origin} is refused");
    }
    for origin in refused {
        assert!(!rule.permits(origin), "{origin} is served");
    }
}

#[test]
fn by_default_only_loopback_names_are_served() {
    let loopback =
        ["localhost", "LocalHost:8080", "127.0.0.1", "127.9.9.9:1", "[::1]", "[::1]:8080", "localhost:"];
    let names = [
        "evil.example",
        "evil.example:8080",
        "localhost.evil.example",
        "10.0.0.5:8080",
        "[fe80::1]",
        "127.0.0.1.evil.example",
    ];
    assert_hosts(&server("127.0.0.1:8080", None, &[], &[]), &loopback, &names);
    assert_hosts(&server("[::1]:8080", None, &[], &[]), &loopback, &names);
}

#[test]
fn a_malformed_host_is_not_served() {
    let bad = [
        "",
        ":80",
        "localhost:x",
        "localhost:99999",
        "localhost:+80",
        "[::1",
        "[::1]x",
        "::1",
        "a@localhost",
        "localhost:80:80",
        "localhost ",
    ];
    assert_hosts(&server("0.0.0.0:80", None, &[], &[]), &[], &bad);
    assert_hosts(&server("0.0.0.0:80", None, &["localhost"], &[]), &["localhost:80"], &bad);
}

#[test]
fn the_bound_address_is_served_too() {
    let one = server("10.0.0.5:8080", None, &[], &[]);
    assert_hosts(&one, &["10.0.0.5", "10.0.0.5:8080", "localhost"], &["10.0.0.6", "mcp.internal"]);
    let six = server("[2001:db8::1]:8080", None, &[], &[]);
    assert_hosts(&six, &["[2001:db8::1]:8080", "[2001:DB8::1]"], &["[2001:db8::2]", "10.0.0.6"]);
}

#[test]
fn a_server_on_all_addresses_serves_every_address_and_no_name() {
    for bind in ["0.0.0.0:8080", "[::]:8080"] {
        let all = server(bind, None, &[], &[]);
        assert_hosts(
            &all,
            &["10.1.2.3:8080", "[2001:db8::1]", "localhost"],
            &["evil.example", "mcp.internal:8080"],
        );
    }
}

#[test]
fn a_list_of_hosts_replaces_the_default() {
    let listed = server("127.0.0.1:8080", None, &["MCP.example.com", "other.example:8443", "[::1]:80"], &[]);
    assert_hosts(
        &listed,
        &["mcp.example.com", "mcp.EXAMPLE.com:443", "other.example:8443", "[::1]:80"],
        &["localhost", "127.0.0.1", "other.example", "other.example:443", "[::1]", "x.mcp.example.com"],
    );
    assert_hosts(
        &server("0.0.0.0:8080", None, &["a.example"], &[]),
        &["a.example:8080"],
        &["10.1.2.3", "localhost"],
    );
    assert_hosts(&server("127.0.0.1:8080", None, &["*"], &[]), &["evil.example", "x:1", ""], &[]);
}

#[test]
fn the_public_host_and_origin_are_always_served() {
    let public = Some("https://mcp.example.com:8443/tools/");
    for (hosts, origins) in [(&[][..], &[][..]), (&["other.example"], &["https://other.example"])] {
        let server = server("0.0.0.0:8080", public, hosts, origins);
        assert_hosts(&server, &["mcp.example.com", "mcp.example.com:8443"], &["evil.example"]);
        assert_origins(
            &server,
            &["https://mcp.example.com:8443"],
            &["https://mcp.example.com", "http://mcp.example.com:8443"],
        );
    }
}

#[test]
fn by_default_only_loopback_origins_are_served() {
    assert_origins(
        &server("0.0.0.0:8080", None, &[], &[]),
        &[
            "http://localhost",
            "http://localhost:3000",
            "https://127.0.0.1:8443",
            "http://[::1]:5173",
            "http://127.1.2.3",
        ],
        &[
            "null",
            "",
            "https://evil.example",
            "http://localhost.evil.example",
            "http://evil.example#localhost",
            "http://localhost@evil.example",
            "http://evil.example\\@localhost",
            "http://user@localhost",
            "http://localhost/path",
            "http://localhost:80:80",
            "http://10.0.0.5",
            "http://0x7f.1",
            "ftp://localhost",
            "file://",
            "chrome-extension://localhost",
            "localhost",
            "http://localhost http://evil.example",
        ],
    );
}

#[test]
fn a_list_of_origins_replaces_the_default() {
    let listed = ["https://App.example.com", "http://dev.example:80/", "vscode-webview://AbC"];
    assert_origins(
        &server("127.0.0.1:8080", None, &[], &listed),
        &["https://app.example.com", "HTTPS://app.example.com", "http://dev.example", "vscode-webview://abc"],
        &[
            "http://localhost",
            "http://app.example.com",
            "https://app.example.com:444",
            "https://x.app.example.com",
            "null",
        ],
    );
    assert_origins(&server("127.0.0.1:8080", None, &[], &["*"]), &["https://evil.example", "null"], &[]);
}
