//! Evaluates a program: each rank advances as far as its dependencies allow.
//!
//! A repeated phase is evaluated iteration by iteration until all clocks, and with them everything that
//! follows, equal those of an earlier iteration plus a constant. Then all further iterations take the same
//! time, which is extrapolated: in a max-plus linear system `x(k + c) = x(k) + d` then holds for all later
//! `k`.
//!
//! # Invariants
//! - Linear in the number of steps; a repeated phase is evaluated only until it is periodic.

mod breakdown;
mod rank;
mod transfer;

use super::collectives::{self, Clocks, Rules};
use super::links::Links;
use super::machine::Machine;
use super::network::MessageCost;
use super::outcome::ComposedTime;
use super::path::Log;
use super::program::{Act, CallSite, Collective, ProgramStep, RankPrograms};
use crate::shape::SendMode;
use rank::Rank;
use thiserror::Error;
use transfer::{Side, Transfers};

/// Longest period that is detected: number of earlier iterations compared with the newest one.
const PERIOD_MAX: usize = 4;
/// Relative tolerance within which clocks count as equal, for rounding.
const EQUAL_WITHIN: f64 = 1e-12;
/// Largest number of steps for which repeated phases are unrolled.
const N_FLAT_MAX: u64 = 20_000_000;
/// Largest number of ranks listed in an error.
const N_NAMED_MAX: usize = 8;

/// State of a rank that cannot continue.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("rank {rank} in `{region}` (site {site}) waits for {waits_for}")]
pub struct BlockedRank {
    /// Rank.
    pub rank: u32,
    /// Name of the region that it is in.
    pub region: String,
    /// Number of its call site, such as a line.
    pub site: u32,
    /// Event that it waits for, in words.
    pub waits_for: String,
}

/// Reason why a program has no time.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ComposeError {
    /// Ranks wait for each other.
    #[error("{n_waiting} of {n_ranks} ranks wait for each other: {}", listed(.first))]
    Deadlock {
        /// Number of ranks that did not reach their end.
        n_waiting: usize,
        /// Number of ranks.
        n_ranks: usize,
        /// The first waiting ranks.
        first: Vec<BlockedRank>,
    },
    /// Ranks call different collective operations at the same time.
    #[error("the ranks call different collectives at the same time: {0}, but {1}")]
    Mismatch(Box<BlockedRank>, Box<BlockedRank>),
}

fn listed(blocked: &[BlockedRank]) -> String {
    blocked.iter().map(BlockedRank::to_string).collect::<Vec<_>>().join("; ")
}

/// Returns the time of a program on a machine, and its breakdown.
///
/// # Errors
/// When ranks wait for each other, or do not take part in the same collectives.
pub fn evaluate(program: &RankPrograms, machine: &Machine) -> Result<ComposedTime, ComposeError> {
    let error = match in_turns(program, machine) {
        Err(error @ ComposeError::Deadlock { .. }) => error,
        done => return done,
    };
    // A rank may depend on a later iteration of another one.
    let Some(flat) = program.flattened(N_FLAT_MAX) else { return Err(error) };
    in_turns(&flat, machine)
}

fn in_turns(program: &RankPrograms, machine: &Machine) -> Result<ComposedTime, ComposeError> {
    let mut evaluation = Evaluation::new(program, machine);
    for phase in &program.phases {
        let mut turns = Iterations::default();
        let mut n_done = 0;
        while n_done < phase.n_times {
            evaluation.advance_all(&phase.steps)?;
            n_done += 1;
            if let Some(period) = turns.period(&evaluation) {
                let n_periods = (phase.n_times - n_done) / period.n_iterations;
                evaluation.extrapolate(&period, n_periods);
                n_done += n_periods * period.n_iterations;
                turns = Iterations::default();
            }
        }
    }
    Ok(breakdown::of(&program.regions, &evaluation.ranks, &evaluation.log, evaluation.n_steps))
}

/// Evaluation in progress: all ranks, each as far as it has advanced.
struct Evaluation<'a> {
    program: &'a RankPrograms,
    links: Links<'a>,
    copy_s_per_byte: f64,
    rules: Rules,
    speed: f64,
    ranks: Vec<Rank>,
    transfers: Transfers,
    pending: PendingCollective,
    /// Ranks that can advance.
    ready: Vec<u32>,
    log: Log,
    n_steps: u64,
}

/// Collective operation that ranks are entering.
#[derive(Default)]
struct PendingCollective {
    n_entered: usize,
    entries_s: Vec<f64>,
    parts: Vec<Option<(Collective, CallSite)>>,
    clocks: Clocks,
}

