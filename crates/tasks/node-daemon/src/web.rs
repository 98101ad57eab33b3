//! Serves pages for browsers and metrics for Prometheus, over HTTP/1.1: `GET` only, one answer per connection.
//!
//! Any user of the machine, or of the network, can connect to a port. So every request needs a key: in the address
//! (`?key=...`) or in the header `Authorization: Bearer ...`. The key is in a file that only the owner can read.
//! Since nothing is answered without it, a page of another site cannot read anything through the owner's browser
//! either.
//!
//! # Invariants
//! - Heads, connections and times are bounded: a client that sends nothing, or too much, is disconnected.
//! - Nothing can be changed here.
//!
//! # Not here
//! The contents of the pages: the caller gives a function for them. Encryption: on addresses other than this
//! machine's, users need a tunnel.

mod key;

use channel::{AcceptedConnection, Acceptor, DeadlineStream, StrangerLimits, Unauthenticated};
pub use key::{WebKey, WebKeyError};
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Most connections with the key that are answered at the same time.
const N_ANSWERED_MAX: usize = 16;
/// Bounds on connections that have not shown the key.
const STRANGERS: StrangerLimits = StrangerLimits { n_max: 64, n_per_address_max: 48 };
/// Longest time for a client to send its request, and for it to take the answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// Longest wait for each further piece of input, after the answer and until the client closes its side; below, the
/// most pieces.
const DRAINS_WITHIN: Duration = Duration::from_millis(100);
const N_DRAINED_MAX: usize = 16;
/// Headers of every answer: do not store it, do not guess its type, do not embed it or send its address elsewhere.
const SAFE: &str = "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n\
                    Referrer-Policy: no-referrer\r\nContent-Security-Policy: frame-ancestors 'none'\r\n\
                    Cross-Origin-Resource-Policy: same-origin\r\nConnection: close\r\n";

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Media type.
    pub kind: &'static str,
    /// Text of the page.
    pub text: String,
}

/// Function that serves pages: takes a path (at least `/`) and a function for the value of a name in the query;
/// returns `None` where there is no such page.
pub type PageServer = dyn Fn(&str, &dyn Fn(&str) -> Option<String>) -> Option<Page> + Send + Sync;

/// Error: the address cannot be listened on.
#[derive(Debug, thiserror::Error)]
#[error(
    "`--web {address}` cannot be listened on; name an address of this machine and a free port, 0 for any"
)]
pub struct WebError {
    address: SocketAddr,
    source: io::Error,
}

/// Serves until the process ends; returns the address, with the port that was chosen.
///
/// # Errors
/// When the address cannot be listened on, or no thread can be started.
pub fn serve(
    address: SocketAddr,
    key: WebKey,
    site: Arc<PageServer>,
) -> Result<SocketAddr, WebError> {
    let failed = |source| WebError { address, source };
    let listener = channel::listen(address).map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    let n_answered = Arc::new(AtomicUsize::new(0));
    let unauthenticated = Arc::new(Unauthenticated::new(STRANGERS));
    let receive = move |accepted| {
        // A client that has gone away needs no answer.
        answer(accepted, &key, &*site, &n_answered).ok();
    };
    Acceptor::open(listener, unauthenticated, "web", receive).map_err(failed)?;
    Ok(bound)
}

/// Counts one of the connections that are being answered.
struct Answered(Arc<AtomicUsize>);

impl Answered {
    /// Counts one more; returns `None` when there are too many.
    fn one_more(n_answered: &Arc<AtomicUsize>) -> Option<Self> {
        let n_before = n_answered.fetch_add(1, Ordering::SeqCst);
        let answered = Self(Arc::clone(n_answered));
        (n_before < N_ANSWERED_MAX).then_some(answered)
    }
}

impl Drop for Answered {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

fn answer(
    accepted: AcceptedConnection,
    key: &WebKey,
    site: &PageServer,
    n_answered: &Arc<AtomicUsize>,
) -> io::Result<()> {
    let AcceptedConnection { stream, slot, .. } = accepted;
    let request = match PageRequest::read(&mut DeadlineStream::new(&stream, PATIENCE))? {
        Ok(request) => request,
        Err(PageRefusal { status, sentence }) => return refuse(&stream, status, sentence),
    };
    slot.mark_plausible();
    if !request.keys().any(|given| key.is(given)) {
        let sentence =
            "this page needs the node's key: `sintonia nodes --web` prints the whole address";
        return refuse(&stream, "401 Unauthorized", sentence);
    }
    slot.mark_authenticated();
    let Some(_answered) = Answered::one_more(n_answered) else {
        return refuse(&stream, "503 Service Unavailable", "too many connections: try again");
    };
    match site(request.path(), &|name| request.value(name).map(str::to_owned)) {
        Some(page) => write(&stream, "200 OK", page.kind, &page.text),
        None => refuse(&stream, "404 Not Found", "there are `/`, `/state.json` and `/metrics`"),
    }
}

fn refuse(stream: &TcpStream, status: &str, sentence: &str) -> io::Result<()> {
    write(stream, status, "text/plain; charset=utf-8", &format!("{sentence}\n"))
}

fn write(mut stream: &TcpStream, status: &str, kind: &str, text: &str) -> io::Result<()> {
    let n_bytes = text.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {n_bytes}\r\n{SAFE}\r\n"
    );
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(head.as_bytes())?;
    stream.write_all(text.as_bytes())?;
    stream.shutdown(Shutdown::Write)?;
    drain(stream)
}

