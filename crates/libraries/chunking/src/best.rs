//! `best`, the default: learns what tasks cost and deals dear ones first, in chunks as small as their overhead allows.
//!
//! - *How many tasks*: [`sizes`] says it for a worker of mean speed; a worker gets as many times more as it is faster, counted
//!   only as far as the difference exceeds chance.
//! - *Which ones*: in the first iteration chunks come from all over the tasks, and where some are dear, their neighbors come
//!   next (`finding`). Their times tell what each task costs (`task_costs`): later iterations deal the dearest first
//!   (`dearest`), none to a worker that would end it after all others have ended theirs. Where these iterations refute
//!   what was learnt (`trust`), they are dealt like the first.
//!
//! Costs are learnt for each number of tasks, so that programs with several kinds of iterations have one profile for each.
//!
//! Means and deviations come from a window of iterations, and the overhead from the newest chunks, so an
//! iteration starts with the knowledge of the previous one. The time of a chunk is divided by its worker's relative
//! slowness before it counts as spread: different speeds are no reason for small chunks.
//!
//! Tasks are dealt in their order where workers do not ask ahead, as every chunk costs time then and consecutive tasks make
//! fewer of them; with [`Settings::n_tasks_min`] above 1; and where some tasks may only be dealt later.

mod dearest;
mod finding;
mod flight;
mod overhead;
mod seen;
pub mod sizes;
mod speeds;
mod task_costs;
mod trust;

use crate::TaskSet;
use crate::policy::{ChunkRequest, Completed, Policy, Settings, Work};
use crate::registry::PolicySpec;
use crate::rounding;
use dearest::{Dearest, Want};
use finding::Finding;
use flight::{Flight, Left};
use seen::Seen;
use sizes::{Sizes, Timed};
use speeds::Speeds;
use std::collections::BTreeMap;
use std::ops::Range;
use task_costs::TaskCosts;
use trust::Trust;

/// A rest of at most `1/N_CRUMBS` of a chunk's tasks is dealt together with the chunk.
const N_CRUMBS: u64 = 4;
/// Largest number of profiles kept.
const N_PROFILES_MAX: usize = 4;
/// A worker this much slower than the fastest leaves tasks to others that it would end last.
const SLOWER: f64 = 0.9;
/// While it is not known what tasks cost, the last tasks are this many for each worker.
const N_LAST: u64 = 2;
/// Tasks that cost less than this share of a chunk are dealt with those beside them.
const CRUMB_SHARE: f64 = 0.5;

pub(crate) const SPEC: PolicySpec = PolicySpec {
    name: "best",
    sentence: "the dearest tasks first, by the workers' speeds, as fine as dealing is cheap",
    source: "",
    assumes_known: false,
    make: |settings| Box::new(Best::new(settings)),
};

#[derive(Debug)]
struct Best {
    settings: Settings,
    sizes: Sizes,
    speeds: Speeds,
    flight: Flight,
    seen: Seen,
    finding: Finding,
    /// Order of dealing, while what was learnt holds.
    known: Option<Known>,
    /// Profiles by number of tasks.
    learnt: BTreeMap<u64, Learnt>,
    trust: Trust,
    n_tasks: u64,
    /// Work of a task while it is not known what each costs, in the unit of the speeds.
    task_work: f64,
    n_iterations: u64,
    /// Computing time of the last chunk of each worker, in seconds.
    last_s: BTreeMap<u32, f64>,
}

/// Costs of iterations with one number of tasks.
#[derive(Debug)]
struct Learnt {
    profile: TaskCosts,
    /// False if the last such iteration refuted it.
    is_right: bool,
    /// Iteration that it was last used in.
    iteration: u64,
}

/// What is known of the tasks of the present iteration.
#[derive(Debug)]
struct Known {
    profile: TaskCosts,
    dearest: Dearest,
    /// Cost of the tasks left, in seconds.
    left_s: f64,
    /// Deviation of the logarithms of the costs.
    deviation: f64,
}

