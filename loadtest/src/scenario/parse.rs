//! A scenario out of its text.

use std::collections::BTreeMap;

use toml::{Table as Toml, de::DeTable};

use super::{
    lines::{Lines, line},
    step::read_step,
    table::Table,
};
use crate::{
    cli::{Mistake, Mistakes},
    plan::{Begin, End, Life, Listen, Scenario},
    units::Span,
};

/// Resources of one client's ring at most: each is a subscription on the server.
const RING: u32 = 64;

/// Steps at most, so that their weights can be added up.
const STEPS: usize = 1000;

/// Reads a scenario. `name` is what it is called in mistakes, and unless it says otherwise itself.
///
/// # Errors
/// Every mistake in it, with its place and what to write instead.
pub fn parse(name: &str, text: &str) -> Result<Scenario, Vec<Mistake>> {
    let (lines, table) = match read(text) {
        Ok(read) => read,
        Err(errors) => return Err(syntax(name, text, &errors)),
    };
    let mut found = Mistakes::default();
    let mut top = Table::new(table, "", &mut found);
    let mut scenario = Scenario {
        name: top.text("name").unwrap_or_else(|| name.to_owned()),
        description: top.text("description").unwrap_or_default(),
        begin: begin(&mut top),
        think: top.span("think").unwrap_or_default(),
        ..Scenario::default()
    };
    let life = top.table("life");
    let (some_step, some_listen) = (top.has("step"), top.has("listen"));
    let listen = top.table("listen");
    let steps = top.tables("step");
    if !some_step && !some_listen {
        top.wrong("step", "is missing: write [[step]] with do = \"add\", or [listen]");
    }
    if steps.len() > STEPS {
        top.wrong(
            "step",
            format!("there are {}, and {STEPS} at most; give some of them a weight", steps.len()),
        );
    }
    top.finish();
    scenario.life = life.map_or_else(Life::default, |life| read_life(life, &mut found));
    scenario.listen = listen.map(|listen| read_listen(listen, &mut found));
    let steps = steps.into_iter().enumerate();
    scenario.steps = steps.map(|(at, step)| read_step(step, &format!("step[{at}]"), &mut found)).collect();
    if !scenario.steps.is_empty() && scenario.steps.iter().all(|step| step.weight == 0) {
        found.add("step", "the weights are all 0; give one of them a weight");
    }
    found.or(scenario).map_err(|mistakes| placed(name, &lines, mistakes))
}

/// The table of a text and the lines of its keys, or what is no TOML in it.
fn read(text: &str) -> Result<(Lines, Toml), Vec<toml::de::Error>> {
    let (spanned, errors) = DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        return Err(errors);
    }
    let table = text.parse::<Toml>().map_err(|error| vec![error])?;
    Ok((Lines::of(text, spanned.get_ref()), table))
}

/// What is no TOML, once for each line: what follows on the first thing in a line is seldom a mistake of its own.
fn syntax(name: &str, text: &str, errors: &[toml::de::Error]) -> Vec<Mistake> {
    let mut by_line = BTreeMap::new();
    for error in errors {
        let line = line(text, error.span().map_or(0, |span| span.start));
        by_line.entry(line).or_insert(error.message());
    }
    let remedy = "write key = value, with texts and durations in quotes";
    let told = by_line.into_iter().map(|(line, what)| {
        let what = what.split_whitespace().collect::<Vec<_>>().join(" ");
        Mistake { place: format!("{name}:{line}"), text: format!("is not TOML: {what}; {remedy}") }
    });
    told.collect()
}

/// Mistakes by the lines they are in.
fn placed(name: &str, lines: &Lines, mut mistakes: Vec<Mistake>) -> Vec<Mistake> {
    mistakes.sort_by_key(|mistake| lines.line(&mistake.place));
    for mistake in &mut mistakes {
        mistake.place = format!("{name}:{}: {}", lines.line(&mistake.place), mistake.place);
    }
    mistakes
}

fn begin(top: &mut Table<'_>) -> Begin {
    let text = top.text("begin");
    match text.as_deref().map(|text| (text, text.strip_prefix("spread "))) {
        None => Begin::Spread(Span::default()),
        Some(("at-once", _)) => Begin::AtOnce,
        Some((_, Some(span))) => {
            let place = top.at("begin");
            Begin::Spread(top.found.read(&place, span.trim().parse()))
        }
        Some(_) => {
            top.wrong("begin", "must be \"at-once\" or \"spread 5s\"");
            Begin::AtOnce
        }
    }
}

fn read_life(life: Toml, found: &mut Mistakes) -> Life {
    let mut table = Table::new(life, "life", found);
    let steps = table.number("steps", u32::MAX).unwrap_or(0);
    let ends = table.has("end");
    let end = table.table("end");
    if steps > 0 && !ends {
        table.wrong("end", "is missing: say how sessions end, as { delete = 1, abandon = 1, refresh = 1 }");
    }
    table.finish();
    let Some(end) = end else { return Life { steps, end: End::default() } };
    let mut table = Table::new(end, "life.end", found);
    let mut weight = |key| table.number(key, 1_000_000).unwrap_or(0);
    let end = End { delete: weight("delete"), abandon: weight("abandon"), refresh: weight("refresh") };
    if end == End::default() {
        table.wrong("delete", "one of delete, abandon and refresh must be above 0");
    }
    table.finish();
    Life { steps, end }
}

fn read_listen(listen: Toml, found: &mut Mistakes) -> Listen {
    let mut table = Table::new(listen, "listen", found);
    let ring = table.number("ring", RING).unwrap_or(0);
    let listen = Listen {
        ring: u16::try_from(ring).unwrap_or(0),
        uri: table.text("uri").unwrap_or_else(|| "loadtest://{client}/{slot}".to_owned()),
        tool: table.text("tool").unwrap_or_else(|| "touch".to_owned()),
        every: table.span("every").unwrap_or(Span(std::time::Duration::from_secs(1))),
    };
    if ring > 0 && listen.every == Span::default() {
        table.wrong("every", "must be longer than 0, as \"1s\"");
    }
    if ring > 0 && !listen.uri.contains("{client}") {
        table.wrong("uri", "must hold {client}: each client has resources of its own");
    }
    if ring > 1 && !listen.uri.contains("{slot}") {
        table.wrong("uri", "must hold {slot}: the resources of a ring differ");
    }
    table.finish();
    listen
}