/// Reads the rest of the input: closing the connection before would discard the answer.
fn drain(mut stream: &TcpStream) -> io::Result<()> {
    stream.set_read_timeout(Some(DRAINS_WITHIN))?;
    let mut bytes = [0; 4096];
    for _ in 0..N_DRAINED_MAX {
        if stream.read(&mut bytes)? == 0 {
            break;
        }
    }
    Ok(())
}

/// Longest head of a request, in bytes.
const HEAD_BYTES_MAX: usize = 8 << 10;

/// Request of a browser.
#[derive(Debug)]
pub struct PageRequest {
    path: String,
    query: String,
    bearer: Option<String>,
}

/// Reason why a request is refused.
#[derive(Clone, Copy, Debug)]
pub struct PageRefusal {
    /// Status line of the answer.
    pub status: &'static str,
    /// Text of the answer.
    pub sentence: &'static str,
}

impl PageRequest {
    /// Reads a head; the reader sets the time limit.
    ///
    /// # Errors
    /// When the reader fails, or ends before the end of the head.
    pub fn read(reader: &mut impl Read) -> io::Result<Result<Self, PageRefusal>> {
        let mut head = Vec::new();
        let mut bytes = [0; 2048];
        loop {
            let n_bytes = reader.read(&mut bytes)?;
            head.extend_from_slice(&bytes[..n_bytes]);
            if HEAD_BYTES_MAX < head.len() {
                let status = "431 Request Header Fields Too Large";
                return Ok(Err(PageRefusal { status, sentence: "the request is too long" }));
            }
            if let Some(n_head) = head.windows(4).position(|four| four == b"\r\n\r\n") {
                return Ok(Self::parse(&String::from_utf8_lossy(&head[..n_head])));
            }
            if n_bytes == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    fn parse(head: &str) -> Result<Self, PageRefusal> {
        let bad =
            PageRefusal { status: "400 Bad Request", sentence: "this is no request of HTTP/1.1" };
        let mut lines = head.split("\r\n");
        let words: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
        let &[method, target, version] = words.as_slice() else { return Err(bad) };
        if !version.starts_with("HTTP/1.") || !target.starts_with('/') {
            return Err(bad);
        }
        if method != "GET" {
            let sentence = "only `GET` is answered: nothing can be changed here";
            return Err(PageRefusal { status: "405 Method Not Allowed", sentence });
        }
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        Ok(Self { path: path.to_owned(), query: query.to_owned(), bearer: bearer(lines) })
    }

    /// Path, between the host and the query.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Value of a name in the query, as written.
    pub fn value(&self, name: &str) -> Option<&str> {
        let pairs = self.query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.into_iter().find(|(given, _)| *given == name).map(|(_, value)| value)
    }

    /// Keys in the request.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.value("key").into_iter().chain(self.bearer.as_deref())
    }
}

fn bearer<'a>(mut lines: impl Iterator<Item = &'a str>) -> Option<String> {
    lines.find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let is_it = name.eq_ignore_ascii_case("authorization");
        let (scheme, key) = value.trim().split_once(' ')?;
        (is_it && scheme.eq_ignore_ascii_case("bearer")).then(|| key.trim().to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start() -> (SocketAddr, String) {
        let folder = tempfile::tempdir().unwrap();
        let key = WebKey::in_folder(folder.path()).unwrap();
        let text = key.text().to_owned();
        let site = |path: &str, value: &dyn Fn(&str) -> Option<String>| {
            let text = format!("after {}", value("after").unwrap_or_default());
            (path == "/state.json").then_some(Page { kind: "application/json", text })
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
        let answer = ask(address, request.replace("KEY", &key).as_bytes());
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{answer}");
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(body.contains(text), "{answer}");
        assert!(head.contains(&format!("Content-Length: {}\r\n", body.len())), "{head}");
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
    fn what_is_no_get_is_refused() {
        check("POST /state.json?key=KEY HTTP/1.1\r\n\r\n", "405 Method Not Allowed", "GET");
        check("nonsense\r\n\r\n", "400 Bad Request", "");
        check("GET state.json HTTP/1.1\r\n\r\n", "400 Bad Request", "");
        let long = format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(10_000));
        check(&long, "431 Request Header Fields Too Large", "");
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
}
