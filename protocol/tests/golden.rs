//! What every revision writes, kept as files; and what must never be in it.
//!
//! `UPDATE_GOLDEN=1 cargo test -p trunkline-protocol --test golden` writes the files anew. Read the difference before
//! it is committed: these files are what clients see.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

#[path = "golden/cases.rs"]
mod cases;
#[path = "golden/examples.rs"]
mod examples;
#[path = "golden/leaks.rs"]
mod leaks;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use cases::{CASES, Case};
use serde_json::Value;
use trunkline_protocol::{Revision, model::CallToolResult, revision::Related};

fn folder(revision: Revision) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(revision.as_str())
}

fn all() -> impl Iterator<Item = (&'static Case, Revision)> {
    CASES.iter().flat_map(|case| case.revisions().map(move |revision| (case, revision)))
}

#[test]
fn every_revision_writes_what_its_files_say() {
    let update = std::env::var_os("UPDATE_GOLDEN").is_some();
    let mut different = Vec::new();
    for (case, revision) in all() {
        let path = folder(revision).join(case.name).with_extension("json");
        let written = case.value(revision);
        if update {
            fs::create_dir_all(folder(revision)).unwrap();
            fs::write(&path, format!("{written:#}\n")).unwrap();
            continue;
        }
        let kept = fs::read_to_string(&path).unwrap_or_default();
        if serde_json::from_str::<Value>(&kept).ok().as_ref() != Some(&written) {
            different.push(format!("{revision}/{}: {written:#}", case.name));
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
}

#[test]
fn every_file_belongs_to_a_case() {
    let expected: BTreeSet<PathBuf> =
        all().map(|(case, revision)| folder(revision).join(case.name).with_extension("json")).collect();
    for revision in Revision::ALL {
        for entry in fs::read_dir(folder(revision)).unwrap() {
            let path = entry.unwrap().path();
            assert!(expected.contains(&path), "{} is left over", path.display());
        }
    }
}

#[test]
fn nothing_of_another_revision_is_in_the_bytes() {
    let leaks: Vec<String> = all()
        .flat_map(|(case, revision)| {
            let found = leaks::find(revision, &case.value(revision));
            found.into_iter().map(move |leak| format!("{revision}/{}: {leak}", case.name))
        })
        .collect();
    assert!(leaks.is_empty(), "{}", leaks.join("\n"));
}

/// A rule that no example meets proves nothing.
#[test]
fn every_rule_is_met_by_an_example() {
    let met: BTreeSet<&str> = all().flat_map(|(case, revision)| leaks::met(&case.value(revision))).collect();
    for rule in leaks::rules() {
        assert!(met.contains(rule), "no example has {rule}");
    }
}

#[test]
fn what_a_server_writes_a_client_reads() {
    for (case, revision) in all() {
        let Some(read) = case.read else { continue };
        let bytes = case.bytes(revision);
        let result = read(std::str::from_utf8(&bytes).unwrap());
        assert!(result.is_ok(), "{revision}/{}: {result:?}", case.name);
    }
}

#[test]
fn a_text_answer_byte_for_byte() {
    let legacy = r#"{"content":[{"type":"text","text":"42"}]}"#;
    let modern = concat!(
        r#"{"resultType":"complete","content":[{"type":"text","text":"42"}],"#,
        r#""_meta":{"io.modelcontextprotocol/serverInfo":{"name":"demo","version":"1.2.3"}}}"#
    );
    let server = trunkline_protocol::model::Implementation::new("demo", "1.2.3");
    for revision in Revision::ALL {
        let server = revision.encode_server_info(&server);
        let mut out = b"before".to_vec();
        revision.write_call_tool_result(&mut out, &CallToolResult::text("42"), Some(&server));
        let expected = if revision == Revision::V2026_07_28 { modern } else { legacy };
        assert_eq!(std::str::from_utf8(&out).unwrap(), format!("before{expected}"), "{revision}");
    }
}

#[test]
fn progress_byte_for_byte() {
    for (revision, message) in [
        (Revision::V2024_11_05, ""),
        (Revision::V2025_03_26, r#","message":"half""#),
        (Revision::V2026_07_28, r#","message":"half""#),
    ] {
        let mut out = Vec::new();
        revision.write_progress(&mut out, &examples::progress(), Related::default());
        assert_eq!(
            std::str::from_utf8(&out).unwrap(),
            format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":"p1","progress":1,"total":2{message}}}}}"#
            )
        );
    }
}

#[test]
fn an_empty_answer_byte_for_byte() {
    for revision in Revision::ALL {
        let mut out = Vec::new();
        revision.write_empty_result(&mut out, None);
        let expected = if revision == Revision::V2026_07_28 { r#"{"resultType":"complete"}"# } else { "{}" };
        assert_eq!(std::str::from_utf8(&out).unwrap(), expected, "{revision}");
    }
}

/// The files cannot show it: they are compared as values.
#[test]
fn the_fields_of_a_form_keep_their_order() {
    for (revision, fields) in [
        (Revision::V2025_06_18, ["name", "email", "sure", "days.mon", "days.tue", "tags.b"]),
        (Revision::V2025_11_25, ["name", "email", "sure", "colour", "days", "tags"]),
    ] {
        let mut out = Vec::new();
        revision.write_question_params(&mut out, &examples::form()).unwrap();
        let text = String::from_utf8(out).unwrap();
        let places = fields.map(|name| text.find(&format!("\"{name}\":{{")));
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{revision}: {text}");
    }
}

#[test]
fn a_handler_cannot_say_who_the_server_is() {
    let server = Revision::NEWEST.encode_server_info(&examples::implementation());
    let result = CallToolResult::text("a")
        .with_meta("io.modelcontextprotocol/serverInfo", "somebody else")
        .with_meta("com.example/kept", 1);
    let mut out = Vec::new();
    Revision::NEWEST.write_call_tool_result(&mut out, &result, Some(&server));
    let text = std::str::from_utf8(&out).unwrap();
    assert_eq!(text.matches("serverInfo").count(), 1, "{text}");
    assert!(text.contains("com.example/kept") && !text.contains("somebody else"), "{text}");
}

#[test]
fn an_unknown_resource_has_the_code_of_its_revision() {
    for (revision, code) in [
        (Revision::V2024_11_05, -32002),
        (Revision::V2025_03_26, -32002),
        (Revision::V2025_06_18, -32002),
        (Revision::V2025_11_25, -32002),
        (Revision::V2026_07_28, -32602),
    ] {
        let error = revision.resource_not_found("test://none");
        assert_eq!(error.code, code, "{revision}");
        assert_eq!(error.data.unwrap().get(), r#"{"uri":"test://none"}"#);
    }
}
