//! What a task asks of the node that runs it: cores, memory, GPUs, resources of the user's own, and time.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// Most cores, GPUs or pieces of another resource of one task.
const AMOUNT_MAX: u32 = 1 << 16;
/// Most alternatives of one task.
const N_VARIANTS_MAX: usize = 16;
/// Most resources with names of their own in one alternative.
const N_NAMED_MAX: usize = 32;
/// Most nodes of one task.
const N_NODES_MAX: u32 = 1 << 12;
/// Longest time, in ms: a hundred years.
const TIME_MS_MAX: u64 = 100 * 366 * 86_400_000;

/// Amounts of what tasks use and nodes have.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Resources {
    /// Cores.
    pub cpus: u32,
    /// Most cores that the task uses where more are free; 0 where it uses just `cpus`.
    #[serde(skip_serializing_if = "is_zero")]
    pub cpus_max: u32,
    /// Memory in bytes; 0 where nothing is said of it.
    pub memory_bytes: u64,
    /// GPUs.
    pub gpus: u32,
    /// Pieces of other resources, by name.
    pub named: BTreeMap<String, u32>,
}

/// What a task asks of its node.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Demand {
    /// Alternatives, the preferred one first; none stands for one core.
    pub variants: Vec<Resources>,
    /// Nodes that the task runs on at once, each of which gives it all of an alternative; 0 or 1 for one.
    #[serde(skip_serializing_if = "is_zero")]
    pub nodes: u32,
    /// True if the task is not bound to the cores that it is given.
    #[serde(skip_serializing_if = "is_false")]
    pub is_unpinned: bool,
    /// Longest time that an attempt may run, in ms: then it is ended, and has failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_limit_ms: Option<u64>,
    /// Time that the node has to be there for when the task starts, in ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_request_ms: Option<u64>,
    /// Time that the task is expected to run, in ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expect_ms: Option<u64>,
}

/// Reason why a demand is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DemandError {
    /// A task without a core.
    #[error("`cpus` is 0: a task needs a core")]
    NoCore,
    /// The range of cores runs backwards.
    #[error("the cores `{0}-{1}` are not valid: write the smaller number first")]
    Cores(u32, u32),
    /// An amount is too large.
    #[error("{1} of `{0}` are asked for, {AMOUNT_MAX} at most")]
    Amount(String, u64),
    /// A name cannot be that of a resource.
    #[error(
        "`{0}` cannot be the name of a resource: use 1 to 32 letters, digits, `-` and `_`, beginning with a letter"
    )]
    Name(String),
    /// The task asks for too many nodes.
    #[error("{0} nodes are asked for, {N_NODES_MAX} at most")]
    Nodes(u32),
    /// There are too many alternatives or names.
    #[error(
        "{0} alternatives with {1} names are asked for, {N_VARIANTS_MAX} with {N_NAMED_MAX} at most"
    )]
    Many(usize, usize),
    /// A time is 0 or too long.
    #[error("a time of {0} ms is not valid: use 1 ms to a hundred years")]
    Time(u64),
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}

impl Default for Resources {
    /// One core.
    fn default() -> Self {
        Self { cpus: 1, cpus_max: 0, memory_bytes: 0, gpus: 0, named: BTreeMap::new() }
    }
}

impl Resources {
    /// Nothing at all.
    pub fn nothing() -> Self {
        Self { cpus: 0, ..Self::default() }
    }

    /// Returns whether this much is within `room`.
    pub fn fit(&self, room: &Self) -> bool {
        let has = |(name, n): (&String, &u32)| *n <= room.named.get(name).copied().unwrap_or(0);
        self.cpus <= room.cpus
            && self.memory_bytes <= room.memory_bytes
            && self.gpus <= room.gpus
            && self.named.iter().all(has)
    }

    /// Adds amounts.
    pub fn add(&mut self, more: &Self) {
        self.cpus = self.cpus.saturating_add(more.cpus);
        self.memory_bytes = self.memory_bytes.saturating_add(more.memory_bytes);
        self.gpus = self.gpus.saturating_add(more.gpus);
        for (name, n) in &more.named {
            let sum = self.named.entry(name.clone()).or_default();
            *sum = sum.saturating_add(*n);
        }
    }

    /// Subtracts amounts; what would be negative becomes 0.
    pub fn subtract(&mut self, less: &Self) {
        self.cpus = self.cpus.saturating_sub(less.cpus);
        self.memory_bytes = self.memory_bytes.saturating_sub(less.memory_bytes);
        self.gpus = self.gpus.saturating_sub(less.gpus);
        for (name, n) in &less.named {
            if let Some(left) = self.named.get_mut(name) {
                *left = left.saturating_sub(*n);
            }
        }
    }