impl Best {
    fn new(settings: &Settings) -> Self {
        Self {
            settings: *settings,
            sizes: Sizes::new(settings),
            speeds: Speeds::default(),
            flight: Flight::default(),
            seen: Seen::default(),
            finding: Finding::default(),
            known: None,
            learnt: BTreeMap::new(),
            trust: Trust::default(),
            n_tasks: 0,
            task_work: 1.0,
            n_iterations: 0,
            last_s: BTreeMap::new(),
        }
    }

    /// Returns whether tasks may be dealt in another order than theirs.
    fn is_reordering(&self) -> bool {
        self.sizes.is_ahead && self.settings.n_tasks_min <= 1
    }

    /// Learns from the iteration that has ended.
    fn learn(&mut self) {
        if !self.is_reordering() {
            return;
        }
        let before = self.learnt.get(&self.n_tasks);
        let was_right = before.and_then(|_| self.trust.was_right());
        let usable = before.map(|learnt| &learnt.profile).filter(|_| was_right != Some(false));
        // While a profile is used, speeds are known at every moment.
        let is_known = self.known.is_some();
        let speeds =
            if is_known { BTreeMap::new() } else { task_costs::speeds(&self.seen.chunks, usable) };
        if let Some(profile) = TaskCosts::learnt(self.n_tasks, usable, &self.seen.chunks, &speeds) {
            let iteration = self.n_iterations;
            let is_right = was_right.unwrap_or(true);
            self.learnt.insert(self.n_tasks, Learnt { profile, is_right, iteration });
            if !is_known {
                self.speeds.set(speeds);
            }
        }
        if N_PROFILES_MAX < self.learnt.len()
            && let Some((&oldest, _)) =
                self.learnt.iter().min_by_key(|(_, learnt)| learnt.iteration)
        {
            self.learnt.remove(&oldest);
        }
    }

    /// Gives up what was learnt, as this iteration is different.
    fn refute(&mut self) {
        self.known = None;
        self.sizes.is_finding = true;
        self.set_task_work();
        let speeds: Vec<(u32, f64)> = self.speeds.all().collect();
        self.speeds.set(speeds);
        for chunk in &self.seen.chunks {
            self.finding.heard(&chunk.tasks(), chunk.task_s() * chunk.speed);
        }
    }

    /// Speeds are costs over times once costs were learnt: where each task counts alike, it counts as much as they do in
    /// the mean. Without costs of such iterations, speeds of others cannot be compared.
    fn set_task_work(&mut self) {
        match self.learnt.get(&self.n_tasks) {
            Some(learnt) => self.task_work = learnt.profile.total_s() / self.n_tasks as f64,
            None => {
                self.task_work = 1.0;
                self.speeds.set([]);
            }
        }
    }

    /// Number of tasks for a worker where `n_left` of mean cost are left.
    fn n_tasks(&mut self, request: &ChunkRequest, n_left: f64) -> f64 {
        let usual = self.sizes.usual(request.worker, n_left, request.n_workers);
        let deviation = self.deviation();
        // All chunks of a round are equal unless a worker's speed makes a difference of a whole task.
        let apart = (usual * (self.speeds.believed(request.worker, deviation) - 1.0)).round();
        rounding::up(usual, request.n_left) as f64 + apart
    }

