use super::*;
use crate::plan::{Action, Argument, Begin, Expect};

#[test]
fn those_that_are_built_in_are_right() {
    for (name, text) in BUILT_IN {
        let scenario = parse(name, text).unwrap_or_else(|mistakes| panic!("{name}: {mistakes:#?}"));
        assert_eq!(scenario.name, name);
        assert!(!scenario.description.is_empty());
    }
}

#[test]
fn a_tool_of_any_server_is_called() {
    let text = r#"
        begin = "spread 2s"
        think = "10ms"
        [[step]]
        do = "tool"
        tool = "greet"
        arguments = { name = "client {client}", times = { number = "{random 1 3}" }, loud = true }
        expect = [{ at = "/content/0/text", contains = "{client}" }, { at = "/isError", absent = true }]
    "#;
    let scenario = parse("greet.toml", text).unwrap();
    assert_eq!(scenario.begin, Begin::Spread("2s".parse().unwrap()));
    let [step] = &scenario.steps[..] else { panic!("{scenario:?}") };
    let Action::Tool(call) = &step.action else { panic!("{step:?}") };
    assert!(call.arguments.contains(&("times".to_owned(), Argument::Number("{random 1 3}".to_owned()))));
    assert_eq!(call.expect[1].expect, Expect::Absent);
}

#[test]
fn every_mistake_is_told_with_its_place() {
    let text = r#"
        thnk = "1s"
        begin = "soon"
        [life]
        steps = 5
        [listen]
        ring = 4
        uri = "x://same"
        [[step]]
        do = "dance"
        [[step]]
        do = "slow"
        weight = -1
        [[step]]
        do = "tool"
        expect = [{ at = "x", equals-argument = "a" }]
    "#;
    let mistakes: Vec<String> = parse("my.toml", text).unwrap_err().iter().map(ToString::to_string).collect();
    for expected in [
        "my.toml:2: thnk: there is no such key; did you mean think?",
        "my.toml:3: begin: must be",
        "my.toml:4: life.end: is missing",
        "my.toml:8: listen.uri: must hold {client}",
        "my.toml:10: step[0].do: there is no \"dance\"; there are add, echo",
        "my.toml:11: step[1].takes: is missing",
        "my.toml:13: step[1].weight: must be a whole number",
        "my.toml:14: step[2].tool: is missing",
        "my.toml:16: step[2].expect[0].at: must be a JSON pointer",
        "my.toml:16: step[2].expect[0].equals-argument: the call has no argument",
    ] {
        assert!(mistakes.iter().any(|mistake| mistake.starts_with(expected)), "{expected} in {mistakes:#?}");
    }
    assert!(parse("my.toml", "a = ").unwrap_err()[0].to_string().starts_with("my.toml:1: is not TOML"));
    let two = parse("my.toml", "a = 1s\nb = \"x\"\nc = [\n").unwrap_err();
    assert!(two.len() == 2 && two[0].place == "my.toml:1", "every line that is no TOML: {two:#?}");
    assert!(parse("my.toml", "").unwrap_err()[0].to_string().contains("[[step]]"));
}

/// The only mistake in a text.
fn mistake(text: &str) -> String {
    let mistakes = parse("my.toml", text).unwrap_err();
    assert_eq!(mistakes.len(), 1, "{text}: {mistakes:#?}");
    mistakes[0].to_string()
}