    fn check(&self) -> Result<(), DemandError> {
        if self.cpus == 0 {
            return Err(DemandError::NoCore);
        }
        if 0 < self.cpus_max && self.cpus_max < self.cpus {
            return Err(DemandError::Cores(self.cpus, self.cpus_max));
        }
        let amounts = [("cpus", self.cpus.max(self.cpus_max)), ("gpus", self.gpus)];
        let named = self.named.iter().map(|(name, n)| (name.as_str(), *n));
        if let Some((name, n)) = amounts.into_iter().chain(named).find(|(_, n)| AMOUNT_MAX < *n) {
            return Err(DemandError::Amount(name.to_owned(), n.into()));
        }
        let wrong = self.named.keys().find(|name| !is_resource_name(name));
        wrong.map_or(Ok(()), |name| Err(DemandError::Name(name.clone())))
    }
}

/// Returns whether a resource can have this name, which becomes a part of a variable's name as well.
pub fn is_resource_name(name: &str) -> bool {
    let fine = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    let begins_well = name.starts_with(|first: char| first.is_ascii_alphabetic());
    let is_taken = ["cpus", "memory", "gpus"].contains(&name);
    name.len() <= 32 && begins_well && name.bytes().all(fine) && !is_taken
}

impl Demand {
    /// Returns whether the task asks for nothing but a core.
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }

    /// Alternatives, of which there is always one.
    pub fn variants(&self) -> &[Resources] {
        static ONE_CORE: Resources =
            Resources { cpus: 1, cpus_max: 0, memory_bytes: 0, gpus: 0, named: BTreeMap::new() };
        if self.variants.is_empty() { std::slice::from_ref(&ONE_CORE) } else { &self.variants }
    }

    /// Least number of cores of any alternative.
    pub fn cpus_min(&self) -> u32 {
        self.variants().iter().map(|it| it.cpus).min().unwrap_or(1)
    }

    /// Returns whether the task runs on several nodes at once.
    pub fn is_spanning(&self) -> bool {
        1 < self.nodes
    }

    /// Number of nodes that the task runs on at once.
    pub fn n_nodes(&self) -> u32 {
        self.nodes.max(1)
    }

    /// What a task that runs on several nodes asks of each of them.
    pub fn of_one_node(&self) -> Self {
        Self { nodes: 0, ..self.clone() }
    }

    /// Returns whether a node that has all of `capacity` can run the task alone.
    pub fn fits(&self, capacity: &Resources) -> bool {
        !self.is_spanning() && self.part_fits(capacity)
    }

    /// Returns whether a node that has all of `capacity` can be one of those that the task runs on.
    pub fn part_fits(&self, capacity: &Resources) -> bool {
        self.variants().iter().any(|it| it.fit(capacity))
    }

    /// Time after which an attempt has ended, as far as that is known, in ms.
    pub fn lasts_ms(&self) -> Option<u64> {
        self.expect_ms.or(self.time_limit_ms)
    }

    /// Checks whether a task can ask for this.
    ///
    /// # Errors
    /// When an amount, a name or a time cannot be.
    pub fn check(&self) -> Result<(), DemandError> {
        let n_named = self.variants.iter().map(|it| it.named.len()).max().unwrap_or(0);
        if N_VARIANTS_MAX < self.variants.len() || N_NAMED_MAX < n_named {
            return Err(DemandError::Many(self.variants.len(), n_named));
        }
        self.variants.iter().try_for_each(Resources::check)?;
        if N_NODES_MAX < self.nodes {
            return Err(DemandError::Nodes(self.nodes));
        }
        let times = [self.time_limit_ms, self.time_request_ms, self.expect_ms];
        let wrong = |ms: &u64| !(1..=TIME_MS_MAX).contains(ms);
        let wrong = times.into_iter().flatten().find(wrong);
        wrong.map_or(Ok(()), |ms| Err(DemandError::Time(ms)))
    }
}

impl fmt::Display for Resources {
    /// Writes what is asked for: `4 cores, 8 GiB, 1 GPU, 2 fpga`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let core = if self.cpus.max(self.cpus_max) == 1 { "core" } else { "cores" };
        if self.cpus_max <= self.cpus {
            write!(f, "{} {core}", self.cpus)?;
        } else {
            write!(f, "{} to {} {core}", self.cpus, self.cpus_max)?;
        }
        if 0 < self.memory_bytes {
            write!(f, ", {}", Bytes(self.memory_bytes))?;
        }
        if 0 < self.gpus {
            write!(f, ", {} {}", self.gpus, if self.gpus == 1 { "GPU" } else { "GPUs" })?;
        }
        self.named
            .iter()
            .filter(|(_, n)| 0 < **n)
            .try_for_each(|(name, n)| write!(f, ", {n} {name}"))
    }
}

