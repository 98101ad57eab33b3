//! Timelines of the threads of a traced run, and what models say about them.

use super::super::efficiency;
use super::super::roster::{RankProcess, Roster};
use super::Traced;
use events::{Event, Ticks};
use models::delays::{self, ClockError};
use models::ideal_network::{self, Split};
use models::{ThreadTimeline, ThreadTimelineBuilder};
use run_record::measured::NodeClock;
use std::collections::BTreeMap;
use std::ops::Range;

/// Threads of the run in the form that the model needs.
#[derive(Debug)]
pub(super) struct Lanes<'a> {
    roster: &'a Roster<'a>,
    /// Lane builders by position in [`Roster::ranks`] and thread.
    builders: BTreeMap<(usize, u32), ThreadTimelineBuilder>,
    n_rows_left: u64,
    is_too_long: bool,
}

impl<'a> Lanes<'a> {
    pub(super) fn new(roster: &'a Roster<'a>, n_rows_max: u64) -> Self {
        Self { roster, builders: BTreeMap::new(), n_rows_left: n_rows_max, is_too_long: false }
    }

    /// Adds events of one thread of a rank.
    pub(super) fn push(&mut self, rank: usize, events: &[Event]) {
        let n_rows = events.len() as u64;
        self.is_too_long |= self.n_rows_left < n_rows;
        if self.is_too_long {
            return self.builders.clear();
        }
        self.n_rows_left -= n_rows;
        let Some(first) = events.first() else { return };
        let process = &self.roster.ranks[rank];
        let start = || ThreadTimelineBuilder::new(first.rank, init_end_ns(process));
        let builder = self.builders.entry((rank, first.thread)).or_insert_with(start);
        events.iter().for_each(|event| builder.push(event));
    }

    /// Adds each world's serialization and transfer efficiency, the causes of its waiting, and sentences about what could
    /// not be computed.
    pub(super) fn finish(mut self, clocks: &[NodeClock], traced: &mut Traced) {
        let roster = self.roster;
        if self.is_too_long {
            traced.splits = vec![None; roster.worlds.len()];
            traced.delays = vec![None; roster.worlds.len()];
            traced.warnings.push(
                "The trace is too long to tell serialization from transfer, and what caused the waiting; trace a shorter run \
                 for that."
                    .to_owned(),
            );
            return;
        }
        for world in &roster.worlds {
            let (ranks, lanes) = self.lanes(world);
            let ideal = (!lanes.is_empty()).then(|| ideal_network::run(&lanes));
            let errors: Vec<ClockError> =
                ranks.iter().map(|rank| self.error(*rank, clocks)).collect();
            let delays = (!lanes.is_empty()).then(|| delays::analyze(&lanes, &errors));
            traced.delays.push(delays);
            traced.splits.push(match ideal {
                Some(Ok(ideal)) => split(roster.of_world(world), ideal.elapsed_ns),
                Some(Err(stalled)) => {
                    let why = "Serialization and transfer cannot be told apart";
                    traced.warnings.push(format!("{why}: {stalled}."));
                    None
                }
                None => None,
            });
        }
    }

    /// Returns the error of the clock of a rank, by the time of the message that compared it.
    fn error(&self, rank: usize, clocks: &[NodeClock]) -> ClockError {
        let node = &self.roster.ranks[rank].report.node;
        let at = clocks.iter().position(|clock| clock.node == *node);
        let error_ns = at.map_or(0, |at| clocks[at].round_trip_ns / 2);
        ClockError { node: at.map_or(0, |at| at + 1), error_ns }
    }

    /// Removes and returns the lanes of a world, with the positions of their ranks.
    fn lanes(&mut self, world: &Range<usize>) -> (Vec<usize>, Vec<ThreadTimeline>) {
        let mut of_world = self.builders.split_off(&(world.start, 0));
        let mut later = of_world.split_off(&(world.end, 0));
        self.builders.append(&mut later);
        let lane = |((rank, thread), builder): ((usize, u32), ThreadTimelineBuilder)| {
            let process = &self.roster.ranks[rank];
            // The end of other threads is not known.
            let end_ns = if thread == 0 { process.clock.ns_at(process.end()) } else { 0 };
            (rank, builder.finish(end_ns.max(0).cast_unsigned()))
        };
        of_world.into_iter().map(lane).unzip()
    }
}

fn split(ranks: &[RankProcess<'_>], ideal_ns: u64) -> Option<Split> {
    let elapsed_s = ranks.iter().map(RankProcess::elapsed_s).fold(0.0, f64::max);
    let useful_max_s = efficiency::of_ranks(ranks)?.communication_efficiency * elapsed_s;
    ideal_network::split(useful_max_s, ideal_ns as f64 * 1e-9, elapsed_s)
}

fn init_end_ns(rank: &RankProcess<'_>) -> u64 {
    rank.clock.ns_at(Ticks(rank.report.init_end.0)).max(0).cast_unsigned()
}
