//! Where the binaries of the workspace are.

use std::{
    env,
    path::{Path, PathBuf},
};

use crate::HarnessError;

/// The server: `TRUNKLINE_BIN`, or what cargo has built beside the running executable.
///
/// Cargo builds it with the tests of the whole workspace. Where only this package's tests are built, it may be absent, or
/// older than its sources: `cargo build -p trunkline` first.
///
/// # Errors
/// [`HarnessError::Missing`] with the command that builds it.
pub fn trunkline() -> Result<PathBuf, HarnessError> {
    find("trunkline", "TRUNKLINE_BIN")
}

/// A binary of the workspace: the one that `variable` names, or what cargo has built beside the running executable.
///
/// # Errors
/// [`HarnessError::Missing`] with the command that builds it.
pub fn find(name: &str, variable: &str) -> Result<PathBuf, HarnessError> {
    if let Some(path) = env::var_os(variable).filter(|path| !path.is_empty()).map(PathBuf::from) {
        return if path.is_file() {
            // Absolute: children start in a folder of their own.
            path.canonicalize().map_err(|source| HarnessError::Files { path, source })
        } else {
            let remedy = format!("{variable} names it, and there is no such file");
            Err(HarnessError::Missing { program: path.display().to_string(), remedy })
        };
    }
    let remedy = format!("cargo build --bin {name}, or name it with {variable}");
    let beside = env::current_exe().ok().and_then(|executable| beside(&executable, name));
    beside.ok_or_else(|| HarnessError::Missing { program: name.to_owned(), remedy })
}

/// Looks in `target/debug` for `target/debug/program`, `target/debug/deps/test` and `target/debug/examples/program`.
fn beside(executable: &Path, name: &str) -> Option<PathBuf> {
    executable.ancestors().skip(1).take(2).map(|folder| folder.join(name)).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn a_binary_is_found_beside_tests_and_programs() {
        let scratch = Scratch::new().unwrap();
        let binary = scratch.write("trunkline", "").unwrap();
        for executable in ["test", "deps/test-0123"] {
            assert_eq!(beside(&scratch.path().join(executable), "trunkline").as_ref(), Some(&binary));
        }
        assert_eq!(beside(&scratch.path().join("deps/test"), "other"), None);
    }

    #[test]
    fn the_error_says_how_to_build_it() {
        let error = find("no-such-binary", "NO_SUCH_VARIABLE").unwrap_err().to_string();
        assert!(error.contains("cargo build --bin no-such-binary"), "{error}");
        assert!(error.contains("NO_SUCH_VARIABLE"), "{error}");
    }
}
