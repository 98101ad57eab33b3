//! Decides which running jobs give nodes away, and which get more, so that waiting jobs can start and no node is idle.
//!
//! Jobs start in the order in which they wait. Each gets idle nodes first, then those of malleable jobs: first nodes
//! beyond their preferred sizes, then those beyond their smallest ones. Nodes that no job waits for go to the smallest
//! jobs, first up to their preferred sizes, then up to their largest.
//!
//! # Invariants
//! - No job gets a size outside its own range, and all together get no more nodes than there are.
//! - The first waiting job starts if shrinking makes that possible; growth never blocks a waiting job.
//! - In an unchanged situation nothing changes twice: a job grows only after a calm time, a multiple of its resize
//!   cost; a job that is changing its size is left alone, and nodes that it is about to give count as given.

use std::collections::BTreeMap;

/// Job that has nodes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunningJob {
    /// Id of the job.
    pub job: u64,
    /// Present number of nodes.
    pub n_nodes: u32,
    /// Number of nodes after the resize under way, if there is one.
    pub n_nodes_soon: Option<u32>,
    /// Allowed numbers of nodes; `None` for a rigid job.
    pub range: Option<NodeRange>,
    /// Cost of its last resize, in seconds.
    pub resize_s: f64,
    /// Time since its last resize or its start, in seconds.
    pub calm_s: f64,
}

/// Numbers of nodes that a malleable job allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeRange {
    /// Smallest number.
    pub min: u32,
    /// Best number; other jobs may have nodes beyond it.
    pub preferred: u32,
    /// Largest number.
    pub max: u32,
}

/// Job that waits only for nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitingJob {
    /// Id of the job.
    pub job: u64,
    /// Number of nodes wanted.
    pub n_nodes: u32,
}

/// Rules for when jobs may grow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueueRules {
    /// Smallest time before a job may grow, since its last resize, in seconds.
    pub calm_s: f64,
    /// The same as a multiple of the job's resize cost.
    pub calm_per_cost: f64,
}

impl Default for QueueRules {
    /// Half a minute; a job spends at most a twentieth of its time on growing.
    fn default() -> Self {
        Self { calm_s: 30.0, calm_per_cost: 20.0 }
    }
}

/// Change of a job's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobResize {
    /// Id of the job.
    pub job: u64,
    /// Present number of nodes.
    pub from: u32,
    /// New number of nodes.
    pub to: u32,
    /// Reason.
    pub reason: ResizeReason,
}

/// Reason for changing a job's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResizeReason {
    /// To let a waiting job start.
    MakesRoom {
        /// Id of the waiting job.
        job: u64,
    },
    /// Nodes are idle, and no job waits for them.
    UsesIdle,
}

/// Decides on changes. `waiting` is in the order in which jobs shall start; `n_idle` nodes have no job.
#[must_use]
pub fn rearrange(
    running: &[RunningJob],
    waiting: &[WaitingJob],
    n_idle: u32,
    rules: &QueueRules,
) -> Vec<JobResize> {
    let mut plan = Plan::new(running, n_idle);
    for job in waiting {
        if !plan.make_room(job) {
            return plan.changes();
        }
    }
    plan.grow(rules);
    plan.changes()
}

/// Sizes while they are being decided.
struct Plan<'a> {
    /// Jobs that may change, by id.
    malleable: BTreeMap<u64, Malleable<'a>>,
    /// Nodes that are idle, will be, or were given up by a change. Negative where more was promised than there is.
    n_free: i64,
}

struct Malleable<'a> {
    job: &'a RunningJob,
    range: NodeRange,
    n_nodes: u32,
    reason: ResizeReason,
}

impl<'a> Plan<'a> {
    fn new(running: &'a [RunningJob], n_idle: u32) -> Self {
        let soon = |job: &RunningJob| i64::from(job.n_nodes_soon.unwrap_or(job.n_nodes));
        let coming = running.iter().map(|job| i64::from(job.n_nodes) - soon(job)).sum::<i64>();
        let malleable = running.iter().filter(|job| job.n_nodes_soon.is_none());
        let malleable = malleable.filter_map(|job| {
            let (n_nodes, reason) = (job.n_nodes, ResizeReason::UsesIdle);
            // A job whose size is outside its own range is about to change it.
            let range = job.range.filter(|range| (range.min..=range.max).contains(&n_nodes))?;
            Some((job.job, Malleable { job, range, n_nodes, reason }))
        });
        Self { malleable: malleable.collect(), n_free: i64::from(n_idle) + coming }
    }

    /// Reserves free nodes for a job, shrinking others where needed. False where that is impossible.
    fn make_room(&mut self, waiting: &WaitingJob) -> bool {
        let wanted = i64::from(waiting.n_nodes);
        let to_spare = |job: &Malleable<'_>| i64::from(job.n_nodes.saturating_sub(job.range.min));
        let n_to_spare = self.malleable.values().map(to_spare).sum::<i64>();
        if self.n_free + n_to_spare < wanted {
            return false;
        }
        let reason = ResizeReason::MakesRoom { job: waiting.job };
        self.shrink_to(wanted, reason, |range| range.preferred.clamp(range.min, range.max));
        self.shrink_to(wanted, reason, |range| range.min);
        self.n_free -= wanted;
        true
    }

    /// Shrinks jobs, none below its `floor`, until `wanted` nodes are free or nothing is left to shrink.
    ///
    /// As few jobs as possible: among those that suffice alone, the one with the cheapest resize, else the largest.
    fn shrink_to(&mut self, wanted: i64, reason: ResizeReason, floor: impl Fn(&NodeRange) -> u32) {
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

    /// Gives free nodes out, one by one, to the smallest of the jobs that may grow.
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

    fn changes(&self) -> Vec<JobResize> {
        let changed = self.malleable.iter().filter(|(_, job)| job.n_nodes != job.job.n_nodes);
        let change = changed.map(|(number, job)| JobResize {
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

    /// Waiting jobs are numbered from 101; expected changes are jobs with their new sizes.
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
        // The first job cannot start, and the second one does not overtake it.
        check(&[malleable(1, 2, (1, 2, 2)), rigid(2, 2)], &[3, 1], 0, &[]);
        // The waiting job starts on idle nodes.
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
        // Shrinking for others does not wait for calm.
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
