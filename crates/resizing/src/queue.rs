//! Which running jobs give nodes away, and which get more, so that those that wait can start and no node is idle.
//!
//! Jobs start in the order in which they wait. For each of them, nodes are first those that are idle, then those of
//! malleable jobs: what is beyond their preferred sizes, then what is beyond their smallest ones. Nodes that nobody waits
//! for go to the smallest jobs, first up to their preferred sizes, then up to their largest.
//!
//! # Invariants
//! - Nobody gets a size outside its own range, and all together get no more nodes than there are.
//! - The first job that waits starts if shrinking can make it; a job that waits is never blocked by growth.
//! - Without news nothing changes twice: a job grows only after a time of calm, a multiple of what its resize costs; a job
//!   that is changing its size is let alone, and what it is about to give counts as given.
//!
//! # Not here
//! Asking a resource manager for jobs and nodes, and telling programs.

use std::collections::BTreeMap;

/// A job that has nodes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunningJob {
    /// Its number.
    pub job: u64,
    /// Nodes that it has.
    pub n_nodes: u32,
    /// Nodes that it will have, while it changes its size.
    pub n_nodes_soon: Option<u32>,
    /// What it agrees to; nothing where it is rigid.
    pub range: Option<NodeRange>,
    /// Seconds that its last resize cost it.
    pub resize_s: f64,
    /// Seconds since its last resize, or since it began.
    pub calm_s: f64,
}

/// The numbers of nodes that a malleable job agrees to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeRange {
    /// Fewest.
    pub min: u32,
    /// Where it runs best; others may have what is beyond.
    pub preferred: u32,
    /// Most.
    pub max: u32,
}

/// A job that waits for nodes and nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitingJob {
    /// Its number.
    pub job: u64,
    /// Nodes that it wants.
    pub n_nodes: u32,
}

/// When jobs may grow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueueRules {
    /// Seconds between two resizes of a job of which the second one is growth, at least.
    pub calm_s: f64,
    /// The same in multiples of what a resize costs the job.
    pub calm_per_cost: f64,
}

impl Default for QueueRules {
    /// Half a minute; a job spends at most a twentieth of its time on growing.
    fn default() -> Self {
        Self { calm_s: 30.0, calm_per_cost: 20.0 }
    }
}

/// Another size for a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// Its number.
    pub job: u64,
    /// Nodes that it has.
    pub from: u32,
    /// Nodes that it shall have.
    pub to: u32,
    /// Why.
    pub reason: ChangeReason,
}

/// Why a job shall have another size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeReason {
    /// So that this job can start.
    MakesRoom {
        /// Its number.
        job: u64,
    },
    /// Nodes are idle, and nobody waits for them.
    UsesIdle,
}

/// What is to change. `waiting` is in the order in which jobs shall start; `n_idle` nodes have no job.
#[must_use]
pub fn rearrange(
    running: &[RunningJob],
    waiting: &[WaitingJob],
    n_idle: u32,
    rules: &QueueRules,
) -> Vec<Change> {
    let mut plan = Plan::new(running, n_idle);
    for job in waiting {
        if !plan.make_room(job) {
            return plan.changes();
        }
    }
    plan.grow(rules);
    plan.changes()
}

/// Sizes as they are being decided.
struct Plan<'a> {
    /// Those that may change, by number.
    malleable: BTreeMap<u64, Malleable<'a>>,
    /// Nodes that are idle, will be, or have been promised by a change. Below zero where more was promised than there is.
    n_free: i64,
}

struct Malleable<'a> {
    job: &'a RunningJob,
    range: NodeRange,
    n_nodes: u32,
    reason: ChangeReason,
}

impl<'a> Plan<'a> {
    fn new(running: &'a [RunningJob], n_idle: u32) -> Self {
        let soon = |job: &RunningJob| i64::from(job.n_nodes_soon.unwrap_or(job.n_nodes));
        let coming = running.iter().map(|job| i64::from(job.n_nodes) - soon(job)).sum::<i64>();
        let malleable = running.iter().filter(|job| job.n_nodes_soon.is_none());
        let malleable = malleable.filter_map(|job| {
            let (n_nodes, reason) = (job.n_nodes, ChangeReason::UsesIdle);
            // One whose size is outside of its own range is about to change it.
            let range = job.range.filter(|range| (range.min..=range.max).contains(&n_nodes))?;
            Some((job.job, Malleable { job, range, n_nodes, reason }))
        });
        Self { malleable: malleable.collect(), n_free: i64::from(n_idle) + coming }
    }

