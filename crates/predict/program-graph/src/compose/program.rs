//! The steps of each rank of a program, in order.
//!
//! # Invariants
//! - Every peer and root is a rank of the program; every wait comes after its start.

use crate::shape::SendMode;
use mpi_abi::CollectiveKind;
use std::collections::{HashMap, VecDeque};
use thiserror::Error;

/// Steps of all ranks, in phases that are executed one after the other.
#[derive(Clone, Debug, PartialEq)]
pub struct RankPrograms {
    /// Names of the regions that steps belong to.
    pub(super) regions: Vec<String>,
    pub(super) n_ranks: usize,
    pub(super) n_channels: usize,
    pub(super) phases: Vec<ProgramPhase>,
}

/// Steps that all ranks repeat equally often. A phase boundary is no barrier: each rank continues by
/// itself.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ProgramPhase {
    pub(super) n_times: u64,
    /// Steps by rank.
    pub(super) steps: Vec<Vec<ProgramStep>>,
}

impl ProgramPhase {
    fn n_steps(&self) -> usize {
        self.steps.iter().map(Vec::len).sum()
    }
}

/// One action of a rank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ProgramStep {
    pub(super) place: CallSite,
    pub(super) act: Act,
}

/// A [`RankOperation`] with its channel and request resolved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Act {
    Compute { seconds: f64 },
    Send { channel: u32, to: u32, bytes: u64, mode: SendMode, request: Option<u32> },
    Receive { channel: u32, from: u32, request: Option<u32> },
    Wait { request: u32 },
    Collective(Collective),
}

/// Location of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallSite {
    /// Region that its time counts for; see [`ProgramBuilder::region`].
    pub region: u32,
    /// Number that distinguishes call sites, such as a line.
    pub site: u32,
}

/// Operation of a rank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RankOperation {
    /// The rank computes.
    Compute {
        /// Computing time on a machine of speed 1, in s.
        seconds: f64,
    },
    /// The rank sends; with a request it continues, and waits later.
    Send {
        /// Receiving rank.
        to: u32,
        /// Tag; a receive takes only messages with its own tag.
        tag: u32,
        /// Length, in bytes.
        bytes: u64,
        /// Send mode.
        mode: SendMode,
        /// Number by which a later wait refers to it; of several with the same number, the first is waited
        /// for first.
        request: Option<u64>,
    },
    /// The rank receives; with a request it continues, and waits later.
    Receive {
        /// Sending rank.
        from: u32,
        /// Tag.
        tag: u32,
        /// Number by which a later wait refers to it.
        request: Option<u64>,
    },
    /// The rank waits for an operation that it started.
    Wait {
        /// Request number of the start.
        request: u64,
    },
    /// All ranks take part in a collective operation.
    Collective(Collective),
}

/// Part of a rank in a collective operation on the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collective {
    /// Operation.
    pub kind: CollectiveKind,
    /// Root rank; 0 where there is none.
    pub root: u32,
    /// Bytes that the rank contributes (in a scatter: receives): to each other rank in an alltoall; to all
    /// of them together in an alltoallv or a reduce-scatter.
    pub bytes: u64,
    /// Bytes that it receives from all ranks together in an alltoallv.
    pub bytes_received: u64,
}

/// Reason why a step cannot be part of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ProgramError {
    /// A rank is out of range.
    #[error("rank {rank} is not there: the program has {n_ranks}; ranks are counted from 0")]
    NoSuchRank {
        /// Rank given.
        rank: u32,
        /// Number of ranks in the program.
        n_ranks: usize,
    },
    /// A wait has no start before it.
    #[error("rank {rank} waits for `{request}`, which it did not start, or waited for before")]
    NothingToWaitFor {
        /// Rank that waits.
        rank: u32,
        /// Request number that it waits for.
        request: u64,
    },
}

/// Builds a program from the steps of ranks, which may be added in any order of ranks.
#[derive(Debug)]
pub struct ProgramBuilder {
    program: RankPrograms,
    region_numbers: HashMap<String, u32>,
    channels: HashMap<(u32, u32, u32), u32>,
    requests: Vec<Requests>,
}

/// Open requests of a rank, and numbers that can be reused.
#[derive(Debug, Default)]
struct Requests {
    open: HashMap<u64, VecDeque<u32>>,
    free: Vec<u32>,
    n_numbers: u32,
}