    fn pick_known(&mut self, request: &ChunkRequest, left: &TaskSet) -> Option<Range<u64>> {
        let worker = request.worker;
        let task_s = self.sizes.known()?.spread.mean_s;
        let left_s = self.known.as_ref()?.left_s;
        let usual = self.sizes.usual(worker, left_s / task_s, request.n_workers);
        let speed = self.speeds.believed(worker, self.deviation());
        let budget_s = usual * task_s * speed;
        let is_slower = speed < SLOWER * self.speeds.fastest();
        let task_s_max = if is_slower {
            let rest_s = self.flight.rest_s(worker, speed, request.now_s);
            (self.end_s(request) - request.now_s - rest_s) * speed
        } else {
            f64::INFINITY
        };
        let crumb_s = CRUMB_SHARE * budget_s;
        let want = Want { budget_s, task_s_max, crumb_s };
        let known = self.known.as_mut()?;
        if let Some(tasks) = known.dearest.pick(left, &known.profile, &want) {
            return Some(tasks);
        }
        let cheapest = known.dearest.cheapest(left)?;
        let cost_s = known.profile.task_s(cheapest);
        if self.is_too_late(request, speed, cost_s) {
            return Some(0..0);
        }
        let want = Want { budget_s, task_s_max: cost_s, crumb_s: 0.0 };
        let known = self.known.as_mut()?;
        known.dearest.pick(left, &known.profile, &want)
    }

    fn deviation(&self) -> f64 {
        self.sizes.known().map_or(0.0, |known| known.task_deviation)
    }

    /// Time at which all tasks left will be done, in seconds.
    fn end_s(&mut self, request: &ChunkRequest) -> f64 {
        let left_s = match &self.known {
            Some(known) => known.left_s,
            None => request.n_left as f64 * self.seen.task_s(),
        };
        let left = Left { n_tasks: request.n_left, cost_s: left_s };
        self.flight.end_s(left, request.now_s, request.n_workers, &self.speeds)
    }

    /// Returns whether the other workers will have computed all that is left before this one could end a task of this
    /// cost.
    fn is_too_late(&mut self, request: &ChunkRequest, speed: f64, cost_s: f64) -> bool {
        let rest_s = self.flight.rest_s(request.worker, speed, request.now_s);
        self.end_s(request) < request.now_s + rest_s + cost_s / speed
    }

    fn pick_unknown(&mut self, request: &ChunkRequest, left: &TaskSet) -> Range<u64> {
        let speed = self.speeds.believed(request.worker, self.deviation());
        let is_last = request.n_left <= N_LAST * u64::from(request.n_workers);
        if is_last && speed < SLOWER * self.speeds.fastest() {
            let task_s = self.seen.task_s();
            if self.is_too_late(request, speed, task_s) {
                return 0..0;
            }
        }
        if let Some((worker, tasks, elapsed_s)) = self.flight.overdue(request.now_s) {
            let cost_s = elapsed_s * self.speeds.relative(worker);
            self.finding.suspect(&tasks, cost_s / (tasks.end - tasks.start) as f64);
        }
        let n_tasks = self.next(request);
        self.finding.pick(left, n_tasks, self.seen.task_s())
    }
}

impl Policy for Best {
    fn begin(&mut self, work: &Work) {
        self.learn();
        self.n_iterations += 1;
        self.n_tasks = work.n_tasks;
        self.speeds.begin(work);
        self.flight.clear();
        self.seen.clear();
        self.last_s.clear();
        self.trust.begin();
        self.finding.begin(work.n_tasks);
        self.sizes.begin(work.n_tasks);
        let is_usable = |learnt: &&Learnt| learnt.is_right && self.is_reordering();
        let learnt = self.learnt.get(&work.n_tasks).filter(is_usable);
        self.known = learnt.map(|learnt| Known::new(learnt.profile.clone()));
        self.sizes.is_finding = self.known.is_none();
        if self.known.is_none() && self.is_reordering() {
            self.set_task_work();
        }
    }

    fn restart(&mut self, _: &Work) {
        self.sizes.restart();
    }

    fn next(&mut self, request: &ChunkRequest) -> u64 {
        let n_tasks = self.n_tasks(request, request.n_left as f64);
        let n_tasks = rounding::up(n_tasks, request.n_left).max(self.settings.n_tasks_min);
        let n_over = request.n_left.saturating_sub(n_tasks);
        let known = self.sizes.known();
        let worth = known.map_or(0.0, |known| known.n_tasks_in(known.overhead_s));
        let is_crumb = n_over <= n_tasks / N_CRUMBS && n_over as f64 <= worth;
        if is_crumb { request.n_left } else { n_tasks }
    }