    /// Takes nodes for a job out of what is free, shrinking others where it has to. False where that cannot be.
    fn make_room(&mut self, waiting: &WaitingJob) -> bool {
        let wanted = i64::from(waiting.n_nodes);
        let to_spare = |job: &Malleable<'_>| i64::from(job.n_nodes.saturating_sub(job.range.min));
        let n_to_spare = self.malleable.values().map(to_spare).sum::<i64>();
        if self.n_free + n_to_spare < wanted {
            return false;
        }
        let reason = ChangeReason::MakesRoom { job: waiting.job };
        self.shrink_to(wanted, reason, |range| range.preferred.clamp(range.min, range.max));
        self.shrink_to(wanted, reason, |range| range.min);
        self.n_free -= wanted;
        true
    }

    /// Shrinks jobs, none below its `floor`, until so many nodes are free or nothing is left to shrink.
    ///
    /// As few jobs as possible: the one whose resize costs least of those that suffice alone, else the largest.
    fn shrink_to(&mut self, wanted: i64, reason: ChangeReason, floor: impl Fn(&NodeRange) -> u32) {
        while self.n_free < wanted {
            let missing = wanted - self.n_free;
            let surplus =
                |job: &Malleable<'_>| i64::from(job.n_nodes.saturating_sub(floor(&job.range)));
            let best = self.malleable.values_mut().filter(|job| 0 < surplus(job)).min_by(|a, b| {
                let enough = |job: &Malleable<'_>| surplus(job).min(missing);
                let cost = |job: &Malleable<'_>| job.job.resize_s;
                enough(b).cmp(&enough(a)).then(cost(a).total_cmp(&cost(b)))
            });
            let Some(job) = best else { return };
            let n_given = surplus(job).min(missing);
            job.n_nodes -= u32::try_from(n_given).unwrap_or(0);
            job.reason = reason;
            self.n_free += n_given;
        }
    }

