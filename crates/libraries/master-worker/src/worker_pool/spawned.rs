//! Workers as further MPI processes, each with its own `MPI_COMM_WORLD`.

use super::elastic::{ElasticPool, WorkerSource};
use super::growth::GrowthLimits;
use super::hosts::Hosts;
use super::{PoolChange, WorkerDemand, WorkerPool};
use crate::{Options, Workers};
use comm::{CommError, MpiTransport, RankStart, Transport};
use std::time::Duration;

/// Longest time for processes to start and connect.
const START: Duration = Duration::from_secs(30);

/// Workers that are started with [`MpiTransport::spawn_all`] and released for good, as many as the options allow.
///
/// They start between two iterations, several in parallel, and the master waits for them: two took 0.2 s with Open MPI
/// 5.0.11 and 0.4 s with MPICH 5.0.2, four 0.3 s and 0.6 s (on 2 busy cores). A worker that dies is replaced, and its
/// work dealt again, with Open MPI 5 under `mpirun --with-ft ulfm`; without that, and with MPICH, it takes the job
/// down.
///
/// Where the MPI library cannot be trusted to start processes, there are only the launched workers; those not needed
/// are parked: asleep, except that they check for messages now and then.
#[derive(Debug)]
pub struct Spawned(ElasticPool<Processes>);

#[derive(Debug)]
struct Processes {
    start: RankStart,
    hosts: Hosts,
}

impl Spawned {
    /// Starts this program again, with its own arguments.
    pub fn new(transport: &MpiTransport, options: &Options) -> Self {
        match RankStart::this_program() {
            Ok(start) => Self::of(start, transport, options),
            Err(error) => {
                let nothing = RankStart { program: "".into(), arguments: Vec::new(), host: None };
                Self::refused(nothing, transport, options, Some(error.to_string()))
            }
        }
    }

    /// Starts another program, which calls [`run`](crate::run()) or [`serve`](crate::serve) with the same `Program`.
    pub fn of(start: RankStart, transport: &MpiTransport, options: &Options) -> Self {
        let support = transport.spawn_support();
        let refusal = (!support.is_trusted).then(|| support.why.clone());
        Self::refused(start, transport, options, refusal)
    }

    fn refused(
        start: RankStart,
        transport: &MpiTransport,
        options: &Options,
        refusal: Option<String>,
    ) -> Self {
        let n_launched = transport.n_ranks().saturating_sub(1);
        let n_cores = super::n_cores();
        let found = Hosts::find(&options.pool.hosts, n_cores, |name| std::env::var(name).ok());
        let (mut hosts, wrong) = match found {
            Ok(hosts) => (hosts, None),
            Err(error) => {
                (Hosts::anywhere(n_cores), Some(format!("the nodes are not known: {error}")))
            }
        };
        let refusal = refusal.or(wrong);
        hosts.launched(n_launched);
        let limits = GrowthLimits {
            n_max: options.pool.n_max.unwrap_or(hosts.n_slots()),
            n_to_come: options.pool.n_iterations_to_come,
            start_s: usual_start_s(&transport.library_version()),
        };
        let elastic = ElasticPool::new(Processes { start, hosts }, limits, refusal);
        let is_asked = match options.pool.workers {
            Workers::All => options.pool.n_max.is_some(),
            Workers::Fixed(n_workers) => n_launched < n_workers,
            Workers::Tuned => true,
        };
        Self(if is_asked { elastic } else { elastic.without_refusal_report() })
    }
}

impl WorkerPool<MpiTransport> for Spawned {
    fn n_workers_max(&self, n_present: u32) -> u32 {
        WorkerPool::<MpiTransport>::n_workers_max(&self.0, n_present)
    }

    fn follow(
        &mut self,
        transport: &mut MpiTransport,
        demand: &WorkerDemand,
    ) -> Result<PoolChange, CommError> {
        self.0.follow(transport, demand)
    }
}

impl WorkerSource<MpiTransport> for Processes {
    fn start(
        &mut self,
        transport: &mut MpiTransport,
        n: u32,
    ) -> Result<Vec<Result<u32, CommError>>, CommError> {
        let hosts = self.hosts.reserve(n);
        let start = |host: &Option<String>| RankStart { host: host.clone(), ..self.start.clone() };
        let starts: Vec<RankStart> = hosts.iter().map(start).collect();
        let started = transport.spawn_all(&starts, START)?;
        for (rank, host) in started.iter().zip(&hosts) {
            self.hosts.settle(rank.as_ref().ok().copied(), host.as_deref());
        }
        Ok(started)
    }

    fn ended(&mut self, rank: u32) {
        self.hosts.ended(rank);
    }
}

/// Expected time to start a process with this library, in seconds, before it is measured: on one node of 2 cores with
/// Debian 12, starting 4 one after the other took 0.549 s with MPICH 5.0.2 and 0.304 s with Open MPI 5.0.11.
fn usual_start_s(version: &str) -> f64 {
    if version.contains("Open MPI") { 0.304 / 4.0 } else { 0.549 / 4.0 }
}
