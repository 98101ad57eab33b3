//! Combines the queue with the programs: the nodes that each job has, and those that it may have.
//!
//! # Invariants
//! - Pure: time is an argument.
//! - A program that has not answered a request gets no other; one that refused is left alone for a while.

use super::{Queue, QueuedJob};
use resize_api::{JobStatus, ResizeOutcome, ResizeState, SizeForecast};
use resize_plan::payoff::Estimate;
use resize_plan::queue::{
    IdleNodes, JobResize, NodeRange, Outlook, QueueRules, RunningJob, WaitingJob, rearrange,
};
use std::collections::BTreeMap;

/// State of the programs that is kept between decisions.
#[derive(Clone, Debug, Default)]
pub(super) struct PolicyState {
    programs: BTreeMap<u64, Program>,
    idle: IdleNodes,
}

#[derive(Clone, Debug, Default)]
struct Program {
    /// Request that it has not answered.
    pending: Option<PendingRequest>,
    /// Times of its last change of size, and of its last refusal.
    changed_s: Option<f64>,
    refused_s: Option<f64>,
}

#[derive(Clone, Copy, Debug)]
struct PendingRequest {
    id: u64,
    n_nodes: u32,
    at_s: f64,
}

/// Request for a job, in nodes and in ranks.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NodesWanted {
    pub(super) change: JobResize,
    pub(super) name: String,
    pub(super) program: String,
    pub(super) from_size: u32,
    pub(super) size: u32,
}

/// Program's answer to a request of this policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ProgramAnswer {
    pub(super) name: String,
    pub(super) program: String,
    pub(super) size: u32,
    pub(super) outcome: ResizeOutcome,
    pub(super) sentence: String,
}

/// Time after which an unanswered request is forgotten.
const FORGET_S: f64 = 600.0;

impl PolicyState {
    /// Records the answers of programs; returns the new ones.
    pub(super) fn record_answers(
        &mut self,
        programs: &[JobStatus],
        now_s: f64,
    ) -> Vec<ProgramAnswer> {
        let jobs: Vec<u64> = programs.iter().filter_map(|status| status.slurm_job).collect();
        self.programs.retain(|job, _| jobs.contains(job));
        let answers = programs.iter().filter_map(|status| self.record_answer(status, now_s));
        answers.collect()
    }

    fn record_answer(&mut self, status: &JobStatus, now_s: f64) -> Option<ProgramAnswer> {
        let program = self.programs.entry(status.slurm_job?).or_default();
        let pending = program.pending?;
        if FORGET_S < now_s - pending.at_s {
            (program.pending, program.refused_s) = (None, Some(now_s));
        }
        let answer = status.answered.as_ref().filter(|answer| answer.id == pending.id)?;
        program.pending = None;
        match answer.outcome {
            ResizeOutcome::Done => program.changed_s = Some(now_s),
            _ => program.refused_s = Some(now_s),
        }
        let (name, program) = (status.job.clone(), status.program.clone());
        let (outcome, sentence) = (answer.outcome, answer.sentence.clone());
        Some(ProgramAnswer { name, program, size: status.size, outcome, sentence })
    }

    /// Records that a program was sent a request.
    pub(super) fn record_request(&mut self, decision: &NodesWanted, id: u64, now_s: f64) {
        let (job, n_nodes) = (decision.change.job, decision.change.to);
        let program = self.programs.entry(job).or_default();
        program.pending = Some(PendingRequest { id, n_nodes, at_s: now_s });
    }

    /// Decides which changes to request now.
    pub(super) fn decide(
        &mut self,
        queue: &Queue,
        programs: &[JobStatus],
        rules: &QueueRules,
        now_s: f64,
    ) -> Vec<NodesWanted> {
        let running = self.running(queue, programs, rules, now_s);
        let is_waiting = |job: &&QueuedJob| job.is_waiting() && job.companion_of().is_none();
        let waiting = queue.jobs.iter().filter(is_waiting);
        let waiting = waiting.map(|job| WaitingJob { job: job.job, n_nodes: job.n_nodes });
        self.idle.note(queue.n_idle, now_s);
        let idle_s = self.idle.ages_s(now_s);
        let changes = rearrange(&running, &waiting.collect::<Vec<_>>(), &idle_s, rules);
        let decision = |change: JobResize| {
            let status = programs.iter().find(|status| status.slurm_job == Some(change.job))?;
            let ranks = change.to.saturating_mul(slots(status));
            Some(NodesWanted {
                change,
                name: status.job.clone(),
                program: status.program.clone(),
                from_size: status.size,
                size: ranks.clamp(status.sizes.min, status.sizes.max),
            })
        };
        changes.into_iter().filter_map(decision).collect()
    }

