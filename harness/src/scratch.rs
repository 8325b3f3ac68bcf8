//! A temporary folder and the processes that live in it, with a watcher that outlives this process.
//!
//! Dropping is not enough: a test that is killed, by a time-out or by hand, drops nothing. The watcher is a shell that
//! reads the names of process groups from a pipe. When the pipe closes, because this process is gone in whichever way,
//! it kills them and removes the folder. Not covered: a process whose group could not be told in the instant between
//! its start and the death of this process.

use std::{
    fmt, io,
    io::Write,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tempfile::TempDir;

use crate::HarnessError;

/// Reads `+ GROUP` and `- GROUP` until its input ends, then kills what is left and removes the folder.
const WATCHER: &str = r#"
groups=
while read -r sign group; do
    case $sign in
    +) groups="$groups $group" ;;
    -) kept=; for g in $groups; do [ "$g" = "$group" ] || kept="$kept $g"; done; groups=$kept ;;
    end) exit 0 ;;
    esac
done
for g in $groups; do kill -s KILL -- "-$g" 2>/dev/null; done
rm -rf -- "$1"
"#;

/// A temporary folder for a few servers. Clones are the same folder; it is removed with the last of them.
#[derive(Clone)]
pub struct Scratch {
    inner: Arc<Inner>,
}

struct Inner {
    folder: TempDir,
    watcher: Mutex<Child>,
}

// === impl Scratch ===

impl Scratch {
    /// Makes a folder below the system's folder for temporary files.
    ///
    /// # Errors
    /// That it cannot be made, or no shell be started.
    pub fn new() -> Result<Self, HarnessError> {
        let folder = tempfile::Builder::new()
            .prefix("trunkline-")
            .tempdir()
            .map_err(|source| HarnessError::Files { path: std::env::temp_dir(), source })?;
        let watcher = Command::new("sh")
            .args(["-c", WATCHER, "sh"])
            .arg(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // An interrupt from the terminal must not end the watcher before its work.
            .process_group(0)
            .spawn()
            .map_err(|source| HarnessError::Spawn { program: "sh".to_owned(), source })?;
        Ok(Self { inner: Arc::new(Inner { folder, watcher: Mutex::new(watcher) }) })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.inner.folder.path()
    }

    /// Makes a folder in it.
    ///
    /// # Errors
    /// That it cannot be made.
    pub fn folder(&self, name: &str) -> Result<PathBuf, HarnessError> {
        let path = self.path().join(name);
        match std::fs::create_dir_all(&path) {
            Ok(()) => Ok(path),
            Err(source) => Err(HarnessError::Files { path, source }),
        }
    }

    /// Writes a file into it.
    ///
    /// # Errors
    /// That it cannot be written.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> Result<PathBuf, HarnessError> {
        let path = self.path().join(name);
        match std::fs::write(&path, content) {
            Ok(()) => Ok(path),
            Err(source) => Err(HarnessError::Files { path, source }),
        }
    }

    /// Has the watcher kill this process group should this process die.
    pub(crate) fn watch(&self, group: u32) -> io::Result<()> {
        self.inner.tell(&format!("+ {group}\n"))
    }

    /// The group is gone.
    pub(crate) fn forget(&self, group: u32) {
        // A watcher that cannot be told has ended, and kills nobody.
        let _told = self.inner.tell(&format!("- {group}\n"));
    }
}

impl fmt::Debug for Scratch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Scratch").field(&self.path()).finish()
    }
}

// === impl Inner ===

impl Inner {
    fn watcher(&self) -> MutexGuard<'_, Child> {
        self.watcher.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, line: &str) -> io::Result<()> {
        match &mut self.watcher().stdin {
            Some(pipe) => pipe.write_all(line.as_bytes()),
            None => Ok(()),
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let _told = self.tell("end\n");
        let mut watcher = self.watcher();
        drop(watcher.stdin.take());
        let _ended = watcher.wait();
    }
}
