//! Prints policies as lines of text, the fastest first.

use ::chunking::by_name;
use simulator::chunking::{Outcome, Scenario};
use user_io::print::counted;

/// Length of the longest bar, in columns.
const N_COLUMNS: f64 = 24.0;
const EIGHTHS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/// Sentence about the scenario.
pub(super) fn heading(scenario: &Scenario) -> String {
    let (n_tasks, work_s) = (scenario.workload.n_tasks(), scenario.workload.work_s());
    let times = match scenario.n_iterations {
        1 => String::new(),
        n => format!("{n} iterations of "),
    };
    let tasks = counted(n_tasks, "task");
    let workers = counted(scenario.machine.n_workers, "worker");
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
    let learned = |first: &str, last: &str| {
        if is_repeated { format!(" {first:>12} {last:>12}") } else { String::new() }
    };
    let head = format!(
        "{}\n\n{:<7} {:>12} {:>8} {:>9}{}  LOST\n",
        heading(scenario),
        "POLICY",
        "MAKESPAN",
        "/ IDEAL",
        "CHUNKS",
        learned("FIRST", "LAST")
    );
    let seconds = |time_s: f64| format!("{time_s:.4} s");
    let line = |outcome: &&Outcome| {
        let (name, ratio, n_chunks) =
            (outcome.policy, outcome.makespan_over_ideal(), outcome.n_chunks);
        let [makespan, first, last] =
            [outcome.makespan_s, outcome.first_iteration_s, outcome.last_iteration_s].map(seconds);
        let (learned, bar) = (learned(&first, &last), bar(lost(outcome) / most));
        format!("{name:<7} {makespan:>12} {ratio:>8.4} {n_chunks:>9}{learned}  {bar}")
            .trim_end()
            .to_owned()
            + "\n"
    };
    let lines: String = sorted.iter().map(line).collect();
    let sentences: String = sorted.iter().map(|outcome| sentence(outcome.policy)).collect();
    format!("{head}{lines}\n{sentences}")
}

fn sentence(name: &str) -> String {
    by_name(name).map(|spec| format!("{name:<7} {}\n", spec.sentence)).unwrap_or_default()
}

#[expect(clippy::cast_possible_truncation, reason = "at most the columns of a bar")]
#[expect(clippy::cast_sign_loss, reason = "a share is not negative")]
fn bar(share: f64) -> String {
    let n_eighths = (share.clamp(0.0, 1.0) * N_COLUMNS * 8.0).round() as usize;
    let mut bar = "█".repeat(n_eighths / 8);
    if !n_eighths.is_multiple_of(8) {
        bar.push(EIGHTHS[n_eighths % 8]);
    }
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(share: f64, expected: &str) {
        assert_eq!(bar(share), expected);
    }

    #[test]
    fn a_bar_is_as_long_as_its_share() {
        check(0.0, "");
        check(0.25, "██████");
        check(0.26, "██████▎");
        check(7.0, &"█".repeat(24));
        check(f64::NAN, "");
    }
}
