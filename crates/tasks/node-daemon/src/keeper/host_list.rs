//! Hosts of a task that has room on several nodes, as launchers of MPI and scripts for Slurm read them.
//!
//! Open MPI and MPICH read files, which variables name. Variables of Slurm describe the nodes, but no job: its launchers are
//! not used, as they know nothing of the task.

use std::path::{Path, PathBuf};
use std::{fs, io};

use node_core::interface::RunningAttempt;

use super::protocol::StartAttempt;

/// Beginning of the names of host files in the state folder.
const FILE: &str = "hosts-";
/// Beginning of the variables of Slurm, of which a task with hosts of its own sees no others.
pub(super) const SLURM: &str = "SLURM_";

const HYDRA_LAUNCHER: &str = "HYDRA_LAUNCHER";

/// Hosts of a task with the cores that it has there, the one that starts it first.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct HostList(Vec<(String, u32)>);

/// Files of a task's hosts.
struct HostFiles {
    open_mpi: PathBuf,
    hydra: PathBuf,
}

impl HostList {
    /// Hosts of a task, if it has room on several nodes. Nodes of one host are one.
    pub(super) fn of(task: &StartAttempt) -> Option<Self> {
        let span = task.allocation.span.as_ref()?;
        let mut hosts = vec![(span.host.clone(), task.allocation.cpus)];
        for room in &span.rooms {
            match hosts.iter_mut().find(|(host, _)| *host == room.host) {
                Some((_, cpus)) => *cpus = cpus.saturating_add(room.allocation.cpus),
                None => hosts.push((room.host.clone(), room.allocation.cpus)),
            }
        }
        Some(Self(hosts))
    }

    /// Writes the files of the hosts, and returns the variables that tell the task of them.
    pub(super) fn write(
        &self,
        task: &StartAttempt,
        state: &Path,
    ) -> io::Result<Vec<(String, String)>> {
        let files = HostFiles::of(task, state);
        let lines =
            |line: fn(&(String, u32)) -> String| self.0.iter().map(line).collect::<String>();
        fs::write(&files.open_mpi, lines(|(host, cpus)| format!("{host} slots={cpus}\n")))?;
        fs::write(&files.hydra, lines(|(host, cpus)| format!("{host}:{cpus}\n")))?;
        let n_nodes = task.allocation.span.as_ref().map_or(1, |span| 1 + span.rooms.len());
        let [open_mpi, hydra] =
            [&files.open_mpi, &files.hydra].map(|path| path.display().to_string());
        let join = |one: fn(&(String, u32)) -> String| {
            self.0.iter().map(one).collect::<Vec<_>>().join(",")
        };
        let (names, cores) = (join(|(host, _)| host.clone()), join(|(_, cpus)| cpus.to_string()));
        let n_hosts = self.0.len().to_string();
        let pairs = [
            ("SINTONIA_NODES", n_nodes.to_string()),
            ("SINTONIA_HOSTS", join(|(host, cpus)| format!("{host}:{cpus}"))),
            ("SINTONIA_HOST_FILE", open_mpi.clone()),
            ("OMPI_MCA_orte_default_hostfile", open_mpi.clone()),
            ("PRTE_MCA_prte_default_hostfile", open_mpi),
            ("HYDRA_HOST_FILE", hydra),
            ("SLURM_JOB_NODELIST", names.clone()),
            ("SLURM_NODELIST", names),
            ("SLURM_JOB_NUM_NODES", n_hosts.clone()),
            ("SLURM_NNODES", n_hosts),
            ("SLURM_JOB_CPUS_PER_NODE", cores.clone()),
            ("SLURM_TASKS_PER_NODE", cores),
        ];
        // MPICH takes the variables of Slurm for a job of Slurm, whose launcher knows nothing of the task.
        let is_chosen = task.environment.iter().any(|(name, _)| name == HYDRA_LAUNCHER);
        let launcher = (!is_chosen).then(|| (HYDRA_LAUNCHER, "ssh".to_owned()));
        let pairs = pairs.into_iter().chain(launcher);
        Ok(pairs.map(|(name, value)| (name.to_owned(), value)).collect())
    }
}

impl HostFiles {
    fn of(task: &StartAttempt, state: &Path) -> Self {
        let path =
            |end: &str| state.join(format!("{FILE}{}.{}.{end}", task.name, task.attempt.instance));
        Self { open_mpi: path("openmpi"), hydra: path("hydra") }
    }
}

/// Removes the host files of a task of this name that has ended, if it had some.
pub(super) fn remove(state: &Path, name: &str, running: &RunningAttempt) {
    if running.allocation.span.is_some() {
        for end in ["openmpi", "hydra"] {
            let instance = running.attempt.instance;
            fs::remove_file(state.join(format!("{FILE}{name}.{instance}.{end}"))).ok();
        }
    }
}

/// Removes host files that an earlier keeper has left.
pub(super) fn remove_all(state: &Path) {
    for entry in fs::read_dir(state).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(FILE) {
            fs::remove_file(entry.path()).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keeper::protocol::Destination;
    use crate::keeper::testing::attempt;
    use node_core::interface::{Allocation, NodeId, NodeSpan, Room, TaskInput};

    #[test]
    fn hosts_are_told_to_each_launcher() {
        let cpus = |cpus| Allocation { cpus, ..Allocation::default() };
        let room =
            |host: &str, n| Room { node: NodeId(n), host: host.to_owned(), allocation: cpus(n) };
        let rooms = vec![room("b", 2), room("a", 4)];
        let span = Some(Box::new(NodeSpan { round: 1, host: "a".to_owned(), rooms }));
        let task = StartAttempt {
            attempt: attempt(7),
            name: "alpha.7".to_owned(),
            command: Vec::new(),
            environment: Vec::new(),
            folder: "/".to_owned(),
            input: TaskInput::default(),
            allocation: Allocation { span, ..cpus(8) },
            time_limit_ms: None,
            output: Destination::Kept(0),
            until: None,
            n_at_once: None,
        };
        let state = tempfile::tempdir().unwrap();
        let hosts = HostList::of(&task).unwrap();
        let pairs = hosts.write(&task, state.path()).unwrap();
        let value = |name: &str| {
            pairs.iter().find(|(it, _)| it == name).map(|(_, value)| value.as_str()).unwrap()
        };
        let text = |name: &str| fs::read_to_string(value(name)).unwrap();
        assert_eq!(text("OMPI_MCA_orte_default_hostfile"), "a slots=12\nb slots=2\n");
        assert_eq!(text("HYDRA_HOST_FILE"), "a:12\nb:2\n");
        assert_eq!((value("SINTONIA_NODES"), value("SINTONIA_HOSTS")), ("3", "a:12,b:2"));
        assert_eq!((value("SLURM_JOB_NODELIST"), value("SLURM_TASKS_PER_NODE")), ("a,b", "12,2"));
        let (attempt, allocation) = (task.attempt, task.allocation.clone());
        let running = RunningAttempt { attempt, started_ms: 0, allocation };
        remove(state.path(), "alpha.7", &running);
        assert_eq!(fs::read_dir(state.path()).unwrap().count(), 0);
    }
}
