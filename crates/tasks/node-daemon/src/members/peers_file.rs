//! Reads a file of peers: one address per line, `host` or `host:port`; `#` begins a comment.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// Error: a line is no address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the peers, `{text}`, is no address: write `host` or `host:port`")]
pub struct PeerProblem {
    /// Number of the line, from 1.
    pub line: usize,
    /// Text of the line.
    pub text: String,
}

/// Error: the file of peers cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read the peers `{}`; write an address to a line, `host` or `host:port`", path.display())]
pub struct PeersFileError {
    /// Path of the file.
    pub path: PathBuf,
    /// Error of the system.
    pub source: io::Error,
}

/// Returns the addresses in a file, with `port` where a line names none, and the lines that are no address.
///
/// # Errors
/// When the file cannot be read.
pub fn read_peers(
    path: &Path,
    port: u16,
) -> Result<(Vec<String>, Vec<PeerProblem>), PeersFileError> {
    let text = fs::read_to_string(path)
        .map_err(|source| PeersFileError { path: path.to_owned(), source })?;
    Ok(parse(&text, port))
}

fn parse(text: &str, port: u16) -> (Vec<String>, Vec<PeerProblem>) {
    let (mut addresses, mut problems) = (Vec::new(), Vec::new());
    for (line, text) in (1..).zip(text.lines()) {
        let text = text.split('#').next().unwrap_or("").trim();
        if text.is_empty() {
            continue;
        }
        match peer_address(text, port) {
            Some(address) if addresses.contains(&address) => {}
            Some(address) => addresses.push(address),
            None => problems.push(PeerProblem { line, text: text.to_owned() }),
        }
    }
    (addresses, problems)
}

/// Returns the address to dial for `host` or `host:port`, with `port` where none is named; `None` where the text is
/// no address. An IPv6 address is in brackets where a port follows.
#[must_use]
pub fn peer_address(text: &str, port: u16) -> Option<String> {
    if text.parse::<std::net::Ipv6Addr>().is_ok() {
        return Some(format!("[{text}]:{port}"));
    }
    let (host, port) = match text.rsplit_once(':') {
        Some((host, digits)) if !text.ends_with(']') => (host, digits.parse().ok()?),
        _ => (text, port),
    };
    let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let is_host = match inner {
        Some(inner) => inner.parse::<std::net::Ipv6Addr>().is_ok(),
        None => {
            let fine = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
            !host.is_empty() && host.bytes().all(fine)
        }
    };
    (is_host && 0 < port).then(|| format!("{host}:{port}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, addresses: &[&str], problems: &[usize]) {
        let (found, bad) = parse(text, 9);
        assert_eq!(found, addresses, "{text}");
        assert_eq!(bad.iter().map(|problem| problem.line).collect::<Vec<_>>(), problems, "{text}");
    }

    #[test]
    fn a_line_is_an_address_or_a_problem() {
        check("", &[], &[]);
        check(
            "# all of them\n\nn1\nn2:8 # the second\n  n3.cluster.org\n",
            &["n1:9", "n2:8", "n3.cluster.org:9"],
            &[],
        );
        check("n1\nn1:9\nn1:8", &["n1:9", "n1:8"], &[]);
        check("10.0.0.1:7", &["10.0.0.1:7"], &[]);
        check(
            "fe80::1\n[fe80::2]\n[fe80::3]:7",
            &["[fe80::1]:9", "[fe80::2]:9", "[fe80::3]:7"],
            &[],
        );
        check(
            "n1\nn2:\nn3:0\nn4:x\nn5:65536\nn 6\n:7\n[x]:7\nn8",
            &["n1:9", "n8:9"],
            &[2, 3, 4, 5, 6, 7, 8],
        );
    }

    #[test]
    fn a_file_that_is_missing_is_named() {
        let error = read_peers(Path::new("/no/peers"), 1).unwrap_err().to_string();
        assert!(error.starts_with("cannot read the peers `/no/peers`"), "{error}");
    }
}
