//! Target: requests that a browser, or anyone, sends to the server of a node's pages.

use node_daemon::web::PageRequest;
use std::io::{Cursor, Read};

/// Reads the bytes as a head, whole and in small pieces; the result must be the same.
pub(crate) fn run(bytes: &[u8]) {
    let whole = read(&mut Cursor::new(bytes));
    let pieces = read(&mut Slow(bytes));
    // A head that is too long is refused as soon as possible, which may be before its end is seen.
    if bytes.len() < 4096 {
        assert_eq!(whole, pieces, "a head is understood in another way when it comes in pieces");
    }
}

fn read(reader: &mut impl Read) -> Option<Result<Vec<String>, &'static str>> {
    let request = PageRequest::read(reader).ok()?;
    Some(request.map_err(|failure| failure.status).map(|request| {
        assert!(request.path().starts_with('/'), "a path is absolute");
        let values = ["key", "after"].map(|name| request.value(name).unwrap_or_default());
        let words = request.keys().chain(values).chain([request.path()]);
        words.map(str::to_owned).collect()
    }))
}

/// Reader that gives three bytes at a time.
struct Slow<'a>(&'a [u8]);

impl Read for Slow<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n_bytes = self.0.len().min(3).min(buffer.len());
        let (piece, rest) = self.0.split_at(n_bytes);
        buffer[..n_bytes].copy_from_slice(piece);
        self.0 = rest;
        Ok(n_bytes)
    }
}
