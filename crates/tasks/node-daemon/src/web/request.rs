//! Parses a browser's request: the first line and the header with a key; the rest is ignored.

use std::io::{self, Read};

/// Longest head of a request, in bytes.
const HEAD_BYTES_MAX: usize = 8 << 10;

/// Request of a browser.
#[derive(Debug)]
pub struct Request {
    path: String,
    query: String,
    bearer: Option<String>,
}

/// Reason why a request is refused.
#[derive(Clone, Copy, Debug)]
pub struct Failure {
    /// Status line of the answer.
    pub status: &'static str,
    /// Text of the answer.
    pub sentence: &'static str,
}

impl Request {
    /// Reads a head; the reader sets the time limit.
    ///
    /// # Errors
    /// When the reader fails, or ends before the end of the head.
    pub fn read(reader: &mut impl Read) -> io::Result<Result<Self, Failure>> {
        let mut head = Vec::new();
        let mut bytes = [0; 2048];
        loop {
            let n_bytes = reader.read(&mut bytes)?;
            head.extend_from_slice(&bytes[..n_bytes]);
            if HEAD_BYTES_MAX < head.len() {
                let status = "431 Request Header Fields Too Large";
                return Ok(Err(Failure { status, sentence: "the request is too long" }));
            }
            if let Some(n_head) = head.windows(4).position(|four| four == b"\r\n\r\n") {
                return Ok(Self::parse(&String::from_utf8_lossy(&head[..n_head])));
            }
            if n_bytes == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    fn parse(head: &str) -> Result<Self, Failure> {
        let bad = Failure { status: "400 Bad Request", sentence: "this is no request of HTTP/1.1" };
        let mut lines = head.split("\r\n");
        let words: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
        let &[method, target, version] = words.as_slice() else { return Err(bad) };
        if !version.starts_with("HTTP/1.") || !target.starts_with('/') {
            return Err(bad);
        }
        if method != "GET" {
            let sentence = "only `GET` is answered: nothing can be changed here";
            return Err(Failure { status: "405 Method Not Allowed", sentence });
        }
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        Ok(Self { path: path.to_owned(), query: query.to_owned(), bearer: bearer(lines) })
    }

    /// Path, between the host and the query.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Value of a name in the query, as written.
    #[must_use]
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
