//! The rule: when jobs are asked for, and when their nodes are given back.

#[cfg(test)]
mod tests;

use crate::decision::{Action, Decision, Idleness};
use crate::job::{Job, Jobs, Stage};
use crate::memory::{Memory, as_f64};
use crate::node::Node;

/// Rule, and its numbers.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Most nodes at a time, of jobs that wait or run.
    pub n_nodes_max: u32,
    /// Nodes that are kept even if they are idle.
    pub n_nodes_min: u32,
    /// Nodes of a job.
    pub n_nodes_per_job: u32,
    /// Most jobs that wait in the queue of the batch system.
    pub n_pending_max: u32,
    /// Time after which an idle node is given back, in ms.
    pub idle_ms: u64,
    /// Time for which tasks wait before a job is asked for, in ms.
    pub patience_ms: u64,
    /// Time within which the tasks that wait are about to have run, so that no job is worth it, in ms.
    pub worth_ms: u64,
    /// Time for which a job that waits must have been unnecessary before it is canceled, in ms.
    pub calm_ms: u64,
    /// Longest time for the nodes of a job that runs to join, in ms.
    pub joins_within_ms: u64,
    /// Time before the limit of a job from which its nodes do not count any more, in ms.
    pub leaves_before_ms: u64,
    /// Pause after a job that failed, in ms; it doubles with each further one, up to 64 times that.
    pub pause_ms: u64,
}

/// State of the cluster and of the batch system.
#[derive(Clone, Copy, Debug)]
pub struct Snapshot<'a> {
    /// Time in ms since 1970.
    pub now_ms: u64,
    /// All nodes that are up.
    pub nodes: &'a [Node],
    /// Jobs that were asked for; `None` if the batch system does not answer.
    pub jobs: Option<&'a Jobs>,
    /// Cores that a node of a job has; `None` until that is known.
    pub n_cores_per_node: Option<u64>,
}

/// Cores for tasks that wait, and how much of the limits is used.
#[derive(Debug)]
struct Supply {
    /// Cores without a task.
    n_free: u64,
    /// Cores of jobs whose nodes have not joined.
    n_coming: u64,
    /// Jobs that wait or run and whose nodes have not joined.
    n_jobs_coming: u32,
    /// Jobs that wait.
    n_pending: u32,
    /// Nodes of jobs that wait or run.
    n_nodes: u32,
    /// Nodes of these, and of jobs that were told to leave and still have them.
    n_held: u32,
}

impl Rule {
    /// Longest time over which a memory must observe the nodes, in ms.
    pub fn window_ms(&self) -> u64 {
        self.calm_ms.max(self.patience_ms)
    }

    /// Decides. The memory has observed the same nodes at the same time before.
    pub fn decide(&self, snapshot: &Snapshot<'_>, memory: &mut Memory) -> Vec<Decision> {
        let Some(jobs) = snapshot.jobs else {
            let why = "the batch system does not answer; nothing is submitted until it does";
            return vec![Decision::nothing(Idleness::NoAnswer, why)];
        };
        let mut decisions = self.give_up(jobs, snapshot.now_ms);
        decisions.extend(self.give_back(snapshot, jobs, memory));
        let supply = self.supply(snapshot, jobs);
        decisions.extend(self.cancel(snapshot, (jobs, &supply), memory));
        decisions.extend(self.grow(snapshot, (jobs, &supply), memory));
        decisions
    }

    /// Jobs that run, and whose nodes do not join.
    fn give_up(&self, jobs: &Jobs, now_ms: u64) -> Vec<Decision> {
        let is_late = |job: &&Job| {
            let late_ms = job.since_ms + self.joins_within_ms;
            job.stage == Stage::Running && !job.has_joined && late_ms <= now_ms
        };
        let why = format!("it runs, and did not join within {}", span(self.joins_within_ms));
        let cancel = |job: &Job| Decision::new(Action::Cancel { slot: job.slot }, why.clone());
        jobs.0.iter().filter(is_late).map(cancel).collect()
    }