    fn pick(&mut self, request: &ChunkRequest, left: &TaskSet) -> Range<u64> {
        self.sizes.is_ahead |= 0 < request.n_held;
        let is_free = self.is_reordering() && left.n_tasks() == request.n_left;
        let picked = match self.known {
            _ if !is_free => None,
            Some(_) => self.pick_known(request, left),
            None => Some(self.pick_unknown(request, left)),
        };
        let picked = picked.unwrap_or_else(|| left.first_few(self.next(request)));
        let n_tasks = picked.end - picked.start;
        if 0 < n_tasks {
            let cost_s = match &mut self.known {
                Some(known) => known.take(&picked),
                None => n_tasks as f64 * self.seen.task_s(),
            };
            self.flight.dealt(request, &picked, cost_s);
        }
        picked
    }

    fn returned(&mut self, tasks: Range<u64>) {
        self.flight.returned(&tasks);
        if let Some(known) = &mut self.known {
            known.put(tasks);
        }
    }

    fn completed(&mut self, done: &Completed) {
        let Completed { worker, n_tasks, compute_s, overhead_s, .. } = *done;
        let was_ahead = self.flight.done(worker, done.first, done.now_s);
        let last_s = self.last_s.insert(worker, compute_s);
        // Divided by the speed known before this chunk: a speed updated by it would hide how uneven it is.
        let speed = self.speeds.relative(worker);
        let usual_s = compute_s * speed;
        let behind_s = if was_ahead { last_s } else { None };
        self.sizes.add(&Timed { n_tasks, usual_s, overhead_s, behind_s });
        self.seen.add(done, speed);
        let expected_s = match self.learnt.get(&self.n_tasks) {
            Some(learnt) => learnt.profile.cost_s(&done.tasks()),
            None => 0.0,
        };
        if 0.0 < expected_s {
            self.trust.add(expected_s, usual_s, n_tasks);
        }
        match &self.known {
            Some(known) => {
                self.speeds.add(worker, (n_tasks, expected_s), compute_s);
                if self.trust.is_refuted(known.deviation) {
                    self.refute();
                }
            }
            None => {
                let work = self.task_work * n_tasks as f64;
                self.speeds.add(worker, (n_tasks, work), compute_s);
                self.finding.heard(&done.tasks(), usual_s / n_tasks as f64);
            }
        }
    }

    fn left(&mut self, worker: u32) {
        self.speeds.forget(worker);
        self.flight.forget(worker);
        self.last_s.remove(&worker);
    }
}

impl Known {
    fn new(profile: TaskCosts) -> Self {
        let dearest = Dearest::new(&profile);
        let (left_s, deviation) = (profile.total_s(), profile.deviation());
        Self { profile, dearest, left_s, deviation }
    }

    /// Notes that tasks were dealt; returns their cost, in seconds.
    fn take(&mut self, tasks: &Range<u64>) -> f64 {
        let cost_s = self.profile.cost_s(tasks);
        self.left_s = (self.left_s - cost_s).max(0.0);
        cost_s
    }

