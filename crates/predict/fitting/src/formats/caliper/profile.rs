//! Times of the regions of one run, from its snapshots.

use super::stream::{Entries, Stream, unescaped};
use crate::formats::{Fault, number};
use std::collections::{HashMap, HashSet};

/// Kind of a recorded time.
#[derive(Debug)]
struct Time {
    name: &'static str,
    /// True if the time of inner regions is part of it.
    is_inclusive: bool,
    /// True if it is the sum over all ranks, unless the snapshot names one.
    is_total: bool,
}

const fn time(name: &'static str, is_inclusive: bool, is_total: bool) -> Time {
    Time { name, is_inclusive, is_total }
}

/// Recorded times, the preferred ones first; each may also end with `.ns`.
const TIMES: [Time; 7] = [
    time("avg#inclusive#sum#time.duration", true, false),
    time("inclusive#sum#time.duration", true, false),
    time("sum#inclusive#sum#time.duration", true, true),
    time("avg#sum#time.duration", false, false),
    time("sum#sum#time.duration", false, true),
    time("sum#time.duration", false, false),
    time("time.duration", false, false),
];
const METRIC: &str = "time";
const RANK: &str = "mpi.rank";
/// Attribute that tells region profiles of `spot` from its time series.
const CHANNEL: &str = "spot.channel";
const OF_REGIONS: &str = "regionprofile";
/// Attributes of a time's unit.
const UNIT_NAMES: [&str; 2] = ["attribute.unit", "time.unit"];

/// Use of an attribute with values.
#[derive(Clone, Copy, Debug)]
enum Use {
    Time { time_idx: usize, seconds: f64 },
    Rank,
    None,
}

/// Time of a region in one snapshot.
#[derive(Debug)]
struct Sample {
    path_idx: usize,
    time_idx: usize,
    /// Rank as written.
    rank: Option<u64>,
    seconds: f64,
}

/// Region with the regions around it.
#[derive(Debug)]
struct Path {
    text: String,
    /// Index of the path of the region around it.
    outer_idx: Option<usize>,
}

/// Times of a run.
#[derive(Debug, Default)]
pub(super) struct Profile {
    uses: HashMap<u64, Use>,
    paths: Vec<Path>,
    path_idxs: HashMap<String, usize>,
    samples: Vec<Sample>,
}

impl Profile {
    /// Adds a snapshot.
    pub(super) fn add(&mut self, stream: &Stream<'_>, entries: &Entries<'_>) -> Result<(), Fault> {
        let Some(path_idx) = self.path(stream, entries)? else { return Ok(()) };
        let first = self.samples.len();
        let mut rank = None;
        for (attribute, written) in entries.attributes.iter().zip(&entries.values) {
            match self.use_of(stream, *attribute) {
                Use::Time { time_idx, seconds } => {
                    let value = number(&unescaped(written))?;
                    let seconds = seconds * value;
                    self.samples.push(Sample { path_idx, time_idx, rank: None, seconds });
                }
                Use::Rank => rank = written.parse().ok(),
                Use::None => {}
            }
        }
        for sample in &mut self.samples[first..] {
            sample.rank = rank;
        }
        Ok(())
    }

    /// Returns the index of the path of a snapshot; `None` outside regions.
    fn path(&mut self, stream: &Stream<'_>, entries: &Entries<'_>) -> Result<Option<usize>, Fault> {
        let mut outer_idx = None;
        for id in &entries.nodes {
            stream.node(*id)?;
            let mut parts = Vec::new();
            for node in stream.chain(Some(*id)) {
                let Ok(attribute) = stream.node(node.attribute) else { continue };
                if attribute.is_nested() {
                    parts.push(node);
                } else if attribute.value() == CHANNEL && node.value() != OF_REGIONS {
                    return Ok(None);
                }
            }
            for part in parts.iter().rev() {
                outer_idx = Some(self.inner(outer_idx, &part.value()));
            }
        }
        Ok(outer_idx)
    }

    /// Returns the index of a region within another.
    fn inner(&mut self, outer_idx: Option<usize>, name: &str) -> usize {
        let text = match outer_idx {
            Some(outer_idx) => format!("{}->{name}", self.paths[outer_idx].text),
            None => name.to_owned(),
        };
        if let Some(idx) = self.path_idxs.get(&text) {
            return *idx;
        }
        let idx = self.paths.len();
        self.path_idxs.insert(text.clone(), idx);
        self.paths.push(Path { text, outer_idx });
        idx
    }

    fn use_of(&mut self, stream: &Stream<'_>, attribute: u64) -> Use {
        *self.uses.entry(attribute).or_insert_with(|| use_of(stream, attribute))
    }

    /// Returns region, metric and value; `n_ranks` is the number of ranks of the run.
    pub(super) fn values(&self, n_ranks: f64) -> Vec<(String, String, f64)> {
        let Some(time_idx) = self.samples.iter().map(|sample| sample.time_idx).min() else {
            return Vec::new();
        };
        let time = &TIMES[time_idx];
        let mut sums = vec![0.0; self.paths.len()];
        let mut n_samples = vec![0; self.paths.len()];
        let mut ranks: HashSet<(usize, u64)> = HashSet::new();
        for sample in self.samples.iter().filter(|sample| sample.time_idx == time_idx) {
            let is_shared = time.is_total && sample.rank.is_none();
            let seconds = if is_shared { sample.seconds / n_ranks } else { sample.seconds };
            let mut path_idx = Some(sample.path_idx);
            while let Some(idx) = path_idx {
                sums[idx] += seconds;
                n_samples[idx] += 1;
                ranks.extend(sample.rank.map(|rank| (idx, rank)));
                path_idx = self.paths[idx].outer_idx.filter(|_| !time.is_inclusive);
            }
        }
        let mut n_ranks_of = vec![0.0; self.paths.len()];
        for (idx, _) in ranks {
            n_ranks_of[idx] += 1.0;
        }
        let one = |idx: usize| {
            let mean = sums[idx] / f64::max(n_ranks_of[idx], 1.0);
            (self.paths[idx].text.clone(), METRIC.to_owned(), mean)
        };
        (0..self.paths.len()).filter(|idx| 0 < n_samples[*idx]).map(one).collect()
    }
}

fn use_of(stream: &Stream<'_>, attribute: u64) -> Use {
    let Ok(node) = stream.node(attribute) else { return Use::None };
    let name = node.value();
    if name == RANK {
        return Use::Rank;
    }
    let (plain, is_ns) = match name.strip_suffix(".ns") {
        Some(plain) => (plain, true),
        None => (name.as_ref(), false),
    };
    let Some(time_idx) = TIMES.iter().position(|time| time.name == plain) else { return Use::None };
    let unit = UNIT_NAMES.iter().find_map(|name| stream.inherited(attribute, name));
    let seconds = match unit.as_deref() {
        Some("nsec" | "ns") => 1e-9,
        Some("usec" | "us") => 1e-6,
        Some("msec" | "ms") => 1e-3,
        None if is_ns => 1e-9,
        _ => 1.0,
    };
    Use::Time { time_idx, seconds }
}
