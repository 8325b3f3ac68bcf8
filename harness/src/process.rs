//! A child process whose output goes to a file, and what can be done to it.

use std::{
    ffi::{OsStr, OsString},
    fs::{self, File, OpenOptions},
    io::{self, Read, Seek, SeekFrom},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    time::Duration,
};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use crate::{HarnessError, scratch::Scratch, wait::Wait};

/// As much of a log as an error carries.
const TAIL_LINES: usize = 25;

/// As much of a log's end as is read for its last lines.
const TAIL_BYTES: u64 = 64 * 1024;

/// What to start.
#[derive(Clone, Debug)]
pub struct Program {
    name: String,
    path: PathBuf,
    remedy: String,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    /// Variables of this process that begin so are not passed on.
    withheld: Option<String>,
}

/// A running child, alone in its process group with whatever it starts itself. Dropped, it is killed.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    log: PathBuf,
    scratch: Scratch,
    status: Option<ExitStatus>,
}

// === impl Program ===

impl Program {
    /// The program at `path`, or of that name on the search path. `remedy` says how to get it, as in "apt install nginx".
    #[must_use]
    pub fn new(path: impl Into<PathBuf>, remedy: &str) -> Self {
        let path = path.into();
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        Self {
            name,
            path,
            remedy: remedy.to_owned(),
            arguments: Vec::new(),
            environment: Vec::new(),
            withheld: None,
        }
    }

    /// Names it, for its log and for errors. Its file's name otherwise.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        name.clone_into(&mut self.name);
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<A: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.arguments.extend(arguments.into_iter().map(|argument| argument.as_ref().to_owned()));
        self
    }

    /// Sets a variable of its environment; the others it has from this process.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.environment.push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Keeps it, and whatever it starts, on one processor (`taskset`).
    #[must_use]
    pub fn on_core(mut self, core: usize) -> Self {
        let path = std::mem::replace(&mut self.path, PathBuf::from("taskset"));
        let before = ["-c".into(), core.to_string().into(), path.into_os_string()];
        self.arguments.splice(0..0, before);
        self
    }

    /// Keeps variables of this process that begin with `prefix` from it.
    #[must_use]
    pub fn without_env(mut self, prefix: &str) -> Self {
        self.withheld = Some(prefix.to_owned());
        self
    }
}

// === impl Process ===

