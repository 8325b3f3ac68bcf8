//! What was asked for, and where the figures are from.

use super::markup::Markup;
use crate::report::{
    compare::Compared,
    format::{bytes, count, duration},
    provenance::Machine,
};

pub(super) fn section(page: &mut Markup, compared: &Compared<'_>) {
    page.element("h2", "Where these figures are from").raw("<div class=\"card\"><dl class=\"pairs\">");
    for (name, value) in conditions(compared).into_iter().chain(program(compared)) {
        if !value.is_empty() {
            page.element("dt", name).element("dd", &value);
        }
    }
    let command = compared.report.provenance.command.join(" ");
    if !command.is_empty() {
        page.element("dt", "command").raw("<dd>").element("code", &command).raw("</dd>");
    }
    page.raw("</dl></div>\n");
    machines(page, &compared.report.provenance.machines);
    let scenario = &compared.run.conditions.scenario_toml;
    if !scenario.is_empty() {
        page.raw("<details class=\"card\"><summary>The scenario</summary>").lines("pre", scenario);
        page.raw("</details>\n");
    }
}

fn conditions(compared: &Compared<'_>) -> Vec<(&'static str, String)> {
    let (run, conditions) = (compared.run, &compared.run.conditions);
    let revisions = conditions.revisions.iter();
    let revisions: Vec<String> =
        revisions.map(|(revision, clients)| format!("{} × {revision}", count(u64::from(*clients)))).collect();
    let servers: Vec<&str> = run.tally.servers.keys().map(String::as_str).collect();
    let scenario = match conditions.description.as_str() {
        "" => conditions.scenario.clone(),
        description => format!("{}: {description}", conditions.scenario),
    };
    vec![
        ("scenario", scenario),
        ("endpoint", conditions.url.clone()),
        ("topology", conditions.topology.clone().unwrap_or_default()),
        ("server", servers.join(", ")),
        ("clients", count(conditions.clients.into())),
        ("revisions", revisions.join(", ")),
        ("arrival", conditions.arrival.clone()),
        ("seed", conditions.seed.to_string()),
        ("begun", run.started.clone()),
        ("length", duration(run.length.get())),
        (
            "measured",
            format!(
                "{} after a warm-up of {}",
                duration(run.measured.get()),
                duration(conditions.warmup.get())
            ),
        ),
        ("a request is hung after", duration(conditions.timeout.get())),
        ("connections of a client", conditions.connections.to_string()),
        ("threads of a process", conditions.threads.to_string()),
    ]
}

fn program(compared: &Compared<'_>) -> Vec<(&'static str, String)> {
    let provenance = &compared.report.provenance;
    let commit = provenance.commit.as_ref().map(|commit| format!(", commit {commit}")).unwrap_or_default();
    vec![
        ("program", format!("trunkline-loadtest {}{commit}", provenance.version)),
        ("compiler", provenance.rustc.clone().unwrap_or_default()),
    ]
}

fn machines(page: &mut Markup, machines: &[Machine]) {
    if machines.is_empty() {
        return;
    }
    let columns = [
        ("words", "clients' share"),
        ("words", "processor"),
        ("", "processors"),
        ("", "memory"),
        ("words", "system"),
        ("", "open files"),
    ];
    page.raw("<div class=\"card\">").table("Machines that ran clients", &columns);
    let dash = || "–".to_owned();
    for machine in machines {
        page.row(
            &machine.process,
            &[
                ("words", machine.cpu.as_deref().unwrap_or("–")),
                ("", &machine.cpus.map_or_else(dash, |cpus| cpus.to_string())),
                ("", &machine.memory_bytes.map_or_else(dash, bytes)),
                ("words", machine.kernel.as_deref().unwrap_or("–")),
                ("", &machine.fd_limit.map_or_else(dash, count)),
            ],
        );
    }
    page.end_table().raw("</div>\n");
}
