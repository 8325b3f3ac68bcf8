//! The verb `report`: shows reports that were written earlier, beside each other where there are several.

use std::{
    ffi::OsStr,
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use super::{
    compare::Comparison,
    deliver::{self, WriteError},
    file::{FILE, FileError},
    model::Report,
    text::Style,
};

/// What the program ends with when it could not do its work.
const BAD_INPUT: u8 = 2;

/// The options of `report`.
#[derive(Clone, Debug, clap::Args)]
pub struct Arguments {
    /// Reports that were written with --json, or folders with a report.json
    #[arg(required = true, value_name = "REPORT")]
    files: Vec<PathBuf>,
    /// Put the runs of these reports side by side; the first is what the others are compared with
    #[arg(long)]
    compare: bool,
    /// Write a page for a browser to this file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Say nothing on standard output
    #[arg(long, short)]
    quiet: bool,
}

/// Why nothing was shown.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// A file is no report.
    #[error(transparent)]
    File(#[from] FileError),
    /// Several reports, and nothing said what to do with them.
    #[error("these are {0} reports: add --compare to put them side by side, or name one")]
    Several(usize),
    /// Something cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// Runs the verb. What it shows is from the past, so that it ends well whatever that was.
#[must_use]
pub fn run(arguments: &Arguments) -> ExitCode {
    match show(arguments, Style::of_stdout(), &mut io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Without a standard error there is nobody to tell.
            let _unseen = writeln!(io::stderr(), "trunkline-loadtest: {error}");
            ExitCode::from(BAD_INPUT)
        }
    }
}

/// Does what the verb does: writes the text to `out`, and the page to its file.
///
/// # Errors
/// When a file is no report, or something cannot be written. Nothing is written unless all reports could be read.
pub fn show(arguments: &Arguments, style: Style, out: &mut dyn Write) -> Result<(), CommandError> {
    if arguments.files.len() > 1 && !arguments.compare {
        return Err(CommandError::Several(arguments.files.len()));
    }
    let reports: Vec<Report> =
        arguments.files.iter().map(|path| Report::read(path)).collect::<Result<_, _>>()?;
    let names = names(&arguments.files);
    let named: Vec<(&str, &Report)> = names.iter().map(String::as_str).zip(&reports).collect();
    let comparison =
        if let [report] = &reports[..] { Comparison::alone(report) } else { Comparison::of(&named) };
    if let Some(path) = &arguments.html {
        deliver::write(path, &comparison.html())?;
    }
    if !arguments.quiet {
        deliver::show(&comparison.text(style), out)?;
    }
    Ok(())
}

/// What the reports are called: their files' or folders' names, or as much of the paths as tells them apart.
fn names(paths: &[PathBuf]) -> Vec<String> {
    let short = |path: &PathBuf| {
        // `a/report.json` is what is in the folder `a`.
        let of_folder = path.file_name() == Some(OsStr::new(FILE));
        let folder = path.parent().and_then(Path::file_name).filter(|_| of_folder);
        folder.or_else(|| path.file_stem()).unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
    };
    let names: Vec<String> = paths.iter().map(short).collect();
    let same = |name: &String| names.iter().filter(|other| *other == name).count() > 1;
    let whole = |path: &Path| path.with_extension("").to_string_lossy().into_owned();
    names.iter().zip(paths).map(|(name, path)| if same(name) { whole(path) } else { name.clone() }).collect()
}

#[cfg(test)]
mod tests;
