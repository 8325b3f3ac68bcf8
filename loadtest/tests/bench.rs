//! The benchmark suites in their quick form: everything that is there answers rightly, and what does not is told.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Output},
};

use trunkline_loadtest::bench::{Metric, Outcome, Row, SuiteResult};

fn bench(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_trunkline-loadtest")).arg("bench").args(arguments).output().unwrap()
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stderr), String::from_utf8_lossy(&output.stdout))
}

fn rows(result: &SuiteResult) -> impl Iterator<Item = &Row> {
    result.tables.iter().flat_map(|table| &table.rows)
}

fn peer(folder: &Path, name: &str, script: &str) {
    fs::create_dir(folder.join(name)).unwrap();
    let run = folder.join(name).join("run");
    fs::write(&run, script).unwrap();
    fs::set_permissions(&run, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Those of the peers that are installed are asked, too.
#[test]
fn every_server_answers_rightly() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let peers = concat!(env!("CARGO_MANIFEST_DIR"), "/../bench/peers");
    let output = bench(&["server", "--quick", "--peers", peers, "--out", out]);
    assert!(output.status.success(), "{}", said(&output));

    let result = SuiteResult::read(&folder.path().join("server.json")).unwrap();
    assert!(result.conditions.quick);
    assert_eq!(result.wrong(), Vec::<String>::new());
    for name in ["Trunkline, memory", "Trunkline, Redis"] {
        let ours: Vec<&Row> = rows(&result).filter(|row| row.name == name).collect();
        // Five revisions at 1 and at 32 in flight, and two for each of three other requests.
        assert_eq!(ours.len(), 16, "{}", said(&output));
        for row in ours {
            assert!(matches!(row.outcome, Outcome::Measured { .. }), "{row:?}");
            assert!(row.spread(Metric::CpuUs).is_some_and(|spread| spread.least > 0.0), "{row:?}");
        }
    }
    for row in rows(&result) {
        if let Outcome::Absent { reason } = &row.outcome {
            assert!(reason.starts_with("not installed: "), "{}: {reason}", row.name);
        }
    }
    let page = fs::read_to_string(folder.path().join("server.html")).unwrap();
    assert!(page.contains("<svg"));
}

#[test]
fn a_server_that_answers_wrongly_has_no_figures() {
    let folder = tempfile::tempdir().unwrap();
    let peers = folder.path().join("peers");
    fs::create_dir(&peers).unwrap();
    let about = r#"{"version":"1","serves":[{"mode":"m","title":"liar","revisions":["2026-07-28"]}]}"#;
    let lie = r#"
import http.server, json, sys
class Liar(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        said = json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": {"structuredContent": {"sum": 4}}}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)
    def log_message(self, *_): pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Liar).serve_forever()
"#;
    fs::write(folder.path().join("liar.py"), lie).unwrap();
    let liar = folder.path().join("liar.py");
    let liar = liar.display();
    peer(&peers, "liar", &format!("#!/bin/sh\n[ $1 = serve ] && exec python3 {liar} $2\necho '{about}'\n"));
    peer(&peers, "gone", "#!/bin/sh\necho 'not installed: gone; get it' >&2\nexit 3\n");
    let output = bench(&[
        "server",
        "--quick",
        "--only",
        "liar,gone",
        "--peers",
        peers.to_str().unwrap(),
        "--out",
        folder.path().to_str().unwrap(),
    ]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("tools/call add, 1 in flight: liar: a wrong result"), "{}", said(&output));

    let result = SuiteResult::read(&folder.path().join("server.json")).unwrap();
    for row in rows(&result) {
        match &row.outcome {
            Outcome::Wrong { .. } => assert_eq!(row.name, "liar"),
            Outcome::Absent { reason } => {
                assert_eq!((row.name.as_str(), reason.as_str()), ("gone", "not installed: gone; get it"));
            }
            Outcome::Measured { .. } => panic!("{row:?}"),
        }
    }
    assert!(rows(&result).any(|row| row.name == "liar") && rows(&result).any(|row| row.name == "gone"));
}

#[test]
fn what_cannot_be_done_is_told_in_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let nobody = bench(&["server", "--quick", "--only", "nobody", "--peers", "/nowhere"]);
    assert_eq!(nobody.status.code(), Some(2));
    assert!(said(&nobody).contains("--only: no row has any of these names"), "{}", said(&nobody));

    let page = folder.path().join("page.md");
    fs::write(&page, "words").unwrap();
    let none = bench(&["docs", "--from", "/nowhere", "--to", page.to_str().unwrap()]);
    assert_eq!(none.status.code(), Some(2));
    assert_eq!(said(&none).lines().count(), 1, "{}", said(&none));
}

