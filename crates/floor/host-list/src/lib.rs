//! Parses lists of nodes and of places on them, as Slurm and command lines write them: `rack[1-2]n[01-03],gpu1:4`.
//!
//! | function | reads | used for |
//! |---|---|---|
//! | [`expand`] | names | `SLURM_JOB_NODELIST` |
//! | [`hosts`] | names, each with an optional number of places | `--hosts` |
//! | [`host_file`] | a line `NAME slots=N` or `NAME:N` for each host | host files of both launchers |
//! | [`peers`] | a line `host` or `host:port` for each node | files of daemons to join |
//! | [`counts`] | a number for each node | `SLURM_JOB_CPUS_PER_NODE` |
//!
//! A name has any number of brackets, which hold numbers and ranges; the numbers of a range have as many
//! digits as its first. The last bracket changes fastest. Slurm has no nested brackets, and they are refused.
//!
//! # Invariants
//! - A list is understood completely or is an error; it is never read in part.
//! - However short a list is, the size of its result is bounded.

mod error;
mod file;
mod names;

pub use error::{HostFileError, NodeListError};
pub use file::{PeerProblem, host_file, peer_address, peers};
pub use names::{expand, words};

use error::Mistake;

/// Most nodes of one list.
pub const N_NODES_MAX: usize = 65_536;
/// Most bytes of one name: the limit of the domain name system.
pub const NAME_BYTES_MAX: usize = 255;

/// Node with an optional number of places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedNode {
    /// Name of the node.
    pub name: String,
    /// Number of places on it, where one was given; never 0.
    pub n_places: Option<u32>,
}

/// Parses `a,n[1-2]:4` into its nodes, in order, each with the number behind its colon.
///
/// # Errors
/// If the list is not in this form.
pub fn hosts(list: &str) -> Result<Vec<NamedNode>, NodeListError> {
    let mut all = Vec::new();
    for word in words(list)? {
        let (names, n_places) = counted(list, word)?;
        for name in names::of_word(list, names, N_NODES_MAX - all.len())? {
            all.push(NamedNode { name, n_places });
        }
    }
    Ok(all)
}

/// Splits off the number of places. IPv6 addresses have several colons, and no number.
fn counted<'a>(list: &str, word: &'a str) -> Result<(&'a str, Option<u32>), NodeListError> {
    let colon = word.rsplit_once(':').filter(|(name, _)| !name.contains(':'));
    let Some((name, count)) = colon else { return Ok((word, None)) };
    let wrong = || Mistake::Count(word).in_list(list);
    let n_places = names::number::<u32>(count).filter(|n| *n != 0).ok_or_else(wrong)?;
    if name.is_empty() { Err(wrong()) } else { Ok((name, Some(n_places))) }
}

/// Parses counts: `4(x2),2` is 4, 4 and 2.
///
/// # Errors
/// If the list is not in this form.
pub fn counts(list: &str) -> Result<Vec<u32>, NodeListError> {
    let mut counts = Vec::new();
    for word in list.split(',').map(str::trim) {
        let wrong = || Mistake::Count(word).in_list(list);
        let (count, times) = match word.split_once("(x") {
            Some((count, times)) => (count, times.strip_suffix(')').ok_or_else(wrong)?),
            None => (word, "1"),
        };
        let (count, times) = (names::number::<u32>(count), names::number::<u32>(times));
        let (count, times) = count.zip(times).filter(|(_, n)| *n != 0).ok_or_else(wrong)?;
        let times = usize::try_from(times).unwrap_or(usize::MAX);
        if N_NODES_MAX - counts.len() < times {
            return Err(Mistake::TooMany.in_list(list));
        }
        counts.extend(std::iter::repeat_n(count, times));
    }
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_hosts(list: &str, expected: &[(&str, Option<u32>)]) {
        let found = hosts(list).unwrap();
        let found = found.iter().map(|host| (host.name.as_str(), host.n_places));
        assert_eq!(found.collect::<Vec<_>>(), expected, "{list}");
    }

    /// Commas in brackets were taken for the end of a name.
    #[test]
    fn hosts_have_places() {
        check_hosts("a,b:4", &[("a", None), ("b", Some(4))]);
        let eight = Some(8);
        check_hosts("n[1,3]:8, m", &[("n1", eight), ("n3", eight), ("m", None)]);
        check_hosts(
            "r[1-2]n[1-2]:8",
            &[("r1n1", eight), ("r1n2", eight), ("r2n1", eight), ("r2n2", eight)],
        );
        check_hosts("fe80::1", &[("fe80::1", None)]);
    }

    #[track_caller]
    fn wrong<T: std::fmt::Debug>(found: Result<T, NodeListError>, expected: &str) {
        let said = found.unwrap_err().to_string();
        assert!(said.contains(expected), "{said}");
    }

    #[test]
    fn a_number_of_places_is_a_number() {
        wrong(hosts("a:0"), "`a:0` in the node list `a:0` has no number of places");
        wrong(hosts("a:x"), "`a:x`");
        wrong(hosts(":4"), "`:4`");
        wrong(hosts("a:"), "`a:`");
        wrong(hosts("a:99999999999"), "`a:99999999999`");
        wrong(hosts("a[1-65536],b"), "more than 65536");
    }

    #[test]
    fn each_node_has_a_count() {
        assert_eq!(counts("4(x2),2"), Ok(vec![4, 4, 2]));
        assert_eq!(counts("8"), Ok(vec![8]));
        wrong(counts("4(x2"), "`4(x2`");
        wrong(counts("4(x0)"), "`4(x0)`");
        wrong(counts(""), "has no number");
        wrong(counts("4(x4294967295)"), "more than 65536");
    }
}