impl Process {
    /// Starts a program, with its output in `NAME.log` of the folder, which is appended to.
    ///
    /// # Errors
    /// [`HarnessError::Missing`] where it is not installed, [`HarnessError::Spawn`], [`HarnessError::Files`].
    pub fn spawn(scratch: &Scratch, program: &Program) -> Result<Self, HarnessError> {
        let log = scratch.path().join(format!("{}.log", program.name));
        let files = |source| HarnessError::Files { path: log.clone(), source };
        let output = OpenOptions::new().append(true).create(true).open(&log).map_err(files)?;
        let errors = output.try_clone().map_err(files)?;
        let child = command(program)
            .current_dir(scratch.path())
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors)
            .process_group(0)
            .spawn()
            .map_err(|source| not_started(program, source))?;
        let process = Self { name: program.name.clone(), child, log, scratch: scratch.clone(), status: None };
        // Dropped, and so killed, where it cannot be watched.
        process
            .scratch
            .watch(process.id())
            .map_err(|source| HarnessError::Spawn { program: "sh".to_owned(), source })?;
        Ok(process)
    }

    /// Its id, which is its group's id too.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How it ended; `None` while it runs. What it started and left behind is killed.
    pub fn status(&mut self) -> Option<ExitStatus> {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        if self.status.is_none()
            && let Ok(Some(_)) = waitid(WaitId::Pid(self.pid()), look)
        {
            self.reap();
        }
        self.status
    }

    /// Kills it and whatever it started (SIGKILL), and returns when it is gone. One that has ended stays so.
    pub fn kill(&mut self) {
        if self.status.is_none() {
            self.reap();
        }
    }

    /// Asks it to end (SIGTERM) and waits until it has.
    ///
    /// # Errors
    /// [`HarnessError::Late`] when it runs on, [`HarnessError::NotRunning`].
    pub async fn terminate(&mut self, limit: Duration) -> Result<ExitStatus, HarnessError> {
        self.request_end()?;
        self.wait(limit).await
    }

    /// Asks it to end (SIGTERM) and does not wait.
    ///
    /// # Errors
    /// [`HarnessError::NotRunning`].
    pub fn request_end(&mut self) -> Result<(), HarnessError> {
        self.running()?;
        self.signal(Signal::TERM)
    }

    /// Waits until it has ended by itself.
    ///
    /// # Errors
    /// [`HarnessError::Late`].
    pub async fn wait(&mut self, limit: Duration) -> Result<ExitStatus, HarnessError> {
        let wait = Wait::new(&format!("the end of {}", self.name), limit);
        loop {
            match self.status() {
                Some(status) => return Ok(status),
                None => wait.again("it runs").await?,
            }
        }
    }

    /// Stops it in its tracks (SIGSTOP) and returns when it stands still: its connections stay open and nothing answers.
    ///
    /// # Errors
    /// [`HarnessError::NotRunning`], [`HarnessError::Signal`].
    pub fn stop(&mut self) -> Result<(), HarnessError> {
        self.running()?;
        self.signal(Signal::STOP)?;
        // The end is of interest too, since one that was killed meanwhile never stops; and it is left for `status`.
        let options = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        match waitid(WaitId::Pid(self.pid()), options) {
            Ok(_) => Ok(()),
            Err(source) => Err(HarnessError::Signal { program: self.name.clone(), source: source.into() }),
        }
    }

    /// Lets it go on (SIGCONT).
    ///
    /// # Errors
    /// [`HarnessError::NotRunning`], [`HarnessError::Signal`].
    pub fn resume(&mut self) -> Result<(), HarnessError> {
        self.running()?;
        self.signal(Signal::CONT)
    }

    /// The file that has its output.
    #[must_use]
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// The last lines of its output.
    #[must_use]
    pub fn logs_tail(&self) -> String {
        tail(&self.log).unwrap_or_else(|error| format!("(no log: {error})"))
    }

    /// Memory that it occupies, in bytes; `None` when it has ended.
    #[must_use]
    pub fn rss(&self) -> Option<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        Some(kibibytes * 1024)
    }

    /// File descriptors that it has open; `None` when it has ended.
    #[must_use]
    pub fn open_fds(&self) -> Option<usize> {
        Some(fs::read_dir(format!("/proc/{}/fd", self.id())).ok()?.count())
    }

    /// Time that it has spent on processors, in user and kernel mode; `None` when it has ended.
    #[must_use]
    pub fn cpu(&self) -> Option<Duration> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.id())).ok()?;
        // The name, in parentheses, may have anything in it; what follows has not.
        let (_, fields) = stat.rsplit_once(')')?;
        let mut fields = fields.split_ascii_whitespace().skip(11);
        let (user, kernel): (u64, u64) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
        Some(Duration::from_millis((user + kernel) * 1000 / rustix::param::clock_ticks_per_second()))
    }

    /// Fails where it has ended, with its last words.
    pub(crate) fn check(&mut self) -> Result<(), HarnessError> {
        match self.status() {
            None => Ok(()),
            Some(status) => Err(HarnessError::Ended {
                program: self.name.clone(),
                status: status.to_string(),
                logs: self.logs_tail(),
            }),
        }
    }

    fn running(&mut self) -> Result<(), HarnessError> {
        match self.status() {
            None => Ok(()),
            Some(_) => Err(HarnessError::NotRunning { program: self.name.clone() }),
        }
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    fn signal(&self, signal: Signal) -> Result<(), HarnessError> {
        kill_process_group(self.pid(), signal)
            .map_err(|source| HarnessError::Signal { program: self.name.clone(), source: source.into() })
    }

    /// Kills the group before its leader is waited for: until then nobody else can be given the group's id.
    fn reap(&mut self) {
        let _gone = self.signal(Signal::KILL);
        if let Ok(status) = self.child.wait() {
            self.status = Some(status);
            self.scratch.forget(self.id());
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

fn command(program: &Program) -> Command {
    let mut command = Command::new(&program.path);
    command.args(&program.arguments);
    if let Some(prefix) = &program.withheld {
        let inherited = std::env::vars_os().map(|(name, _)| name);
        for name in inherited.filter(|name| name.to_string_lossy().starts_with(prefix)) {
            command.env_remove(name);
        }
    }
    command.envs(program.environment.iter().map(|(name, value)| (name, value)));
    command
}

fn not_started(program: &Program, source: io::Error) -> HarnessError {
    let name = program.path.display().to_string();
    match source.kind() {
        io::ErrorKind::NotFound => HarnessError::Missing { program: name, remedy: program.remedy.clone() },
        _ => HarnessError::Spawn { program: name, source },
    }
}

fn tail(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
    let mut bytes = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    Ok(lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n"))
}
