//! A headless Chromium, spoken to in its own protocol over a pair of pipes.

use std::{
    fs::File,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, sync_channel},
    thread,
    time::Duration,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use tempfile::TempDir;

/// How long one answer may take, on a machine that has much else to do.
const PATIENCE: Duration = Duration::from_secs(60);

/// Messages that were not read yet. The browser waits where there are more.
const MESSAGES: usize = 1000;

/// A browser with one page. Everything is ended when it is dropped.
pub(crate) struct Browser {
    child: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    session: String,
    next: u64,
    /// What the page has said on its console, thrown, or was refused.
    complaints: Vec<String>,
    /// What it has asked for over the network.
    requests: Vec<String>,
    folder: TempDir,
}

impl Browser {
    /// Starts one with an empty page.
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let log = File::create(folder.path().join("log")).unwrap();
        // Its pipes are 3 and 4; what it prints must not get in between.
        let mut child = Command::new("sh")
            .args(["-c", r#"exec "$0" "$@" 3<&0 4>&1 0</dev/null 1>&2"#])
            .arg(chromium())
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--no-first-run",
                "--disable-dev-shm-usage",
            ])
            .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
            .args(["--hide-scrollbars", "--force-color-profile=srgb", "--remote-debugging-pipe"])
            .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
            // What it leaves behind goes with the folder.
            .env("TMPDIR", folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .unwrap();
        let (to, from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (sender, receiver) = sync_channel(MESSAGES);
        thread::spawn(move || {
            for message in BufReader::new(from).split(0) {
                let Ok(message) = message else { return };
                if sender.send(serde_json::from_slice(&message).unwrap()).is_err() {
                    return;
                }
            }
        });
        let mut browser = Self {
            child,
            to,
            from: receiver,
            session: String::new(),
            next: 0,
            complaints: Vec::new(),
            requests: Vec::new(),
            folder,
        };
        let target = browser.call("Target.createTarget", &json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        browser.session =
            browser.call("Target.attachToTarget", &attach)["sessionId"].as_str().unwrap().to_owned();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), &json!({}));
        }
        browser
    }

    /// Opens a page that is given as text, so wide, and in one of the two schemes. Returns when all of it is drawn.
    pub(crate) fn open(&mut self, html: &str, width: u32, scheme: &str) {
        let file = self.folder.path().join("page.html");
        std::fs::write(&file, html).unwrap();
        let size = json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", &size);
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.call("Emulation.setEmulatedMedia", &json!({ "features": features }));
        self.call("Page.navigate", &json!({ "url": format!("file://{}", file.display()) }));
        // Figures are drawn when their sizes are known: in the frame after they were laid out.
        self.evaluate(
            "new Promise((done) => { const drawn = () => requestAnimationFrame(() => requestAnimationFrame(done)); \
             document.readyState === 'complete' ? drawn() : addEventListener('load', drawn); })",
        );
    }

    /// The value of an expression; of a promise, what it comes to.
    pub(crate) fn evaluate(&mut self, expression: &str) -> Value {
        let parameters = json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let answer = self.call("Runtime.evaluate", &parameters);
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// Presses a key.
    pub(crate) fn press(&mut self, key: &str) {
        for kind in ["keyDown", "keyUp"] {
            self.call("Input.dispatchKeyEvent", &json!({ "type": kind, "key": key }));
        }
    }

    /// Moves the pointer.
    pub(crate) fn point(&mut self, x: f64, y: f64) {
        self.call("Input.dispatchMouseEvent", &json!({ "type": "mouseMoved", "x": x, "y": y }));
    }

    /// A picture of the page, so high or all of it, for people.
    pub(crate) fn picture(&mut self, file: &Path, height: Option<u32>) {
        let mut parameters = json!({ "format": "png", "captureBeyondViewport": true });
        if let Some(height) = height {
            let width = self.evaluate("innerWidth");
            parameters["clip"] = json!({ "x": 0, "y": 0, "width": width, "height": height, "scale": 1 });
        }
        let png = self.call("Page.captureScreenshot", &parameters)["data"].as_str().unwrap().to_owned();
        std::fs::write(file, STANDARD.decode(png).unwrap()).unwrap();
    }

    /// Fails if the page has complained of anything, or asked for anything but itself.
    pub(crate) fn assert_silent(&mut self) {
        // Whatever was said before this has come by the time it is answered.
        self.evaluate("0");
        assert!(self.complaints.is_empty(), "{:#?}", self.complaints);
        let others = |url: &&String| !url.starts_with("file://") && !url.starts_with("data:");
        assert_eq!(self.requests.iter().find(others), None);
    }

    fn call(&mut self, method: &str, parameters: &Value) -> Value {
        self.next += 1;
        let mut message = json!({ "id": self.next, "method": method, "params": parameters });
        if !self.session.is_empty() {
            message["sessionId"] = self.session.clone().into();
        }
        let mut bytes = serde_json::to_vec(&message).unwrap();
        bytes.push(0);
        self.to.write_all(&bytes).unwrap_or_else(|error| self.ended(method, &error.to_string()));
        loop {
            let message = match self.from.recv_timeout(PATIENCE) {
                Ok(message) => message,
                Err(RecvTimeoutError::Timeout) => self.ended(method, "no answer in time"),
                Err(RecvTimeoutError::Disconnected) => self.ended(method, "it has ended"),
            };
            if message["id"] == self.next {
                assert!(message.get("error").is_none(), "{method}: {message}");
                return message["result"].clone();
            }
            self.note(&message);
        }
    }

    fn note(&mut self, event: &Value) {
        let parameters = &event["params"];
        match event["method"].as_str() {
            Some("Runtime.consoleAPICalled" | "Runtime.exceptionThrown" | "Log.entryAdded") => {
                self.complaints.push(parameters.to_string());
            }
            Some("Network.requestWillBeSent") => {
                self.requests.push(parameters["request"]["url"].as_str().unwrap_or_default().to_owned());
            }
            _ => {}
        }
    }

    fn ended(&self, method: &str, why: &str) -> ! {
        let log = std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
        panic!("Chromium, asked for {method}: {why}. What it printed:\n{log}");
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ended = self.child.kill().and_then(|()| self.child.wait());
    }
}

/// What `TRUNKLINE_CHROMIUM` names, what scripts/deps.sh has installed, or what is on the search path.
fn chromium() -> PathBuf {
    if let Some(named) = std::env::var_os("TRUNKLINE_CHROMIUM") {
        return named.into();
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let cache = std::env::var_os("TRUNKLINE_CACHE").map_or_else(|| root.join(".cache"), PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let names = ["chromium", "chromium-browser", "google-chrome", "chrome-headless-shell"];
    let on_path = std::env::split_paths(&path).flat_map(|folder| names.map(|name| folder.join(name)));
    let found = std::iter::once(cache.join("chromium/chromium")).chain(on_path).find(|path| path.is_file());
    found.expect(
        "there is no Chromium: scripts/deps.sh browser installs one, and TRUNKLINE_CHROMIUM names one",
    )
}