    /// Jobs all of whose nodes have been idle for long, except for those that are kept.
    fn give_back(
        &self,
        snapshot: &Snapshot<'_>,
        jobs: &Jobs,
        memory: &mut Memory,
    ) -> Vec<Decision> {
        let now_ms = snapshot.now_ms;
        let is_running = |job: &&Job| job.stage == Stage::Running && job.has_joined;
        let n_running = jobs.0.iter().filter(is_running).count();
        let n_kept = usize::try_from(self.n_nodes_min.div_ceil(self.n_nodes_per_job));
        let n_spare = n_running.saturating_sub(n_kept.unwrap_or(usize::MAX));
        let is_idle = |job: &&Job| {
            let mut nodes = snapshot.nodes.iter().filter(|node| node.slot == Some(job.slot));
            let is_long = |node: &Node| {
                memory.idle_ms(&node.name, now_ms).is_some_and(|idle_ms| self.idle_ms <= idle_ms)
            };
            nodes.clone().next().is_some() && nodes.all(is_long)
        };
        // The newest first: the low slots, whose numbers are used first, stay.
        let idle = jobs.0.iter().filter(is_running).filter(is_idle);
        let mut slots: Vec<u32> = idle.map(|job| job.slot).collect();
        slots.sort_unstable();
        slots.reverse();
        slots.truncate(n_spare);
        let n_waiting = memory.fewest_waiting(self.idle_ms.min(self.calm_ms), now_ms).unwrap_or(0);
        let mut why = format!("idle for {}", span(self.idle_ms));
        if !slots.is_empty() && 0 < n_waiting {
            memory.n_unhelped = n_waiting;
            why += &format!(", although {} waited: it does not help them", tasks(n_waiting));
        }
        let leave = |slot| Decision::new(Action::Leave { slot }, why.clone());
        slots.into_iter().map(leave).collect()
    }

    fn supply(&self, snapshot: &Snapshot<'_>, jobs: &Jobs) -> Supply {
        let leaves_soon = |slot: u32| {
            let job = jobs.0.iter().find(|job| job.slot == slot);
            job.is_none_or(|job| {
                let is_leaving = matches!(job.stage, Stage::Leaving | Stage::Ending);
                is_leaving || job.left_ms.is_some_and(|left_ms| left_ms < self.leaves_before_ms)
            })
        };
        let stays = |node: &&Node| !node.slot.is_some_and(leaves_soon);
        let free = |node: &Node| node.n_cores.saturating_sub(node.n_running);
        let n_free = snapshot.nodes.iter().filter(stays).map(free).sum();
        let count = |is_counted: &dyn Fn(&Job) -> bool| {
            let n = jobs.0.iter().filter(|job| is_counted(job)).count();
            u32::try_from(n).unwrap_or(u32::MAX)
        };
        let waits = |job: &Job| matches!(job.stage, Stage::Asked | Stage::Pending);
        let n_jobs_coming =
            count(&|job| waits(job) || job.stage == Stage::Running && !job.has_joined);
        let n_jobs = count(&|job| waits(job) || job.stage == Stage::Running);
        let n_nodes_coming = u64::from(n_jobs_coming) * u64::from(self.n_nodes_per_job);
        Supply {
            n_free,
            n_coming: n_nodes_coming * snapshot.n_cores_per_node.unwrap_or(0),
            n_jobs_coming,
            n_pending: count(&waits),
            n_nodes: n_jobs.saturating_mul(self.n_nodes_per_job),
            n_held: n_jobs
                .saturating_add(count(&|job| job.stage == Stage::Leaving))
                .saturating_mul(self.n_nodes_per_job),
        }
    }

