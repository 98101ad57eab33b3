//! Failures of the world of the tests.

use super::random::Random;
use task_api::{Demand, Dependency, DependencyKind, FailureRules, Resources, Schedule, TaskRange};

/// Failures of the world.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Trouble {
    pub(super) n_lost_of_1000: u64,
    pub(super) n_late_of_1000: u64,
    pub(super) n_doubled_of_1000: u64,
    /// Attempts that end with code 1.
    pub(super) n_fails_of_1000: u64,
    pub(super) n_cuts: usize,
    /// Daemons that are killed, while their keepers go on.
    pub(super) n_kills: usize,
    /// Machines that go down: daemon, keeper, tasks, and everything that was not on disk are lost.
    pub(super) n_crashes: usize,
    pub(super) n_keeper_deaths: usize,
    pub(super) n_cancels: usize,
    /// Journals that are damaged while the daemon is down.
    pub(super) n_holes: usize,
    /// True if tasks ask for cores, memory and GPUs, wait for each other, and differ in priority.
    pub(super) has_wishes: bool,
}

/// What a node has: more than a core where tasks ask for more.
pub(super) fn capacity(idx: usize, has_wishes: bool) -> Resources {
    if !has_wishes {
        return Resources { cpus: 1, ..Resources::nothing() };
    }
    let (cpus, gpus) = if idx.is_multiple_of(2) { (4, 0) } else { (2, 2) };
    Resources { cpus, memory_bytes: 100, gpus, ..Resources::nothing() }
}

/// What tasks ask for, at random; some node can run them.
pub(super) fn wishes(random: &mut Random, before: Option<&TaskRange>) -> (Demand, Schedule) {
    let with_gpu = random.happens(300);
    let one = Resources {
        cpus: if with_gpu { 1 } else { u32::try_from(random.between(1, 4)).unwrap() },
        memory_bytes: random.between(0, 60),
        gpus: u32::from(with_gpu),
        ..Resources::default()
    };
    let nodes = if random.happens(200) { 2 } else { 0 };
    let small = || Resources { cpus: one.cpus.min(2), gpus: 0, ..one.clone() };
    let variants = match random.happens(400) {
        true => Vec::new(),
        false if 0 < nodes => vec![small()],
        false => vec![one],
    };
    let expect_ms = random.happens(300).then(|| random.between(1, 4_000));
    let kinds = [DependencyKind::Succeeded, DependencyKind::Ended];
    let when = kinds[random.below(2)];
    let after = before.filter(|_| random.happens(500));
    let after = after.map(|tasks| Dependency { tasks: tasks.clone(), when, is_each: false });
    let schedule = Schedule {
        priority: i32::try_from(random.between(0, 2)).unwrap(),
        n_at_once_max: random.happens(200).then_some(2),
        after: after.into_iter().collect(),
        ..Schedule::default()
    };
    (Demand { variants, nodes, expect_ms, ..Demand::default() }, schedule)
}

impl Trouble {
    /// Rules that let each task succeed in the end.
    pub(super) fn failures(self) -> FailureRules {
        let n_retries_max = if 0 < self.n_fails_of_1000 { 1000 } else { 0 };
        FailureRules { n_retries_max, retry_delay_ms: 300, n_fails_max: None }
    }
}
