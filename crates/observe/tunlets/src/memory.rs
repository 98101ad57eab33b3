//! `memory`: page faults cost more than the memory that they save, in any program.
//!
//! Where ranks have many page faults for their processor time, `malloc` keeps freed memory. Where ranks hold much memory,
//! huge pages are tried, once the program has run so long that what it costs to make them is little beside that. Either helps
//! some programs and hurts others: the trial decides, one after the other.
//!
//! What earlier runs were faster with is set at once. When iterations have been measured with it, it is taken back on trial:
//! it comes again unless the program is faster without it.
//!
//! # Invariants
//! - At most one of the two is asked for at a time, so that a trial judges one of them.

use crate::lookup::{KnownPoint, Lookup};
use crate::rest::Rest;
use crate::tunlet::{
    Decision, Detail, Guide, News, Performance, PointNeed, RankUsage, Requests, Tunlet,
    TunletError, TunletSpec, World,
};
use app_description::{Application, Past};

pub(crate) const NAME: &str = "memory";
const HUGE_PAGES: &str = "huge-pages";

/// Guide for users of [`Memory`].
pub(crate) const GUIDE: Guide = Guide {
    remedy: "lets `malloc` keep freed memory, and asks for huge pages, as long as the program is faster with it",
    iteration: "none, and no description: `sintonia run --tune=memory`",
    events: &[],
    points: &[
        PointNeed { name: NAME, meaning: "a lever of `--tune`: 1 keeps freed memory" },
        PointNeed { name: HUGE_PAGES, meaning: "a lever of `--tune`: 1 asks for huge pages" },
    ],
};

/// Page faults per second of processor time from which on memory is kept.
const FAULTS_PER_CPU_S: f64 = 3000.0;
/// Resident bytes of a rank from which on huge pages are tried.
const RESIDENT_BYTES: u64 = 64 << 20;
/// Bytes of small pages that are made huge in a second of processor time.
const MADE_HUGE_BYTES_PER_S: f64 = 2e9;
/// Largest share of the processor time so far that making pages huge may cost.
const COST_MAX: f64 = 0.01;
/// Cores that the ranks use together, below which a report tells nothing.
const IDLE: f64 = 0.02;
/// Reports in a row that have to tell the same: a program faults in all its memory once.
const N_SEEN: u32 = 4;
/// Reports between a change and the next one.
const N_BETWEEN: u32 = 15;
/// Iterations, or time in s of at least [`N_CHECKED_MIN`], after which a learnt lever is checked: more than a trial compares.
const N_CHECKED: u32 = 64;
const N_CHECKED_MIN: u32 = 12;
const CHECKED_S: f64 = 0.5;

/// The `memory` tunlet; see the module documentation.
#[derive(Debug, Default)]
pub struct Memory {
    levers: Vec<TriedLever>,
    n_between: u32,
    /// Processor time of all ranks so far, in s.
    cpu_s: f64,
}

/// A lever with what speaks for it.
#[derive(Debug)]
struct TriedLever {
    point: KnownPoint,
    /// Returns the reason to set it, given the processor time of all ranks so far in s.
    reason: fn(&[RankUsage], f64) -> Option<String>,
    n_seen: u32,
    rest: Rest,
    learnt: Learnt,
}

/// State of a lever that earlier runs were faster with.
#[derive(Debug)]
enum Learnt {
    /// It is not one, or no longer treated as one.
    No,
    /// It is to be set.
    Wanted,
    /// It is set, and iterations are counted.
    Set { n: u32, time_s: f64 },
}

impl Tunlet for Memory {
    fn spec(&self) -> TunletSpec {
        GUIDE.spec(NAME, "memory goes back to the system and comes again, page by page", &[])
    }

    fn begin(&mut self, application: &Application, world: &World) -> Result<Requests, TunletError> {
        let look = Lookup { tunlet: NAME, application, world };
        let lever = |name, reason| {
            let point = look.point(name)?;
            let (n_seen, rest) = (0, Rest::first(point.past));
            let learnt = if point.past == Past::Helped { Learnt::Wanted } else { Learnt::No };
            Ok(TriedLever { point, reason, n_seen, rest, learnt })
        };
        let levers = vec![lever(NAME, faulting)?, lever(HUGE_PAGES, large)?];
        *self = Self { levers, n_between: 0, cpu_s: 0.0 };
        let points = self.levers.iter().map(|lever| lever.point.position).collect();
        let events = vec![Detail::None; application.events.len()];
        Ok(Requests { events, performance: true, points })
    }

