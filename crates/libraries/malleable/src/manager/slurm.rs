//! Nodes lent by Slurm: a *companion job* per node, submitted to grow and ended to shrink.
//!
//! Slurm can only shrink a running job; a separate job per additional node works in every version, without a database.
//! Reasons, and how ranks get there: `docs/decisions/0015-companion-jobs.md`.
//!
//! # Invariants
//! - A companion lives as long as it has ranks, or until the program's own job ends, which it checks itself.
//! - Slurm may be away for a while: ending jobs is retried.

mod commands;
mod limits;
mod queue;
mod thread;

use super::hosts::is_same;
use super::{
    GrantedHost, Host, Hosts, Lease, Manager, PlaceRequest, Reply, StartMethod, Ticket, Tickets,
};
use limits::{KnownLimits, Lent};
use queue::RealQueue;
use resize_plan::Placement;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use thread::{SlurmHandle, SlurmOrder};

/// Launcher that starts ranks on nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Launcher {
    /// `mpirun` of Open MPI: its processes connect to it over TCP, wherever they are started.
    OpenMpi,
    /// `mpiexec` of MPICH: it starts a process of its own on each node, with a command that also reaches companions.
    Mpich,
}

/// Error from requesting nodes of Slurm.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SlurmError {
    /// A variable of the environment is not set, or has another value than it needs.
    #[error("`{variable}` is not {remedy}")]
    Environment {
        /// Name of the variable.
        variable: &'static str,
        /// Value that it needs, with the reason and the remedy.
        remedy: String,
    },
    /// The list of the job's nodes is malformed.
    #[error("`SLURM_JOB_NODELIST` is not understood")]
    Nodes(#[from] host_list::NodeListError),
}

/// Slurm job in which a program runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlurmJob {
    /// Id of the job.
    pub job: u64,
    /// Nodes in Slurm's syntax, such as `n[1-3]`.
    pub nodes: String,
    /// Number of ranks per node.
    pub slots_per_node: u32,
}

/// Variables that make Open MPI's launcher listen on other networks.
const LISTENING: [&str; 2] = ["PMIX_MCA_ptl_tcp_if_include", "PMIX_MCA_ptl_tcp_if_exclude"];

/// Name of the command with which MPICH's launcher reaches nodes.
const AGENT: &str = "sintonia-on-node";

impl SlurmJob {
    /// Reads the job from its environment, given as a function from names to values.
    ///
    /// # Errors
    /// [`SlurmError`] if there is no job, or the launcher was not prepared for additional nodes.
    pub fn of(
        variable: impl Fn(&str) -> Option<String>,
        launcher: Launcher,
    ) -> Result<Self, SlurmError> {
        // An empty variable counts as unset.
        let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
        let wrong = |variable, remedy| SlurmError::Environment { variable, remedy };
        let unset =
            |variable| wrong(variable, "set; start the program in a job of Slurm".to_owned());
        let job = variable("SLURM_JOB_ID").and_then(|value| value.parse().ok());
        let job = job.ok_or(unset("SLURM_JOB_ID"))?;
        let nodes = variable("SLURM_JOB_NODELIST").ok_or(unset("SLURM_JOB_NODELIST"))?;
        let slots_per_node = slots_per_node(variable).unwrap_or(1);
        let (name, expected) = match launcher {
            Launcher::OpenMpi => ("PMIX_MCA_gds", "hash"),
            Launcher::Mpich => ("HYDRA_LAUNCHER_EXEC", AGENT),
        };
        if !variable(name).is_some_and(|value| value.ends_with(expected)) {
            let remedy = format!(
                "`{expected}`, and without it no rank gets to another job's node; start the program by `sintonia malleable -- mpiexec ...`"
            );
            return Err(wrong(name, remedy));
        }
        if launcher == Launcher::OpenMpi && LISTENING.iter().all(|name| variable(name).is_none()) {
            let name = LISTENING[0];
            let remedy = format!(
                "set, and without it Open MPI's launcher does not hear ranks on another job's node; set it to the network of the nodes, as in `{name}=10.1.0.0/16`, before `sintonia malleable -- mpiexec ...`"
            );
            return Err(wrong(name, remedy));
        }
        Ok(Self { job, nodes, slots_per_node })
    }
}

/// Number of ranks per node of a Slurm job: the requested tasks per node, else the cores.
pub fn slots_per_node(variable: impl Fn(&str) -> Option<String>) -> Option<u32> {
    let number = |name: &str| variable(name)?.parse().ok().filter(|number: &u32| 0 < *number);
    number("SLURM_NTASKS_PER_NODE").or_else(|| number("SLURM_CPUS_ON_NODE"))
}