impl fmt::Display for Demand {
    /// Writes the alternatives: `1 core, 1 GPU or 8 cores`, `4 cores on each of 2 nodes`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (idx, variant) in self.variants().iter().enumerate() {
            let or = if idx == 0 { "" } else { " or " };
            write!(f, "{or}{variant}")?;
        }
        if self.is_spanning() {
            write!(f, " on each of {} nodes", self.nodes)?;
        }
        Ok(())
    }
}

/// Amount of memory for users.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    /// Writes the largest unit of which there is at least one, with a decimal where it is not whole.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];
        let Some((bits, unit)) = units.into_iter().find(|(bits, _)| 1_u64 << bits <= self.0) else {
            return write!(f, "{} bytes", self.0);
        };
        let tenths = (u128::from(self.0) * 10 + (1 << (bits - 1))) >> bits;
        match tenths % 10 {
            0 => write!(f, "{} {unit}", tenths / 10),
            tenth => write!(f, "{}.{tenth} {unit}", tenths / 10),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resources(cpus: u32, memory_bytes: u64, gpus: u32, fpga: u32) -> Resources {
        let named = if fpga == 0 { BTreeMap::new() } else { [("fpga".to_owned(), fpga)].into() };
        Resources { cpus, memory_bytes, gpus, named, ..Resources::default() }
    }

    #[test]
    fn a_task_fits_where_each_amount_does() {
        let node = resources(8, 100, 2, 1);
        assert!(resources(8, 100, 2, 1).fit(&node) && Resources::default().fit(&node));
        for wrong in [(9, 0, 0, 0), (1, 101, 0, 0), (1, 0, 3, 0), (1, 0, 0, 2)] {
            assert!(!resources(wrong.0, wrong.1, wrong.2, wrong.3).fit(&node), "{wrong:?}");
        }
        let mut left = node.clone();
        left.subtract(&resources(3, 60, 1, 1));
        assert!(!resources(1, 0, 0, 1).fit(&left) && resources(5, 40, 1, 0).fit(&left));
        left.add(&resources(3, 60, 1, 1));
        assert_eq!(left, node);
    }

    #[test]
    fn one_of_the_alternatives_has_to_fit() {
        let variants = vec![resources(1, 0, 1, 0), resources(6, 0, 0, 0)];
        let demand = Demand { variants, ..Demand::default() };
        assert!(demand.fits(&resources(2, 0, 1, 0)) && demand.fits(&resources(6, 0, 0, 0)));
        assert!(!demand.fits(&resources(5, 0, 0, 0)));
        assert_eq!(
            (demand.cpus_min(), demand.to_string().as_str()),
            (1, "1 core, 1 GPU or 6 cores")
        );
        assert!(Demand::default().is_plain() && !demand.is_plain());
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let check = |change: fn(&mut Resources), expected: Option<DemandError>| {
            let mut one = Resources::default();
            change(&mut one);
            let demand = Demand { variants: vec![one], ..Demand::default() };
            assert_eq!(demand.check().err(), expected);
        };
        check(|_| {}, None);
        check(|it| it.cpus = 0, Some(DemandError::NoCore));
        check(|it| (it.cpus, it.cpus_max) = (4, 2), Some(DemandError::Cores(4, 2)));
        check(|it| it.gpus = 70_000, Some(DemandError::Amount("gpus".to_owned(), 70_000)));
        let name = |it: &mut Resources| it.named = [("gpus".to_owned(), 1)].into();
        check(name, Some(DemandError::Name("gpus".to_owned())));
        let timed = Demand { time_limit_ms: Some(0), ..Demand::default() };
        assert_eq!(timed.check(), Err(DemandError::Time(0)));
        let many = Demand { variants: vec![Resources::default(); 17], ..Demand::default() };
        assert_eq!(many.check(), Err(DemandError::Many(17, 0)));
    }

    #[test]
    fn json_says_what_is_asked_for_and_no_more() {
        let demand = Demand { variants: vec![resources(4, 1 << 33, 0, 2)], ..Demand::default() };
        let json = serde_json::to_string(&demand).unwrap();
        let expected =
            r#"{"variants":[{"cpus":4,"memory_bytes":8589934592,"gpus":0,"named":{"fpga":2}}]}"#;
        assert_eq!(json, expected);
        assert_eq!(serde_json::from_str::<Demand>(&json).unwrap(), demand);
        let short = serde_json::from_str::<Demand>(r#"{"variants":[{"gpus":1}]}"#).unwrap();
        assert_eq!(short.variants, [resources(1, 0, 1, 0)]);
        assert_eq!(demand.to_string(), "4 cores, 8 GiB, 2 fpga");
    }

    #[test]
    fn memory_is_written_in_the_largest_unit() {
        let texts = [900, 1 << 20, 3 << 29, 5 << 40].map(|bytes| Bytes(bytes).to_string());
        assert_eq!(texts, ["900 bytes", "1 MiB", "1.5 GiB", "5 TiB"]);
    }
}
