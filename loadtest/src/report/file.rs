//! Reports as JSON, and how files of them are read.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde::Deserialize;

use super::model::{Report, SCHEMA};
use crate::tally;

/// The file of a folder that is read for it.
pub(super) const FILE: &str = "report.json";

/// Why a text is no report.
#[derive(Debug, thiserror::Error)]
pub enum FormError {
    /// It is something else.
    #[error("it is no report of trunkline-loadtest: {0}")]
    Other(String),
    /// It is of a newer version.
    #[error(
        "{what} is of form {found}, and this version reads up to {known}: use the trunkline-loadtest that wrote it, or a newer one"
    )]
    Newer {
        /// What is newer: the report, or the counts in it.
        what: &'static str,
        /// Its form.
        found: u64,
        /// The newest form that is known.
        known: u32,
    },
}

/// Why a report cannot be had from a file.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file cannot be read.
    #[error("{path} cannot be read: {source}; name a file that --json wrote")]
    Read {
        /// Which one.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Nothing in the folder is a report.
    #[error("{path}: there is no report.json in this folder; name the file that --json wrote")]
    Folder {
        /// Which folder.
        path: PathBuf,
    },
    /// It is no report.
    #[error("{path}: {source}")]
    Form {
        /// Which one.
        path: PathBuf,
        /// Why.
        source: FormError,
    },
}

/// What is looked at before the rest, which a newer form may spell otherwise.
#[derive(Deserialize)]
struct Forms {
    schema: u64,
    #[serde(default)]
    runs: Vec<RunForm>,
}

#[derive(Deserialize)]
struct RunForm {
    tally: TallyForm,
}

#[derive(Deserialize)]
struct TallyForm {
    schema: u64,
}

impl Report {
    /// The report as JSON, histograms inside: it can be read, compared and added up later. Ends with a line feed.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut json = serde_json::to_string_pretty(self).expect("invariant: all keys are strings");
        json.push('\n');
        json
    }

    /// Reads a report. Fields that this version does not know are passed over.
    ///
    /// # Errors
    /// When it is no report, or one of a newer form.
    pub fn from_json(json: &str) -> Result<Self, FormError> {
        let forms: Forms = serde_json::from_str(json).map_err(|error| FormError::Other(error.to_string()))?;
        known("the report", forms.schema, SCHEMA)?;
        forms.runs.iter().try_for_each(|run| known("its tally", run.tally.schema, tally::SCHEMA))?;
        let report: Self = serde_json::from_str(json).map_err(|error| FormError::Other(error.to_string()))?;
        if report.runs.is_empty() {
            return Err(FormError::Other("there is no run in it".to_owned()));
        }
        Ok(report)
    }

    /// Reads a file, or the `report.json` of a folder.
    ///
    /// # Errors
    /// When it cannot be read, or is no report.
    pub fn read(path: &Path) -> Result<Self, FileError> {
        let inner = path.join(FILE);
        let file = match (path.is_dir(), inner.is_file()) {
            (true, true) => &inner,
            (true, false) => return Err(FileError::Folder { path: path.to_owned() }),
            (false, _) => path,
        };
        let json =
            fs::read_to_string(file).map_err(|source| FileError::Read { path: file.to_owned(), source })?;
        Self::from_json(&json).map_err(|source| FileError::Form { path: file.to_owned(), source })
    }
}

fn known(what: &'static str, found: u64, known: u32) -> Result<(), FormError> {
    if found > u64::from(known) { Err(FormError::Newer { what, found, known }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testing;

    fn report() -> Report {
        testing::report(vec![testing::run(), testing::troubled().named("other")])
    }

    #[test]
    fn a_report_comes_back_as_it_was() {
        let report = report();
        assert_eq!(Report::from_json(&report.to_json()).unwrap(), report);
    }

    #[test]
    fn it_holds_no_secret() {
        assert!(!report().to_json().contains("hunter2"));
    }

    #[test]
    fn fields_of_a_later_version_are_passed_over() {
        let json = report().to_json().replacen('{', "{\"news\": [1, {\"x\": null}],", 1);
        assert_eq!(Report::from_json(&json).unwrap(), report());
        let json = json.replacen("\"faults\"", "\"later\": 1, \"faults\"", 1);
        assert!(Report::from_json(&json).is_ok());
    }

    #[test]
    fn a_newer_form_is_named() {
        let json = report().to_json();
        let newer = json.replacen("\"schema\": 1", "\"schema\": 7", 1);
        let error = Report::from_json(&newer).unwrap_err().to_string();
        assert!(error.starts_with("the report is of form 7, and this version reads up to 1"), "{error}");
        let at = json.rfind("\"schema\": 1").unwrap();
        let newer = format!("{}\"schema\": 8{}", &json[..at], &json[at + "\"schema\": 1".len()..]);
        let error = Report::from_json(&newer).unwrap_err().to_string();
        assert!(error.starts_with("its tally is of form 8"), "{error}");
    }

    #[test]
    fn what_is_something_else_is_told_where() {
        for (text, words) in [
            ("", "EOF while parsing"),
            ("<html>", "expected value at line 1"),
            ("{\"jsonrpc\": \"2.0\"}", "missing field `schema`"),
            ("{\"schema\": 1, \"runs\": []}", "missing field `provenance`"),
            ("{\"schema\": 1, \"provenance\": {}, \"runs\": []}", "there is no run in it"),
        ] {
            let error = Report::from_json(text).unwrap_err().to_string();
            assert!(
                error.starts_with("it is no report of trunkline-loadtest: ") && error.contains(words),
                "{error}"
            );
        }
        // A report that was cut off half-way, as by a full disk.
        let json = report().to_json();
        assert!(Report::from_json(&json[..json.len() / 2]).unwrap_err().to_string().contains("EOF"));
    }
}