impl ProgramBuilder {
    /// Starts a program with this number of ranks.
    #[must_use]
    pub fn new(n_ranks: usize) -> Self {
        let phases = vec![ProgramPhase { n_times: 1, steps: vec![Vec::new(); n_ranks] }];
        Self {
            program: RankPrograms { regions: Vec::new(), n_ranks, n_channels: 0, phases },
            region_numbers: HashMap::new(),
            channels: HashMap::new(),
            requests: std::iter::repeat_with(Requests::default).take(n_ranks).collect(),
        }
    }

    /// Returns the number of a region, which is added if it is new.
    pub fn region(&mut self, name: &str) -> u32 {
        if let Some(number) = self.region_numbers.get(name) {
            return *number;
        }
        let number = u32::try_from(self.program.regions.len()).unwrap_or(u32::MAX);
        self.program.regions.push(name.to_owned());
        self.region_numbers.insert(name.to_owned(), number);
        number
    }

    /// Starts a phase that all ranks repeat `n_times`; 1 ends a loop.
    pub fn repeat(&mut self, n_times: u64) {
        let n_ranks = self.program.n_ranks;
        self.program.phases.push(ProgramPhase { n_times, steps: vec![Vec::new(); n_ranks] });
    }

    /// Adds the next step of a rank.
    ///
    /// # Errors
    /// When the step refers to a rank or a request that does not exist.
    pub fn push(
        &mut self,
        rank: u32,
        place: CallSite,
        what: RankOperation,
    ) -> Result<(), ProgramError> {
        self.is_rank(rank)?;
        let act = self.act(rank, what)?;
        if let Some(phase) = self.program.phases.last_mut() {
            phase.steps[rank as usize].push(ProgramStep { place, act });
        }
        Ok(())
    }

    /// Returns the requests that a rank started and did not wait for, once for each open start.
    #[must_use]
    pub fn open_requests(&self, rank: u32) -> Vec<u64> {
        let requests = self.requests.get(rank as usize);
        let open = requests.into_iter().flat_map(|requests| &requests.open);
        let mut open: Vec<u64> =
            open.flat_map(|(request, numbers)| vec![*request; numbers.len()]).collect();
        open.sort_unstable();
        open
    }

    /// Returns the program.
    #[must_use]
    pub fn finish(mut self) -> RankPrograms {
        self.program.phases.retain(|phase| phase.steps.iter().any(|steps| !steps.is_empty()));
        self.program
    }

    fn act(&mut self, rank: u32, what: RankOperation) -> Result<Act, ProgramError> {
        Ok(match what {
            RankOperation::Compute { seconds } => Act::Compute { seconds },
            RankOperation::Send { to, tag, bytes, mode, request } => {
                self.is_rank(to)?;
                let request = request.map(|request| self.started(rank, request));
                Act::Send { channel: self.channel(rank, to, tag), to, bytes, mode, request }
            }
            RankOperation::Receive { from, tag, request } => {
                self.is_rank(from)?;
                let request = request.map(|request| self.started(rank, request));
                Act::Receive { channel: self.channel(from, rank, tag), from, request }
            }
            RankOperation::Wait { request } => {
                let requests = &mut self.requests[rank as usize];
                let first = requests.open.get_mut(&request).and_then(VecDeque::pop_front);
                let number = first.ok_or(ProgramError::NothingToWaitFor { rank, request })?;
                requests.free.push(number);
                Act::Wait { request: number }
            }
            RankOperation::Collective(collective) => {
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

impl RankPrograms {
    /// Returns the number of ranks.
    #[must_use]
    pub fn n_ranks(&self) -> usize {
        self.n_ranks
    }

    /// Returns the number of stored steps; those of a loop count once.
    #[must_use]
    pub fn n_steps(&self) -> usize {
        self.phases.iter().map(ProgramPhase::n_steps).sum()
    }

    /// Multiplies the computing of each rank by a factor.
    pub fn scale_computing(&mut self, factor: impl Fn(u32) -> f64) {
        for phase in &mut self.phases {
            for (rank, steps) in (0_u32..).zip(&mut phase.steps) {
                let factor = factor(rank);
                for step in steps {
                    if let Act::Compute { seconds } = &mut step.act {
                        *seconds *= factor;
                    }
                }
            }
        }
    }

    /// Returns the program unrolled into one phase; `None` if it has only one already, or becomes too long.
    pub(super) fn flattened(&self, n_steps_max: u64) -> Option<Self> {
        let n_steps_of =
            |phase: &ProgramPhase| phase.n_times.saturating_mul(phase.n_steps() as u64);
        let n_steps = self.phases.iter().map(n_steps_of).fold(0, u64::saturating_add);
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
        Some(Self { phases: vec![ProgramPhase { n_times: 1, steps }], ..self.clone() })
    }
}
