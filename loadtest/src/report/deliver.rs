//! Where a report goes when a run is over.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use super::{
    file::FILE,
    html::html,
    model::Report,
    text::{Style, text},
};

/// The page's file in a folder.
const PAGE: &str = "report.html";

/// Where a report goes, as options of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args)]
pub struct Outputs {
    /// Write the report as JSON to this file; `report` shows it again
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write a page for a browser to this file
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write report.json and report.html to this folder
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Show nothing but errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// Why a report did not get where it was to go.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// A file or folder cannot be written.
    #[error("cannot write {path}: {source}; name another file, or make room for this one")]
    File {
        /// Where to.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The text cannot be written.
    #[error("cannot write to standard output: {0}")]
    Show(io::Error),
}

/// What a file holds.
#[derive(Clone, Copy)]
enum Form {
    Json,
    Html,
}

// === impl Outputs ===

impl Outputs {
    /// Whether the files can be written: asked before a run, whose figures would be lost otherwise. Makes the folder.
    ///
    /// # Errors
    /// The first one that cannot.
    pub fn check(&self) -> Result<(), WriteError> {
        if let Some(folder) = &self.out {
            fs::create_dir_all(folder).map_err(|source| WriteError::File { path: folder.clone(), source })?;
        }
        self.files().iter().try_for_each(|(path, _)| try_out(path))
    }

    /// Writes the files, and shows the text on standard output.
    ///
    /// # Errors
    /// The first thing that cannot be written. The text is shown first, and all is tried.
    pub fn deliver(&self, report: &Report) -> Result<(), WriteError> {
        let shown = if self.quiet {
            Ok(())
        } else {
            show(&text(report, Style::of_stdout()), &mut io::stdout().lock())
        };
        let written: Vec<_> =
            self.files().into_iter().map(|(path, form)| write(&path, &form.of(report))).collect();
        written.into_iter().fold(shown, Result::and)
    }

    fn files(&self) -> Vec<(PathBuf, Form)> {
        let folder = |file| self.out.as_ref().map(|folder| folder.join(file));
        let jsons = self.json.clone().into_iter().chain(folder(FILE)).map(|path| (path, Form::Json));
        let pages = self.html.clone().into_iter().chain(folder(PAGE)).map(|path| (path, Form::Html));
        jsons.chain(pages).collect()
    }
}

// === impl Form ===

impl Form {
    fn of(self, report: &Report) -> String {
        match self {
            Self::Json => report.to_json(),
            Self::Html => html(report),
        }
    }
}

// === impl Report ===

impl Report {
    /// What a command ends with: 0 if all thresholds and checks held, 1 if not.
    #[must_use]
    pub fn exit_code(&self) -> ExitCode {
        if self.held() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

/// Writes a file.
pub(super) fn write(path: &Path, text: &str) -> Result<(), WriteError> {
    fs::write(path, text).map_err(|source| WriteError::File { path: path.to_owned(), source })
}

/// Writes a text for a person. It is no error if nobody reads it to its end.
pub(super) fn show(text: &str, out: &mut dyn Write) -> Result<(), WriteError> {
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other.map_err(WriteError::Show),
    }
}

/// Opens a file for writing, and leaves everything as it was.
fn try_out(path: &Path) -> Result<(), WriteError> {
    let error = |source| WriteError::File { path: path.to_owned(), source };
    let was_there = path.exists();
    OpenOptions::new().append(true).create(true).open(path).map_err(error)?;
    if was_there { Ok(()) } else { fs::remove_file(path).map_err(error) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testing;

    #[test]
    fn a_folder_gets_both_and_what_is_in_the_way_is_told_before() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("a/b");
        let outputs = Outputs { out: Some(out.clone()), quiet: true, ..Outputs::default() };
        outputs.check().unwrap();
        assert_eq!(
            fs::read_dir(&out).unwrap().count(),
            0,
            "nothing is written before there is something to say"
        );
        let report = testing::report(vec![testing::run()]);
        outputs.deliver(&report).unwrap();
        assert_eq!(Report::read(&out).unwrap(), report);
        assert!(out.join(PAGE).is_file());
        let absent = Outputs { json: Some(folder.path().join("absent/x.json")), ..Outputs::default() };
        assert!(absent.check().unwrap_err().to_string().contains("absent/x.json: No such file"));
    }

    #[test]
    fn one_file_that_cannot_be_written_does_not_keep_the_other_from_being() {
        let folder = tempfile::tempdir().unwrap();
        let (json, html) = (Some(folder.path().to_owned()), Some(folder.path().join("x.html")));
        let outputs = Outputs { json, html: html.clone(), quiet: true, out: None };
        assert!(outputs.deliver(&testing::report(vec![testing::run()])).is_err());
        assert!(html.unwrap().is_file());
    }

    #[test]
    fn the_exit_code_says_whether_it_held() {
        let code = |run| format!("{:?}", testing::report(vec![run]).exit_code());
        assert_eq!(code(testing::run()), format!("{:?}", ExitCode::SUCCESS));
        assert_eq!(code(testing::troubled()), format!("{:?}", ExitCode::FAILURE));
    }
}
