//! Parses files of hosts, a line to each; `#` begins a comment.

use crate::error::HostFileError;
use crate::{NamedNode, hosts};
use core::net::Ipv6Addr;

/// Error: a line is no address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the peers, `{text}`, is no address: write `host` or `host:port`")]
pub struct PeerProblem {
    /// Number of the line, from 1.
    pub line: usize,
    /// Text of the line.
    pub text: String,
}

/// Parses a host file as launchers read it: lines `NAME slots=N` for Open MPI, `NAME:N` for MPICH; a name may be a list.
///
/// # Errors
/// If a line is not in this form, or there is none.
pub fn host_file(text: &str) -> Result<Vec<NamedNode>, HostFileError> {
    let mut all = Vec::new();
    for (line, text) in lines(text) {
        let mut words = text.split_whitespace();
        let names = words.next().unwrap_or_default();
        let mut named = hosts(names).map_err(|source| HostFileError::Names { line, source })?;
        for word in words {
            let wrong = || HostFileError::Word { line, word: word.to_owned() };
            match word.split_once('=') {
                Some(("slots", n)) => {
                    let n_places = Some(n.parse().map_err(|_| wrong())?);
                    named.iter_mut().for_each(|host| host.n_places = n_places);
                }
                Some(("max_slots" | "max-slots", _)) => {}
                _ => return Err(wrong()),
            }
        }
        all.extend(named);
    }
    if all.is_empty() { Err(HostFileError::Empty) } else { Ok(all) }
}

/// Parses a file of addresses, `host` or `host:port`; returns them once each, with `port` where a line names none, and
/// the lines that are no address.
#[must_use]
pub fn peers(text: &str, port: u16) -> (Vec<String>, Vec<PeerProblem>) {
    let (mut addresses, mut problems) = (Vec::new(), Vec::new());
    for (line, text) in lines(text) {
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
    if text.parse::<Ipv6Addr>().is_ok() {
        return Some(format!("[{text}]:{port}"));
    }
    let (host, port) = match text.rsplit_once(':') {
        Some((host, digits)) if !text.ends_with(']') => (host, digits.parse().ok()?),
        _ => (text, port),
    };
    let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let is_host = match inner {
        Some(inner) => inner.parse::<Ipv6Addr>().is_ok(),
        None => {
            let fine = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
            !host.is_empty() && host.bytes().all(fine)
        }
    };
    (is_host && 0 < port).then(|| format!("{host}:{port}"))
}

/// Lines that say something, and their numbers from 1.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    (1..).zip(lines).filter(|(_, line)| !line.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_hosts(text: &str, expected: &[(&str, Option<u32>)]) {
        let found = host_file(text).unwrap();
        let found = found.iter().map(|host| (host.name.as_str(), host.n_places));
        assert_eq!(found.collect::<Vec<_>>(), expected);
    }

    #[track_caller]
    fn wrong(text: &str, expected: &str) {
        let said = host_file(text).unwrap_err().to_string();
        assert!(said.contains(expected), "{said}");
    }

    #[test]
    fn files_of_both_launchers_are_read() {
        let (two, three) = (Some(2), Some(3));
        check_hosts("n1 slots=2\nn2 slots=3 max_slots=4 # new\n", &[("n1", two), ("n2", three)]);
        check_hosts("n1:2\n\nn2\n# n3\n", &[("n1", two), ("n2", None)]);
        check_hosts("n[1-2] slots=3\nn1:2", &[("n1", three), ("n2", three), ("n1", two)]);
        wrong("n[1-", "line 1 of the host file is wrong: the brackets of");
        wrong("n1 slots=many", "line 1 of the host file has `slots=many`");
        wrong("n1\nn2 four", "line 2 of the host file has `four`");
        wrong("# nobody\n", "names no host");
    }

    #[track_caller]
    fn check(text: &str, addresses: &[&str], problems: &[usize]) {
        let (found, bad) = peers(text, 9);
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
}
