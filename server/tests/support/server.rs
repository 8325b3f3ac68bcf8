//! A server of the test's own, on ports that were free.

use std::{
    fs,
    io::{BufRead, BufReader},
    net::SocketAddr,
    path::PathBuf,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    time::Duration,
};

use serde_json::{Value, json};

use super::{Connection, DEADLINE, Events, Modern, Request, Response, Session, eventually, within};

/// What a server is started with.
#[derive(Default)]
pub(crate) struct TestServerBuilder {
    config: String,
    environment: Vec<(String, String)>,
    bind: Option<String>,
}

/// A running server; it ends when this is dropped.
pub(crate) struct TestServer {
    pub(crate) address: SocketAddr,
    pub(crate) admin: SocketAddr,
    running: Running,
    config: PathBuf,
}

enum Running {
    /// The binary, in a process of its own.
    Child { child: Mutex<Child>, log: Arc<Mutex<Vec<String>>> },
    /// The library, in this process.
    Here(Option<trunkline::Running>),
}

// === impl TestServerBuilder ===

impl TestServerBuilder {
    /// Adds lines to the configuration file.
    pub(crate) fn config(mut self, lines: &str) -> Self {
        self.config.push_str(lines);
        self.config.push('\n');
        self
    }

    /// Sets a variable of the server's environment. Only for [`TestServerBuilder::start`].
    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Listens on another address than a free port of 127.0.0.1. Only for [`TestServerBuilder::start`].
    pub(crate) fn bind(mut self, address: &str) -> Self {
        self.bind = Some(address.to_owned());
        self
    }

    /// Starts the binary with the demonstration.
    pub(crate) fn start(self) -> TestServer {
        let config = self.write_config();
        let mut child = Command::new(env!("CARGO_BIN_EXE_trunkline"))
            .args(["serve", "--demo", "--bind", self.bind.as_deref().unwrap_or("127.0.0.1:0")])
            .args(["--admin-bind", "127.0.0.1:0", "--config"])
            .arg(&config)
            .env_clear()
            .env("RUST_BACKTRACE", "0")
            .envs(self.environment)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary can be run");
        let log = Arc::new(Mutex::new(Vec::new()));
        let addresses = read_log(&mut child, log.clone());
        let Ok((admin, address)) = addresses.recv_timeout(DEADLINE) else {
            let _ended = child.kill();
            panic!("the server did not start: {:?}", log.lock().expect("no reader panics"));
        };
        TestServer { address, admin, running: Running::Child { child: Mutex::new(child), log }, config }
    }

    /// Starts a declared server in this process.
    pub(crate) fn start_here(self, server: trunkline::Server) -> TestServer {
        let config = self.write_config();
        let flags = trunkline::config::Overrides {
            bind: Some("127.0.0.1:0".to_owned()),
            admin_bind: Some("127.0.0.1:0".to_owned()),
            store: None,
        };
        let environment = std::collections::BTreeMap::new();
        let settings = trunkline::config::Config::load(Some(&config), &environment, &flags);
        let mut settings = settings.expect("the configuration is valid");
        if !self.config.contains("drain_grace") {
            // A test that ends with calls or streams open does not wait for them.
            settings.server.drain_grace = Duration::from_millis(50);
        }
        let running = server.start(settings).expect("the server starts");
        let (address, admin) = (running.address(), running.admin_address());
        TestServer { address, admin, running: Running::Here(Some(running)), config }
    }

    fn write_config(&self) -> PathBuf {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("trunkline-{}-{number}.toml", std::process::id());
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::write(&path, &self.config).expect("the configuration can be written");
        path
    }
}

/// Keeps the log, and sends the addresses of the admin listener and the endpoint once both are known.
fn read_log(child: &mut Child, log: Arc<Mutex<Vec<String>>>) -> mpsc::Receiver<(SocketAddr, SocketAddr)> {
    let (found, addresses) = mpsc::sync_channel(1);
    let stderr = child.stderr.take().expect("the log is piped");
    std::thread::spawn(move || {
        let (mut admin, mut endpoint) = (None, None);
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            admin = admin.or_else(|| address_in(&line, "health and metrics"));
            endpoint = endpoint.or_else(|| address_in(&line, "serving"));
            log.lock().expect("no reader panics").push(line);
            if let (Some(admin), Some(endpoint)) = (admin, endpoint) {
                // The second time nobody waits any more.
                let _sent = found.try_send((admin, endpoint));
            }
        }
    });
    addresses
}

fn address_in(line: &str, message: &str) -> Option<SocketAddr> {
    if !line.contains(message) {
        return None;
    }
    let after = line.split("address").nth(1)?.trim_start_matches(['"', ':', '=']);
    after.split([' ', '"', ',']).next()?.parse().ok()
}

// === impl TestServer ===

impl TestServer {
    /// The binary with the demonstration and the defaults.
    pub(crate) fn demo() -> Self {
        Self::builder().start()
    }

    /// A declared server in this process, with the defaults.
    pub(crate) fn with(server: trunkline::Server) -> Self {
        Self::builder().start_here(server)
    }

    pub(crate) fn builder() -> TestServerBuilder {
        TestServerBuilder::default()
    }

    pub(crate) fn connect(&self) -> Connection {
        Connection::open(self.address)
    }

    /// Sends a request on a connection of its own.
    #[track_caller]
    pub(crate) fn send(&self, request: &Request) -> Response {
        self.connect().exchange(request)
    }