    fn running(
        &self,
        queue: &Queue,
        programs: &[JobStatus],
        rules: &QueueRules,
        now_s: f64,
    ) -> Vec<RunningJob> {
        let jobs = queue.jobs.iter().filter(|job| job.companion_of().is_none());
        let running = jobs.filter_map(|job| {
            let status = programs.iter().find(|status| status.slurm_job == Some(job.job));
            match (job.state.as_str(), status) {
                ("RUNNING", Some(status)) => {
                    let program = self.programs.get(&job.job).cloned().unwrap_or_default();
                    let malleable =
                        program.malleable(job, status, companion_nodes(queue, job.job), now_s);
                    let range = malleable.range.filter(|_| !program.is_backing_off(rules, now_s));
                    Some(RunningJob { range, ..malleable })
                }
                // Its nodes are about to be free.
                ("COMPLETING", _) => Some(RunningJob { n_nodes_soon: Some(0), ..rigid(job) }),
                ("RUNNING" | "SUSPENDED", None) => Some(rigid(job)),
                _ => None,
            }
        });
        let companions = queue.jobs.iter().filter(|job| job.companion_of().is_some());
        let ending = companions.filter(|job| job.state == "COMPLETING");
        let ending = ending.map(|job| RunningJob { n_nodes_soon: Some(0), ..rigid(job) });
        running.chain(ending).collect()
    }
}

impl Program {
    /// `n_companion_nodes` is the number of nodes of its companion jobs.
    fn malleable(
        &self,
        job: &QueuedJob,
        status: &JobStatus,
        n_companion_nodes: u32,
        now_s: f64,
    ) -> RunningJob {
        let n_nodes = job.n_nodes + n_companion_nodes;
        // Nodes that its ranks need now: a node that they have left is about to be given back.
        let n_needed = status.size.div_ceil(slots(status)).max(job.n_nodes);
        let n_nodes_soon = match (self.pending, status.state) {
            (Some(pending), _) => Some(pending.n_nodes),
            (None, ResizeState::Idle) => (n_needed < n_nodes).then_some(n_needed),
            (None, _) => Some(n_nodes),
        };
        RunningJob {
            job: job.job,
            n_nodes,
            n_nodes_soon,
            range: nodes(status, job.n_nodes),
            resize_s: resize_s(status),
            calm_s: self.changed_s.map_or(f64::INFINITY, |at_s| now_s - at_s),
            outlook: outlook(status),
        }
    }

    /// True while the program is left alone, because it refused.
    fn is_backing_off(&self, rules: &QueueRules, now_s: f64) -> bool {
        self.refused_s.is_some_and(|at_s| now_s - at_s < rules.calm_s)
    }
}

/// Number of nodes of the companions of a job.
fn companion_nodes(queue: &Queue, job: u64) -> u32 {
    let companions = queue.jobs.iter().filter(|other| other.companion_of() == Some(job));
    companions.filter(|other| other.state == "RUNNING").map(|other| other.n_nodes).sum()
}

fn rigid(job: &QueuedJob) -> RunningJob {
    let QueuedJob { job, n_nodes, .. } = *job;
    RunningJob {
        job,
        n_nodes,
        n_nodes_soon: None,
        range: None,
        resize_s: 0.0,
        calm_s: 0.0,
        outlook: None,
    }
}

fn slots(status: &JobStatus) -> u32 {
    status.slots_per_node.unwrap_or(1).max(1)
}

/// Time for which a program stops to change its size, in seconds: as last measured, else as it predicts it.
fn resize_s(status: &JobStatus) -> f64 {
    let predicted_s = status.judgment.as_ref().map_or(0.0, |judgment| judgment.resize_s);
    let last = status.last.as_ref().filter(|last| last.outcome == ResizeOutcome::Done);
    last.map_or(predicted_s, |last| last.seconds.wait)
}

/// Time that a program still needs by its number of nodes; `None` where it does not say how many iterations there will be.
fn outlook(status: &JobStatus) -> Option<Outlook> {
    let judgment = status.judgment.as_ref()?;
    #[expect(clippy::cast_precision_loss, reason = "fewer iterations than 2^53")]
    let n_left = status.n_iterations?.saturating_sub(status.iteration) as f64;
    let left = |one: &SizeForecast| {
        let [value, low, high] = [one.seconds, one.low_s, one.high_s].map(|s| n_left * s);
        (one.size.div_ceil(slots(status)), Estimate { value, low, high })
    };
    let outlook = Outlook::new(judgment.forecasts.iter().map(left));
    Some(if judgment.is_fastest { outlook.at_its_fastest() } else { outlook })
}

/// Range of nodes that a program agrees to; it never gives away those that its own job began with.
fn nodes(status: &JobStatus, n_own: u32) -> Option<NodeRange> {
    let (sizes, slots) = (status.sizes, slots(status));
    let min = sizes.min.div_ceil(slots).max(n_own);
    let max = sizes.max.div_ceil(slots);
    let preferred = sizes.preferred.map_or(max, |preferred| preferred.div_ceil(slots));
    (min <= max).then(|| NodeRange { min, preferred: preferred.clamp(min, max), max })
}

#[cfg(test)]
mod tests;