    /// Jobs that still wait, and that have not been needed for a while.
    fn cancel(
        &self,
        snapshot: &Snapshot<'_>,
        (jobs, supply): (&Jobs, &Supply),
        memory: &Memory,
    ) -> Vec<Decision> {
        let Some(n_most) = memory.most_waiting(self.calm_ms, snapshot.now_ms) else {
            return Vec::new();
        };
        let n_needed = n_most.saturating_sub(memory.n_unhelped).saturating_sub(supply.n_free);
        let n_jobs_needed = match snapshot.n_cores_per_node {
            Some(n_cores) => jobs_for(n_needed, n_cores, self.n_nodes_per_job),
            None => u32::from(0 < n_needed),
        };
        let n_nodes_spare = supply.n_nodes.saturating_sub(self.n_nodes_min);
        let n_spare = (n_nodes_spare / self.n_nodes_per_job)
            .min(supply.n_jobs_coming.saturating_sub(n_jobs_needed));
        let mut slots: Vec<u32> =
            jobs.0.iter().filter(|job| job.stage == Stage::Pending).map(|job| job.slot).collect();
        slots.sort_unstable();
        slots.reverse();
        slots.truncate(usize::try_from(n_spare).unwrap_or(usize::MAX));
        let why = format!(
            "not needed any more: at most {} waited for {}",
            tasks(n_most),
            span(self.calm_ms)
        );
        slots.into_iter().map(|slot| Decision::new(Action::Cancel { slot }, why.clone())).collect()
    }

    /// Jobs to ask for, or the reason for asking for none.
    fn grow(
        &self,
        snapshot: &Snapshot<'_>,
        (jobs, supply): (&Jobs, &Supply),
        memory: &Memory,
    ) -> Vec<Decision> {
        let wanted = self.wanted(snapshot, supply, memory);
        let limited = wanted.and_then(|(n_jobs, why)| {
            self.limited(n_jobs, supply, memory, snapshot.now_ms).map(|n_jobs| (n_jobs, why))
        });
        match limited {
            Err(nothing) => vec![nothing],
            Ok((n_jobs, why)) => {
                let slots = jobs.free_slots().take(usize::try_from(n_jobs).unwrap_or(usize::MAX));
                slots.map(|slot| Decision::new(Action::Submit { slot }, why.clone())).collect()
            }
        }
    }

    /// Number of jobs that would be useful, and the reason; the error for none.
    fn wanted(
        &self,
        snapshot: &Snapshot<'_>,
        supply: &Supply,
        memory: &Memory,
    ) -> Result<(u32, String), Decision> {
        let n_below = self.n_nodes_min.saturating_sub(supply.n_nodes);
        if 0 < n_below {
            let why = format!(
                "{} are to be kept, and there are {}",
                nodes(self.n_nodes_min),
                supply.n_nodes
            );
            return Ok((n_below.div_ceil(self.n_nodes_per_job), why));
        }
        let n_now: u64 = snapshot.nodes.iter().map(|node| node.n_wanted).sum();
        if n_now == 0 {
            return Err(Decision::nothing(Idleness::NothingWaits, "no task waits"));
        }
        let n_waiting = memory.fewest_waiting(self.patience_ms, snapshot.now_ms).unwrap_or(0);
        if n_waiting == 0 {
            let why = format!("{}, but not for {} yet", tasks_wait(n_now), span(self.patience_ms));
            return Err(Decision::nothing(Idleness::JustWaits, why));
        }
        let n_helped = n_waiting.saturating_sub(memory.n_unhelped);
        if n_helped == 0 {
            let why = format!(
                "{}, and did so while nodes like these were idle: further ones would not help",
                tasks_wait(n_waiting)
            );
            return Err(Decision::nothing(Idleness::NoHelp, why));
        }
        self.shortage(n_helped, snapshot, supply, memory)
    }