    fn hear(&mut self, news: &News, decisions: &mut Vec<Decision>) {
        let lever_of = |levers: &mut Vec<TriedLever>, position: usize| {
            levers.iter().position(|lever| lever.point.position == position)
        };
        match news {
            News::Performance(performance) => decisions.extend(self.judge(performance)),
            News::Applied(applied) => {
                if let Some(idx) = lever_of(&mut self.levers, applied.point) {
                    self.levers[idx].point.applied(applied.new);
                    self.n_between = N_BETWEEN;
                }
            }
            News::Declined { point, .. } => {
                if let Some(idx) = lever_of(&mut self.levers, *point) {
                    let lever = &mut self.levers[idx];
                    // What was not carried out was not tried.
                    if lever.point.is_waiting {
                        lever.rest.begin();
                    } else {
                        lever.rest.begin_after_trial();
                        self.n_between = N_BETWEEN;
                    }
                    lever.point.declined();
                }
            }
            News::Iteration(iteration) => {
                self.levers.iter_mut().for_each(|lever| lever.learnt.count(iteration.duration_s));
            }
            News::Event(_) | News::Summary(_) => {}
        }
    }
}

impl Learnt {
    fn count(&mut self, duration_s: f64) {
        if let Self::Set { n, time_s } = self {
            (*n, *time_s) = (n.saturating_add(1), *time_s + duration_s);
        }
    }

    /// Returns whether enough iterations were counted to check the lever.
    fn is_due(&self) -> bool {
        matches!(self, Self::Set { n, time_s } if N_CHECKED <= *n || N_CHECKED_MIN <= *n && CHECKED_S <= *time_s)
    }
}

impl TriedLever {
    /// Returns what earlier runs ask for: to set the lever, or to check it.
    fn ask_learnt(&mut self) -> Option<Decision> {
        if matches!(self.learnt, Learnt::Wanted) {
            self.learnt = Learnt::Set { n: 0, time_s: 0.0 };
            return Some(self.point.ask(1.0, "earlier runs were faster with it"));
        }
        if !self.learnt.is_due() {
            return None;
        }
        self.learnt = Learnt::No;
        let is_set = self.point.value == Some(1.0);
        is_set.then(|| self.point.ask(0.0, "it was set from the start and is checked once"))
    }
}

impl Memory {
    fn judge(&mut self, performance: &Performance) -> Option<Decision> {
        let cpu: f64 = performance.usage.iter().map(|rank| rank.cpu).sum();
        self.cpu_s += cpu * (performance.span_s.1 - performance.span_s.0).max(0.0);
        if cpu < IDLE {
            return None;
        }
        self.n_between = self.n_between.saturating_sub(1);
        let is_waiting = self.levers.iter().any(|lever| lever.point.is_waiting);
        if !is_waiting
            && let Some(decision) = self.levers.iter_mut().find_map(TriedLever::ask_learnt)
        {
            return Some(decision);
        }
        let mut decision = None;
        for lever in &mut self.levers {
            lever.rest.pass();
            let reason = (lever.reason)(&performance.usage, self.cpu_s);
            lever.n_seen = if reason.is_some() { lever.n_seen + 1 } else { 0 };
            let is_due = N_SEEN <= lever.n_seen && !lever.rest.is_resting() && self.n_between == 0;
            let is_off = lever.point.value != Some(1.0);
            if let (true, true, false, None) = (is_due, is_off, is_waiting, &decision) {
                decision = reason.map(|reason| lever.point.ask(1.0, &reason));
            }
        }
        decision
    }
}

/// Reason to keep freed memory.
fn faulting(usage: &[RankUsage], _cpu_s: f64) -> Option<String> {
    let cpu: f64 = usage.iter().map(|rank| rank.cpu).sum();
    let faults: f64 = usage.iter().map(|rank| rank.faults_per_s).sum();
    let rate = faults / cpu.max(1e-3);
    let reason = || format!("ranks have {rate:.0} page faults in a second of processor time");
    (FAULTS_PER_CPU_S < rate).then(reason)
}

