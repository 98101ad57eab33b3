//! Interface of a program that changes its number of ranks while it runs.

mod arrival;
mod arrival_command;
mod ending;
mod mover;
mod parking;
mod preparing;
mod saving;
mod switch;

use crate::control::slurm_job;
use crate::coordinator::{CheckInput, Coordinator};
use crate::data::State;
use crate::error::Error;
use crate::launched_ranks::LaunchedRanks;
use crate::leave_signal;
use crate::options::Options;
use crate::order::SentOrder;
use crate::present_ranks::{Member, PresentRanks};
use crate::protocol::ResizeAction;
use crate::ready::Prepared;
use crate::spawn::companion::{self, PeerConnections};
use crate::spawn::{place, started_by};
use crate::tags::Tag;
use crate::watchdog::{RepeatedCheck, give_up};
use ending::Ending;
use mpi::{Comm, Mpi, Nodes};
use preparing::{NOBODY_WATCHES, Preparing};
use resize_api::{Resize, Spawn};
use saving::{Resume, Saver};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::available_parallelism;
use std::time::Duration;
use switch::Underway;

/// Result of a resize point or an iteration for a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It computes the iteration.
    Continue,
    /// The program is done.
    Done,
    /// It has left: its part of the data is with others, and its process should end soon.
    Left,
}

/// A program that changes its number of ranks while it runs, as one of its ranks sees it.
///
/// All present ranks call its methods, in the same order. See the [crate's documentation](crate) for an example.
#[derive(Debug)]
pub struct Malleable {
    mpi: Arc<Mpi>,
    options: Options,
    ranks: PresentRanks,
    iteration: u64,
    is_new: bool,
    /// Resize points until the next check; `None` while no order was given since the present ranks began.
    until_look: Option<u32>,
    phase: RankPhase,
    /// Reason why no process can be started any more.
    obstacle: Option<String>,
    /// Whether a thread does not return from MPI, so that MPI cannot be finalized.
    is_stuck: bool,
    /// Sleeping ranks, where no process can be started.
    launched: Option<Arc<LaunchedRanks>>,
    /// Connections of this process to those of other launchers.
    peers: PeerConnections,
    /// State of the program's end: whether an iteration was the last one, or the ranks have lost each other.
    ending: Ending,
    /// Environment mark of the processes that were started last.
    mark: String,
    /// Times of writing the state.
    saver: Saver,
    /// Count of resize points, for a watchdog that checks whether there are any.
    heartbeat: Arc<AtomicU64>,
    /// State of the coordinator, on rank 0.
    coordinator: Option<Coordinator>,
}

/// Activity of this rank.
#[derive(Debug)]
enum RankPhase {
    /// Started by the launcher, before its first resize point.
    Starting,
    /// Computing.
    Computing,
    /// A resize is being prepared.
    Preparing(Preparing),
    /// Constant data are moving.
    Moving(Box<Underway>),
    /// This rank is new, and waits for its place.
    Arriving(Box<Prepared>),
    /// The state is in a checkpoint.
    Resuming(Box<Resume>),
    /// This rank has left.
    Gone,
}

impl Malleable {
    /// Initializes MPI; a new process joins the ones that started it.
    ///
    /// # Errors
    /// If an argument is not valid, this process was not launched as a rank, the record or the control folder cannot be
    /// used, or a new process cannot join the others.
    pub fn begin(options: Options) -> Result<Self, Error> {
        options.problem.clone().map_or(Ok(()), Err)?;
        let mut parent_watch = RepeatedCheck::NONE;
        let is_launched = started_by().is_none() && companion::address().is_none();
        let watch = || {
            parent_watch = watch_parent();
            if !is_launched {
                leave_signal::heed();
            }
        };
        let mpi = Mpi::init_dynamic(nodes_of(&options), watch)?;
        mpi.abort_on_panic()?;
        if let Some(parent) = mpi.take_parent()? {
            return Self::arrive(mpi, options, Some(parent));
        }
        if let Some(address) = companion::address() {
            let peers = PeerConnections::default();
            let within = (3 * options.deadline, &peers);
            let parent = companion::connect(&mpi, &address, within)?;
            let mut run = Self::arrive(mpi, options, parent)?;
            run.peers = peers;
            return Ok(run);
        }
        let comm = Comm::world(&mpi)?;
        mpi::names::remove();
        let support = mpi.spawn_support();
        let obstacle = (!support.is_trusted).then_some(support.why);
        let (min, max) = options.sizes_with(comm.size());
        if obstacle.is_some() && min < max {
            return Self::begin_parked(mpi, options, comm, obstacle);
        }
        begin_computing(mpi, options, comm, (0, obstacle))
    }

