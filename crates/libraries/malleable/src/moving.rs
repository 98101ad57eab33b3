//! Moves the data of a program from its sources to its targets.
//!
//! Constant data move first, and the sources may compute meanwhile: [`Moving::begin`] agrees on what goes where and
//! starts sending, [`Moving::test`] makes progress once per iteration. New ranks [wait](Moving::wait). Then all of them
//! [switch](Moving::switch): variable data move while the program stands still, and targets get their new state.
//!
//! # Invariants
//! - Until the switch the state is untouched, so that a failure changes nothing.
//! - New ranks leave the cores to the ranks that compute.
//! - Data that stay on a rank are copied there.

mod agreed;
mod array_move;
mod budget;
mod error;
mod feeding;
mod fetching;
mod route;
mod travel;

use crate::bridge::Bridge;
use crate::data::{Class, Data};
use agreed::Agreed;
use array_move::{ArrayMove, Landed, to_usize};
use budget::{DutyCycle, TimeBudget};
use feeding::Feeding;
use fetching::{Fetching, Windows};
use mpi::{Exchange, Pause};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use travel::Travel;

pub(crate) use agreed::partitions;

pub use error::MoveError;

/// Longest sleep between polls while the program stands still.
const SLEEP_MAX: Duration = Duration::from_micros(500);

/// Method of moving distributed data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Method {
    /// One blocking exchange among all ranks (`MPI_Alltoallv`).
    Sync,
    /// One exchange among all ranks, in the background (`MPI_Ialltoallv`).
    Async,
    /// Messages between ranks that share rows, in the background (`MPI_Isend`, `MPI_Irecv`): as fast as iterations
    /// allow.
    PointToPoint,
    /// Targets fetch the rows that they need (`MPI_Rget`).
    Get,
}

impl Method {
    /// All methods.
    pub const ALL: [Self; 4] = [Self::Sync, Self::Async, Self::PointToPoint, Self::Get];

    /// Name in options and records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sync => "sync",
            Self::Async => "async",
            Self::PointToPoint => "p2p",
            Self::Get => "get",
        }
    }
}

/// Amount of data moved of one class, over all ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moved {
    /// Bytes of the data.
    pub bytes: u64,
    /// Bytes that went to another rank.
    pub bytes_sent: u64,
    /// Time from the beginning until all had arrived everywhere, as seen by this rank, in seconds.
    pub seconds: f64,
}

/// Constant data that are being moved.
pub struct Moving {
    method: Method,
    agreed: Agreed,
    began: Instant,
    moved: Moved,
    time_budget: TimeBudget,
    words: ReplicatedTravel,
    phase: MovePhase,
}

enum MovePhase {
    /// A thread allocates memory for incoming data, and copies what is kept, while the main thread computes.
    Preparing(JoinHandle<Vec<ArrayMove>>, Windows),
    Travelling(Travel),
    /// All data have arrived here; waiting for the other ranks.
    Arriving(Travel, Exchange),
    /// All data have arrived everywhere. Windows are freed at the switch, since all ranks do that together.
    Here(Travel),
    /// State after an error.
    Lost,
}

impl Moving {
    /// Agrees on what goes where, and starts to send constant data. All ranks of the bridge call it.
    ///
    /// # Errors
    /// If ranks registered different data or hold other rows than they declared, or if an MPI call fails.
    pub fn begin(
        bridge: &Bridge<'_>,
        data: &mut Data<'_>,
        method: Method,
    ) -> Result<Self, MoveError> {
        let began = Instant::now();
        let agreed = Agreed::on(bridge, data)?;
        let words = ReplicatedTravel::begin(bridge, data, Class::Constant)?;
        let mut array_moves = array_move::array_moves(bridge, &agreed, data, Class::Constant);
        let mut moved = moved(bridge, &array_moves, &words);
        moved.seconds = 0.0;
        let windows = match method {
            Method::Get => fetching::expose(bridge, &array_moves)?,
            Method::Sync | Method::Async | Method::PointToPoint => Vec::new(),
        };
        let is_in_background = method != Method::Sync
            && bridge.is_source()
            && array_moves.iter().any(ArrayMove::is_wanted);
        let phase = if is_in_background {
            MovePhase::preparing(array_moves, windows, DutyCycle { share: agreed.share })?
        } else {
            array_moves.iter_mut().for_each(|array_move| array_move.prepare(DutyCycle::ALL));
            MovePhase::travelling(bridge, method, array_moves, windows)?
        };
        let time_budget = TimeBudget::new();
        Ok(Self { method, agreed, began, moved, time_budget, words, phase })
    }

    /// Method in use.
    #[must_use]
    pub const fn method(&self) -> Method {
        self.method
    }

    /// Returns whether a thread beside the computation should make progress. Messages are sent at a rate for which their
    /// iterations are measured.
    pub(crate) fn is_beside(&self, bridge: &Bridge<'_>) -> bool {
        matches!(self.method, Method::Async | Method::Get) && bridge.comm.mpi().is_multiple()
    }

