//! Simulated time: jobs come, start, change their sizes and end.

use super::backfill::{self, Held, Waiting};
use super::program::Program;
use super::results::{JobTimes, NodeSpan, QueueResults};
use super::{QueueJob, QueueScenario, QueueWay};
use resize_plan::queue::{
    IdleNodes, JobResize, NodeRange, QueueRules, RunningJob, WaitingJob, rearrange,
};
use std::collections::BTreeSet;

/// Largest difference of two times that count as one, in s.
const SAME_S: f64 = 1e-9;

/// Cluster at a moment.
pub(super) struct QueueWorld<'a> {
    scenario: &'a QueueScenario,
    now_s: f64,
    /// Places of the jobs that have not come yet, the next one last.
    coming: Vec<usize>,
    /// Places of the jobs that wait, in order.
    waiting: Vec<usize>,
    running: Vec<(usize, Program)>,
    free: BTreeSet<u32>,
    idle: IdleNodes,
    /// Price of the last change of any program, in s.
    last_price_s: f64,
    looks_s: f64,
    results: QueueResults,
}

impl<'a> QueueWorld<'a> {
    pub(super) fn new(scenario: &'a QueueScenario) -> Self {
        let mut coming: Vec<usize> = (0..scenario.jobs.len()).collect();
        let at_s = |place: &usize| scenario.jobs[*place].submitted_s;
        coming.sort_by(|a, b| at_s(b).total_cmp(&at_s(a)).then(b.cmp(a)));
        let jobs = vec![JobTimes::default(); scenario.jobs.len()];
        Self {
            scenario,
            now_s: 0.0,
            coming,
            waiting: Vec::new(),
            running: Vec::new(),
            free: (0..scenario.n_nodes).collect(),
            idle: IdleNodes::default(),
            last_price_s: 0.0,
            looks_s: 0.0,
            results: QueueResults { jobs, spans: Vec::new() },
        }
    }

    pub(super) fn run(mut self) -> QueueResults {
        while let Some(next_s) = self.next_s() {
            self.now_s = next_s.max(self.now_s);
            let now_s = self.now_s;
            self.running.iter_mut().for_each(|(_, program)| program.advance(now_s));
            self.end_changes();
            self.end_jobs();
            while self.coming.last().is_some_and(|place| self.job(*place).submitted_s <= now_s) {
                self.waiting.extend(self.coming.pop());
            }
            self.start_jobs();
            self.note_idle();
            if self.scenario.way.is_malleable() && self.looks_s <= now_s + SAME_S {
                self.look();
                self.looks_s = now_s + self.scenario.interval_s;
            }
        }
        self.results
    }

