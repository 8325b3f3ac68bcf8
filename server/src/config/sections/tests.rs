//! What the policies are made of. How they match is `trunkline_protocol::header`'s to prove.

use super::*;

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
    let policy = server.host_policy();
    for host in served {
        assert!(policy.allows([host.as_bytes()]), "{host} is refused");
    }
    for host in refused {
        assert!(!policy.allows([host.as_bytes()]), "{host} is served");
    }
}

#[track_caller]
fn assert_origins(server: &ServerConfig, served: &[&str], refused: &[&str]) {
    let policy = server.origin_policy();
    for origin in served {
        assert!(policy.allows([origin.as_bytes()]), "{origin} is refused");
    }
    for origin in refused {
        assert!(!policy.allows([origin.as_bytes()]), "{origin} is served");
    }
}

#[test]
fn by_default_only_loopback_names_are_served() {
    let loopback =
        ["localhost", "LocalHost:8080", "127.0.0.1", "127.9.9.9:1", "[::1]", "[::1]:8080", "localhost:"];
    let others =
        ["evil.example", "evil.example:8080", "localhost.evil.example", "10.0.0.5:8080", "[fe80::1]"];
    assert_hosts(&server("127.0.0.1:8080", None, &[], &[]), &loopback, &others);
    assert_hosts(&server("[::1]:8080", None, &[], &[]), &loopback, &others);
}

#[test]
fn a_malformed_host_is_not_served() {
    let bad =
        ["", ":80", "localhost:x", "localhost:99999", "[::1", "a@localhost", "localhost:80:80", "localhost "];
    assert_hosts(&server("0.0.0.0:80", None, &[], &[]), &["localhost:80"], &bad);
    assert_hosts(&server("0.0.0.0:80", None, &["localhost"], &[]), &["localhost:80"], &bad);
    assert_hosts(&server("0.0.0.0:80", None, &["*"], &[]), &["localhost:80"], &bad);
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
    let listed = ["MCP.example.com", "other.example:8443", "[::1]:8080", "*.lan"];
    assert_hosts(
        &server("127.0.0.1:8080", None, &listed, &[]),
        &["mcp.example.com", "mcp.EXAMPLE.com:443", "other.example:8443", "[::1]:8080", "a.b.lan"],
        &[
            "localhost",
            "127.0.0.1",
            "other.example",
            "other.example:443",
            "[::1]",
            "x.mcp.example.com",
            "lan",
        ],
    );
    assert_hosts(
        &server("0.0.0.0:8080", None, &["a.example"], &[]),
        &["a.example:8080"],
        &["10.1.2.3", "localhost"],
    );
    assert_hosts(&server("127.0.0.1:8080", None, &["*"], &[]), &["evil.example", "x:1"], &[""]);
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
    let six = server("0.0.0.0:8080", Some("http://[2001:DB8::1]"), &["a.example"], &["https://a.example"]);
    assert_hosts(&six, &["[2001:db8::1]", "[2001:db8::1]:80"], &["[2001:db8::2]", "10.0.0.5"]);
    assert_origins(&six, &["http://[2001:db8::1]"], &["https://[2001:db8::1]", "http://localhost"]);
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
        &["null", "", "https://evil.example", "http://10.0.0.5", "ftp://localhost", "localhost"],
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
    let any = server("127.0.0.1:8080", None, &[], &["*"]);
    assert_origins(&any, &["https://evil.example", "vscode-webview://abc"], &["null", ""]);
}