impl<'a> Evaluation<'a> {
    fn new(program: &'a RankPrograms, machine: &'a Machine) -> Self {
        let n_ranks = program.n_ranks;
        let pending = PendingCollective {
            entries_s: vec![0.0; n_ranks],
            parts: vec![None; n_ranks],
            ..PendingCollective::default()
        };
        Self {
            program,
            links: Links::of(&machine.network, machine.inside.as_ref(), machine.nodes_of(n_ranks)),
            copy_s_per_byte: machine.copy_s_per_byte,
            rules: machine.rules,
            speed: machine.speed_of(n_ranks),
            ranks: (0..n_ranks).map(|_| Rank::new(program.regions.len())).collect(),
            transfers: Transfers::new(program.n_channels),
            pending,
            ready: Vec::new(),
            log: Log::new(n_ranks),
            n_steps: 0,
        }
    }

    /// Advances all ranks from the first to the last of these steps.
    fn advance_all(&mut self, steps: &[Vec<ProgramStep>]) -> Result<(), ComposeError> {
        for rank in &mut self.ranks {
            (rank.next, rank.is_inside) = (0, false);
        }
        self.ready =
            (0..self.ranks.len()).rev().filter_map(|rank| u32::try_from(rank).ok()).collect();
        while let Some(rank) = self.ready.pop() {
            self.advance(rank, &steps[rank as usize])?;
        }
        let is_stuck = |rank: &usize| self.ranks[*rank].next < steps[*rank].len();
        let stuck: Vec<usize> = (0..self.ranks.len()).filter(is_stuck).collect();
        if stuck.is_empty() {
            return Ok(());
        }
        let first = stuck.iter().take(N_NAMED_MAX);
        let first = first.map(|rank| self.blocked(*rank, &steps[*rank][self.ranks[*rank].next]));
        let (n_waiting, n_ranks) = (stuck.len(), self.ranks.len());
        Err(ComposeError::Deadlock { n_waiting, n_ranks, first: first.collect() })
    }

    /// Advances one rank until it waits or ends.
    fn advance(&mut self, rank: u32, steps: &[ProgramStep]) -> Result<(), ComposeError> {
        let at = rank as usize;
        while let Some(step) = steps.get(self.ranks[at].next) {
            if !self.ranks[at].is_inside {
                self.ranks[at].is_inside = true;
                self.ranks[at].entered_s = self.ranks[at].clock_s;
                self.log.step(at, self.ranks[at].clock_s, step.place.region);
                self.enter(rank, step)?;
            }
            if !self.complete(rank, step) {
                return Ok(());
            }
            self.ranks[at].leave(step);
            self.n_steps += 1;
        }
        Ok(())
    }

    /// Executes the part of a step that does not depend on other ranks.
    fn enter(&mut self, rank: u32, step: &ProgramStep) -> Result<(), ComposeError> {
        let own = &mut self.ranks[rank as usize];
        match step.act {
            Act::Compute { seconds } => {
                own.clock_s += seconds / self.speed;
                own.compute_s += seconds / self.speed;
            }
            Act::Send { channel, to, bytes, mode, request } => {
                let mut cost = if to == rank {
                    MessageCost::copy(bytes, self.copy_s_per_byte)
                } else {
                    self.links.network(rank as usize, to as usize).cost(bytes)
                };
                cost.is_eager = match mode {
                    _ if to == rank => true,
                    SendMode::Standard => cost.is_eager,
                    SendMode::Synchronous => false,
                    SendMode::Buffered | SendMode::Ready => true,
                };
                let (sent_s, transfer) = if cost.is_eager {
                    let sent_s = own.clock_s;
                    own.clock_s += cost.sender_s();
                    (sent_s, None)
                } else {
                    let sent_s = own.clock_s.max(own.sends_until_s);
                    (own.sends_since_s, own.sends_until_s) = (sent_s, sent_s + cost.data_s);
                    if request.is_some() {
                        own.clock_s += cost.overhead_s;
                    }
                    (sent_s, Some(Side::Sender))
                };
                let sent = transfer::SendingEnd { from: rank, to, at_s: sent_s, cost };
                let (number, woken) = self.transfers.send(channel, sent);
                self.ready.extend(woken);
                own.hold(request, transfer.map(|side| (number, side)));
            }
            Act::Receive { channel, request, .. } => {
                let (number, woken) = self.transfers.receive(channel, own.clock_s);
                self.ready.extend(woken);
                own.hold(request, Some((number, Side::Receiver)));
            }
            Act::Wait { request } => own.take(request),
            Act::Collective(part) => return self.join(rank, part, step.place),
        }
        Ok(())
    }

    /// Completes a step that may depend on other ranks; returns false while it cannot.
    fn complete(&mut self, rank: u32, step: &ProgramStep) -> bool {
        let own = &mut self.ranks[rank as usize];
        if let Act::Collective(_) = step.act {
            return std::mem::take(&mut own.is_released);
        }
        let Some((number, side)) = own.needs else { return true };
        let Some(transfer) = self.transfers.matched(number, rank) else { return false };
        own.needs = None;
        if let Some(dependency) = own.finish(&transfer, side) {
            self.log.dependency(rank as usize, dependency);
        }
        self.transfers.close(number);
        true
    }

