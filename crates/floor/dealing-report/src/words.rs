//! Summary of a run in words and small charts, for a terminal.

use crate::run::{DealingReport, IterationChange, Slowest, Worker};
use display::bars;
use display::table::{Cell, Table};
use display::text::wrap;
use display::units::{self, percent, plural, seconds, three_digits};

/// Columns before a chart.
const N_NAME: usize = 15;
const N_WORKERS_SHOWN: usize = 16;
const N_CHANGES_SHOWN: usize = 12;
const N_SIZES_SHOWN: usize = 16;

/// Summarizes the run in lines of at most `n_columns`; empty when nothing was dealt.
pub fn lines(dealt: &DealingReport, n_columns: usize) -> Vec<String> {
    if dealt.sums.n_iterations == 0 {
        return Vec::new();
    }
    let mut lines = wrap(&headline(dealt), n_columns);
    lines.extend(courses(dealt, n_columns));
    lines.extend(workers(dealt, n_columns));
    if let Some(slowest) = dealt.slowest.as_ref().filter(|slowest| !slowest.chunks.is_empty()) {
        lines.extend(sizes(slowest, n_columns));
    }
    lines.extend(wrap(&messages(dealt), n_columns));
    lines.extend(troubles(dealt).iter().flat_map(|text| wrap(text, n_columns)));
    lines.extend(changes(dealt).iter().flat_map(|text| wrap(text, n_columns)));
    lines
}

fn headline(dealt: &DealingReport) -> String {
    let sums = &dealt.sums;
    format!(
        "{} in {}, dealt by `{}`: workers computed for {} of their time; ideal {}",
        plural(sums.n_iterations, "iteration"),
        seconds(sums.duration_s),
        dealt.policy,
        percent(sums.efficiency()),
        seconds(sums.ideal_s)
    )
}

/// Charts of iteration times and of workers over the run.
fn courses(dealt: &DealingReport, n_columns: usize) -> Vec<String> {
    let all = &dealt.iterations;
    let (Some(first), Some(last)) = (all.first(), all.last()) else { return Vec::new() };
    if all.len() < 2 {
        return Vec::new();
    }
    let times: Vec<f64> = all.iter().map(|line| line.duration_s).collect();
    let counts: Vec<f64> = all.iter().map(|line| f64::from(line.n_workers)).collect();
    let longest = dealt.slowest.as_ref().map_or_else(String::new, |slowest| {
        format!("; iteration {} took longest, {}", slowest.iteration, seconds(slowest.duration_s))
    });
    let (at_first, at_last) = (seconds(first.duration_s), seconds(last.duration_s));
    let words = format!(
        "{at_first} on {} at first, {at_last} on {} at last{longest}",
        plural(first.n_workers, "worker"),
        plural(last.n_workers, "worker")
    );
    let mut lines =
        vec![picture("iteration time", &times, n_columns), picture("workers", &counts, n_columns)];
    lines.extend(wrap(&words, n_columns));
    lines
}

fn picture(name: &str, values: &[f64], n_columns: usize) -> String {
    let values = bars::averaged(values, n_columns.saturating_sub(N_NAME).max(1));
    format!("{name:<N_NAME$}{}", bars::sparkline(&values))
}

/// Table of the workers: computing time, and the reasons for idle time; the last columns are left out where there is no
/// room.
fn workers(dealt: &DealingReport, n_columns: usize) -> Vec<String> {
    // Of many workers, the idlest ones are shown.
    let mut shown: Vec<&Worker> = dealt.workers.iter().collect();
    if N_WORKERS_SHOWN < shown.len() {
        shown.sort_by(|a, b| share(a.compute_s, a).total_cmp(&share(b.compute_s, b)));
        shown.truncate(N_WORKERS_SHOWN);
    }
    let n_hidden = (dealt.workers.len() - shown.len()) as u64 + dealt.n_workers_left_out;
    let part = |worker: &Worker, time_s| match worker.duration_s <= 0.0 {
        true => Cell::from("-"),
        false => Cell::percent(share(time_s, worker)),
    };
    let table = Table::new(shown)
        .right("worker", |it| it.rank.to_string())
        .right("tasks", |it| it.n_tasks.to_string())
        .right("chunks", |it| it.n_chunks.to_string())
        .right("computes", |it| part(it, it.compute_s))
        .right("waits at start", |it| part(it, it.start_s))
        .right("between", |it| part(it, it.waited_s))
        .right("at end", |it| part(it, it.end_s))
        .right("messages", |it| part(it, it.other_s()))
        .right("parked", |it| match it.parked_s <= 0.0 {
            true => "-".to_owned(),
            false => seconds(it.parked_s),
        });
    let mut lines = table.lines(n_columns, false);
    if n_hidden != 0 {
        lines.push(format!("… and {n_hidden} more with less idle time"));
    }
    lines
}

fn share(time_s: f64, worker: &Worker) -> f64 {
    crate::run::share(time_s, worker.duration_s)
}

