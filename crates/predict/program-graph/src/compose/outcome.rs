//! Result of an evaluation.

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
    /// Returns the share of the ranks' time spent waiting.
    #[must_use]
    pub fn waiting_share(&self) -> f64 {
        let all_s = self.total_s * self.ranks.len() as f64;
        // A rank that has ended waits for the last one.
        let waited = |rank: &RankTime| rank.waiting_s + self.total_s - rank.end_s;
        if all_s <= 0.0 { 0.0 } else { self.ranks.iter().map(waited).sum::<f64>() / all_s }
    }
}
