//! Scenarios as people write them: TOML files, and those that are built in.

mod builtin;
mod lines;
mod parse;
mod step;
mod table;
mod template;
mod tool;

use std::{fs, path::Path};

pub use self::builtin::{BUILT_IN, built_in};
pub use self::parse::parse;
use crate::{
    cli::{Mistake, no_such},
    plan::Scenario,
};

/// The option that names one.
pub(crate) const OPTION: &str = "--scenario";

/// The longest file: a scenario is a page or two.
const LONGEST: u64 = 1 << 20;

/// The scenario of this name, or in this file, and its text.
///
/// # Errors
/// Every mistake in it.
pub fn load(name: &str) -> Result<(Scenario, String), Vec<Mistake>> {
    if let Some(text) = built_in(name) {
        return Ok((parse(name, text)?, text.to_owned()));
    }
    let mistake = |text: String| vec![Mistake { place: OPTION.to_owned(), text }];
    let path = Path::new(name);
    match fs::metadata(path) {
        Ok(file) if file.len() > LONGEST => {
            return Err(mistake(format!("{name} is larger than 1 MiB and no scenario")));
        }
        Ok(_) => {}
        Err(_) if !name.contains(['/', '.']) => {
            let names: Vec<&str> = BUILT_IN.iter().map(|(name, _)| *name).collect();
            return Err(mistake(format!("{} (a file is written as ./{name}.toml)", no_such(name, &names))));
        }
        Err(error) => return Err(mistake(format!("cannot read {name}: {error}"))),
    }
    let text = fs::read_to_string(path).map_err(|error| mistake(format!("cannot read {name}: {error}")))?;
    Ok((parse(name, &text)?, text))
}

#[cfg(test)]
mod tests;