/// Manager for the nodes of the job itself and of its companions.
#[derive(Debug)]
pub struct Slurm {
    job: SlurmJob,
    launcher: Launcher,
    hosts: Hosts,
    /// Node and job of each companion that has ranks.
    lent: Vec<Lent>,
    limits: KnownLimits,
    /// Number of ranks on hosts that are not known yet.
    elsewhere: BTreeMap<String, u32>,
    requests: BTreeMap<Ticket, Asked>,
    tickets: Tickets,
    patience: Duration,
    thread: SlurmHandle,
}

/// State of a request.
#[derive(Debug)]
enum Asked {
    /// Waiting until the thread has nodes for this request.
    Borrowing(PlaceRequest),
    /// Granted or refused.
    Answered(Reply),
}

impl Slurm {
    /// Creates the manager for a job. `present` are the hosts of the present ranks; a request that gets no nodes within
    /// `patience` is refused.
    ///
    /// # Errors
    /// [`SlurmError::Nodes`] if the list of nodes is malformed.
    pub fn new(
        job: SlurmJob,
        launcher: Launcher,
        (placement, present): (Placement, &[String]),
        patience: Duration,
    ) -> Result<Self, SlurmError> {
        let mut hosts = Hosts::new(placement);
        for name in host_list::expand(&job.nodes)? {
            hosts.add(Host {
                name,
                n_slots: job.slots_per_node,
                n_busy: 0,
                start_method: StartMethod::Named,
            });
        }
        let mut elsewhere = BTreeMap::<String, u32>::new();
        for name in present {
            if !hosts.occupy(name) {
                *elsewhere.entry(name.clone()).or_default() += 1;
            }
        }
        let queue = RealQueue { job: job.job, slots_per_node: job.slots_per_node };
        let thread = SlurmHandle::start(queue, elsewhere.keys().cloned().collect());
        Ok(Self {
            job,
            launcher,
            hosts,
            lent: Vec::new(),
            limits: KnownLimits::default(),
            elsewhere,
            requests: BTreeMap::new(),
            tickets: Tickets::default(),
            patience,
            thread,
        })
    }

    /// Takes over the companions of an earlier rank 0.
    fn adopt(&mut self) {
        for lent in self.thread.adopted() {
            let known = self.elsewhere.iter().find(|(name, _)| is_same(name, &lent.node));
            let n_busy = known.map_or(0, |(_, n_ranks)| *n_ranks);
            self.add(lent, n_busy);
        }
    }

    fn add(&mut self, lent: Lent, n_busy: u32) {
        let Lent { job, node, .. } = &lent;
        let start_method = match self.launcher {
            Launcher::OpenMpi => StartMethod::Through(commands::step(*job, node, &self.job)),
            Launcher::Mpich => StartMethod::Named,
        };
        let n_slots = self.job.slots_per_node;
        self.hosts.add(Host { name: node.clone(), n_slots, n_busy, start_method });
        self.lent.push(lent);
    }

    /// Adds new nodes, and serves the request from them.
    fn serve(&mut self, request: &PlaceRequest, lent: Vec<Lent>) -> Vec<GrantedHost> {
        lent.into_iter().for_each(|lent| self.add(lent, 0));
        self.hosts.take(request).unwrap_or_default()
    }

    /// Ends companions without ranks.
    fn return_unused(&mut self) {
        let hosts = &mut self.hosts;
        let is_unused =
            |lent: &Lent| hosts.all().iter().any(|host| host.name == lent.node && host.n_busy == 0);
        let (unused, kept) = self.lent.drain(..).partition::<Vec<_>, _>(is_unused);
        self.lent = kept;
        unused.iter().for_each(|lent| hosts.remove(&lent.node));
        if !unused.is_empty() {
            self.thread.order(SlurmOrder::Return(unused.iter().map(|lent| lent.job).collect()));
        }
    }
}

impl Manager for Slurm {
    fn request(&mut self, request: &PlaceRequest) -> Ticket {
        self.adopt();
        let ticket = self.tickets.next();
        let asked = if let Some(places) = self.hosts.take(request) {
            Asked::Answered(Reply::Granted(places))
        } else {
            let n_missing = request.n_ranks.saturating_sub(self.hosts.n_free(request));
            let n_nodes = n_missing.div_ceil(self.job.slots_per_node);
            let until = Instant::now() + self.patience;
            let hosts = request.hosts.clone();
            self.thread.order(SlurmOrder::Borrow { ticket, n_nodes, hosts, until });
            Asked::Borrowing(request.clone())
        };
        self.requests.insert(ticket, asked);
        ticket
    }

