//! Decides which running jobs give nodes away, and which get more, so that waiting jobs can start and no node is idle.
//!
//! Jobs start in the order in which they wait. Each gets idle nodes first, then those of malleable jobs.
//!
//! A job with an [`Outlook`], the time that it still needs by its number of nodes, has its nodes by what they bring:
//!
//! - A node goes where it saves most time for the time that the job will have it, after the price of the change.
//! - A node comes from the job that loses least by giving it away.
//! - Idle nodes are given out once they have been idle for as long as a change to them and back takes to pay. That costs at
//!   most twice what would have been best, whenever the next job comes: how long to rent before buying (Karlin, Manasse,
//!   Rudolph and Sleator 1988).
//! - A job whose own judge says that no size is faster gets none, and one that is as fast on fewer gives some back.
//!
//! Of jobs without an outlook, nodes beyond their preferred sizes are taken first; idle nodes go to the smallest, first up
//! to their preferred sizes, then up to their largest.
//!
//! # Invariants
//! - No job gets a size outside its own range, and all together get no more nodes than there are.
//! - The first waiting job starts if shrinking makes that possible; growth never blocks a waiting job. Only a job that
//!   ends before it could shrink is left alone.
//! - In an unchanged situation nothing changes twice: a job grows only after a calm time, a multiple of its resize
//!   cost; a job that is changing its size is left alone, and nodes that it is about to give count as given.

mod idle;
mod malleable;
mod outlook;

pub use idle::IdleNodes;
use malleable::Malleable;
pub use outlook::Outlook;
use std::collections::BTreeMap;

/// Job that has nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct RunningJob {
    /// Id of the job.
    pub job: u64,
    /// Present number of nodes.
    pub n_nodes: u32,
    /// Number of nodes after the resize under way, if there is one.
    pub n_nodes_soon: Option<u32>,
    /// Allowed numbers of nodes; `None` for a rigid job.
    pub range: Option<NodeRange>,
    /// Time that it stops for a resize, as measured, in seconds.
    pub resize_s: f64,
    /// Time since its last resize or its start, in seconds.
    pub calm_s: f64,
    /// Time that it still needs by its number of nodes; `None` if it says nothing about that.
    pub outlook: Option<Outlook>,
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
    /// It is as fast on fewer nodes, or faster.
    IsAsFast,
}

/// Decides on changes. `waiting` is in the order in which jobs shall start; `idle_s` has, for each node without a job, for
/// how many seconds it has been idle, the longest first.
#[must_use]
pub fn rearrange(
    running: &[RunningJob],
    waiting: &[WaitingJob],
    idle_s: &[f64],
    rules: &QueueRules,
) -> Vec<JobResize> {
    let mut plan = Plan::new(running, idle_s);
    plan.return_useless(rules);
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
    /// Time for which each idle node that is not dealt yet has been idle, in seconds, the longest first.
    idle_s: &'a [f64],
}

impl<'a> Plan<'a> {
    fn new(running: &'a [RunningJob], idle_s: &'a [f64]) -> Self {
        let soon = |job: &RunningJob| i64::from(job.n_nodes_soon.unwrap_or(job.n_nodes));
        let coming = running.iter().map(|job| i64::from(job.n_nodes) - soon(job)).sum::<i64>();
        let malleable = running.iter().filter(|job| job.n_nodes_soon.is_none());
        let malleable = malleable.filter_map(|job| Some((job.job, Malleable::new(job)?)));
        let n_idle = i64::try_from(idle_s.len()).unwrap_or(i64::MAX);
        Self { malleable: malleable.collect(), n_free: n_idle.saturating_add(coming), idle_s }
    }

    /// Takes nodes that bring their jobs nothing.
    fn return_useless(&mut self, rules: &QueueRules) {
        for job in self.malleable.values_mut().filter(|job| job.is_calm(rules)) {
            let outlook = job.job.outlook.as_ref();
            let best = outlook
                .and_then(|it| it.as_fast_below(job.n_nodes, job.job.resize_s, job.range.min));
            if let Some(n_nodes) = best {
                self.n_free += i64::from(job.n_nodes - n_nodes);
                (job.n_nodes, job.reason) = (n_nodes, ResizeReason::IsAsFast);
            }
        }
    }

    /// Reserves free nodes for a job, shrinking others where needed. False where that is impossible.
    fn make_room(&mut self, waiting: &WaitingJob) -> bool {
        let wanted = i64::from(waiting.n_nodes);
        let n_to_spare = self.malleable.values().map(|job| job.surplus(job.range.min)).sum::<i64>();
        if self.n_free + n_to_spare < wanted {
            return false;
        }
        let reason = ResizeReason::MakesRoom { job: waiting.job };
        self.shrink_to(wanted, reason, |job| job.preferred());
        self.shrink_to(wanted, reason, |job| job.range.min);
        self.n_free -= wanted;
        // The job takes those that have been idle longest.
        let n_taken = usize::try_from(waiting.n_nodes).unwrap_or(usize::MAX);
        self.idle_s = self.idle_s.get(n_taken..).unwrap_or_default();
        true
    }

    /// Shrinks jobs, none below its `floor`, until `wanted` nodes are free or nothing is left to shrink.
    ///
    /// As few jobs as possible: among those that suffice alone, the one that loses least, or with the cheapest resize.
    fn shrink_to(
        &mut self,
        wanted: i64,
        reason: ResizeReason,
        floor: impl Fn(&Malleable<'_>) -> u32,
    ) {
        let is_by_loss = self.malleable.values().any(|job| job.job.outlook.is_some());
        while self.n_free < wanted {
            let missing = wanted - self.n_free;
            let enough = |job: &Malleable<'_>| job.surplus(floor(job)).min(missing);
            let best = self.malleable.values_mut().filter(|job| 0 < enough(job)).min_by(|a, b| {
                let cost = |job: &Malleable<'_>| job.job.resize_s;
                match is_by_loss {
                    true => a.loss(enough(a)).total_cmp(&b.loss(enough(b))),
                    false => enough(b).cmp(&enough(a)).then(cost(a).total_cmp(&cost(b))),
                }
            });
            let Some(job) = best else { return };
            let n_given = enough(job);
            job.n_nodes -= u32::try_from(n_given).unwrap_or(0);
            job.reason = reason;
            self.n_free += n_given;
        }
    }

    /// Gives free nodes out: to where they bring most, then one by one to the smallest of the jobs that say nothing.
    fn grow(&mut self, rules: &QueueRules) {
        let n_idle = self.idle_s.len();
        while 0 < self.n_free {
            let n_free = u32::try_from(self.n_free).unwrap_or(u32::MAX);
            let idle_s = &self.idle_s[..n_idle.min(usize::try_from(n_free).unwrap_or(n_idle))];
            let growing = self.malleable.values_mut().filter(|job| job.may_grow(rules));
            let steps = growing.filter_map(|job| Some((job.best_step(n_free, idle_s)?, job)));
            let best = steps.max_by(|(a, _), (b, _)| a.worth.total_cmp(&b.worth));
            let Some((step, job)) = best else { return self.grow_unknown(rules) };
            job.n_nodes += step.n_more;
            self.n_free -= i64::from(step.n_more);
        }
    }

    fn grow_unknown(&mut self, rules: &QueueRules) {
        while 0 < self.n_free {
            let growing = self.malleable.values_mut().filter(|job| job.job.outlook.is_none());
            let growing = growing.filter(|job| job.may_grow(rules));
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
mod tests;
