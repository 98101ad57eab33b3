//! A real browser on a page: runs scripts there, as a user's clicks would, over its debugging pipe.

use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);
const FLAGS: [&str; 9] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
    "--remote-debugging-pipe",
];

/// Browser with one page.
pub(super) struct Browser {
    child: Child,
    input: File,
    output: BufReader<File>,
    session: Option<String>,
    n_asked: u64,
}

impl Browser {
    /// Opens a page in a window of this width; its profile and pipes are in the folder.
    #[track_caller]
    pub(super) fn open(address: &str, width: u32, folder: &Path) -> Self {
        let [requests, answers] = ["requests", "answers"].map(|name| folder.join(name));
        let made = Command::new("mkfifo").args([&requests, &answers]).status();
        assert!(made.expect("`mkfifo` is everywhere").success());
        // The browser reads requests at 3 and writes answers at 4.
        let script = "exec 3<\"$0\" 4>\"$1\"; shift; exec chromium \"$@\"";
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(script).arg(&requests).arg(&answers).args(FLAGS);
        shell.arg(format!("--user-data-dir={}", folder.join("profile").display()));
        shell.arg("about:blank").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = shell.spawn().expect("a shell");
        let input = File::options().write(true).open(&requests).expect("the browser reads");
        let output = BufReader::new(File::open(&answers).expect("the browser writes"));
        let mut browser = Self { child, input, output, session: None, n_asked: 0 };
        let target = browser.ask("Target.createTarget", &json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let attached = browser.ask("Target.attachToTarget", &attach);
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        let size = json!({"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": true});
        browser.ask("Emulation.setDeviceMetricsOverride", &size);
        browser.ask("Page.navigate", &json!({"url": address}));
        browser
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.n_asked += 1;
        let mut request = json!({"id": self.n_asked, "method": method, "params": params});
        if let Some(session) = &self.session {
            request["sessionId"] = json!(session);
        }
        let sent = self.input.write_all(format!("{request}\0").as_bytes());
        sent.expect("`chromium`: install it with `scripts/setup.sh test`");
        loop {
            let mut bytes = Vec::new();
            self.output.read_until(0, &mut bytes).expect("the browser answers");
            let Some((0, text)) = bytes.split_last() else { unreachable!("the browser has ended") };
            let answer: Value = serde_json::from_slice(text).expect("JSON");
            if answer["id"] == self.n_asked {
                return answer["result"].clone();
            }
        }
    }

    /// Value of an expression on the page.
    pub(super) fn value(&mut self, expression: &str) -> Value {
        let params = json!({
            "expression": expression, "returnByValue": true, "awaitPromise": true, "userGesture": true,
        });
        self.ask("Runtime.evaluate", &params)["result"]["value"].clone()
    }

    /// Waits until an expression is true on the page.
    #[track_caller]
    pub(super) fn wait(&mut self, expression: &str) {
        let until = Instant::now() + PATIENCE;
        while self.value(&format!("Boolean({expression})")) != true {
            let page = self
                .value("document.documentElement.outerHTML.replace(/<script.*?<.script>/gs, '')");
            assert!(Instant::now() < until, "not so: {expression}\n{page}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Clicks what a selector finds, once it is there.
    #[track_caller]
    pub(super) fn click(&mut self, selector: &str) {
        let element = format!("document.querySelector('{selector}')");
        self.wait(&element);
        self.value(&format!("{element}.click()"));
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It may have ended by itself, which is no failure.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
