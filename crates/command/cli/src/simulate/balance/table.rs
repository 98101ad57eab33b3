//! Prints policies as lines of text, the one with the best ratio first.

use ::balancing_policies::{Policy, Rule};
use display::table::Table;
use simulator::balance::{Arrivals, Outcome, Scenario};

/// Policy and its outcome.
pub(super) struct Row {
    pub(super) policy: Policy,
    pub(super) outcome: Outcome,
}

/// Sentence about the scenario.
pub(super) fn heading(scenario: &Scenario, rows: &[Row]) -> String {
    let ideal_s = rows.first().map_or(0.0, |row| row.outcome.t_opt_s);
    let come = match scenario.arrivals {
        Arrivals::Every { gap_s: 0.0 } => "at once".to_owned(),
        Arrivals::Every { gap_s } => format!("one every {gap_s} s"),
        Arrivals::Random { gap_s } => format!("one every {gap_s} s on average"),
    };
    let (n_tasks, n_nodes) = (scenario.n_tasks, scenario.n_nodes);
    format!("{n_tasks} tasks, {come}, on {n_nodes} nodes: ideally {ideal_s:.1} s")
}

/// Table with a line for each policy.
pub(super) fn table(scenario: &Scenario, rows: &[Row], central_s: f64) -> String {
    let mut sorted: Vec<&Row> = rows.iter().collect();
    sorted.sort_by(|some, other| other.outcome.ratio().total_cmp(&some.outcome.ratio()));
    let table = Table::new(&sorted)
        .left("POLICY", |row| row.policy.to_string())
        .right("RATIO", |row| format!("{:.3}", row.outcome.ratio()))
        .right("EXECUTED", |row| format!("{:.1} s", row.outcome.t_exec_s))
        .right("DEALT", |row| format!("{:.1} s", row.outcome.t_dist_s))
        .right("MESSAGES", |row| row.outcome.messages.to_string())
        .right("PER TASK", |row| {
            format!("{:.2}", row.outcome.messages as f64 / row.outcome.n_tasks as f64)
        })
        .right("ACCEPTED", |row| row.outcome.counts.accepted.to_string())
        .right("REFUSED", |row| row.outcome.counts.not_accepted.to_string())
        .right("EFFICIENCY", |row| format!("{:.2e}", row.outcome.efficiency()))
        .right("IDLE", |row| format!("{:.1} %", 100.0 * row.outcome.idle_share));
    let unfinished = |row: &&&Row| row.outcome.n_ended < row.outcome.n_tasks;
    let warning = |row: &&Row| {
        let n_left = row.outcome.n_tasks - row.outcome.n_ended;
        format!("{}: {n_left} tasks wait at nodes that never come back\n", row.policy)
    };
    let warnings: String = sorted.iter().filter(unfinished).map(warning).collect();
    let heading = heading(scenario, rows);
    format!(
        "{heading}; with a central queue that costs nothing {central_s:.1} s\n\n{table}{warnings}"
    )
}

/// List of the rules.
pub(super) fn rules() -> String {
    let table = Table::new(Rule::ALL)
        .left("RULE", |spec| spec.form)
        .left("FROM", |spec| if spec.is_of_source { "source" } else { "ours" })
        .left("WHAT IT DOES", |spec| spec.sentence);
    format!(
        "{table}\nA policy is RULE or RULE@DOMAIN. Domains: global (all nodes, the default), \
         overlapping:SIZE[:OVERLAP]\n(neighbors on a ring), random:SIZE (drawn at each sending).\n"
    )
}
