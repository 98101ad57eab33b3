//! After the command: everything is fetched, added up, written and shown.

use super::observation::Observation;
use super::warn;
use crate::arguments::RunOptions;
use crate::report::{Report, print_json};
use crate::terminal::Terminal;
use analyzer::server::wait_until;
use analyzer::{Measured, RunFacts, Server};
use run_record::RunRecord;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// Time for collectors to hand over what they have.
const PATIENCE: Duration = Duration::from_secs(10);
/// A person who waits longer is told for what.
const SILENCE: Duration = Duration::from_millis(700);

/// Ends the observation and shows what it saw.
pub(crate) fn finish(
    observation: Observation,
    facts: &RunFacts,
    options: &RunOptions,
    terminal: Terminal,
) {
    let Observation { server, mut record, collector, .. } = observation;
    let measured = fetch(server);
    collector.part();
    let measured = analyzer::recover::complete(measured, &record, facts);
    show(&measured, &mut record, facts, (options, terminal));
}

fn fetch(server: Server) -> Measured {
    server.finish();
    let started = Instant::now();
    let mut last_told = None;
    wait_until(started + PATIENCE, || {
        let outstanding = server.outstanding();
        if SILENCE < started.elapsed() && std::io::stderr().is_terminal() {
            let (n_nodes, n_processes) = (outstanding.nodes.len(), outstanding.n_processes);
            if last_told != Some((n_nodes, n_processes)) {
                eprint!("\rsintonia: waiting for {n_processes} processes on {n_nodes} nodes ");
                last_told = Some((n_nodes, n_processes));
            }
        }
        outstanding.nodes.is_empty()
    });
    if last_told.is_some() {
        // The line is taken back; a terminal that fails is none.
        std::io::stderr().write_all(b"\r\x1b[K").ok();
    }
    server.close()
}

fn show(
    measured: &Measured,
    record: &mut RunRecord,
    facts: &RunFacts,
    (options, terminal): (&RunOptions, Terminal),
) {
    let mut report = Report::assemble(measured, facts, record);
    if !options.shown.no_html {
        report.write_html(record);
    }
    if options.shown.json {
        if let Err(error) = print_json(&report.summary) {
            warn(&format!("the summary could not be printed: {error}"));
        }
    } else if !options.shown.quiet {
        eprint!("{}", report.text(record, terminal.style()));
    }
    report.close(record);
    report.problems.iter().for_each(|problem| warn(problem));
}
