//! Where figures are from.

use std::{
    fs,
    time::{SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Serialize};

use super::redact::redact_command;

/// Where figures are from: program, command and machines. Names of machines and users are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Provenance {
    /// The version of trunkline-loadtest.
    pub version: String,
    /// The git commit it was built from, where it was built in a repository.
    pub commit: Option<String>,
    /// The compiler that built it.
    pub rustc: Option<String>,
    /// The command line, without secrets.
    pub command: Vec<String>,
    /// The machines that ran clients, one entry per process.
    pub machines: Vec<Machine>,
}

/// A machine that ran clients. What cannot be found out is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Machine {
    /// Which share of the clients it had, as `0 of 1`.
    pub process: String,
    /// The system and its version, as `Linux 6.18.5`.
    pub kernel: Option<String>,
    /// The processor.
    pub cpu: Option<String>,
    /// Processors that the process may use.
    pub cpus: Option<u32>,
    /// Memory, in bytes.
    pub memory_bytes: Option<u64>,
    /// File descriptors that the process may have open.
    pub fd_limit: Option<u64>,
}

// === impl Provenance ===

impl Provenance {
    /// That of this process: this machine, and this command line.
    #[must_use]
    pub fn here(arguments: impl IntoIterator<Item = String>) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: option_env!("TRUNKLINE_COMMIT").map(str::to_owned),
            rustc: option_env!("TRUNKLINE_RUSTC").map(str::to_owned),
            command: redact_command(arguments),
            machines: vec![Machine::here("0 of 1")],
        }
    }
}

// === impl Machine ===

impl Machine {
    /// This one, for a process with this share of the clients.
    #[must_use]
    pub fn here(process: &str) -> Self {
        let kernel = line("/proc/sys/kernel/ostype").zip(line("/proc/sys/kernel/osrelease"));
        Self {
            process: process.to_owned(),
            kernel: kernel.map(|(system, release)| format!("{system} {release}")),
            cpu: field("/proc/cpuinfo", "model name"),
            cpus: std::thread::available_parallelism().ok().and_then(|cpus| u32::try_from(cpus.get()).ok()),
            memory_bytes: field("/proc/meminfo", "MemTotal").and_then(|text| kilobytes(&text)),
            fd_limit: rustix::process::getrlimit(rustix::process::Resource::Nofile).current,
        }
    }
}

/// A moment as `2026-11-30T22:27:00Z`.
#[must_use]
pub fn utc(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let (days, clock) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = date(days);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", clock / 3600, clock / 60 % 60, clock % 60)
}

/// The Gregorian date so many days after 1970-01-01. Counts in years that begin with March, so that a leap day is the last.
const fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468; // since 0000-03-01
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153; // 0 is March
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (era * 400 + year + next, month, day)
}

/// The first line of a file.
fn line(path: &str) -> Option<String> {
    fs::read_to_string(path).ok()?.lines().next().map(|line| line.trim().to_owned())
}

/// The value of the first line `NAME : VALUE` of a file.
fn field(path: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let mut fields = text.lines().filter_map(|line| line.split_once(':'));
    fields.find(|(field, _)| field.trim() == name).map(|(_, value)| value.trim().to_owned())
}

fn kilobytes(text: &str) -> Option<u64> {
    text.strip_suffix(" kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn moments() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_796_077_620, "2026-11-30T22:27:00Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(utc(UNIX_EPOCH + Duration::from_secs(seconds)), text);
        }
    }

    #[test]
    fn this_machine_is_described() {
        let here = Provenance::here(["trunkline-loadtest".to_owned()]);
        assert!(here.machines[0].cpus.is_some_and(|cpus| cpus > 0));
        assert_eq!(here.version, env!("CARGO_PKG_VERSION"));
    }
}
