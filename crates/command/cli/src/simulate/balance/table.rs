//! Prints policies as lines of text, the one with the best ratio first.

use ::balancing_policies::{Policy, Rule};
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
    let names = rows.iter().map(|row| row.policy.to_string().len());
    let width = names.max().unwrap_or(0).max("POLICY".len());
    let head = format!(
        "{}; with a central queue that costs nothing {central_s:.1} s\n\n\
         {:<width$}  RATIO  EXECUTED     DEALT  MESSAGES  PER TASK  ACCEPTED  REFUSED  EFFICIENCY   IDLE\n",
        heading(scenario, rows),
        "POLICY"
    );
    let line = |row: &&Row| {
        let it = &row.outcome;
        format!(
            "{:<width$}  {:.3}  {:>6.1} s  {:>6.1} s  {:>8}  {:>8.2}  {:>8}  {:>7}  {:>10.2e}  {:>4.1}%\n",
            row.policy.to_string(),
            it.ratio(),
            it.t_exec_s,
            it.t_dist_s,
            it.messages,
            it.messages as f64 / it.n_tasks as f64,
            it.counts.accepted,
            it.counts.not_accepted,
            it.efficiency(),
            100.0 * it.idle_share
        )
    };
    let lines: String = sorted.iter().map(line).collect();
    let unfinished = |row: &&&Row| row.outcome.n_ended < row.outcome.n_tasks;
    let warning = |row: &&Row| {
        let n_left = row.outcome.n_tasks - row.outcome.n_ended;
        format!("{}: {n_left} tasks wait at nodes that never come back\n", row.policy)
    };
    let warnings: String = sorted.iter().filter(unfinished).map(warning).collect();
    format!("{head}{lines}{warnings}")
}

/// List of the rules.
pub(super) fn rules() -> String {
    let head = format!("{:<20} {:<7} {}\n", "RULE", "FROM", "WHAT IT DOES");
    let line = |spec: &&::balancing_policies::RuleSpec| {
        let from = if spec.is_of_source { "source" } else { "ours" };
        format!("{:<20} {from:<7} {}\n", spec.form, spec.sentence)
    };
    let lines: String = Rule::ALL.iter().map(line).collect();
    format!(
        "{head}{lines}\nA policy is RULE or RULE@DOMAIN. Domains: global (all nodes, the default), \
         overlapping:SIZE[:OVERLAP]\n(neighbors on a ring), random:SIZE (drawn at each sending).\n"
    )
}