    fn of(
        mpi: Arc<Mpi>,
        options: Options,
        ranks: PresentRanks,
        phase: RankPhase,
        (coordinator, obstacle): (Option<Coordinator>, Option<String>),
    ) -> Self {
        let is_new = !matches!(phase, RankPhase::Starting);
        let is_companion = options.method.spawn == Some(Spawn::Companion);
        let none = || is_companion.then(|| companion::obstacle(&mpi.version())).flatten();
        let obstacle = obstacle.or_else(|| none().map(str::to_owned));
        Self {
            mpi,
            options,
            ranks,
            iteration: 0,
            is_new,
            until_look: None,
            phase,
            obstacle,
            is_stuck: false,
            launched: None,
            ending: Ending::default(),
            mark: String::new(),
            saver: Saver::default(),
            peers: PeerConnections::default(),
            heartbeat: Arc::default(),
            coordinator,
        }
    }

    /// Returns whether the state arrives at the first resize point: from other ranks, if they started this process, or
    /// from a checkpoint (`--checkpoint`). A program that creates no initial state where this is true need do nothing
    /// else to continue from a checkpoint.
    #[must_use]
    pub fn is_new(&self) -> bool {
        self.is_new
    }

    /// Communicator of the present ranks. A resize point may replace it.
    #[must_use]
    pub fn comm(&self) -> &Comm {
        &self.ranks.comm
    }

    /// Number of the next iteration: on a new rank, after its first resize point, that of the other ranks.
    #[must_use]
    pub fn iteration(&self) -> u64 {
        self.iteration
    }

    /// All resizes so far, on rank 0, including failed ones.
    #[must_use]
    pub fn resizes(&self) -> &[Resize] {
        self.coordinator.as_ref().map_or(&[], Coordinator::resizes)
    }

    /// Computes iteration after iteration, with a resize point before each, until one returns [`Step::Done`] or this
    /// rank leaves.
    ///
    /// After [`Step::Done`] the ranks are still together: results can be collected over [`comm`](Self::comm). After
    /// [`Step::Left`] all data of this rank are with others, and its process should end.
    ///
    /// # Errors
    /// Errors of an iteration, and [`Error`] of resize points.
    pub fn iterate<S: State, E: From<Error>>(
        &mut self,
        state: &mut S,
        mut step: impl FnMut(&mut S, u64, &Comm) -> Result<Step, E>,
    ) -> Result<Step, E> {
        loop {
            if self.resize_point(self.iteration, state)? == Step::Left {
                return Ok(Step::Left);
            }
            let stepped = step(state, self.iteration, &self.ranks.comm);
            let done = stepped.inspect_err(|_| self.ending = Ending::Failed)?;
            self.iteration += 1;
            if done != Step::Continue {
                self.ending = Ending::Done;
                self.heartbeat.store(NOBODY_WATCHES, Ordering::Relaxed);
                return Ok(done);
            }
        }
    }

    /// Point in the program at which its size may change: at the head of its loop, before this iteration.
    ///
    /// On a new rank it returns when the state has arrived; [`iteration`](Self::iteration) then is that of the other
    /// ranks. After [`Step::Left`] the process should end soon.
    ///
    /// # Errors
    /// If ranks cannot communicate, or registered different data. A resize that fails is not an error.
    pub fn resize_point<S: State>(&mut self, iteration: u64, state: &mut S) -> Result<Step, Error> {
        let step = self.pass(iteration, state);
        self.ending = if step.is_ok() { Ending::Open } else { Ending::Failed };
        step
    }

    fn pass<S: State>(&mut self, iteration: u64, state: &mut S) -> Result<Step, Error> {
        match std::mem::replace(&mut self.phase, RankPhase::Computing) {
            RankPhase::Gone => {
                self.phase = RankPhase::Gone;
                return Ok(Step::Left);
            }
            RankPhase::Arriving(arrival) => return self.take_place(*arrival, state),
            RankPhase::Resuming(resume) => return self.resume(*resume, state),
            RankPhase::Starting => state.size_begins(&self.ranks.comm)?,
            other => self.phase = other,
        }
        self.iteration = iteration;
        self.heartbeat.fetch_add(1, Ordering::Relaxed);
        if let RankPhase::Moving(underway) = &mut self.phase {
            underway.advance()?;
        }
        if let Some(until_look) = self.until_look.as_mut().filter(|until_look| 0 < **until_look) {
            *until_look -= 1;
            return Ok(Step::Continue);
        }
        self.look(state)
    }

    /// Carries out the order given at the last check; rank 0 then gives the next one.
    fn look<S: State>(&mut self, state: &mut S) -> Result<Step, Error> {
        let order = match (&self.coordinator, self.until_look.is_some()) {
            (_, false) => SentOrder::new(ResizeAction::GoOn, 0, 1),
            (Some(coordinator), true) => coordinator.next,
            (None, true) => hear(&self.ranks)?,
        };
        self.until_look = Some(order.interval.saturating_sub(1));
        let ordered =
            if self.coordinator.is_some() { self.saver.take_ordered() } else { order.saved() };
        self.save(ordered, state)?;
        match order.action() {
            ResizeAction::GoOn => {}
            ResizeAction::Start => self.prepare(order.serial(), state)?,
            ResizeAction::GiveUp => self.give_up(order.is_stuck())?,
            ResizeAction::Move => self.move_constant(state)?,
            ResizeAction::Switch => return self.switch(state),
        }
        self.give_order()?;
        Ok(Step::Continue)
    }