    /// Deals free nodes out, one by one, to the smallest of those that may grow.
    fn grow(&mut self, rules: &QueueRules) {
        while 0 < self.n_free {
            let may_grow = |job: &Malleable<'_>| {
                let calm_s = rules.calm_s.max(rules.calm_per_cost * job.job.resize_s);
                job.job.n_nodes <= job.n_nodes
                    && job.n_nodes < job.range.max
                    && calm_s <= job.job.calm_s
            };
            let growing = self.malleable.values_mut().filter(|job| may_grow(job));
            let next = growing.min_by_key(|job| (job.range.preferred <= job.n_nodes, job.n_nodes));
            let Some(job) = next else { return };
            job.n_nodes += 1;
            self.n_free -= 1;
        }
    }

    fn changes(&self) -> Vec<Change> {
        let changed = self.malleable.iter().filter(|(_, job)| job.n_nodes != job.job.n_nodes);
        let change = changed.map(|(number, job)| Change {
            job: *number,
            from: job.job.n_nodes,
            to: job.n_nodes,
            reason: job.reason,
        });
        change.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: QueueRules = QueueRules { calm_s: 30.0, calm_per_cost: 20.0 };

    fn rigid(job: u64, n_nodes: u32) -> RunningJob {
        let (resize_s, calm_s) = (0.0, 1000.0);
        RunningJob { job, n_nodes, n_nodes_soon: None, range: None, resize_s, calm_s }
    }

    fn malleable(job: u64, n_nodes: u32, (min, preferred, max): (u32, u32, u32)) -> RunningJob {
        RunningJob { range: Some(NodeRange { min, preferred, max }), ..rigid(job, n_nodes) }
    }

    /// Waiting jobs are numbered from 101; changes are jobs and their new sizes.
    #[track_caller]
    fn check(running: &[RunningJob], waiting: &[u32], n_idle: u32, expected: &[(u64, u32)]) {
        let waiting = waiting.iter().zip(101..);
        let waiting = waiting.map(|(n_nodes, job)| WaitingJob { job, n_nodes: *n_nodes });
        let changes = rearrange(running, &waiting.collect::<Vec<_>>(), n_idle, &RULES);
        let changes = changes.iter().map(|change| (change.job, change.to)).collect::<Vec<_>>();
        assert_eq!(changes, expected);
    }

    #[test]
    fn a_waiting_job_gets_room() {
        check(&[malleable(1, 4, (1, 4, 4))], &[1], 0, &[(1, 3)]);
        check(&[malleable(1, 4, (1, 4, 4))], &[3], 0, &[(1, 1)]);
        check(&[malleable(1, 4, (1, 4, 4))], &[2], 1, &[(1, 3)]);
        check(&[malleable(1, 2, (1, 2, 2)), rigid(2, 2)], &[1, 1], 0, &[(1, 1)]);
        check(&[malleable(1, 4, (1, 4, 4))], &[1, 1, 1, 1], 0, &[(1, 1)]);
    }

    #[test]
    fn nobody_shrinks_in_vain() {
        check(&[malleable(1, 4, (2, 4, 4))], &[3], 0, &[]);
        check(&[rigid(1, 4)], &[1], 0, &[]);
        // The first one cannot start, and the second one does not pass it.
        check(&[malleable(1, 2, (1, 2, 2)), rigid(2, 2)], &[3, 1], 0, &[]);
        // It starts without us.
        check(&[malleable(1, 2, (1, 2, 4))], &[2], 2, &[]);
    }

    #[test]
    fn few_are_disturbed_and_the_cheapest_first() {
        let wide = (1, 1, 4);
        check(&[malleable(1, 2, wide), malleable(2, 4, wide)], &[3], 0, &[(2, 1)]);
        let dear = RunningJob { resize_s: 9.0, ..malleable(1, 3, wide) };
        check(&[dear, malleable(2, 3, wide)], &[2], 0, &[(2, 1)]);
        check(&[dear, malleable(2, 3, wide)], &[3], 0, &[(1, 2), (2, 1)]);
    }

    #[test]
    fn what_is_beyond_the_preferred_size_goes_first() {
        check(&[malleable(1, 4, (1, 4, 4)), malleable(2, 3, (1, 2, 4))], &[1], 0, &[(2, 2)]);
        check(
            &[malleable(1, 4, (1, 4, 4)), malleable(2, 3, (1, 2, 4))],
            &[2],
            0,
            &[(1, 3), (2, 2)],
        );
    }

    #[test]
    fn idle_nodes_are_used_when_nobody_waits() {
        check(&[malleable(1, 1, (1, 2, 4))], &[], 2, &[(1, 3)]);
        check(&[malleable(1, 1, (1, 2, 2))], &[], 3, &[(1, 2)]);
        check(&[malleable(1, 1, (1, 2, 4)), malleable(2, 1, (1, 1, 4))], &[], 1, &[(1, 2)]);
        check(&[malleable(1, 1, (1, 2, 4)), malleable(2, 1, (1, 1, 4))], &[], 2, &[(1, 2), (2, 2)]);
        check(&[malleable(1, 1, (1, 2, 4))], &[1], 2, &[(1, 2)]);
        check(&[malleable(1, 1, (1, 2, 4))], &[2], 2, &[]);
        check(&[malleable(1, 1, (1, 2, 4))], &[4], 2, &[]);
        check(&[rigid(1, 1)], &[], 3, &[]);
    }

    #[test]
    fn a_job_grows_after_a_time_of_calm() {
        let grown = malleable(1, 1, (1, 2, 4));
        check(&[RunningJob { calm_s: 29.0, ..grown }], &[], 1, &[]);
        check(&[RunningJob { calm_s: 31.0, ..grown }], &[], 1, &[(1, 2)]);
        check(&[RunningJob { calm_s: 31.0, resize_s: 2.0, ..grown }], &[], 1, &[]);
        // Room for others does not wait.
        check(&[RunningJob { calm_s: 0.0, ..malleable(1, 2, (1, 2, 4)) }], &[1], 0, &[(1, 1)]);
    }

    #[test]
    fn what_is_under_way_counts_as_done() {
        let shrinking = RunningJob { n_nodes_soon: Some(2), ..malleable(1, 4, (1, 4, 4)) };
        check(&[shrinking], &[2], 0, &[]);
        check(&[shrinking, malleable(2, 2, (1, 2, 2))], &[3], 0, &[(2, 1)]);
        let growing = RunningJob { n_nodes_soon: Some(3), ..malleable(1, 1, (1, 4, 4)) };
        check(&[growing, malleable(2, 1, (1, 4, 4))], &[], 3, &[(2, 2)]);
        check(&[growing, malleable(2, 2, (1, 4, 4))], &[1], 2, &[(2, 1)]);
    }
}
