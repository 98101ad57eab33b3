//! Processes of this node that belong to one MPI job.

use std::collections::BTreeMap;
use std::fs;

/// Rank of a running job on this node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningRank {
    /// Id of its process.
    pub pid: i32,
    /// Rank in the world.
    pub rank: u32,
    /// Number of ranks in the world.
    pub size: u32,
    /// Name shared by the ranks of one world on this node.
    job: String,
}

/// Ranks found for the given processes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Ranks, each once, sorted by job and rank.
    pub ranks: Vec<RunningRank>,
    /// Processes that are not ranks and have no ranks among their descendants.
    pub strangers: Vec<i32>,
}

impl Found {
    /// Returns the ranks of each job.
    pub fn jobs(&self) -> impl Iterator<Item = &[RunningRank]> {
        self.ranks.chunk_by(|a, b| a.job == b.job)
    }
}

/// Finds all ranks on this node of the jobs to which the processes belong; a launcher stands for its ranks.
pub fn ranks_of(pids: &[i32]) -> Found {
    let processes = Process::all();
    let all: Vec<RunningRank> = processes.iter().filter_map(Process::rank).collect();
    select(pids, &processes, &all)
}

fn select(pids: &[i32], processes: &[Process], all: &[RunningRank]) -> Found {
    let mut found = Found::default();
    for pid in pids {
        let below = descendants(*pid, processes);
        let named: Vec<&RunningRank> =
            all.iter().filter(|rank| rank.pid == *pid || below.contains(&rank.pid)).collect();
        if named.is_empty() {
            found.strangers.push(*pid);
        }
        let is_meant = |rank: &&RunningRank| named.iter().any(|named| named.job == rank.job);
        found.ranks.extend(all.iter().filter(is_meant).cloned());
    }
    found.ranks.sort_by(|a, b| (&a.job, a.rank, a.pid).cmp(&(&b.job, b.rank, b.pid)));
    found.ranks.dedup();
    found
}

/// Process of this node, as far as it is readable.
#[derive(Clone, Debug)]
struct Process {
    pid: i32,
    parent: i32,
    environment: BTreeMap<String, String>,
}

impl Process {
    fn all() -> Vec<Self> {
        let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        names.filter_map(|name| Self::read(name.parse().ok()?)).collect()
    }

    fn read(pid: i32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The process name before may contain blanks and parentheses.
        let parent = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()?;
        let bytes = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let pairs = text.split('\0').filter_map(|pair| pair.split_once('='));
        let environment = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        Some(Self { pid, parent, environment })
    }

    /// Returns the rank of this process by its environment. Child processes inherit the environment, but
    /// have no MPI library.
    fn rank(&self) -> Option<RunningRank> {
        let text = |names: &[&str]| names.iter().find_map(|name| self.environment.get(*name));
        let number = |names: &[&str]| text(names)?.parse().ok();
        let rank = number(&["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"])?;
        let size = number(&["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"]).unwrap_or(0);
        let job = match text(&["PMIX_NAMESPACE", "PMI_JOBID", "SLURM_STEP_ID"]) {
            Some(name) => name.clone(),
            None => format!("children of {}", self.parent),
        };
        is_mpi(self.pid).then_some(RunningRank { pid: self.pid, rank, size, job })
    }
}

/// Returns whether an MPI library is loaded in the process: a shell around a rank only has the rank's environment.
fn is_mpi(pid: i32) -> bool {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    maps.lines().any(|line| {
        let file = line.rsplit('/').next().unwrap_or_default();
        file.starts_with("libmpi") || file.starts_with("libpmpi")
    })
}

fn descendants(pid: i32, processes: &[Process]) -> Vec<i32> {
    let mut found = vec![pid];
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        next += 1;
        let children = processes.iter().filter(|process| process.parent == parent);
        let children: Vec<i32> =
            children.map(|child| child.pid).filter(|child| !found.contains(child)).collect();
        found.extend(children);
    }
    found.remove(0);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: i32, parent: i32) -> Process {
        Process { pid, parent, environment: BTreeMap::new() }
    }

    fn rank(pid: i32, rank: u32, job: &str) -> RunningRank {
        RunningRank { pid, rank, size: 3, job: job.to_owned() }
    }

    #[track_caller]
    fn check(pids: &[i32], expected: &[i32], strangers: &[i32]) {
        // mpirun 10 with ranks 11 and 12 of job a (a third is elsewhere), and mpirun 20 with rank 21 of job b.
        let processes = [process(10, 1), process(11, 10), process(12, 10), process(20, 1)];
        let processes = [&processes[..], &[process(21, 20), process(30, 1)]].concat();
        let all = [rank(12, 1, "a"), rank(11, 0, "a"), rank(21, 0, "b")];
        let found = select(pids, &processes, &all);
        assert_eq!(found.ranks.iter().map(|rank| rank.pid).collect::<Vec<_>>(), expected);
        assert_eq!(found.strangers, strangers);
    }

    #[test]
    fn a_rank_or_a_launcher_stands_for_its_job() {
        check(&[11], &[11, 12], &[]);
        check(&[10], &[11, 12], &[]);
        check(&[12, 11], &[11, 12], &[]);
        check(&[20, 10], &[11, 12, 21], &[]);
        check(&[30], &[], &[30]);
    }
}