    fn job(&self, place: usize) -> &'a QueueJob {
        &self.scenario.jobs[place]
    }

    /// Time of the next event; `None` at the end.
    fn next_s(&self) -> Option<f64> {
        let comes_s = self.coming.last().map(|place| self.job(*place).submitted_s);
        let ends_s = self.running.iter().map(|(_, program)| {
            program.change.map_or_else(|| program.ends_s(), |(_, until_s)| until_s)
        });
        let looks = self.scenario.way.is_malleable() && !self.running.is_empty();
        let looks_s = looks.then_some(self.looks_s);
        ends_s.chain(comes_s).chain(looks_s).min_by(f64::total_cmp)
    }

    fn end_changes(&mut self) {
        let now_s = self.now_s;
        for (_, program) in &mut self.running {
            if program.change.is_some_and(|(_, until_s)| until_s <= now_s + SAME_S) {
                let given = program.end_change(now_s);
                give_back(&mut self.free, &mut self.results, program.job.number, now_s, given);
            }
        }
    }

    fn end_jobs(&mut self) {
        let now_s = self.now_s;
        let has_ended =
            |program: &Program| program.change.is_none() && program.ends_s() <= now_s + SAME_S;
        let (ended, running) = std::mem::take(&mut self.running)
            .into_iter()
            .partition::<Vec<_>, _>(|(_, program)| has_ended(program));
        self.running = running;
        for (place, program) in ended {
            let QueueJob { number, submitted_s, .. } = program.job;
            let (began_s, done_s, n_resizes) = (program.began_s, program.done_s, program.n_resizes);
            let ended_s = now_s;
            self.results.jobs[place] =
                JobTimes { number, submitted_s, began_s, ended_s, done_s, n_resizes };
            give_back(&mut self.free, &mut self.results, number, now_s, program.nodes);
        }
    }

    fn start_jobs(&mut self) {
        let (scenario, now_s) = (self.scenario, self.now_s);
        let waiting = self.waiting.iter().map(|place| {
            let job = self.job(*place);
            let least = scenario.smallest(job);
            Waiting {
                least,
                most: if scenario.way == QueueWay::Range { job.n_nodes } else { least },
            }
        });
        let held = self.running.iter().map(|(_, program)| Held {
            n_nodes: program.change.map_or(program.n_nodes(), |(n_nodes, _)| n_nodes),
            until_s: program.limit_ends_s(now_s),
        });
        let limit_s = |place: usize, n_nodes: u32| {
            let job = self.job(self.waiting[place]);
            job.limit_s * job.speedup.on(job.n_nodes) / job.speedup.on(n_nodes)
        };
        let (waiting, held) = (waiting.collect::<Vec<_>>(), held.collect());
        let started = backfill::starts(&waiting, held, self.n_free(), now_s, limit_s);
        for (place, n_nodes) in &started {
            let (place, nodes) = (self.waiting[*place], self.take(*n_nodes));
            let program = Program::new(scenario, *self.job(place), nodes, now_s);
            self.running.push((place, program));
        }
        let is_started = |at: usize| started.iter().any(|(place, _)| *place == at);
        let mut at = 0..;
        self.waiting.retain(|_| !at.next().is_some_and(is_started));
    }

    fn n_free(&self) -> u32 {
        u32::try_from(self.free.len()).unwrap_or(u32::MAX)
    }

    fn take(&mut self, n_nodes: u32) -> Vec<u32> {
        (0..n_nodes).map_while(|_| self.free.pop_first()).collect()
    }

    fn note_idle(&mut self) {
        self.idle.note(self.n_free(), self.now_s);
    }

    /// Lets the policy decide, and begins what it decides.
    fn look(&mut self) {
        let running: Vec<RunningJob> =
            (0..self.running.len()).map(|at| self.as_policy_sees(at)).collect();
        let waiting = self.waiting.iter().map(|place| {
            let job = self.job(*place);
            WaitingJob { job: job.number, n_nodes: self.scenario.smallest(job) }
        });
        let waiting: Vec<WaitingJob> = waiting.collect();
        let idle_s = self.idle.ages_s(self.now_s);
        for change in rearrange(&running, &waiting, &idle_s, &QueueRules::default()) {
            self.resize(change);
        }
        self.note_idle();
    }

    fn as_policy_sees(&mut self, at: usize) -> RunningJob {
        let (noise, price_s, now_s) = (self.scenario.noise, self.last_price_s, self.now_s);
        let by_curve = self.scenario.way == QueueWay::MalleableByCurve;
        let (_, program) = &mut self.running[at];
        let (min, max) = program.range;
        let own_price_s = if program.n_resizes == 0 { 0.0 } else { self.scenario.price_s };
        RunningJob {
            job: program.job.number,
            n_nodes: program.n_nodes(),
            n_nodes_soon: program.change.map(|(n_nodes, _)| n_nodes),
            range: Some(NodeRange { min, preferred: program.job.n_nodes, max }),
            resize_s: if by_curve { price_s } else { own_price_s },
            calm_s: program.changed_s.map_or(f64::INFINITY, |at_s| now_s - at_s),
            outlook: by_curve.then(|| program.outlook(noise, price_s)),
        }
    }

    fn resize(&mut self, change: JobResize) {
        let n_more = change.to.saturating_sub(change.from);
        // Nodes that others are about to give are asked for again at the next look.
        if self.n_free() < n_more {
            return;
        }
        let (now_s, price_s) = (self.now_s, self.scenario.price_s);
        let nodes = self.take(n_more);
        let of = |(_, program): &&mut (usize, Program)| program.job.number == change.job;
        if let Some((_, program)) = self.running.iter_mut().find(of) {
            program.nodes.extend(nodes.into_iter().map(|node| (node, now_s)));
            program.start_change(change.to, now_s + price_s);
            self.last_price_s = price_s;
        }
    }
}

/// Makes nodes free, and notes for how long a job had them.
fn give_back(
    free: &mut BTreeSet<u32>,
    results: &mut QueueResults,
    job: u64,
    to_s: f64,
    nodes: Vec<(u32, f64)>,
) {
    for (node, from_s) in nodes {
        free.insert(node);
        results.spans.push(NodeSpan { node, job, from_s, to_s });
    }
}
