//! Result of an evaluation.

use super::evaluate::Rank;
use super::path::Log;

/// Time of a program and its breakdown.
#[derive(Clone, Debug, PartialEq)]
pub struct ComposedTime {
    /// Time until the last rank ends, in s.
    pub total_s: f64,
    /// Times by rank.
    pub ranks: Vec<RankTime>,
    /// Times by region, the longest first.
    pub regions: Vec<RegionTime>,
    /// Critical path: stays at ranks in the order of time, with a message between two stays.
    pub path: Vec<PathInterval>,
    /// Time on the path between ranks, in s.
    pub path_transfer_s: f64,
    /// Number of steps evaluated, without extrapolated iterations.
    pub n_steps: u64,
}

/// Time of a rank and its breakdown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankTime {
    /// Time at which the rank ends, in s.
    pub end_s: f64,
    /// Computing time, in s.
    pub compute_s: f64,
    /// Time waiting for others to arrive, in s.
    pub waiting_s: f64,
    /// Remaining time, spent on messages, in s.
    pub transfer_s: f64,
}

/// Time in a region.
#[derive(Clone, Debug, PartialEq)]
pub struct RegionTime {
    /// Name of the region.
    pub name: String,
    /// Mean over the ranks, in s.
    pub mean_s: f64,
    /// Time of the rank that spends most in it, in s.
    pub longest_s: f64,
    /// Part of the mean spent waiting for others, in s.
    pub waiting_s: f64,
    /// Time on the critical path, in s.
    pub on_path_s: f64,
}

/// A stay of the critical path at one rank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathInterval {
    /// Rank.
    pub rank: u32,
    /// Start, in s.
    pub from_s: f64,
    /// End, in s.
    pub to_s: f64,
    /// Index of the region with the largest share of the stay.
    pub region: Option<u32>,
}

impl ComposedTime {
    pub(super) fn of(names: &[String], ranks: &[Rank], log: &Log, n_steps: u64) -> Self {
        let last = ranks.iter().enumerate().max_by(|a, b| a.1.clock_s.total_cmp(&b.1.clock_s));
        let (last, total_s) = last.map_or((0, 0.0), |(last, rank)| (last, rank.clock_s));
        let path = (!ranks.is_empty()).then(|| log.path(last, total_s, names.len()));
        let on_path_s = |region: usize| {
            path.as_ref().and_then(|path| path.regions_s.get(region)).copied().unwrap_or(0.0)
        };
        let region =
            |(number, name): (usize, &String)| region_time(name, number, ranks, on_path_s(number));
        let mut regions: Vec<RegionTime> = names.iter().enumerate().map(region).collect();
        regions.sort_by(|a, b| b.mean_s.total_cmp(&a.mean_s));
        let path_transfer_s = path.as_ref().map_or(0.0, |path| path.transfer_s);
        Self {
            total_s,
            ranks: ranks.iter().map(RankTime::of).collect(),
            regions,
            path: path.map_or_else(Vec::new, |path| path.intervals),
            path_transfer_s,
            n_steps,
        }
    }

    /// Returns the share of the ranks' time spent waiting.
    #[must_use]
    pub fn waiting_share(&self) -> f64 {
        let all_s = self.total_s * self.ranks.len() as f64;
        // A rank that has ended waits for the last one.
        let waited = |rank: &RankTime| rank.waiting_s + self.total_s - rank.end_s;
        if all_s <= 0.0 { 0.0 } else { self.ranks.iter().map(waited).sum::<f64>() / all_s }
    }
}

impl RankTime {
    fn of(rank: &Rank) -> Self {
        let Rank { clock_s, compute_s, waited_s, .. } = *rank;
        let transfer_s = (clock_s - compute_s - waited_s).max(0.0);
        Self { end_s: clock_s, compute_s, waiting_s: waited_s, transfer_s }
    }
}

fn region_time(name: &str, number: usize, ranks: &[Rank], on_path_s: f64) -> RegionTime {
    let of_rank = |rank: &Rank| rank.regions.get(number).copied().unwrap_or_default();
    let n_ranks = ranks.len().max(1) as f64;
    let sum = |part: usize| ranks.iter().map(|rank| of_rank(rank)[part]).sum::<f64>();
    RegionTime {
        name: name.to_owned(),
        mean_s: sum(0) / n_ranks,
        longest_s: ranks.iter().map(|rank| of_rank(rank)[0]).fold(0.0, f64::max),
        waiting_s: sum(1) / n_ranks,
        on_path_s,
    }
}