    /// Enters a collective; the last rank to enter takes all ranks through it.
    fn join(&mut self, rank: u32, part: Collective, place: CallSite) -> Result<(), ComposeError> {
        let at = rank as usize;
        let pending = &mut self.pending;
        pending.entries_s[at] = self.ranks[at].clock_s;
        pending.parts[at] = Some((part, place));
        pending.n_entered += 1;
        if pending.n_entered < self.ranks.len() {
            return Ok(());
        }
        pending.n_entered = 0;
        let parts: Vec<(Collective, CallSite)> =
            pending.parts.iter_mut().filter_map(Option::take).collect();
        let first = parts[0].0;
        let differs =
            |(part, _): &(Collective, CallSite)| (part.kind, part.root) != (first.kind, first.root);
        if let Some(other) = parts.iter().position(differs) {
            let stands = |rank: usize| {
                let (part, place) = parts[rank];
                Box::new(self.blocked(rank, &ProgramStep { place, act: Act::Collective(part) }))
            };
            return Err(ComposeError::Mismatch(stands(0), stands(other)));
        }
        let parts: Vec<Collective> = parts.into_iter().map(|(part, _)| part).collect();
        self.pass(&parts, rank);
        Ok(())
    }

    /// Takes all ranks through a collective after the `last` one entered.
    fn pass(&mut self, parts: &[Collective], last: u32) {
        let PendingCollective { clocks, entries_s, .. } = &mut self.pending;
        clocks.enter(entries_s);
        collectives::advance(clocks, parts, &self.links, self.rules);
        for (rank, own) in (0_u32..).zip(&mut self.ranks) {
            own.clock_s = clocks.at_s[rank as usize];
            own.waits(clocks.waited_s[rank as usize]);
            own.is_released = true;
            if rank != last {
                self.ready.push(rank);
            }
        }
        for (rank, dependency) in clocks.dependencies.drain(..) {
            self.log.dependency(rank, dependency);
        }
    }

    fn blocked(&self, rank: usize, step: &ProgramStep) -> BlockedRank {
        let waits_for = match step.act {
            Act::Compute { .. } => "nothing".to_owned(),
            Act::Send { to, .. } => format!("rank {to} to receive"),
            Act::Receive { from, .. } => format!("a message of rank {from}"),
            Act::Wait { .. } => match self.ranks[rank].needs {
                Some((number, side)) => self.transfers.waits_for(number, side),
                None => "what it started".to_owned(),
            },
            Act::Collective(part) => format!("all ranks in `{}`", part.kind.name()),
        };
        let regions = &self.program.regions;
        BlockedRank {
            rank: u32::try_from(rank).unwrap_or(u32::MAX),
            region: regions.get(step.place.region as usize).cloned().unwrap_or_default(),
            site: step.place.site,
            waits_for,
        }
    }

    /// Adds the time of further periods of a repeated phase.
    fn extrapolate(&mut self, period: &Period, n_periods: u64) {
        if n_periods == 0 {
            return;
        }
        let n = n_periods as f64;
        for (rank, earlier) in self.ranks.iter_mut().zip(&period.before) {
            rank.add(earlier, n, n * period.time_s);
        }
        self.log.extrapolate(period.time_s, n * period.time_s);
    }
}

/// Ranks at the ends of the last iterations of a phase.
#[derive(Default)]
struct Iterations {
    last: Vec<Vec<Rank>>,
}

/// Number of iterations after which the state repeats, shifted in time.
struct Period {
    n_iterations: u64,
    time_s: f64,
    /// Ranks before these iterations.
    before: Vec<Rank>,
}

impl Iterations {
    /// Returns the period that the iteration just evaluated completes, if any.
    fn period(&mut self, evaluation: &Evaluation<'_>) -> Option<Period> {
        if !evaluation.transfers.is_empty() {
            self.last.clear();
            return None;
        }
        let now = &evaluation.ranks;
        let found = self.last.iter().rev().zip(1..).find_map(|(before, n_iterations)| {
            let time_s = now.first()?.clock_s - before.first()?.clock_s;
            let within_s = EQUAL_WITHIN * now.first()?.clock_s.max(time_s);
            let is_later = |(now, before): (&Rank, &Rank)| now.is_later(before, time_s, within_s);
            let all = now.iter().zip(before).all(is_later);
            all.then(|| Period { n_iterations, time_s, before: before.clone() })
        });
        if PERIOD_MAX <= self.last.len() {
            self.last.remove(0);
        }
        self.last.push(now.clone());
        found
    }
}