    /// Makes progress in little time; returns whether all constant data have arrived everywhere.
    ///
    /// # Errors
    /// If an MPI call fails, or memory is short.
    pub fn test(&mut self, bridge: &Bridge<'_>) -> Result<bool, MoveError> {
        let budget = self.time_budget.budget();
        let is_here = self.advance(bridge, budget)?;
        // A call that only polls leaves the budget to later ones.
        if !budget.is_zero() {
            self.time_budget.spend();
        }
        Ok(is_here)
    }

    /// Waits until all constant data have arrived everywhere, on a rank that has nothing else to do; returns whether
    /// they have within `at_most`.
    ///
    /// # Errors
    /// As for [`test`](Self::test).
    pub fn wait(&mut self, bridge: &Bridge<'_>, at_most: Duration) -> Result<bool, MoveError> {
        let (began, duty_cycle) = (Instant::now(), DutyCycle { share: self.agreed.share });
        while began.elapsed() < at_most {
            let slice = Instant::now();
            if self.advance(bridge, duty_cycle.budget())? {
                return Ok(true);
            }
            std::thread::sleep(duty_cycle.pause_after_look(slice.elapsed()));
        }
        Ok(matches!(self.phase, MovePhase::Here(_)))
    }

    /// Makes progress in a thread beside the one that computes, while `is_wanted`; returns whether all constant data
    /// have arrived everywhere.
    ///
    /// # Errors
    /// As for [`test`](Self::test).
    pub(crate) fn advance_while(
        &mut self,
        bridge: &Bridge<'_>,
        is_wanted: impl Fn() -> bool,
    ) -> Result<bool, MoveError> {
        while is_wanted() {
            let slice = Instant::now();
            if self.advance(bridge, DutyCycle::BESIDE.budget())? {
                return Ok(true);
            }
            std::thread::sleep(DutyCycle::BESIDE.pause_after_look(slice.elapsed()));
        }
        Ok(false)
    }

    /// Waits for constant data, moves variable data, and gives the targets their new state. All ranks of the bridge
    /// call it with the data that they registered before.
    ///
    /// Returns the amounts moved of constant and of variable data.
    ///
    /// # Errors
    /// As for [`test`](Self::test), and if it takes longer than `at_most`. The state is then unchanged.
    pub fn switch(
        mut self,
        bridge: &Bridge<'_>,
        data: &mut Data<'_>,
        at_most: Duration,
    ) -> Result<[Moved; 2], MoveError> {
        until(at_most, || self.advance(bridge, Duration::MAX))?;
        let MovePhase::Here(constants) = std::mem::replace(&mut self.phase, MovePhase::Lost) else {
            return Ok([self.moved, Moved::default()]);
        };
        // New ranks get here early, and sleep until all others have.
        let mut all_here = bridge.comm.start_barrier()?;
        until(at_most, || Ok(all_here.is_complete()?))?;
        let constants = constants.close()?;
        let began = Instant::now();
        self.agreed.renew(bridge, data)?;
        let mut words = ReplicatedTravel::begin(bridge, data, Class::Variable)?;
        let mut array_moves = array_move::array_moves(bridge, &self.agreed, data, Class::Variable);
        let mut variable = moved(bridge, &array_moves, &words);
        array_moves.iter_mut().for_each(|array_move| array_move.prepare(DutyCycle::ALL));
        let mut travel = Travel::begin(bridge, array_moves, self.method)?;
        until(at_most, || Ok(travel.advance(bridge.comm, Duration::MAX)? && words.advance()?))?;
        let variables = travel.close()?;
        if bridge.target().is_some() {
            self.words.put(data, Class::Constant);
            words.put(data, Class::Variable);
            put(data, Class::Constant, constants);
            put(data, Class::Variable, variables);
        }
        variable.seconds = began.elapsed().as_secs_f64();
        Ok([self.moved, variable])
    }

    /// Frees the windows when the resize is given up. All ranks of the bridge call it, once data have arrived
    /// everywhere.
    ///
    /// # Errors
    /// If an MPI call fails.
    pub fn give_up(self) -> Result<(), MoveError> {
        if let MovePhase::Here(travel) = self.phase {
            travel.close()?;
        }
        Ok(())
    }

    /// Works for about as long as the budget; returns whether all data have arrived.
    fn advance(&mut self, bridge: &Bridge<'_>, budget: Duration) -> Result<bool, MoveError> {
        let has_words = self.words.advance()?;
        self.phase = match std::mem::replace(&mut self.phase, MovePhase::Lost) {
            MovePhase::Preparing(thread, windows) if thread.is_finished() => {
                let array_moves = thread.join().map_err(|_| MoveError::Memory)?;
                MovePhase::travelling(bridge, self.method, array_moves, windows)?
            }
            MovePhase::Travelling(mut travel) => {
                if travel.advance(bridge.comm, budget)? && has_words {
                    MovePhase::Arriving(travel, bridge.comm.start_barrier()?)
                } else {
                    MovePhase::Travelling(travel)
                }
            }
            MovePhase::Arriving(travel, mut all) => {
                if all.is_complete()? {
                    self.moved.seconds = self.began.elapsed().as_secs_f64();
                    MovePhase::Here(travel)
                } else {
                    MovePhase::Arriving(travel, all)
                }
            }
            same @ (MovePhase::Preparing(..) | MovePhase::Here(_) | MovePhase::Lost) => same,
        };
        Ok(matches!(self.phase, MovePhase::Here(_)))
    }
}