    fn poll(&mut self, ticket: Ticket) -> Reply {
        let Some(asked) = self.requests.remove(&ticket) else {
            return Reply::Refused("the request was withdrawn".to_owned());
        };
        let reply = match asked {
            Asked::Answered(reply) => reply,
            Asked::Borrowing(request) => match self.thread.answer(ticket) {
                Ok(Some(lent)) => Reply::Granted(self.serve(&request, lent)),
                Err(why) => Reply::Refused(why),
                Ok(None) => {
                    self.requests.insert(ticket, Asked::Borrowing(request));
                    return Reply::Pending(self.thread.waiting());
                }
            },
        };
        self.requests.insert(ticket, Asked::Answered(reply.clone()));
        reply
    }

    fn withdraw(&mut self, ticket: Ticket) {
        match self.requests.remove(&ticket) {
            Some(Asked::Borrowing(_)) => self.thread.order(SlurmOrder::Forget(ticket)),
            Some(Asked::Answered(Reply::Granted(places))) => {
                places.iter().for_each(|place| self.hosts.free(&place.host, place.n_ranks));
                self.return_unused();
            }
            Some(Asked::Answered(_)) | None => {}
        }
    }

    fn give_back(&mut self, host: &str, n_ranks: u32) {
        self.adopt();
        if let Some((_, n_there)) = self.elsewhere.iter_mut().find(|(name, _)| is_same(name, host))
        {
            *n_there = n_there.saturating_sub(n_ranks);
        }
        self.hosts.free(host, n_ranks);
        self.return_unused();
    }

    fn leases(&mut self, margin: Duration) -> Vec<Lease> {
        self.adopt();
        let now = Instant::now();
        let by = now + margin;
        if let Some(limits) = self.thread.limits() {
            self.limits.hear(&limits, &mut self.lent, by);
        }
        if self.limits.take_question(&self.lent, by) {
            self.thread.order(SlurmOrder::AskLimits);
        }
        let lease = |lent: &Lent| {
            let ends_in = self.limits.ends_in(lent, now);
            Lease { host: lent.node.clone(), ends_in }
        };
        self.lent.iter().map(lease).collect()
    }

    fn companions(&self) -> Vec<u64> {
        self.lent.iter().map(|lent| lent.job).collect()
    }
}

impl Drop for Slurm {
    /// Ends unused companions: the program ends, or another rank becomes rank 0 and adopts those with ranks.
    fn drop(&mut self) {
        let jobs = self.companions();
        if !jobs.is_empty() {
            commands::cancel_unused(&jobs);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(variables: &[(&str, &str)], launcher: Launcher, expected: Result<u32, &str>) {
        let value = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let job = SlurmJob::of(value, launcher);
        match (job, expected) {
            (Ok(job), Ok(slots)) => assert_eq!(job.slots_per_node, slots),
            (Err(error), Err(words)) => assert!(error.to_string().contains(words), "{error}"),
            (found, expected) => panic!("{found:?} and not {expected:?}"),
        }
    }

    #[test]
    fn the_environment_says_which_job_it_is() {
        let job = [
            ("SLURM_JOB_ID", "7"),
            ("SLURM_JOB_NODELIST", "n1"),
            ("PMIX_MCA_gds", "hash"),
            ("PMIX_MCA_ptl_tcp_if_include", "10.1.0.0/16"),
        ];
        let and = |more: &[(&'static str, &'static str)]| [&job, more].concat();
        check(&and(&[("SLURM_CPUS_ON_NODE", "8")]), Launcher::OpenMpi, Ok(8));
        let both = [("SLURM_CPUS_ON_NODE", "8"), ("SLURM_NTASKS_PER_NODE", "2")];
        check(&and(&both), Launcher::OpenMpi, Ok(2));
        check(&and(&[]), Launcher::Mpich, Err("`HYDRA_LAUNCHER_EXEC` is not"));
        let agent = [("HYDRA_LAUNCHER_EXEC", "/home/me/.sintonia/sintonia-on-node")];
        check(&and(&agent), Launcher::Mpich, Ok(1));
        check(&job[..2], Launcher::OpenMpi, Err("`PMIX_MCA_gds` is not"));
        // Regression: without a network, started ranks waited for a launcher that did not listen.
        let deaf = "`PMIX_MCA_ptl_tcp_if_include` is not set";
        check(&job[..3], Launcher::OpenMpi, Err(deaf));
        check(&[], Launcher::OpenMpi, Err("`SLURM_JOB_ID` is not set"));
        // Regression: an empty variable counted as one node without a name, and as a network to listen on.
        let empty = [job[0], ("SLURM_JOB_NODELIST", "")];
        check(&empty, Launcher::OpenMpi, Err("`SLURM_JOB_NODELIST` is not set"));
        let empty = [&job[..3], &[("PMIX_MCA_ptl_tcp_if_include", "")]].concat();
        check(&empty, Launcher::OpenMpi, Err(deaf));
    }
}
