//! Times below which no order of the tasks can come.

use super::{EntryDependency, JobScenario};
use task_api::DependencyKind;

/// Longest chain of tasks, and all work over all cores, in s.
pub(super) fn bounds(scenario: &JobScenario) -> [f64; 2] {
    let speeds = || scenario.nodes.iter().map(|node| node.speed);
    let speed_max = speeds().fold(f64::MIN_POSITIVE, f64::max);
    let speed_min = speeds().fold(f64::INFINITY, f64::min);
    let mut entries: Vec<Vec<Option<Earliest>>> = Vec::new();
    let (mut number, mut work_core_s) = (1, 0.0);
    for entry in &scenario.entries {
        let demand = &entry.submission.demand;
        let limit_s = demand.time_limit_ms.map_or(f64::INFINITY, |ms| ms as f64 * 1e-3);
        let n_cores = f64::from(demand.cpus_min()) * f64::from(demand.n_nodes());
        let mut tasks = Vec::new();
        for task in 0..entry.submission.n_tasks() {
            let work_s = scenario.work_s(entries.len(), number);
            number += 1;
            let waits = entry.after.iter();
            let waits = waits.map(|after| earliest_s(&entries[after.entry], *after, task));
            let starts_s = latest_s(waits);
            tasks.push(starts_s.map(|starts_s| {
                work_core_s += work_s.min(limit_s * speed_min) * n_cores;
                let ends_s = starts_s + (work_s / speed_max).min(limit_s);
                let succeeds = work_s / speed_min <= limit_s;
                Earliest { starts_s, ends_s, succeeds }
            }));
        }
        entries.push(tasks);
    }
    let path_s = entries.iter().flatten().flatten().map(|task| task.ends_s).fold(0.0, f64::max);
    let power = scenario.nodes.iter().map(|node| f64::from(node.capacity.cpus) * node.speed);
    [path_s, work_core_s / power.sum::<f64>()]
}

/// Earliest times of a task that runs for certain.
#[derive(Clone, Copy)]
struct Earliest {
    starts_s: f64,
    ends_s: f64,
    /// False if it may be ended at its time limit.
    succeeds: bool,
}

/// Earliest time at which a task may start for what it waits for; `None` where it may never run.
fn earliest_s(before: &[Option<Earliest>], after: EntryDependency, task: u64) -> Option<f64> {
    let moment = |before: &Option<Earliest>| match (before, after.when) {
        (_, DependencyKind::Failed) | (None, DependencyKind::Succeeded) => None,
        // What is canceled counts as ended, whenever that is.
        (None, _) => Some(0.0),
        (Some(before), DependencyKind::Started) => Some(before.starts_s),
        (Some(before), DependencyKind::Ended) => Some(before.ends_s),
        (Some(before), _) => before.succeeds.then_some(before.ends_s),
    };
    if after.is_each {
        let one = usize::try_from(task).ok().and_then(|task| before.get(task));
        return one.map_or(Some(0.0), moment);
    }
    latest_s(before.iter().map(moment))
}

/// Latest of these times; `None` if there is none for one of them.
fn latest_s(mut times: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    times.try_fold(0.0, |latest_s, at_s| Some(f64::max(latest_s, at_s?)))
}