/// Those of the peers that are installed are asked, too.
#[test]
fn every_client_adds_rightly() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let peers = concat!(env!("CARGO_MANIFEST_DIR"), "/../bench/peers");
    let output = bench(&["client", "--quick", "--peers", peers, "--out", out]);
    assert!(output.status.success(), "{}", said(&output));

    let result = SuiteResult::read(&folder.path().join("client.json")).unwrap();
    for name in ["trunkline-client", "floor: by hand, hyper"] {
        let rows: Vec<&Row> = rows(&result).filter(|row| row.name == name).collect();
        // Four revisions over this transport, at 1 and at 32 in flight.
        assert_eq!(rows.len(), 8, "{}", said(&output));
        assert!(rows.iter().all(|row| matches!(row.outcome, Outcome::Measured { .. })), "{}", said(&output));
    }
    for row in rows(&result) {
        if let Outcome::Absent { reason } = &row.outcome {
            assert!(reason.starts_with("not installed: "), "{}: {reason}", row.name);
        }
    }
}

#[test]
fn a_client_that_fails_has_no_figures() {
    let folder = tempfile::tempdir().unwrap();
    let about = r#"{"version":"1","clients":[{"mode":"m","title":"liar","revisions":["2026-07-28"]}]}"#;
    let wrong = r#"{"calls":9,"wrong":2,"seconds":1,"cpu_seconds":1,"p50_us":1,"p99_us":1,"p999_us":1}"#;
    peer(folder.path(), "liar", &format!("#!/bin/sh\n[ $1 = client ] && echo '{wrong}' || echo '{about}'\n"));
    let output = bench(&[
        "client",
        "--quick",
        "--concurrency",
        "1",
        "--only",
        "liar",
        "--peers",
        folder.path().to_str().unwrap(),
    ]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("liar: 2 of 9 sums were wrong"), "{}", said(&output));
}

/// Those of the peers that are installed are asked, too.
#[test]
fn replicas_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let peers = concat!(env!("CARGO_MANIFEST_DIR"), "/../bench/peers");
    let output = bench(&["scale", "--quick", "--peers", peers, "--out", out]);
    assert!(output.status.success(), "{}", said(&output));

    let result = SuiteResult::read(&folder.path().join("scale.json")).unwrap();
    let ours: Vec<&Row> = rows(&result).filter(|row| row.ours).collect();
    // Calls and new sessions by one, two and four replicas, these idle, questions, broadcasts, sessions, streams.
    assert_eq!(ours.len(), 6 + 3 + 3 + 3 + 4 + 2 + 3 + 2, "{}", said(&output));
    for row in ours {
        assert!(matches!(row.outcome, Outcome::Measured { .. }), "{row:?}");
    }
    // What was found is told, whatever it is, but for what is no matter of time.
    assert_eq!(result.checks.len(), 5, "{:?}", result.checks);
    assert!(result.checks.iter().any(|check| check.what.contains("lost something") && check.held));
}

#[test]
fn replicas_that_answer_wrongly_have_no_figures() {
    let folder = tempfile::tempdir().unwrap();
    let about = r#"{"version":"1","replicas":[{"mode":"m","title":"liar","revisions":[],"redis":true}]}"#;
    let not_mcp = "http.server, sys; http.server.test(http.server.BaseHTTPRequestHandler, port=int(sys.argv[1]), bind='127.0.0.1')";
    let run =
        format!("#!/bin/sh\n[ $1 = serve ] && exec python3 -c \"import {not_mcp}\" $2\necho '{about}'\n");
    peer(folder.path(), "liar", &run);
    peer(
        folder.path(),
        "gone",
        "#!/bin/sh\n# \"replicas\": here\necho 'not installed: gone; get it' >&2\nexit 3\n",
    );
    peer(folder.path(), "alone", "#!/bin/sh\necho 'not installed: alone; get it' >&2\nexit 3\n");
    let (out, peers) = (folder.path().join("out"), folder.path().to_str().unwrap());
    let output = bench(&[
        "scale",
        "--quick",
        "--only",
        "liar,gone,alone",
        "--peers",
        peers,
        "--out",
        out.to_str().unwrap(),
    ]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));

    let result = SuiteResult::read(&out.join("scale.json")).unwrap();
    for row in rows(&result) {
        match &row.outcome {
            Outcome::Wrong { seen } => {
                assert!(row.name.starts_with("liar") && seen.contains("status 501"), "{row:?}");
            }
            Outcome::Absent { reason } => {
                assert!(row.name.starts_with("gone") && reason == "not installed: gone; get it", "{row:?}");
            }
            Outcome::Measured { .. } => panic!("{row:?}"),
        }
    }
    assert!(rows(&result).any(|row| row.name.starts_with("liar")));
    assert!(rows(&result).any(|row| row.name.starts_with("gone")));
}