impl MovePhase {
    fn preparing(
        mut array_moves: Vec<ArrayMove>,
        windows: Windows,
        duty_cycle: DutyCycle,
    ) -> Result<Self, MoveError> {
        let prepare = move || {
            array_moves.iter_mut().for_each(|array_move| array_move.prepare(duty_cycle));
            array_moves
        };
        let thread = std::thread::Builder::new().name("new memory".to_owned()).spawn(prepare);
        thread.map(|thread| Self::Preparing(thread, windows)).map_err(|_| MoveError::Memory)
    }

    fn travelling(
        bridge: &Bridge<'_>,
        method: Method,
        array_moves: Vec<ArrayMove>,
        windows: Windows,
    ) -> Result<Self, MoveError> {
        Ok(Self::Travelling(match method {
            Method::Get => Travel::fetch(Fetching::of(bridge.comm.mpi(), windows, array_moves)),
            Method::PointToPoint => Travel::feed(Feeding::of(bridge, array_moves)),
            Method::Sync | Method::Async => Travel::begin(bridge, array_moves, method)?,
        }))
    }
}

/// Amount of one class of data to move.
fn moved(bridge: &Bridge<'_>, array_moves: &[ArrayMove], words: &ReplicatedTravel) -> Moved {
    let n_new = bridge.targets.iter().filter(|rank| !bridge.sources.contains(rank)).count() as u64;
    let of_words = [words.n_bytes(), words.n_bytes() * n_new];
    let sum = |kind: usize| {
        array_moves.iter().map(|array_move| array_move.bytes[kind]).sum::<u64>() + of_words[kind]
    };
    Moved { bytes: sum(0), bytes_sent: sum(1), seconds: 0.0 }
}

fn put(data: &mut Data<'_>, class: Class, landed: Vec<Landed>) {
    let mut landed = landed.into_iter().collect::<std::collections::BTreeMap<_, _>>();
    for (number, place) in array_move::places(data, class).enumerate() {
        if let Some(memory) = landed.remove(&number) {
            place.put(memory);
        }
    }
}

/// Polls until `is_so` returns true, and leaves the cores to threads with work to do.
fn until(
    deadline: Duration,
    mut is_so: impl FnMut() -> Result<bool, MoveError>,
) -> Result<(), MoveError> {
    let mut pause = Pause::at_most(deadline);
    while !is_so()? {
        if !pause.pause(SLEEP_MAX) {
            return Err(MoveError::Late { waited: pause.waited() });
        }
    }
    Ok(())
}

/// Replicated objects being sent.
struct ReplicatedTravel {
    lengths: Vec<u64>,
    exchange: Option<Exchange>,
    bytes: Vec<u8>,
}

impl ReplicatedTravel {
    /// Starts to send the replicated objects of a class. All ranks of the bridge call it; their lengths are
    /// broadcast at once.
    fn begin(bridge: &Bridge<'_>, data: &Data<'_>, class: Class) -> Result<Self, MoveError> {
        let root = bridge.sources.first().copied().unwrap_or(0);
        let words = || data.replicated.iter().filter(move |words| words.class == class);
        let lengths = words().map(|words| words.words.bytes().len() as u64);
        let mut lengths = lengths.collect::<Vec<_>>();
        if !lengths.is_empty() {
            bridge.comm.broadcast(&mut lengths, root)?;
        }
        let mut bytes = vec![0; lengths.iter().map(|length| to_usize(*length)).sum()];
        if bridge.comm.rank() == root {
            bytes = words().flat_map(|words| words.words.bytes()).copied().collect();
        }
        if bytes.is_empty() {
            return Ok(Self { lengths, exchange: None, bytes });
        }
        let exchange = Some(bridge.comm.start_broadcast(Box::new(mpi::VecBuffer(bytes)), root)?);
        Ok(Self { lengths, exchange, bytes: Vec::new() })
    }

    /// Returns whether they have arrived.
    fn advance(&mut self) -> Result<bool, MoveError> {
        let Some(exchange) = &mut self.exchange else { return Ok(true) };
        if !exchange.is_complete()? {
            return Ok(false);
        }
        let received =
            self.exchange.take().and_then(Exchange::finished).unwrap_or_default().received;
        for (memory, _) in received {
            self.bytes = memory.into_any().downcast().map_or_else(|_| Vec::new(), |bytes| *bytes);
        }
        Ok(true)
    }

    /// Size of the objects, in bytes.
    fn n_bytes(&self) -> u64 {
        self.lengths.iter().sum()
    }

    /// Puts the objects into the state.
    fn put(&self, data: &mut Data<'_>, class: Class) {
        let words = data.replicated.iter_mut().filter(|words| words.class == class);
        let mut rest = self.bytes.as_slice();
        for (words, length) in words.zip(&self.lengths) {
            let (own, behind) = rest.split_at(to_usize(*length).min(rest.len()));
            words.words.put(own);
            rest = behind;
        }
    }
}
