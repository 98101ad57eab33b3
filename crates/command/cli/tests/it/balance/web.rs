//! Tests of a daemon's page, in a browser and by hand.

use super::browser::Browser;
use super::daemon::TestCluster;
use std::io::{Read, Write};
use std::net::TcpStream;

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

/// Sends an order to a page, with these lines in its head.
#[track_caller]
fn post(address: &str, lines: &[&str], body: &str) -> String {
    let (host, path) = address.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).expect("it listens");
    let (lines, n_bytes) = (lines.join("\r\n"), body.len());
    let head =
        format!("POST /{path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {n_bytes}\r\n{lines}");
    stream.write_all(format!("{head}\r\n\r\n{body}").as_bytes()).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    answer
}

/// On a phone's width, with clicks on its buttons.
#[test]
fn a_browser_follows_what_happens_and_orders() {
    let cluster = TestCluster::new();
    let node = cluster.start("alpha", &["--web"]);
    node.run(&["submit", "--wait", "--", "sh", "-c", "echo broken >&2; exit 3"]);
    let evil = "<img src=x onerror=document.documentElement.dataset.errors='owned'>";
    node.said(&["submit", "--array", "1-5", "--name", evil, "--", "sleep", "1000"]);
    let address = node.said(&["nodes", "--web"]);
    node.wait("it was looked at", |_| get(&address).contains("\"n_running\":2"));
    let mut browser = Browser::open(address.trim(), 380, &cluster.path(""));
    browser.wait("2 <= document.documentElement.dataset.updates");
    browser.wait("2 <= document.documentElement.dataset.lists");
    for expression in [
        "document.documentElement.dataset.errors === ''",
        "document.documentElement.dataset.trouble === undefined",
        "document.querySelector('tr[data-node=alpha]')",
        "document.querySelectorAll('tr[data-task]').length === 5",
        "document.getElementById('gantt-frame').dataset.bars === '3'",
        "document.querySelector('rect.failed[data-bar=\"alpha.1\"]')",
        "document.querySelector('tr[data-job=\"alpha.2-6\"]')",
        // The chart began with what the daemon had kept.
        "1 < document.querySelector('.course .queued').getAttribute('d').split(' ').length",
        "document.documentElement.scrollWidth <= 380",
    ] {
        browser.wait(expression);
    }
    let cancel = "[data-cancel=\"alpha.2-6\"]";
    browser.click(cancel);
    browser.click("#confirm-no");
    browser.click(cancel);
    browser.wait("document.getElementById('confirm-question').textContent.includes('5 tasks')");
    assert_eq!(node.n_running(), 2, "it is not canceled before it is confirmed");
    browser.click("#confirm-yes");
    browser.wait(
        "document.getElementById('notice').textContent.includes('5 tasks of alpha.2-6 canceled')",
    );
    node.wait("nothing runs", |node| node.n_running() == 0);
    browser.click("[data-rerun=\"alpha.1\"]");
    browser.click("#confirm-yes");
    node.wait("it ran again", |node| {
        node.lines(&["tasks", "--failed", "--json"]).iter().any(|task| task["task"] == "alpha.7")
    });
    browser.value("location.hash = 'task=alpha.7'");
    browser.wait("document.querySelector('#task pre')?.textContent === 'broken\\n'");
    let script = "echo once; until [ -e go ]; do sleep 0.05; done; echo more; sleep 1000";
    let name = node.said(&["submit", "--", "sh", "-c", script]);
    browser.value(&format!("location.hash = 'task={}'", name.trim()));
    browser.wait("document.querySelector('#task pre')?.textContent === 'once\\n'");
    std::fs::write(cluster.path("go"), "").unwrap();
    browser.wait("document.querySelector('#task pre')?.textContent === 'once\\nmore\\n'");
    browser.wait("document.documentElement.scrollWidth <= 380");
    assert_eq!(browser.value("document.documentElement.dataset.errors"), "");
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
    // What changes something needs the key in the head, and an order that makes sense.
    let (order, kind) = (r#"{"tasks":"alpha.1"}"#, "Content-Type: application/json");
    let bearer = format!("Authorization: Bearer {}", key.trim_start_matches("key="));
    let check = |path: &str, lines: &[&str], body: &str, status: &str| {
        let said = post(&format!("{base}{path}"), lines, body);
        assert!(said.starts_with(&format!("HTTP/1.1 {status}")), "{path}: {said}");
    };
    assert!(get(&format!("{base}cancel?{key}&tasks=alpha.1")).starts_with("HTTP/1.1 404"));
    check(&format!("cancel?{key}"), &[kind], order, "401");
    check("cancel", &[kind, &bearer, "Origin: http://elsewhere"], order, "403");
    check("cancel", &[kind, &bearer], order, "409");
    check("cancel", &[kind, &bearer], r#"{"tasks":"*"}"#, "400");
    check("state.json", &[kind, &bearer], order, "404");
}

#[test]
fn a_page_that_cannot_be_served_is_no_daemon() {
    let cluster = TestCluster::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let said = cluster.run(&["node", "start", "--speed", "1", "--web", &port]);
    said.check_errors(108, &format!("`--web 127.0.0.1:{port}` cannot be listened on"));
}
