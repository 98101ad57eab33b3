//! Cores that a process may use.

use serde::{Deserialize, Serialize};
use std::fmt::{self, Display, Formatter};

/// Set of cores, as ranges in ascending order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CoreSet {
    /// First and last core of each range.
    ranges: Vec<(u32, u32)>,
}

/// Largest number of a core that is believed.
const CORE_MAX: u32 = 1 << 16;

impl CoreSet {
    /// Reads a list such as `0-3,8`; `None` if it is not one.
    pub fn parse(list: &str) -> Option<Self> {
        let mut ranges = Vec::new();
        for range in list.trim().split(',').filter(|range| !range.is_empty()) {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
            if last < first || CORE_MAX < last {
                return None;
            }
            ranges.push((first, last));
        }
        ranges.sort_unstable();
        Some(Self { ranges })
    }

    /// Number of cores.
    pub fn n_cores(&self) -> usize {
        self.ranges.iter().map(|(first, last)| (last - first + 1) as usize).sum()
    }

    /// Returns whether the core is in the set.
    pub fn holds(&self, core: u32) -> bool {
        self.ranges.iter().any(|(first, last)| (*first..=*last).contains(&core))
    }

    /// Returns the cores in ascending order.
    pub fn cores(&self) -> impl Iterator<Item = u32> {
        self.ranges.iter().flat_map(|(first, last)| *first..=*last)
    }
}

impl Display for CoreSet {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (idx, (first, last)) in self.ranges.iter().enumerate() {
            let comma = if idx == 0 { "" } else { "," };
            match first == last {
                true => write!(f, "{comma}{first}")?,
                false => write!(f, "{comma}{first}-{last}")?,
            }
        }
        Ok(())
    }
}

/// Cores that a process may use, and what else happens on them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cores {
    /// Affinity mask of the process's first thread, which respects the cpuset; empty if unknown.
    pub mask: CoreSet,
    /// Cores that the quotas of the process's control group and its parents amount to; `None` without a quota.
    pub quota: Option<f64>,
    /// Cores of the node that are online; 0 if unknown.
    pub n_online: u32,
    /// Processor time in ns of all processes of the node on the cores of [`Cores::mask`], since the process was
    /// seen first.
    pub busy_ns: u64,
    /// Time in ns for which its control group was stopped because its quota was used up, since the process was
    /// seen first; over all cores.
    pub throttled_ns: u64,
}

impl Cores {
    /// Number of cores that the process may use, whole or in parts; 0 if unknown.
    pub fn n_allowed(&self) -> f64 {
        let n_cores = self.mask.n_cores() as f64;
        self.quota.map_or(n_cores, |quota| if n_cores == 0.0 { quota } else { quota.min(n_cores) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(list: &str, expected: Option<(usize, &str)>) {
        let set = CoreSet::parse(list);
        let found = set.map(|set| (set.n_cores(), set.to_string()));
        assert_eq!(found, expected.map(|(n, text)| (n, text.to_owned())));
    }

    #[test]
    fn lists_of_cores_are_read_as_linux_writes_them() {
        check("0-3,8\n", Some((5, "0-3,8")));
        check("8,0-3", Some((5, "0-3,8")));
        check("1", Some((1, "1")));
        check("", Some((0, "")));
        check("3-1", None);
        check("0-99999999", None);
        check("x", None);
    }

    #[track_caller]
    fn check_allowed(mask: &str, quota: Option<f64>, expected: f64) {
        let cores = Cores { mask: CoreSet::parse(mask).unwrap(), quota, ..Cores::default() };
        assert!((cores.n_allowed() - expected).abs() < 1e-12);
    }

    #[test]
    fn the_tighter_limit_counts() {
        check_allowed("0-3", None, 4.0);
        check_allowed("0-3", Some(1.5), 1.5);
        check_allowed("0", Some(1.5), 1.0);
        check_allowed("", Some(1.5), 1.5);
    }
}
