//! Prints policies as lines of text, the fastest first.

use ::chunking::by_name;
use display::bars::filled;
use display::table::Table;
use display::units::plural;
use simulator::chunking::{Outcome, Scenario};

/// Length of the longest bar, in columns.
const N_COLUMNS: usize = 24;

/// Sentence about the scenario.
pub(super) fn heading(scenario: &Scenario) -> String {
    let (n_tasks, work_s) = (scenario.workload.n_tasks(), scenario.workload.work_s());
    let times = match scenario.n_iterations {
        1 => String::new(),
        n => format!("{n} iterations of "),
    };
    let tasks = plural(n_tasks, "task");
    let workers = plural(scenario.machine.n_workers, "worker");
    let ideal_s = scenario.ideal_s();
    format!("{times}{tasks}, {work_s:.3} s, on {workers}: ideally {ideal_s:.3} s")
}

/// Table with a line for each policy, and bars for the loss against the ideal.
pub(super) fn table(scenario: &Scenario, outcomes: &[Outcome]) -> String {
    let mut sorted: Vec<&Outcome> = outcomes.iter().collect();
    sorted.sort_by(|some, other| some.makespan_s.total_cmp(&other.makespan_s));
    let lost = |outcome: &Outcome| (outcome.makespan_over_ideal() - 1.0).max(0.0);
    let most = outcomes.iter().map(lost).fold(1e-9, f64::max);
    let is_repeated = 1 < scenario.n_iterations;
    let seconds = |time_s: f64| format!("{time_s:.4} s");
    let table = Table::new(sorted)
        .left("POLICY", |it| it.policy)
        .right("MAKESPAN", |it| seconds(it.makespan_s))
        .right("/ IDEAL", |it| format!("{:.4}", it.makespan_over_ideal()))
        .right("CHUNKS", |it| it.n_chunks.to_string())
        .right("FIRST", |it| seconds(it.first_iteration_s))
        .when(is_repeated)
        .right("LAST", |it| seconds(it.last_iteration_s))
        .when(is_repeated)
        .left("LOST", |it| filled(lost(it) / most, N_COLUMNS));
    let policies = Table::new(table.rows())
        .left("", |it| it.policy)
        .left("", |it| by_name(it.policy).map_or("", |spec| spec.sentence));
    format!("{}\n\n{table}\n{policies}", heading(scenario))
}