#[test]
fn a_mistake_is_told_with_what_to_write() {
    const ADD: &str = "[[step]]\ndo = \"add\"\n";
    for (text, expected) in [
        ("think = 5", "my.toml:1: think: must be a duration in quotes, as \"500ms\", and is a number"),
        ("think = \"5\"", "my.toml:1: think: \"5\" is not a duration; write"),
        ("begin = \"spread\"", "my.toml:1: begin: must be \"at-once\" or \"spread 5s\""),
        ("name = [1]", "my.toml:1: name: must be a text in quotes, and is a list"),
        ("life = 5", "my.toml:1: life: must be a table, as [life] or { … }, and is a number"),
        ("life = { steps = 1, end = { delete = 0 } }", "my.toml:1: life.end.delete: one of delete, abandon"),
        (
            "life = { steps = 1, end = { deleted = 0, delete = 1 } }",
            "my.toml:1: life.end.deleted: there is no such key; did you mean delete?",
        ),
        ("listen = { ring = 2, every = \"0\" }", "my.toml:1: listen.every: must be longer than 0"),
        ("listen = { ring = 99 }", "my.toml:1: listen.ring: must be a whole number from 0 to 64"),
    ] {
        let told = mistake(&format!("{text}\n{ADD}"));
        assert!(told.starts_with(expected) && !told.contains('\n'), "{text}: {told}");
    }
    for (text, expected) in [
        ("do = \"ad\"", "my.toml:2: step[0].do: there is no \"ad\"; did you mean add?"),
        ("weight = 1", "my.toml:1: step[0].do: is missing; write do = "),
        ("do = \"add\"\nweight = 0", "my.toml:1: step: the weights are all 0"),
        (
            "do = \"add\"\ntakes = \"1s\"",
            "my.toml:3: step[0].takes: there is no such key; there are weight, do",
        ),
        ("do = \"echo\"\nbytes = [9, 1]", "my.toml:3: step[0].bytes: must be a number up to"),
        ("do = \"payload\"\nbytes = 99999999", "my.toml:3: step[0].bytes: must be a number up to"),
        ("do = \"read\"\nuri = \"x://{client}\"", "my.toml:3: step[0].uri: is read as it is"),
        ("do = \"slow\"\ntakes = 1", "my.toml:3: step[0].takes: must be a duration in quotes"),
    ] {
        let told = mistake(&format!("[[step]]\n{text}\n"));
        assert!(told.starts_with(expected) && !told.contains('\n'), "{text}: {told}");
    }
}

#[test]
fn mistakes_in_calls_of_tools_are_told() {
    for (text, expected) in [
        ("arguments = { a = \"{cleint}\" }", "arguments.a: {cleint} is no template; did you mean {client}?"),
        (
            "arguments = { a = { number = \"{random 9 1}\" } }",
            "arguments.a: {random 9 1} is no template; the smaller",
        ),
        (
            "arguments = { a = { number = \"{client}\" } }",
            "arguments.a: \"{client}\": no whole number comes of it",
        ),
        ("arguments = { a = [\"{unique}\"] }", "arguments.a: a template inside of a list or table"),
        ("arguments = 5", "arguments: must be a table"),
        ("expect = [{ at = \"/a\" }]", "expect[0].at: needs one of equals"),
        ("expect = [{ at = \"a\", is = \"string\" }]", "expect[0].at: must be a JSON pointer"),
        (
            "expect = [{ at = \"\", is = \"object\", contians = \"x\" }]",
            "expect[0].contians: there is no such key; did you mean contains?",
        ),
        (
            "expect = [{ at = \"/a\", is = \"strin\" }]",
            "expect[0].is: there is no \"strin\"; did you mean string?",
        ),
        ("expect = [{ at = \"/a\", absent = false }]", "expect[0].absent: must be true"),
        (
            "expect = [{ at = \"/a\", equals = \"{client}\" }]",
            "expect[0].equals: templates are not filled in here",
        ),
        ("expect = [{ at = \"/a\", contains = \"{uniqe}\" }]", "expect[0].contains: {uniqe} is no template"),
        (
            "arguments = { query = 1 }\nexpect = [{ at = \"/a\", equals-argument = \"qeury\" }]",
            "expect[0].equals-argument: there is no \"qeury\"; did you mean query?",
        ),
    ] {
        let told = mistake(&format!("[[step]]\ndo = \"tool\"\ntool = \"t\"\n{text}\n"));
        let line = 3 + text.lines().count();
        let expected = format!("my.toml:{line}: step[0].{expected}");
        assert!(told.starts_with(&expected) && !told.contains('\n'), "{text}: {told}");
    }
}
