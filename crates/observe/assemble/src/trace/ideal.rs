//! Replays the events of each world on the model of an ideal network.

use super::super::efficiency;
use super::super::roster::{RankProcess, Roster, WorldRanks};
use events::Ticks;
use models::ideal_network::{self, Split};
use models::{ThreadTimeline, ThreadTimelineBuilder};
use run_record::Event;
use std::collections::BTreeMap;

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

    /// Returns each world's serialization and transfer efficiency, and sentences about those that could not be computed.
    pub(super) fn splits(mut self, roster: &Roster<'_>) -> (Vec<Option<Split>>, Vec<String>) {
        if self.is_too_long {
            let why = "The trace is too long to tell serialization from transfer; trace a shorter run for that.";
            return (vec![None; roster.worlds.len()], vec![why.to_owned()]);
        }
        let mut warnings = Vec::new();
        let splits = roster.worlds.iter().map(|world| {
            let lanes = self.lanes(world);
            if lanes.is_empty() {
                return None;
            }
            match ideal_network::run(&lanes) {
                Ok(ideal) => split(roster.of_world(world), ideal.elapsed_ns),
                Err(stalled) => {
                    warnings.push(format!(
                        "Serialization and transfer cannot be told apart: {stalled}."
                    ));
                    None
                }
            }
        });
        (splits.collect(), warnings)
    }

    fn lanes(&mut self, world: &WorldRanks) -> Vec<ThreadTimeline> {
        let mut of_world = self.builders.split_off(&(world.ranks.start, 0));
        let mut later = of_world.split_off(&(world.ranks.end, 0));
        self.builders.append(&mut later);
        let lane = |((rank, thread), builder): ((usize, u32), ThreadTimelineBuilder)| {
            let process = &self.roster.ranks[rank];
            // The end of other threads is not known.
            let end_ns = if thread == 0 { process.clock.ns_at(process.end()) } else { 0 };
            builder.finish(end_ns.max(0).cast_unsigned())
        };
        of_world.into_iter().map(lane).collect()
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