    /// On rank 0, sends the next order; other ranks tell it if they have to leave.
    fn give_order(&mut self) -> Result<(), Error> {
        let Some(coordinator) = &mut self.coordinator else {
            if leave_signal::take_wish() {
                self.ranks.backstage.send::<u8>(&[], 0, Tag::LeaveWish.number())?;
            }
            return Ok(());
        };
        let worlds = self.ranks.worlds();
        let sleeping = self.launched.as_ref().map(|launched| launched.sleeping(&worlds));
        let (iteration, obstacle) = (self.iteration, self.obstacle.clone());
        let mut input = CheckInput { iteration, obstacle, sleeping, ..CheckInput::default() };
        input.asked = self.ranks.leave_wishes()?;
        match &mut self.phase {
            RankPhase::Preparing(preparing) => {
                (input.is_spawned, input.joined) = (preparing.is_spawned(), preparing.seen());
                input.is_late = preparing.is_late();
            }
            RankPhase::Moving(underway) => input.has_constant = underway.is_everywhere,
            _ => {}
        }
        let order = coordinator
            .check(&input, &self.ranks)
            .saving(self.saver.order(&self.options, self.iteration));
        let backstage = &self.ranks.backstage;
        (1..self.ranks.size())
            .try_for_each(|rank| backstage.send(&[order], rank, Tag::Order.number()))?;
        Ok(())
    }
}

/// Begins the program on the ranks of a communicator that a launcher has started; `world` is the id of this rank's
/// world.
fn begin_computing(
    mpi: Arc<Mpi>,
    options: Options,
    comm: Comm,
    (world, obstacle): (u64, Option<String>),
) -> Result<Malleable, Error> {
    let members = comm.allgather(&[Member::own(world)])?;
    let ranks = PresentRanks::of(comm, members)?;
    let phase = Resume::phase(&options, &ranks)?;
    let coordinator = ranks.is_first().then(|| Coordinator::new(&options, &ranks)).transpose()?;
    Ok(Malleable::of(mpi, options, ranks, phase, (coordinator, obstacle)))
}

/// Receives the order of rank 0.
fn hear(ranks: &PresentRanks) -> Result<SentOrder, Error> {
    let mut order = [SentOrder::default()];
    ranks.backstage.receive(&mut order, 0, Tag::Order.number())?;
    Ok(order[0])
}

/// Variables with the number of ranks that a launcher has started on this node.
const LOCAL: [&str; 2] = ["MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE"];

/// Ranks that may share the nodes of a program with these options.
fn nodes_of(options: &Options) -> Nodes {
    let number = |names: [&str; 2]| {
        names.iter().find_map(|name| std::env::var(name).ok()?.parse::<u32>().ok()).unwrap_or(1)
    };
    let is_alone = options.nodes.hostfile.is_none() && slurm_job().is_none();
    let (n_local, n_cores) = (number(LOCAL), available_parallelism().map_or(1, usize::from));
    let is_crowded = is_crowded(n_cores, n_local, is_alone.then_some(options));
    Nodes { is_crowded, is_fixed: options.is_fixed() }
}

/// Returns whether more ranks than cores may share this node: the present ones, or the possible ones where all run
/// here.
fn is_crowded(n_cores: usize, n_local: u32, of_one_node: Option<&Options>) -> bool {
    let n_most = of_one_node.map_or(n_local, |options| options.sizes_with(n_local).1);
    u32::try_from(n_cores).is_ok_and(|n_cores| n_cores < n_most.max(n_local))
}

/// Time between two checks.
const NAP: Duration = Duration::from_millis(500);

/// Watches for the end of the parent process, if it is visible from here, until the result is dropped: a process that has
/// not joined it yet ends with it.
///
/// The launcher of Open MPI 5 ends all that it has started when a rank dies, but sometimes forgets processes that begin
/// at that moment (in 8 of 45 runs of the faults in `tests/it/resizing.rs`): they would wait in `MPI_Init` forever, and
/// the launcher for them.
fn watch_parent() -> RepeatedCheck {
    let starter = started_by().filter(|(at, _)| *at == place());
    let Some((_, pid)) = starter else { return RepeatedCheck::NONE };
    let entry = PathBuf::from(format!("/proc/{pid}"));
    RepeatedCheck::start("orphan", NAP, move || {
        if !entry.exists() {
            give_up(
                "the process that has started this one is gone before this one could join it; this process ends.",
            );
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: a program that never grows was taken off the network that its library chose.
    #[test]
    fn a_program_that_may_grow_is_not_fixed() {
        assert!(nodes_of(&Options::new()).is_fixed);
        assert!(!nodes_of(&Options::new().sizes(1, 8)).is_fixed);
    }

    #[test]
    fn a_node_is_crowded_by_ranks_that_may_come() {
        let growing = Options::new().sizes(1, 8);
        assert!(is_crowded(2, 4, None));
        assert!(!is_crowded(4, 4, None));
        assert!(is_crowded(4, 1, Some(&growing)));
        assert!(!is_crowded(8, 1, Some(&growing)));
        assert!(!is_crowded(4, 1, Some(&Options::new())));
    }
}
