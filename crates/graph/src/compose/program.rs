//! What the ranks of a program do, in the order in which they do it.
//!
//! # Invariants
//! - Every peer and root is a rank of the program; every wait has its start before it.

use std::collections::{HashMap, VecDeque};
use thiserror::Error;

/// The steps of all ranks, in phases that one rank after the other goes through.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// Names of the regions that steps belong to.
    pub(super) regions: Vec<String>,
    pub(super) n_ranks: usize,
    pub(super) n_channels: usize,
    pub(super) phases: Vec<Phase>,
}

/// Steps that all ranks repeat equally often. Phases are no barriers: each rank goes on by itself.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Phase {
    pub(super) n_times: u64,
    /// By rank.
    pub(super) steps: Vec<Vec<Step>>,
}

/// One thing that a rank does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Step {
    pub(super) place: Place,
    pub(super) act: Act,
}

/// An [`Operation`] with its channel and request looked up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Act {
    Compute { seconds: f64 },
    Send { channel: u32, to: u32, bytes: u64, mode: SendMode, request: Option<u32> },
    Receive { channel: u32, from: u32, request: Option<u32> },
    Wait { request: u32 },
    Collective(Collective),
}

/// Where a step stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The region that its time counts for; see [`ProgramBuilder::region`].
    pub region: u32,
    /// A number that tells call sites apart, such as a line.
    pub site: u32,
}

/// What a rank can do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Operation {
    /// It computes.
    Compute {
        /// On a machine of speed 1.
        seconds: f64,
    },
    /// It sends; with a request it goes on and waits later.
    Send {
        /// The receiver.
        to: u32,
        /// The tag; a receive takes only messages of its own.
        tag: u32,
        /// The length.
        bytes: u64,
        /// How.
        mode: SendMode,
        /// Any number that a later wait names; of several with the same, the first is waited for first.
        request: Option<u64>,
    },
    /// It receives; with a request it goes on and waits later.
    Receive {
        /// The sender.
        from: u32,
        /// The tag.
        tag: u32,
        /// Any number that a later wait names.
        request: Option<u64>,
    },
    /// It waits for what it started.
    Wait {
        /// The number of the start.
        request: u64,
    },
    /// All ranks do this together.
    Collective(Collective),
}

/// When a send lets its rank go on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SendMode {
    /// By length: `MPI_Send`.
    #[default]
    Standard,
    /// When the receive has begun: `MPI_Ssend`.
    Synchronous,
    /// At once: `MPI_Bsend`, `MPI_Rsend`.
    Buffered,
}

/// A part of a rank in a collective operation of the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collective {
    /// Which.
    pub kind: Kind,
    /// The rank that has or gets all; 0 where there is none.
    pub root: u32,
    /// Bytes that the rank brings (or, of a scatter, gets): to each other rank, of an alltoall; to all
    /// of them together, of an alltoallv and a reduce-scatter.
    pub bytes: u64,
    /// Bytes that it gets from all together, of an alltoallv.
    pub bytes_received: u64,
}

/// The collective operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names of MPI")]
pub enum Kind {
    Barrier,
    Bcast,
    Reduce,
    Allreduce,
    Gather,
    Gatherv,
    Scatter,
    Scatterv,
    Allgather,
    Allgatherv,
    Alltoall,
    Alltoallv,
    ReduceScatter,
    Scan,
    Exscan,
}

impl Kind {
    /// All of them with the names that time-independent traces have.
    pub const NAMED: [(&'static str, Self); 15] = [
        ("barrier", Self::Barrier),
        ("bcast", Self::Bcast),
        ("reduce", Self::Reduce),
        ("allreduce", Self::Allreduce),
        ("gather", Self::Gather),
        ("gatherv", Self::Gatherv),
        ("scatter", Self::Scatter),
        ("scatterv", Self::Scatterv),
        ("allgather", Self::Allgather),
        ("allgatherv", Self::Allgatherv),
        ("alltoall", Self::Alltoall),
        ("alltoallv", Self::Alltoallv),
        ("reducescatter", Self::ReduceScatter),
        ("scan", Self::Scan),
        ("exscan", Self::Exscan),
    ];

    /// Its name in a time-independent trace.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMED.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }

    /// The operation of this name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::NAMED.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind)
    }
}

/// Why a step cannot be part of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ProgramError {
    /// There is no such rank.
    #[error("rank {rank} is not there: the program has {n_ranks}; ranks are counted from 0")]
    NoSuchRank {
        /// The rank that was named.
        rank: u32,
        /// Ranks of the program.
        n_ranks: usize,
    },
    /// A wait without a start.
    #[error("rank {rank} waits for `{request}`, which it did not start, or waited for before")]
    NothingToWaitFor {
        /// The rank that waits.
        rank: u32,
        /// What it names.
        request: u64,
    },
}

/// Collects the steps of ranks, in any order of the ranks.
#[derive(Debug)]
pub struct ProgramBuilder {
    program: Program,
    region_numbers: HashMap<String, u32>,
    channels: HashMap<(u32, u32, u32), u32>,
    requests: Vec<Requests>,
}

/// The open requests of a rank, and numbers that are free again.
#[derive(Debug, Default)]
struct Requests {
    open: HashMap<u64, VecDeque<u32>>,
    free: Vec<u32>,
    n_numbers: u32,
}

