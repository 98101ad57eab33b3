//! Tests of a daemon's page, in a browser and by hand.

use super::daemon::TestCluster;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Fetches a page.
#[track_caller]
pub(super) fn get(address: &str) -> String {
    let rest = address.trim().strip_prefix("http://").expect("an address");
    let (host, path) = rest.split_once('/').expect("a path");
    let mut stream = TcpStream::connect(host).expect("it listens");
    let request = format!("GET /{path} HTTP/1.1\r\nHost: {host}\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    answer
}

/// Document of a page after its scripts ran for a while.
#[track_caller]
fn document(address: &str, profile: &std::path::Path) -> String {
    let mut browser = Command::new("chromium");
    browser.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]);
    browser.args(["--no-first-run", "--disable-background-networking", "--disable-extensions"]);
    browser.args(["--virtual-time-budget=5000", "--dump-dom"]);
    browser.arg(format!("--user-data-dir={}", profile.display())).arg(address);
    let browser = browser.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut browser = browser.spawn().expect("`chromium`: install it with `scripts/setup.sh test`");
    let mut output = browser.stdout.take().expect("it is piped");
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        output.read_to_string(&mut text).map(|_| text)
    });
    let until = Instant::now() + Duration::from_secs(120);
    while !reader.is_finished() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    // The browser may have ended by itself, which is no failure.
    browser.kill().ok();
    browser.wait().expect("it is ours");
    reader.join().expect("it reads").expect("text")
}

#[test]
fn a_browser_follows_what_happens() {
    let cluster = TestCluster::new();
    let node = cluster.start("alpha", &["--web"]);
    let evil = "<img src=x onerror=document.documentElement.dataset.errors='owned'>";
    node.said(&["submit", "--array", "1-5", "--name", evil, "--", "sleep", "1000"]);
    let address = node.said(&["nodes", "--web"]);
    node.wait("it was looked at", |_| get(&address).contains("\"n_running\":2"));
    let document = document(address.trim(), &cluster.path("profile"));
    let updates = document.split("data-updates=\"").nth(1).and_then(|rest| rest.split('"').next());
    let updates: u32 = updates.unwrap_or_default().parse().unwrap_or(0);
    assert!(2 <= updates, "it asked for news: {updates}\n{document}");
    assert!(document.contains("data-errors=\"\""), "{document}");
    assert!(!document.contains("data-trouble"), "{document}");
    assert!(document.contains("<tr data-node=\"alpha\">"), "{document}");
    assert_eq!(document.matches("<tr data-task=\"alpha.").count(), 5, "{document}");
}

#[test]
fn pages_are_for_who_has_the_key() {
    let cluster = TestCluster::new();
    let node = cluster.start("alpha", &["--web", "127.0.0.1:0"]);
    let address = node.said(&["nodes", "--web"]);
    let (base, key) = address.trim().split_once("?").unwrap();
    assert!(!node.logged().contains(key), "a log may be read by others");
    for path in ["", "state.json", "metrics", "other"] {
        assert!(get(&format!("{base}{path}")).starts_with("HTTP/1.1 401"), "{path}");
    }
    node.wait("it was looked at", |_| {
        get(&format!("{base}metrics?{key}")).starts_with("HTTP/1.1 200")
    });
    let metrics = get(&format!("{base}metrics?{key}"));
    assert!(metrics.contains("Content-Type: text/plain; version=0.0.4"), "{metrics}");
    assert!(metrics.contains("\nsintonia_node_cores{node=\"alpha\"} 2\n"), "{metrics}");
    let state = get(&format!("{base}state.json?{key}&after=0"));
    let json = state.split("\r\n\r\n").nth(1).unwrap();
    let state: serde_json::Value = serde_json::from_str(json).unwrap();
    assert_eq!(state["nodes"][0]["node"], "alpha");
    let after = state["at_ms"].as_u64().unwrap() + 3_600_000;
    let state = get(&format!("{base}state.json?{key}&after={after}"));
    assert!(state.contains("\"history\":[]"), "{state}");
    assert!(get(&format!("{base}other?{key}")).starts_with("HTTP/1.1 404"));
}

#[test]
fn a_page_that_cannot_be_served_is_no_daemon() {
    let cluster = TestCluster::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let said = cluster.run(&["node", "start", "--speed", "1", "--web", &port]);
    said.check_errors(108, &format!("`--web 127.0.0.1:{port}` cannot be listened on"));
}