    fn put(&mut self, tasks: Range<u64>) {
        self.left_s += self.profile.cost_s(&tasks);
        self.dearest.put(&self.profile, tasks);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the policy after these chunks of (worker, tasks, time); a quarter of the tasks is left for each of
    /// four.
    fn after(chunks: &[(u32, u64, f64)], overhead_s: f64) -> Best {
        let mut best = Best::new(&Settings::default());
        best.begin(&Work { n_tasks: 100_000, n_workers: 4 });
        for &(worker, n_tasks, compute_s) in chunks {
            best.completed(&Completed {
                worker,
                n_tasks,
                compute_s,
                overhead_s,
                ..Completed::default()
            });
        }
        best
    }

    fn request(worker: u32, n_left: u64) -> ChunkRequest {
        ChunkRequest { worker, n_left, n_workers: 4, ..ChunkRequest::default() }
    }

    /// Checks the first chunk of a round when so many tasks are left.
    #[track_caller]
    fn check(chunks: &[(u32, u64, f64)], overhead_s: f64, n_left: u64, expected: u64) {
        assert_eq!(after(chunks, overhead_s).next(&request(0, n_left)), expected);
    }

    const ALIKE: [(u32, u64, f64); 4] =
        [(0, 1000, 1.0), (1, 1000, 1.0), (2, 1000, 1.0), (3, 1000, 1.0)];

    #[test]
    fn dealing_is_as_fine_as_it_is_cheap() {
        check(&[], 0.0, 50_000, 1);
        check(&ALIKE, 0.0, 50_000, 50_000_u64.div_ceil(4 * 32));
        // 25 s for each worker, and 10 ms per chunk: plain DAF.
        check(&ALIKE, 0.01, 50_000, 50_000 / 4 / 2);
    }

    #[test]
    fn the_last_chunks_are_worth_what_they_cost() {
        // The smallest chunk is 2 * 10 ms / 0.2, 100 tasks.
        check(&ALIKE, 0.01, 10_000, 1250);
        check(&ALIKE, 0.01, 600, 100);
        check(&ALIKE, 0.01, 200, 50);
        check(&ALIKE, 0.01, 30, 8);
    }

    #[test]
    fn the_last_chunks_are_small_where_the_newest_tasks_are_dear() {
        let dear = [&ALIKE[..], &[(0, 10, 1.0)]].concat();
        let cheap = [&[(0, 10, 1.0)], &ALIKE[..]].concat();
        // 25 tasks are an equal part of 100; with all tasks alike the smallest chunk would be larger.
        check(&cheap, 0.02, 100, 25);
        check(&dear, 0.02, 100, 4);
    }

    #[test]
    fn a_second_round_has_to_be_worth_it() {
        // Of 25 s, 0.075 s may be spent on further rounds.
        check(&ALIKE, 0.07, 100_000, 12_500);
        check(&ALIKE, 0.08, 100_000, 25_000);
        check(&ALIKE, 9.0, 100_000, 25_000);
        let uneven = [(0, 1000, 1.0), (1, 1000, 2.0), (0, 1000, 2.0), (1, 1000, 1.0)];
        let dealt = after(&uneven, 0.2).next(&request(2, 100_000));
        assert!((6000..12_000).contains(&dealt), "{dealt}");
    }

    #[test]
    fn nobody_gets_more_than_an_equal_part_in_a_round() {
        let mut best = after(&ALIKE, 9.0);
        let mut n_left = 100_000;
        let mut deal = |worker: u32| {
            let n_tasks = best.next(&request(worker, n_left));
            n_left -= n_tasks;
            n_tasks
        };
        assert_eq!([0, 1, 2, 2, 3].map(&mut deal), [25_000, 25_000, 25_000, 6250, 6250]);
    }

    #[test]
    fn the_faster_worker_gets_more() {
        let fast = [(0, 1000, 1.0), (1, 1000, 2.0)].repeat(40);
        let mut best = after(&fast, 0.01);
        let [fast, slow, unknown] = [0, 1, 2].map(|worker| best.next(&request(worker, 50_000)));
        assert!((7700..8400).contains(&fast), "{fast}");
        assert!((3900..4400).contains(&slow), "{slow}");
        assert!((5800..6300).contains(&unknown), "{unknown}");
        best.left(1);
        let alone = best.next(&request(0, 50_000));
        assert_eq!(alone, best.next(&request(2, 50_000)));
    }

    #[test]
    fn crumbs_go_with_the_last_chunk() {
        let mut best = after(&ALIKE, 0.02);
        assert_eq!(best.next(&request(0, 50)), 13);
        assert_eq!(best.next(&request(1, 15)), 15);
        assert_eq!(best.next(&request(2, 37)), 13);
    }
}
