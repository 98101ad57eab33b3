//! Times below which no order of the tasks can come.

use super::{EntryDependency, JobScenario};
use task_api::DependencyKind;

/// Longest chain of tasks, and all work over all cores, in s.
pub(super) fn bounds(scenario: &JobScenario) -> [f64; 2] {
    let speed_max = scenario.nodes.iter().map(|node| node.speed).fold(f64::MIN_POSITIVE, f64::max);
    // Earliest starts and ends of the tasks of each entry.
    let mut entries: Vec<Vec<[f64; 2]>> = Vec::new();
    let (mut number, mut work_core_s) = (1, 0.0);
    for entry in &scenario.entries {
        let demand = &entry.submission.demand;
        let limit_s = demand.time_limit_ms.map_or(f64::INFINITY, |ms| ms as f64 * 1e-3);
        let n_cores = f64::from(demand.cpus_min()) * f64::from(demand.n_nodes());
        let mut tasks = Vec::new();
        for task in 0..entry.submission.n_tasks() {
            let work_s = scenario.work_s(entries.len(), number);
            number += 1;
            let starts_s = entry
                .after
                .iter()
                .map(|after| earliest_s(&entries[after.entry], *after, task))
                .fold(0.0, f64::max);
            let ends_s = starts_s + (work_s / speed_max).min(limit_s);
            work_core_s += work_s.min(limit_s * speed_max) * n_cores;
            tasks.push([starts_s, ends_s]);
        }
        entries.push(tasks);
    }
    let path_s = entries.iter().flatten().map(|[_, ends_s]| *ends_s).fold(0.0, f64::max);
    let power = scenario.nodes.iter().map(|node| f64::from(node.capacity.cpus) * node.speed);
    [path_s, work_core_s / power.sum::<f64>()]
}

/// Earliest time at which a task may start for what it waits for.
fn earliest_s(before: &[[f64; 2]], after: EntryDependency, task: u64) -> f64 {
    let moment = |[starts_s, ends_s]: &[f64; 2]| match after.when {
        DependencyKind::Started => *starts_s,
        _ => *ends_s,
    };
    if after.is_each {
        let one = usize::try_from(task).ok().and_then(|task| before.get(task));
        return one.map_or(0.0, moment);
    }
    before.iter().map(moment).fold(0.0, f64::max)
}
