//! End of a watch: fetches what is left, summarizes it, writes it and shows it.

use super::observation::Observation;
use crate::limits::is_ignored;
use crate::options::RunOutputOptions;
use crate::report::{RunReport, print_json};
use run_record::measured::{MeasuredRun, RunFacts};
use run_record::{RunRecord, Summary};
use server::Server;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag::{register, register_conditional_shutdown};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use user_io::print::warn;
use user_io::progress::ProgressLine;
use user_io::terminal::Terminal;

/// Time after which a collector that has sent nothing is no longer waited for.
const PATIENCE: Duration = Duration::from_secs(10);
/// Longest wait in all, or a tenth of the program's own time if that is more: after that, what is missing costs more
/// than it is worth.
const PATIENCE_IN_ALL: Duration = Duration::from_secs(120);
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// Time between two updates of what is waited for.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);
/// Time after which the progress of the wait is shown.
const SILENCE: Duration = Duration::from_millis(700);

/// Ends the observation and shows its results; returns its summary.
pub(crate) fn finish(
    observation: Observation,
    facts: &RunFacts,
    output: &RunOutputOptions,
    terminal: Terminal,
) -> Summary {
    observation.wait_for_collector();
    let Observation { server, mut record, collector, .. } = observation;
    let in_all =
        PATIENCE_IN_ALL.max(Duration::from_secs_f64((facts.wall_s / 10.0).clamp(0.0, 1e6)));
    let measured = fetch(server, in_all);
    collector.shut_down();
    let measured = collector::recover::complete(measured, &record, facts);
    show(&measured, &mut record, facts, (output, terminal))
}

fn fetch(server: Server, in_all: Duration) -> MeasuredRun {
    server.finish();
    let started = Instant::now();
    let mut pause = POLL_INTERVAL / 25;
    let (mut last_news, mut n_taken) = (started, 0);
    let mut progress = ProgressLine::every(PROGRESS_EVERY);
    let interrupted = interrupted();
    loop {
        let outstanding = server.outstanding();
        if outstanding.n_taken != n_taken {
            (last_news, n_taken) = (Instant::now(), outstanding.n_taken);
        }
        let is_late = PATIENCE < last_news.elapsed() || in_all < started.elapsed();
        let is_enough = is_late || interrupted.load(Ordering::Relaxed);
        if outstanding.nodes.is_empty() || is_enough {
            break;
        }
        if SILENCE < started.elapsed() {
            let (n_nodes, n_processes) = (outstanding.nodes.len(), outstanding.n_processes);
            progress.show(|| {
                format!("sintonia: waiting for the last data (processes: {n_processes}, nodes: {n_nodes})")
            });
        }
        std::thread::sleep(pause);
        pause = (2 * pause).min(POLL_INTERVAL);
    }
    progress.clear();
    server.close()
}

/// Returns a flag that a signal to end sets from here on: then nothing more is waited for. A second signal ends this
/// program.
fn interrupted() -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    // If this fails, the signals have no effect, as while the command ran.
    for signal in [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| !is_ignored(*signal)) {
        register_conditional_shutdown(signal, 128 + signal, Arc::clone(&flag)).ok();
        register(signal, Arc::clone(&flag)).ok();
    }
    flag
}

fn show(
    measured: &MeasuredRun,
    record: &mut RunRecord,
    facts: &RunFacts,
    (output, terminal): (&RunOutputOptions, Terminal),
) -> Summary {
    let mut report = RunReport::assemble(measured, facts, record);
    if !output.no_html {
        report.write_html(record);
    }
    if output.json {
        if let Err(error) = print_json(&report.summary) {
            warn(&format!("the summary could not be printed: {error}"));
        }
    } else if !output.quiet {
        eprint!("{}", report.text(record, terminal.style()));
    }
    report.close(record, measured, facts);
    report.problems.iter().for_each(|problem| warn(problem));
    report.summary
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SIGTERM had no effect after the program's end: a batch system that wanted its node back had to kill this process.
    #[test]
    fn signals_that_ask_us_to_end_end_the_waiting() {
        let flag = interrupted();
        signal_hook::low_level::raise(SIGTERM).unwrap();
        let deadline = Instant::now() + Duration::from_secs(10);
        assert!(server::wait_until(deadline, || flag.load(Ordering::SeqCst)));
    }
}
