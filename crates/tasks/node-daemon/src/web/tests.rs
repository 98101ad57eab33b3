//! Tests of the server over real connections.

use super::connection::PATIENCE;
use super::*;
use std::io::{Read, Write};
use std::net::TcpStream;

fn start() -> (SocketAddr, String) {
    let folder = tempfile::tempdir().unwrap();
    let key = WebKey::in_folder(folder.path()).unwrap();
    let text = key.text().to_owned();
    let site = |request: &PageRequest| match (request.path(), &request.order) {
        ("/state.json", None) => {
            let after = request.value("after").unwrap_or_default();
            Some(Page::new("application/json", format!("after {after}")))
        }
        ("/cancel", Some(body)) => {
            let text = format!("order {}", String::from_utf8_lossy(body));
            Some(Page::new("application/json", text))
        }
        _ => None,
    };
    let address = serve("127.0.0.1:0".parse().unwrap(), key, Arc::new(site)).unwrap();
    (address, text)
}

fn ask(address: SocketAddr, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    // A client that is refused early may find the connection closed while it still sends.
    stream.write_all(request).ok();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).ok();
    String::from_utf8(answer).unwrap()
}

#[track_caller]
fn check(request: &str, status: &str, text: &str) {
    let (address, key) = start();
    let request = request.replace("KEY", &key).replace("HERE", &address.to_string());
    let answer = ask(address, request.as_bytes());
    assert!(answer.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{answer}");
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(body.contains(text), "{answer}");
    assert!(head.contains(&format!("Content-Length: {}", body.len())), "{head}");
}

#[test]
fn a_page_needs_the_key() {
    check("GET /state.json?key=KEY&after=7 HTTP/1.1\r\nHost: x\r\n\r\n", "200 OK", "after 7");
    let header = "GET /state.json HTTP/1.1\r\nAuthorization: Bearer KEY\r\n\r\n";
    check(header, "200 OK", "after ");
    check(&header.replace("Bearer", "bearer"), "200 OK", "after ");
    check("GET /state.json HTTP/1.1\r\n\r\n", "401 Unauthorized", "needs the node's key");
    check("GET /state.json?key= HTTP/1.1\r\n\r\n", "401 Unauthorized", "");
    check("GET /state.json?key=KEYx HTTP/1.1\r\n\r\n", "401 Unauthorized", "");
    check("GET /nothing HTTP/1.1\r\n\r\n", "401 Unauthorized", "");
    check("GET /nothing?key=KEY HTTP/1.1\r\n\r\n", "404 Not Found", "/metrics");
}

#[test]
fn every_answer_is_kept_to_its_page() {
    let (address, key) = start();
    for request in [format!("GET /?key={key} HTTP/1.1\r\n\r\n"), "GET / HTTP/1.1\r\n\r\n".into()] {
        let answer = ask(address, request.as_bytes()).to_lowercase();
        for header in [
            "cache-control: no-store",
            "x-content-type-options: nosniff",
            "referrer-policy: no-referrer",
            "content-security-policy: frame-ancestors 'none'",
            "cross-origin-resource-policy: same-origin",
            "connection: close",
        ] {
            assert!(answer.contains(header), "{header}: {answer}");
        }
    }
}

const ORDER: &str = "POST /cancel HTTP/1.1\r\nHost: HERE\r\nAuthorization: Bearer KEY\r\n\
                     Content-Type: application/json\r\nMORE\r\nContent-Length: 2\r\n\r\n{}";

#[test]
fn an_order_comes_from_the_page_of_this_server_with_the_key() {
    let order = |more: &str| ORDER.replace("MORE", more);
    check(&order("A: b"), "200 OK", "order {}");
    check(&order("Origin: http://HERE\r\nSec-Fetch-Site: same-origin"), "200 OK", "order {}");
    for foreign in [
        "Origin: http://elsewhere",
        "Origin: null",
        "Origin: https://HERE",
        "Sec-Fetch-Site: cross-site",
        "Sec-Fetch-Site: same-site",
        "Sec-Fetch-Site: none",
    ] {
        check(&order(foreign), "403 Forbidden", "another site");
    }
    let no_key =
        order("A: b").replace("Bearer KEY", "Bearer x").replace("/cancel", "/cancel?key=KEY");
    check(&no_key, "401 Unauthorized", "header");
    let form = order("A: b").replace("application/json", "text/plain");
    check(&form, "415 Unsupported Media Type", "JSON");
    let long = order("A: b").replace("Length: 2\r\n\r\n{}", "Length: 70000\r\n\r\n");
    check(&format!("{long}{}", "x".repeat(70_000)), "413 Payload Too Large", "too long");
    check(&order("A: b").replace("Length: 2", "Length: x"), "400 Bad Request", "");
}

#[test]
fn what_is_no_request_of_this_server_is_refused() {
    check("PUT /state.json?key=KEY HTTP/1.1\r\n\r\n", "405 Method Not Allowed", "GET");
    check("nonsense\r\n\r\n", "400 Bad Request", "");
    let long = format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(10_000));
    let (address, _) = start();
    let answer = ask(address, long.as_bytes());
    assert!(answer.starts_with("HTTP/1.1 4"), "{answer}");
}

/// Sixteen silent connections kept the owner off the page.
#[test]
fn who_connects_and_says_nothing_keeps_nobody_out() {
    let (address, key) = start();
    let request = format!("GET /state.json?key={key} HTTP/1.1\r\n\r\n");
    let silent: Vec<_> =
        (0..2 * STRANGERS.n_max).map(|_| TcpStream::connect(address).unwrap()).collect();
    let until = std::time::Instant::now() + 4 * PATIENCE;
    while !ask(address, request.as_bytes()).starts_with("HTTP/1.1 200") {
        assert!(std::time::Instant::now() < until, "the owner is kept out");
    }
    drop(silent);
}