    fn shortage(
        &self,
        n_waiting: u64,
        snapshot: &Snapshot<'_>,
        supply: &Supply,
        memory: &Memory,
    ) -> Result<(u32, String), Decision> {
        let Supply { n_free, n_coming, n_jobs_coming, .. } = *supply;
        let waiting = tasks_wait(n_waiting);
        let on_the_way = format!("{} free, {n_coming} more asked for", plural(n_free, "core"));
        let is_unknown = snapshot.n_cores_per_node.is_none() && 0 < n_jobs_coming;
        if n_waiting <= n_free + n_coming || is_unknown {
            let coming = match is_unknown {
                true => format!("{} asked for", jobs(n_jobs_coming)),
                false => on_the_way,
            };
            return Err(Decision::nothing(Idleness::Enough, format!("{waiting}; {coming}")));
        }
        let per_s = memory.ended_per_s();
        let drained_ms = as_f64(n_waiting) / per_s * 1e3;
        if 0.0 < per_s && drained_ms < as_f64(self.worth_ms) {
            let why = format!("{waiting}, but {per_s:.1} end in a second: they will soon have run");
            return Err(Decision::nothing(Idleness::DrainsSoon, why));
        }
        let n_short = n_waiting - n_free - n_coming;
        let n_cores = snapshot.n_cores_per_node;
        let n_jobs = n_cores.map_or(1, |n_cores| jobs_for(n_short, n_cores, self.n_nodes_per_job));
        Ok((n_jobs, format!("{waiting}; {on_the_way}")))
    }

    /// Number of jobs that may be submitted now; the error for none.
    fn limited(
        &self,
        n_jobs: u32,
        supply: &Supply,
        memory: &Memory,
        now_ms: u64,
    ) -> Result<u32, Decision> {
        let n_room = self.n_nodes_max.saturating_sub(supply.n_held) / self.n_nodes_per_job;
        if n_room == 0 {
            let why = format!("there are {} of at most {}", nodes(supply.n_held), self.n_nodes_max);
            return Err(Decision::nothing(Idleness::AtMost, why));
        }
        let n_slots = self.n_pending_max.saturating_sub(supply.n_pending);
        if n_slots == 0 {
            let why = format!("{} already, no more than that at a time", waiting(supply.n_pending));
            return Err(Decision::nothing(Idleness::Backlog, why));
        }
        let failures = &memory.failures;
        if failures.n == 0 {
            return Ok(n_jobs.min(n_room).min(n_slots));
        }
        let pause_ms = self.pause_ms << (failures.n - 1).min(6);
        let left_ms = (failures.at_ms + pause_ms).saturating_sub(now_ms);
        if 0 < left_ms || 0 < supply.n_jobs_coming {
            let next = match left_ms {
                0 => "when the job that was asked for has shown how it fares".to_owned(),
                left_ms => format!("in {}", span(left_ms)),
            };
            let why = format!("the last job failed ({}); the next is tried {next}", failures.why);
            return Err(Decision::nothing(Idleness::BackOff, why));
        }
        // One job finds out whether they work again.
        Ok(1)
    }
}

/// Jobs that have at least so many cores.
fn jobs_for(n_cores: u64, n_cores_per_node: u64, n_nodes_per_job: u32) -> u32 {
    let n_per_job = n_cores_per_node.max(1).saturating_mul(u64::from(n_nodes_per_job.max(1)));
    u32::try_from(n_cores.div_ceil(n_per_job)).unwrap_or(u32::MAX)
}

fn plural(n: u64, one: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{n} {one}s") }
}

fn tasks(n: u64) -> String {
    plural(n, "task")
}

fn nodes(n: u32) -> String {
    plural(n.into(), "node")
}

fn jobs(n: u32) -> String {
    plural(n.into(), "job")
}

fn tasks_wait(n: u64) -> String {
    if n == 1 { "1 task waits".to_owned() } else { format!("{n} tasks wait") }
}

fn waiting(n: u32) -> String {
    if n == 1 { "1 job waits".to_owned() } else { format!("{n} jobs wait") }
}

/// Time as people say it.
fn span(ms: u64) -> String {
    match ms {
        0..1000 => format!("{ms} ms"),
        1000..120_000 => format!("{} s", ms.div_ceil(1000)),
        120_000..7_200_000 => format!("{} min", ms.div_ceil(60_000)),
        _ => format!("{} h", ms.div_ceil(3_600_000)),
    }
}
