//! Lists: their pages, their cursors, how long they may be kept, and what each revision may see in them.

use serde_json::{Value, json};
use trunkline::{Exchange, NoArguments, Prompt, Resource, ResourceTemplate, Server, Tool};

use crate::support::{LEGACY, MODERN, Modern, TestServer};

/// 25 of everything, on pages of ten.
fn crowded() -> Server {
    let mut server = Server::new("crowded", "1").page_size(10);
    for number in 0..25 {
        let name = format!("{number:02}");
        let tool = Tool::new(&name, |_: Exchange, _: NoArguments| async { Ok("done") });
        let resource = Resource::new(&format!("x://{name}"), &name, |_| async { Ok("text") });
        let template =
            ResourceTemplate::new(&format!("y://{name}/{{id}}"), &name, |_, _| async { Ok("text") });
        let prompt = Prompt::new(&name, |_, _| async { Ok("say something".to_owned()) });
        server = server.tool(tool).resource(resource).template(template).prompt(prompt);
    }
    server
}

/// A list's method, the member that holds the entries, and the member that names one.
const LISTS: [(&str, &str, &str); 4] = [
    ("tools/list", "tools", "name"),
    ("resources/list", "resources", "uri"),
    ("resources/templates/list", "resourceTemplates", "uriTemplate"),
    ("prompts/list", "prompts", "name"),
];

/// A page of a list in any revision.
fn page(server: &TestServer, revision: &str, method: &str, cursor: Option<&Value>) -> Value {
    let params = cursor.map_or_else(|| json!({}), |cursor| json!({"cursor": cursor}));
    if revision == MODERN {
        return server.modern(&Modern::new(method, &params)).result();
    }
    server.initialize(revision).call(method, &params)
}

#[test]
fn every_page_follows_from_the_one_before() {
    let server = TestServer::with(crowded());
    for revision in LEGACY.into_iter().chain([MODERN]) {
        for (method, entries, name) in LISTS {
            let (mut seen, mut sizes, mut cursor) = (Vec::new(), Vec::new(), None);
            loop {
                let page = page(&server, revision, method, cursor.as_ref());
                let listed = page[entries].as_array().unwrap();
                sizes.push(listed.len());
                seen.extend(listed.iter().map(|entry| entry[name].as_str().unwrap().to_owned()));
                match page.get("nextCursor") {
                    Some(next) => cursor = Some(next.clone()),
                    None => break,
                }
            }
            assert_eq!(sizes, [10, 10, 5], "{revision} {method}");
            let mut sorted = seen.clone();
            sorted.sort_unstable();
            sorted.dedup();
            assert_eq!(seen, sorted, "{revision} {method}: in order and once each");
        }
    }
}

#[test]
fn bad_cursor() {
    let server = TestServer::with(crowded());
    let session = server.initialize("2025-11-25");
    let tools = session.call("tools/list", &json!({}))["nextCursor"].as_str().unwrap().to_owned();
    let prompts = session.call("prompts/list", &json!({}))["nextCursor"].as_str().unwrap().to_owned();
    assert_ne!(tools, prompts);
    let (number, tag) = tools.split_once('.').unwrap();
    let forged = [
        String::new(),
        "1".to_owned(),
        "10".to_owned(),
        format!("2.{tag}"),
        format!("0{number}.{tag}"),
        format!("{number}.{}", &tag[..tag.len() - 1]),
        format!("{tools}A"),
        format!(" {tools}"),
        tools.to_lowercase(),
        "a".repeat(10_000),
        prompts,
    ];
    for cursor in forged {
        let old = session.request("tools/list", &json!({"cursor": cursor}));
        assert_eq!(old.refusal(), (200, -32602), "{cursor:?}: {}", old.text());
        let new = server.modern(&Modern::new("tools/list", &json!({"cursor": cursor})));
        assert_eq!(new.code(), -32602, "{cursor:?}");
    }
    for cursor in [json!(1), json!({}), json!([tools])] {
        assert_eq!(session.request("tools/list", &json!({"cursor": cursor})).code(), -32602, "{cursor}");
    }
    // A cursor is good in any session and revision: any replica, any request.
    assert_eq!(page(&server, MODERN, "tools/list", Some(&json!(tools)))["tools"][0]["name"], "10");
}

#[test]
fn a_list_says_how_long_it_may_be_kept_on_every_page_alike() {
    let server = TestServer::with(crowded());
    for (method, _, _) in LISTS {
        let (mut hints, mut cursor) = (Vec::new(), None);
        loop {
            let page = page(&server, MODERN, method, cursor.as_ref());
            hints.push((page["ttlMs"].clone(), page["cacheScope"].clone()));
            assert!(page["ttlMs"].as_u64().is_some(), "{method}: {page}");
            match page.get("nextCursor") {
                Some(next) => cursor = Some(next.clone()),
                None => break,
            }
        }
        hints.dedup();
        assert_eq!(hints.len(), 1, "{method}: {hints:?}");
    }
    let discovered = server.modern(&Modern::new("server/discover", &json!({}))).result();
    assert!(discovered["ttlMs"].as_u64().is_some(), "{discovered}");
}

#[test]
fn what_a_handler_reads_may_be_kept_by_nobody_else() {
    let server = TestServer::demo();
    let read = server.modern(&Modern::new("resources/read", &json!({"uri": "demo://counter"}))).result();
    assert_eq!((&read["ttlMs"], &read["cacheScope"]), (&json!(0), &json!("private")));
}

#[test]
fn a_list_shows_an_older_revision_nothing_newer() {
    let server = TestServer::demo();
    for revision in LEGACY.into_iter().chain([MODERN]) {
        let tools = page(&server, revision, "tools/list", None);
        let tool =
            tools["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == "slow").unwrap().clone();
        let adding = tools["tools"][0].clone();
        let since = |first: &str| revision >= first;
        assert_eq!(tool.get("annotations").is_some(), since("2025-03-26"), "{revision}");
        assert_eq!(tool.get("title").is_some(), since("2025-06-18"), "{revision}");
        assert_eq!(adding.get("outputSchema").is_some(), since("2025-06-18"), "{revision}");
        assert_eq!(tool.get("execution").is_some(), revision == "2025-11-25", "{revision}: {tool}");
        for member in ["ttlMs", "cacheScope", "resultType", "_meta"] {
            assert_eq!(tools.get(member).is_some(), since(MODERN), "{revision} {member}");
        }
        let called = if revision == MODERN {
            server.modern(&Modern::tool("add", &json!({"a": 1, "b": 2}))).result()
        } else {
            server.initialize(revision).tool("add", &json!({"a": 1, "b": 2}))
        };
        assert_eq!(called.get("structuredContent").is_some(), since("2025-06-18"), "{revision}");
        assert_eq!(called.get("resultType").is_some(), since(MODERN), "{revision}");
        assert_eq!(called.get("_meta").is_some(), since(MODERN), "{revision}");
    }
}

#[test]
fn lists_are_the_same_for_everybody_and_every_time() {
    let server = TestServer::demo();
    let first = server.initialize("2025-11-25").request("tools/list", &json!({})).body;
    for _ in 0..5 {
        assert_eq!(server.initialize("2025-11-25").request("tools/list", &json!({})).body, first);
    }
}