fn sizes(slowest: &Slowest, n_columns: usize) -> Vec<String> {
    let sizes: Vec<f64> = slowest.chunks.iter().map(|chunk| chunk.n_tasks as f64).collect();
    let first = slowest.chunks.iter().take(N_SIZES_SHOWN).map(|it| it.n_tasks.to_string());
    let first: Vec<String> = first.collect();
    let more = if N_SIZES_SHOWN < sizes.len() { " …" } else { "" };
    let words =
        format!("tasks in a chunk of iteration {}: {}{more}", slowest.iteration, first.join(" "));
    let mut lines = vec![picture("chunk sizes", &sizes, n_columns)];
    lines.extend(wrap(&words, n_columns));
    lines
}

fn messages(dealt: &DealingReport) -> String {
    let sums = &dealt.sums;
    let per_chunk = |total: f64| total / sums.n_chunks.max(1) as f64;
    let bytes = |total: u64| units::bytes(units::whole(per_chunk(total as f64)));
    let way_s = sums.way_s / sums.n_ways.max(1) as f64;
    format!(
        "{} messages per chunk, with {} of input and {} of results; {} in transit",
        three_digits(per_chunk(sums.n_messages as f64)),
        bytes(sums.input_bytes),
        bytes(sums.output_bytes),
        seconds(way_s)
    )
}

fn troubles(dealt: &DealingReport) -> Option<String> {
    let sums = &dealt.sums;
    let counted =
        [(sums.n_retracted, "taken back before they were begun"), (sums.n_retried, "tried again")];
    let mut said: Vec<String> = counted
        .iter()
        .filter(|(n, _)| *n != 0)
        .map(|(n, what)| format!("{} {what}", plural(*n, "chunk")))
        .collect();
    if sums.n_lost != 0 {
        said.push(format!("{} lost", plural(sums.n_lost, "worker")));
    }
    (!said.is_empty()).then(|| said.join(", "))
}

fn changes(dealt: &DealingReport) -> Vec<String> {
    let mut lines: Vec<String> = dealt.changes.iter().take(N_CHANGES_SHOWN).map(change).collect();
    let n_hidden = dealt.changes.len().saturating_sub(N_CHANGES_SHOWN);
    let n_hidden = n_hidden as u64 + dealt.n_changes_left_out;
    if n_hidden != 0 {
        lines.push(format!("… and {n_hidden} more changes"));
    }
    lines
}

fn change(change: &IterationChange) -> String {
    let IterationChange { iteration, what, old, new, reason } = change;
    let because = if reason.is_empty() { String::new() } else { format!(": {reason}") };
    format!("iteration {iteration}: {what} {} → {}{because}", number(*old), number(*new))
}

/// Formats a number; whole ones without decimals.
fn number(value: Option<f64>) -> String {
    let Some(value) = value else { return "own".to_owned() };
    if value.fract().abs() < 1e-9 { format!("{value:.0}") } else { format!("{value:.3}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::growth::Iterated;
    use crate::run::{ChunkRecord, Sums};

    /// Run of iterations of 60 tasks each, with these numbers of workers.
    fn run(n_workers: &[u32]) -> DealingReport {
        let mut dealt = DealingReport::new("best");
        for (iteration, n_workers) in (0..).zip(n_workers) {
            let n_all = n_workers.max(&1);
            let worker = |rank| Worker {
                rank,
                n_tasks: 60 / u64::from(*n_all),
                n_chunks: 4,
                compute_s: 0.08,
                start_s: 0.004,
                waited_s: 0.006,
                end_s: 0.009,
                ..Worker::default()
            };
            let compute_s = 0.08 * f64::from(*n_workers);
            let sums = Sums {
                duration_s: 0.1,
                ideal_s: 0.08,
                compute_s,
                available_s: 0.1 * f64::from(*n_workers),
                n_tasks: 60,
                n_chunks: 12,
                n_retracted: 1,
                n_messages: 28,
                input_bytes: 12 * 96,
                output_bytes: 12 * 4096,
                way_s: 12.0 * 60e-6,
                n_ways: 12,
                ..Sums::default()
            };
            let chunk = |(chunk, n_tasks)| ChunkRecord { chunk, n_tasks, ..ChunkRecord::default() };
            dealt.add(Iterated {
                iteration,
                sums,
                workers: (1..=*n_workers).map(worker).collect(),
                parked: (*n_workers + 1..=3).collect(),
                chunks: (0..).zip([15, 10, 10, 7, 6, 4, 3, 2, 1, 1, 1]).map(chunk).collect(),
                reason: "2 workers take 80.0 ms per iteration, 3 take 85.0 ms".to_owned(),
                ..Iterated::default()
            });
        }
        dealt
    }

    #[test]
    fn a_run_is_told() {
        insta::assert_snapshot!("run", lines(&run(&[3, 3, 3, 2, 2, 2]), 100).join("\n"));
    }

    #[test]
    fn one_iteration_has_no_course() {
        insta::assert_snapshot!("one_iteration", lines(&run(&[3]), 60).join("\n"));
    }

    #[test]
    fn nothing_is_told_of_nothing() {
        assert_eq!(lines(&DealingReport::new("best"), 80), Vec::<String>::new());
    }

    #[test]
    fn of_many_workers_the_idlest_are_told() {
        let mut dealt = run(&[100]);
        dealt.workers[69].compute_s = 0.01;
        let lines = lines(&dealt, 100);
        assert_eq!(lines[2].split_whitespace().next(), Some("70"), "{lines:#?}");
        assert!(lines.contains(&"… and 84 more with less idle time".to_owned()), "{lines:#?}");
    }
}
