//! Finds the ranks of the jobs to which the processes on the command line belong.

use crate::programs::{Programs, plain_name};
use anyhow::{Context, bail};
use inject::InjectError;
use inject::job::{Found, RunningRank, ranks_of};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// All ranks on this node of one or several jobs.
#[derive(Debug)]
pub(super) struct LocalRanks {
    found: Found,
    first: PathBuf,
}

impl LocalRanks {
    /// Finds the ranks of the jobs that these processes belong to.
    pub(super) fn find(pids: &[i32]) -> anyhow::Result<Self> {
        let found = ranks_of(pids);
        if let Some(pid) = found.strangers.first().copied() {
            return Err(stranger(pid));
        }
        let Some(rank) = found.ranks.first() else { bail!("no process is named") };
        let first = program_of(rank.pid)?;
        Ok(Self { found, first })
    }

    /// Jobs, each as its ranks in order.
    pub(super) fn jobs(&self) -> impl Iterator<Item = &[RunningRank]> {
        self.found.jobs()
    }

    /// Programs of the ranks.
    pub(super) fn programs(&self) -> Programs {
        let all = self.found.ranks.iter().filter_map(|rank| program_of(rank.pid).ok());
        let mut all: Vec<PathBuf> = all.collect();
        all.dedup();
        let library_path = self.found.ranks.first().and_then(|rank| library_path(rank.pid));
        Programs { observed: all.first().cloned(), all, library_path }
    }

    /// Name of the first rank's program, for names of files.
    pub(super) fn name(&self) -> String {
        plain_name(Some(&self.first))
    }

    /// Command line of the first rank, as words.
    pub(super) fn command(&self) -> Vec<String> {
        let pid = self.found.ranks.first().map_or(0, |rank| rank.pid);
        let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let words = bytes.split(|byte| *byte == 0).filter(|word| !word.is_empty());
        words.map(|word| String::from_utf8_lossy(word).into_owned()).collect()
    }

    /// Sentences that say which ranks are attached to, and which run on other nodes.
    pub(super) fn sentences(&self) -> Vec<String> {
        let of_job = |job: &[RunningRank]| {
            let first = job.first()?;
            let program = program_of(first.pid).unwrap_or_else(|_| self.first.clone());
            let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let here: Vec<u32> = job.iter().map(|rank| rank.rank).collect();
            let elsewhere: Vec<u32> = (0..first.size).filter(|rank| !here.contains(rank)).collect();
            Some(sentences(&name, &here, &elsewhere))
        };
        self.jobs().filter_map(of_job).flatten().collect()
    }
}

fn sentences(program: &str, here: &[u32], elsewhere: &[u32]) -> Vec<String> {
    let mut sentences = vec![format!("attaching to {} of `{program}`", in_words(here))];
    if !elsewhere.is_empty() {
        let (ranks, are) = (in_words(elsewhere), if elsewhere.len() == 1 { "is" } else { "are" });
        sentences.push(format!(
            "{ranks} of `{program}` {are} on other nodes and not watched: run `sintonia attach` there, too, or start \
             the program with `sintonia run`, which watches all nodes"
        ));
    }
    sentences
}

/// Ranks in words: `rank 3`, `ranks 0-3 and 7`.
fn in_words(ranks: &[u32]) -> String {
    let in_words = |span: &[u32]| match span {
        [first, .., last] => format!("{first}-{last}"),
        _ => span.iter().map(u32::to_string).collect(),
    };
    let spans: Vec<String> = ranks.chunk_by(|a, b| a + 1 == *b).map(in_words).collect();
    let noun = if ranks.len() == 1 { "rank" } else { "ranks" };
    match spans.split_last() {
        Some((last, before)) if !before.is_empty() => {
            format!("{noun} {} and {last}", before.join(", "))
        }
        _ => format!("{noun} {}", spans.concat()),
    }
}

fn stranger(pid: i32) -> anyhow::Error {
    if !PathBuf::from(format!("/proc/{pid}")).exists() {
        return InjectError::NoProcess(pid).into();
    }
    if let Some(error) = inject::forbidden(pid) {
        return error.into();
    }
    anyhow::anyhow!(
        "process {pid} is not a rank of a running MPI program, and has none below it; name the launcher (`pgrep \
         mpirun`) or a rank"
    )
}

/// `LD_LIBRARY_PATH` with which a process was started.
fn library_path(pid: i32) -> Option<OsString> {
    let variables = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let mut variables = variables.split(|byte| *byte == 0);
    let value = variables.find_map(|variable| variable.strip_prefix(b"LD_LIBRARY_PATH="))?;
    Some(OsStr::from_bytes(value).to_owned())
}

fn program_of(pid: i32) -> anyhow::Result<PathBuf> {
    fs::read_link(format!("/proc/{pid}/exe"))
        .with_context(|| format!("the program of process {pid} is not known"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(here: &[u32], elsewhere: &[u32], expected: &[&str]) {
        let said = sentences("xfire", here, elsewhere);
        assert_eq!(said.len(), expected.len(), "{said:?}");
        for (sentence, start) in said.iter().zip(expected) {
            assert!(sentence.starts_with(start), "{said:?}");
        }
    }

    #[test]
    fn what_is_attached_to_is_said_and_what_is_elsewhere() {
        check(&[0, 1, 2, 3], &[], &["attaching to ranks 0-3 of `xfire`"]);
        check(&[5], &[], &["attaching to rank 5 of `xfire`"]);
        check(
            &[0, 1, 4, 6],
            &[2, 3],
            &["attaching to ranks 0-1, 4 and 6 of `xfire`", "ranks 2-3 of `xfire` are on other"],
        );
        check(&[0], &[1], &["attaching to rank 0", "rank 1 of `xfire` is on other nodes"]);
    }

    #[test]
    fn a_process_that_is_no_rank_is_told_so() {
        let own = LocalRanks::find(&[std::process::id().cast_signed()]).unwrap_err().to_string();
        assert!(own.contains("not a rank"), "{own}");
        let none = LocalRanks::find(&[i32::MAX]).unwrap_err().to_string();
        assert!(none.contains("no process 2147483647"), "{none}");
    }
}