/// Reason to ask for huge pages.
fn large(usage: &[RankUsage], cpu_s: f64) -> Option<String> {
    let largest = usage.iter().max_by_key(|rank| rank.memory_max_bytes)?;
    let n_bytes: u64 = usage.iter().map(|rank| rank.memory_max_bytes).sum();
    let is_cheap = n_bytes as f64 / MADE_HUGE_BYTES_PER_S <= COST_MAX * cpu_s;
    let mib = largest.memory_max_bytes >> 20;
    let reason = || format!("rank {} holds {mib} MiB in small pages", largest.rank.0);
    (is_cheap && RESIDENT_BYTES < largest.memory_max_bytes).then(reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Applied;
    use events::{Lever, Value};

    fn begun() -> Memory {
        let mut application = Application::default();
        application.add_levers(&[Lever::Memory, Lever::HugePages]);
        let mut tunlet = Memory::default();
        tunlet.begin(&application, &World::default()).unwrap();
        tunlet
    }

    /// What becomes of a decision.
    #[derive(Clone, Copy, PartialEq)]
    enum Outcome {
        Set,
        Declined,
        Undone,
    }

    /// Returns the positions of the levers that are asked for.
    fn asked(faults_per_s: f64, mib: u64, n_reports: u32, outcome: Outcome) -> Vec<usize> {
        let mut tunlet = begun();
        let memory_max_bytes = mib << 20;
        let usage = RankUsage { cpu: 1.0, faults_per_s, memory_max_bytes, ..RankUsage::default() };
        let span_s = (0.0, 10.0);
        let performance = Performance { span_s, usage: vec![usage], ..Performance::default() };
        let mut asked = Vec::new();
        for _ in 0..n_reports {
            let mut decisions = Vec::new();
            tunlet.hear(&News::Performance(performance.clone()), &mut decisions);
            for Decision { point, .. } in decisions {
                asked.push(point);
                let (old, new) = (Value::Int(0), Value::Int(1));
                let applied = Applied { point, old, new, time_s: 0.0, hit: 0, is_own: true };
                if outcome != Outcome::Declined {
                    tunlet.hear(&News::Applied(applied.clone()), &mut Vec::new());
                }
                if outcome != Outcome::Set {
                    let reason = "slower".to_owned();
                    tunlet.hear(&News::Declined { point, reason }, &mut Vec::new());
                }
                if outcome == Outcome::Undone {
                    let back = Applied { old: new, new: old, is_own: false, ..applied };
                    tunlet.hear(&News::Applied(back), &mut Vec::new());
                }
            }
        }
        asked
    }

    #[test]
    fn each_is_asked_for_by_its_own_sign_and_in_turns() {
        assert_eq!(asked(1e2, 1, 99, Outcome::Set), [0_usize; 0]);
        assert_eq!(asked(1e4, 1, N_SEEN - 1, Outcome::Set), [0_usize; 0]);
        assert_eq!(asked(1e4, 1, 99, Outcome::Set), [0]);
        assert_eq!(asked(1e2, 100, 99, Outcome::Set), [1]);
        assert_eq!(asked(1e4, 100, N_SEEN + N_BETWEEN - 1, Outcome::Set), [0]);
        assert_eq!(asked(1e4, 100, 99, Outcome::Set), [0, 1]);
    }

    #[test]
    fn pages_are_made_huge_once_that_is_cheap_beside_the_run() {
        let usage = [RankUsage { memory_max_bytes: 100 << 20, ..RankUsage::default() }; 8];
        assert_eq!(large(&usage, 40.0), None);
        assert_ne!(large(&usage, 45.0), None);
    }

    #[test]
    fn what_did_not_help_is_tried_ever_more_seldom() {
        let n_asked = |outcome| asked(1e4, 1, 1000, outcome).len();
        assert!((6..12).contains(&n_asked(Outcome::Declined)));
        assert!((3..6).contains(&n_asked(Outcome::Undone)), "a trial costs more");
    }

    /// Returns the values that are asked for of a learnt lever, in this many reports with an iteration each.
    fn asked_of_learnt(n_reports: u32, is_carried_out: bool) -> Vec<i128> {
        let mut application = Application::default();
        application.add_levers(&[Lever::Memory, Lever::HugePages]);
        application.teach_levers(&["memory".to_owned()], &[]);
        let mut tunlet = Memory::default();
        tunlet.begin(&application, &World::default()).unwrap();
        let usage = vec![RankUsage { cpu: 1.0, ..RankUsage::default() }];
        let performance = Performance { usage, ..Performance::default() };
        let mut asked = Vec::new();
        for number in 0..n_reports.into() {
            let mut decisions = Vec::new();
            tunlet.hear(&News::Performance(performance.clone()), &mut decisions);
            for Decision { point, value, .. } in decisions {
                asked.push(value.as_integer().unwrap());
                let applied =
                    Applied { point, old: value, new: value, time_s: 0.0, hit: 0, is_own: true };
                let declined = News::Declined { point, reason: String::new() };
                let news = if is_carried_out { News::Applied(applied) } else { declined };
                tunlet.hear(&news, &mut Vec::new());
            }
            let iteration = crate::IterationNews { number, end_s: 0.0, duration_s: 0.1, work: 1.0 };
            tunlet.hear(&News::Iteration(iteration), &mut Vec::new());
        }
        asked
    }

    #[test]
    fn what_was_learnt_is_set_at_once_and_checked_once() {
        assert_eq!(asked_of_learnt(1, true), [1]);
        assert_eq!(asked_of_learnt(N_CHECKED_MIN, true), [1]);
        assert_eq!(asked_of_learnt(999, true), [1, 0]);
        assert_eq!(asked_of_learnt(999, false), [1], "what could not be set is not checked");
    }
}
