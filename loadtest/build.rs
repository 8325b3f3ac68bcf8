//! Tells the program what it was built from, for its reports. What cannot be found out is left out.

use std::{env, path::Path, process::Command};

fn main() {
    println!("cargo::rerun-if-changed=src");
    let rustc = env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    tell("TRUNKLINE_RUSTC", output(&rustc, &["--version"]));
    tell(
        "TRUNKLINE_COMMIT",
        output("git", &["describe", "--always", "--abbrev=12", "--dirty=+changes", "--exclude=*"]),
    );
    // Each commit adds a line to this file.
    if let Some(log) = output("git", &["rev-parse", "--git-path", "logs/HEAD"])
        && Path::new(&log).exists()
    {
        println!("cargo::rerun-if-changed={log}");
    }
}

fn tell(name: &str, value: Option<String>) {
    if let Some(value) = value {
        println!("cargo::rustc-env={name}={value}");
    }
}

fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !text.is_empty()).then_some(text)
}
