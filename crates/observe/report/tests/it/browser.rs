//! A real browser that opens a page and returns its document.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const DEADLINE: Duration = Duration::from_secs(120);
const FLAGS: [&str; 12] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    // Virtual time jumps ahead while the page is idle, so the dump comes after its last timer.
    "--virtual-time-budget=60000",
    "--dump-dom",
];

/// Returns the document as text, after its scripts have run.
pub(crate) fn document_of(page: &str, query: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report.html");
    std::fs::write(&file, page).unwrap();
    dump(&format!("file://{}{query}", file.display()), folder.path())
}

/// Returns the value of an attribute that a script set on the root element.
pub(crate) fn root_attribute<'a>(document: &'a str, name: &str) -> Option<&'a str> {
    let root = &document[document.find("<html")?..];
    let root = &root[..root.find('>')?];
    let value = root.split_once(&format!("data-{name}=\""))?.1;
    Some(value.split_once('"')?.0)
}

fn dump(address: &str, folder: &Path) -> String {
    let profile = folder.join("profile");
    let mut command = Command::new("chromium");
    command.args(FLAGS).arg(format!("--user-data-dir={}", profile.display())).arg(address);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut browser = command.spawn().unwrap_or_else(|error| {
        panic!("`chromium` ({error}): install it with `scripts/setup.sh test`")
    });
    let mut output = browser.stdout.take().unwrap();
    let reader = std::thread::spawn(move || {
        let mut document = String::new();
        output.read_to_string(&mut document).map(|_| document)
    });
    let deadline = Instant::now() + DEADLINE;
    while !reader.is_finished() {
        if deadline < Instant::now() {
            end(&mut browser);
            panic!("`chromium` did not dump the page within {DEADLINE:?}");
        }
        std::thread::park_timeout(Duration::from_millis(20));
    }
    end(&mut browser);
    reader.join().unwrap().unwrap()
}

fn end(browser: &mut Child) {
    // The browser may have ended by itself, which is no failure.
    drop(browser.kill());
    browser.wait().unwrap();
}