impl ProgramBuilder {
    /// A program of so many ranks.
    #[must_use]
    pub fn new(n_ranks: usize) -> Self {
        let first = Phase { n_times: 1, steps: vec![Vec::new(); n_ranks] };
        Self {
            program: Program { regions: Vec::new(), n_ranks, n_channels: 0, phases: vec![first] },
            region_numbers: HashMap::new(),
            channels: HashMap::new(),
            requests: std::iter::repeat_with(Requests::default).take(n_ranks).collect(),
        }
    }

    /// The number of a region.
    pub fn region(&mut self, name: &str) -> u32 {
        if let Some(number) = self.region_numbers.get(name) {
            return *number;
        }
        let number = u32::try_from(self.program.regions.len()).unwrap_or(u32::MAX);
        self.program.regions.push(name.to_owned());
        self.region_numbers.insert(name.to_owned(), number);
        number
    }

    /// What follows is repeated so often by all ranks; 1 ends a loop.
    pub fn repeat(&mut self, n_times: u64) {
        let n_ranks = self.program.n_ranks;
        self.program.phases.push(Phase { n_times, steps: vec![Vec::new(); n_ranks] });
    }

    /// The next step of a rank.
    ///
    /// # Errors
    /// When the step names a rank or a request that is not there.
    pub fn push(&mut self, rank: u32, place: Place, what: Operation) -> Result<(), ProgramError> {
        self.is_rank(rank)?;
        let act = self.act(rank, what)?;
        if let Some(phase) = self.program.phases.last_mut() {
            phase.steps[rank as usize].push(Step { place, act });
        }
        Ok(())
    }

    /// What a rank started and did not wait for; as often as it is open.
    #[must_use]
    pub fn open_requests(&self, rank: u32) -> Vec<u64> {
        let requests = self.requests.get(rank as usize);
        let open = requests.into_iter().flat_map(|requests| &requests.open);
        let mut open: Vec<u64> =
            open.flat_map(|(request, numbers)| vec![*request; numbers.len()]).collect();
        open.sort_unstable();
        open
    }

    /// The program.
    #[must_use]
    pub fn finish(mut self) -> Program {
        self.program.phases.retain(|phase| phase.steps.iter().any(|steps| !steps.is_empty()));
        self.program
    }

    fn act(&mut self, rank: u32, what: Operation) -> Result<Act, ProgramError> {
        Ok(match what {
            Operation::Compute { seconds } => Act::Compute { seconds },
            Operation::Send { to, tag, bytes, mode, request } => {
                self.is_rank(to)?;
                let request = request.map(|request| self.started(rank, request));
                Act::Send { channel: self.channel(rank, to, tag), to, bytes, mode, request }
            }
            Operation::Receive { from, tag, request } => {
                self.is_rank(from)?;
                let request = request.map(|request| self.started(rank, request));
                Act::Receive { channel: self.channel(from, rank, tag), from, request }
            }
            Operation::Wait { request } => {
                let requests = &mut self.requests[rank as usize];
                let first = requests.open.get_mut(&request).and_then(VecDeque::pop_front);
                let number = first.ok_or(ProgramError::NothingToWaitFor { rank, request })?;
                requests.free.push(number);
                Act::Wait { request: number }
            }
            Operation::Collective(collective) => {
                self.is_rank(collective.root)?;
                Act::Collective(collective)
            }
        })
    }

    fn is_rank(&self, rank: u32) -> Result<(), ProgramError> {
        let n_ranks = self.program.n_ranks;
        let is_rank = (rank as usize) < n_ranks;
        is_rank.then_some(()).ok_or(ProgramError::NoSuchRank { rank, n_ranks })
    }

    fn channel(&mut self, from: u32, to: u32, tag: u32) -> u32 {
        let next = u32::try_from(self.channels.len()).unwrap_or(u32::MAX);
        let channel = *self.channels.entry((from, to, tag)).or_insert(next);
        self.program.n_channels = self.channels.len();
        channel
    }

    fn started(&mut self, rank: u32, request: u64) -> u32 {
        let requests = &mut self.requests[rank as usize];
        let number = requests.free.pop().unwrap_or_else(|| {
            requests.n_numbers += 1;
            requests.n_numbers - 1
        });
        requests.open.entry(request).or_default().push_back(number);
        number
    }
}

impl Program {
    /// Ranks.
    #[must_use]
    pub fn n_ranks(&self) -> usize {
        self.n_ranks
    }

    /// Steps that are written down; those of a loop once.
    #[must_use]
    pub fn n_steps(&self) -> usize {
        let steps = self.phases.iter().flat_map(|phase| &phase.steps);
        steps.map(Vec::len).sum()
    }

    /// The same in one phase, with every turn written out; none if it is in one, or too long.
    pub(super) fn flattened(&self, n_steps_max: u64) -> Option<Self> {
        let steps_of = |phase: &Phase| phase.steps.iter().map(Vec::len).sum::<usize>() as u64;
        let n_steps = self.phases.iter().map(|phase| phase.n_times.saturating_mul(steps_of(phase)));
        let n_steps = n_steps.fold(0, u64::saturating_add);
        let is_flat = self.phases.iter().all(|phase| phase.n_times == 1) && self.phases.len() == 1;
        if is_flat || n_steps_max < n_steps {
            return None;
        }
        let mut steps = vec![Vec::new(); self.n_ranks];
        for phase in &self.phases {
            for (all, once) in steps.iter_mut().zip(&phase.steps) {
                (0..phase.n_times).for_each(|_| all.extend_from_slice(once));
            }
        }
        Some(Self { phases: vec![Phase { n_times: 1, steps }], ..self.clone() })
    }
}