    /// Sends a request that is to be refused: a stream in the place of an answer would be waited for in vain.
    #[track_caller]
    pub(crate) fn refused(&self, request: &Request) -> Response {
        let mut connection = self.connect();
        connection.send(&request.bytes());
        let head = connection.head();
        assert!(head.status >= 400, "not refused: {head:?}");
        let mut body = Vec::new();
        while let Some(chunk) = connection.chunk() {
            body.extend_from_slice(&chunk);
        }
        Response { head, body }
    }

    /// Sends a request on a connection of its own, and opens the stream that answers it.
    #[track_caller]
    pub(crate) fn stream(&self, request: &Request) -> Events {
        let mut connection = self.connect();
        connection.send(&request.bytes());
        let head = connection.head();
        if head.status != 200 || head.header("content-type") != Some("text/event-stream") {
            let mut body = Vec::new();
            while let Some(chunk) = connection.chunk() {
                body.extend_from_slice(&chunk);
            }
            panic!("no stream: {head:?} {}", String::from_utf8_lossy(&body));
        }
        connection.into_events()
    }

    /// Opens a session of a client that can do nothing in particular.
    #[track_caller]
    pub(crate) fn initialize(&self, revision: &str) -> Session<'_> {
        Session::open(self, revision, &json!({}))
    }

    /// Opens a session of a client with capabilities.
    #[track_caller]
    pub(crate) fn initialize_with(&self, revision: &str, capabilities: &Value) -> Session<'_> {
        Session::open(self, revision, capabilities)
    }

    /// Sends a request of the revision without sessions.
    #[track_caller]
    pub(crate) fn modern(&self, modern: &Modern) -> Response {
        self.send(&modern.request())
    }

    /// A page of the admin listener.
    #[track_caller]
    pub(crate) fn admin_page(&self, path: &str) -> Response {
        Connection::open(self.admin).exchange(&Request::new("GET", path))
    }

    /// A counter or gauge, by its name without `trunkline_`.
    #[track_caller]
    pub(crate) fn metric(&self, name: &str) -> i64 {
        let page = self.admin_page("/metrics").text();
        let wanted = format!("trunkline_{name} ");
        let value = page.lines().find_map(|line| line.strip_prefix(&wanted));
        value.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("no {name} in:\n{page}"))
    }

    /// Waits until a counter or gauge has a value.
    #[track_caller]
    pub(crate) fn await_metric(&self, name: &str, expected: i64) {
        eventually(name, &expected, || self.metric(name));
    }

    /// The lines the binary has logged so far.
    pub(crate) fn log(&self) -> Vec<String> {
        match &self.running {
            Running::Child { log, .. } => log.lock().expect("no reader panics").clone(),
            Running::Here(_) => Vec::new(),
        }
    }

    /// Asks the binary to end.
    pub(crate) fn sigterm(&self) {
        let killed = Command::new("kill").args(["-TERM", &self.pid().to_string()]).status();
        assert!(killed.expect("kill can be run").success());
    }

    /// Waits until the binary has ended.
    #[track_caller]
    pub(crate) fn wait(&self, deadline: Duration) -> ExitStatus {
        let Running::Child { child, .. } = &self.running else { panic!("no process of its own") };
        let mut status = None;
        within(deadline, || {
            status = child.lock().expect("nobody panics here").try_wait().expect("a child can be waited for");
            status.is_some()
        });
        status.unwrap_or_else(|| panic!("the server still runs after {deadline:?}: {:#?}", self.log()))
    }

    /// The memory that the binary's process takes, in KiB.
    pub(crate) fn resident_kib(&self) -> u64 {
        self.process_status("VmRSS:").expect("the system tells a process's memory")
    }

    /// How many threads the binary's process has.
    pub(crate) fn threads(&self) -> u64 {
        self.process_status("Threads:").expect("the system tells a process's threads")
    }

    /// How many descriptors the binary's process has open once all its threads are at work and nobody is connected.
    #[track_caller]
    pub(crate) fn settled_files(&self) -> usize {
        let ask = Request::new("GET", "/nothing");
        // Connections go round the workers.
        let mut connections: Vec<Connection> = (0..16).map(|_| self.connect()).collect();
        for connection in &mut connections {
            connection.exchange(&ask);
        }
        Connection::open(self.admin).exchange(&ask);
        drop(connections);
        let (mut last, mut times) = (0, 0);
        let settled = within(DEADLINE, || {
            let now = self.open_files();
            times = if now == last { times + 1 } else { 0 };
            last = now;
            times == 20
        });
        assert!(settled, "the number of open files does not settle: {last}");
        last
    }

    /// How many descriptors the binary's process has open.
    pub(crate) fn open_files(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.pid())).expect("the system tells open files").count()
    }

    /// The binary's process.
    pub(crate) fn pid(&self) -> u32 {
        match &self.running {
            Running::Child { child, .. } => child.lock().expect("nobody panics here").id(),
            Running::Here(_) => std::process::id(),
        }
    }

    fn process_status(&self, field: &str) -> Option<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid())).ok()?;
        let line = status.lines().find(|line| line.starts_with(field))?;
        line.split_whitespace().nth(1)?.parse().ok()
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        match &mut self.running {
            Running::Child { child, .. } => {
                if let Ok(child) = child.get_mut() {
                    // One that has ended by itself cannot be killed.
                    let _killed = child.kill();
                    let _reaped = child.wait();
                }
            }
            Running::Here(running) => drop(running.take()),
        }
        let _removed = fs::remove_file(&self.config);
    }
}
