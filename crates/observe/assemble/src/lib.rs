//! Aggregates the measurements of a run into its record: summary, table of regions, events.
//!
//! Process reports become ranks of worlds (`roster`), addresses become call sites common to all ranks (`sites`),
//! and sums over them become the one-page summary (`summarize`, `findings`, `warnings`). The records of a traced
//! run become its event file, and function records a table of their own (`trace`).
//!
//! # Invariants
//! - Everything is pure except reading spools, writing the record, and opening programs to resolve names.
//! - The result always has a summary: whatever is missing, damaged or unwritable is reported as a sentence in it.
//!
//! # Not here
//! Collection of reports and records (`collector`, `server`), and printing (`watch`).

mod call_paths;
mod delays;
mod efficiency;
mod findings;
mod functions;
mod hang;
mod openmp;
mod operations;
mod regions;
mod roster;
#[cfg(test)]
mod samples;
mod sites;
mod source_lookup;
mod summarize;
mod sums;
mod time;
mod trace;
mod traffic;
mod usage;
mod warnings;

use functions::FunctionTally;
use roster::Roster;
use run_record::measured::{MeasuredRun, RunFacts};
use run_record::summary::Hang;
use run_record::{RunRecord, Summary, TableError, TuningSummary};
use sites::Sites;
use std::fmt::Display;
use sums::StoredSums;
use symbols::Resolver;
use thiserror::Error;
use trace::Traced;

/// Aggregated run.
#[derive(Debug)]
#[must_use]
pub struct Assembled {
    /// Summary of the run; the caller writes it.
    pub summary: Summary,
    /// Files of the record that could not be written. If there are any, the spool holds the only copy of some
    /// data and must not be removed.
    pub unwritten: Vec<AssembleError>,
}

/// A file of the record that could not be written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AssembleError {
    /// The table of regions.
    #[error("the table of regions is not in the record, its sums are in the summary: {0}")]
    Regions(#[source] TableError),
    /// The table of samples.
    #[error("the samples are not in the record, their sums are in the summary: {0}")]
    Samples(#[source] TableError),
    /// The event file.
    #[error("the events are not in the record but in its `spool/` still: {0}")]
    Events(#[source] TableError),
}

impl AssembleError {
    /// Returns the cause.
    pub fn table(&self) -> &TableError {
        match self {
            Self::Regions(error) | Self::Samples(error) | Self::Events(error) => error,
        }
    }
}

/// Aggregates the measurements, and writes the table of regions and, for traced runs, the event file.
pub fn assemble(measured: &MeasuredRun, facts: &RunFacts, record: &RunRecord) -> Assembled {
    let roster = Roster::new(measured, facts.started_s);
    let sites = Sites::new(&roster);
    let resolver = &mut Resolver::new();
    let mut summary = summarize::summarize(measured, facts, (&roster, &sites), resolver);
    let mut unwritten = Vec::new();
    let warnings = &mut summary.tool.warnings;
    let tuning = or_warning(record.read_tuning(), "history of tuning", warnings);
    summary.tuning = tuning.as_ref().map(TuningSummary::of);
    summary.dealt = or_warning(record.read_dealt(), "report of dealt work", warnings);
    if let Some(resizes) = or_warning(record.read_resizes(), "resizes", warnings) {
        warnings.extend(resizes.problems());
        summary.resizes = resizes.resizes;
    }
    if let Err(error) = record.write_regions(&regions::rows(&roster, &sites)) {
        unwritten.push(AssembleError::Regions(error));
    }
    let paths = call_paths::call_paths(measured, (&roster, &sites), &summary.call_sites, resolver);
    summary.sampling = paths.sampling;
    if !paths.rows.is_empty()
        && let Err(error) = record.write_samples(&paths.rows)
    {
        unwritten.push(AssembleError::Samples(error));
    }
    let mut functions = FunctionTally::new(&roster, facts);
    let mut sums = StoredSums::read(record);
    summary.function_sums = sums.rows(&roster, &facts.functions, &mut functions);
    summary.tool.warnings.append(&mut sums.warnings);
    if !measured.spools.is_empty() {
        match trace::write(measured, (&roster, &sites, &sums), (record, facts)) {
            Ok(mut traced) => {
                for (rank, event, sum) in traced.passages.drain(..) {
                    functions.add(rank, event, &sum);
                }
                add_trace(&mut summary, &roster, measured, traced);
            }
            Err(error) => unwritten.push(AssembleError::Events(error)),
        }
    }
    summary.functions = functions.finish();
    summary.tool.warnings.extend(
        unwritten.iter().map(|error| format!("{}.", findings::capital(&error.to_string()))),
    );
    summary.hang = hang::at_end(&roster, &sites, &summary.call_sites, facts);
    summary.findings = findings::findings(&summary);
    Assembled { summary, unwritten }
}

/// Summarizes the run so far from statistics alone; writes nothing.
///
/// A resolver that is reused for all calls opens every program only once.
pub fn summarize(measured: &MeasuredRun, facts: &RunFacts, resolver: &mut Resolver) -> Summary {
    let roster = Roster::new(measured, facts.started_s);
    let sites = Sites::new(&roster);
    let mut summary = summarize::summarize(measured, facts, (&roster, &sites), resolver);
    summary.findings = findings::findings(&summary);
    summary
}

/// Explains for whom ranks wait at this moment; `None` if none waits.
pub fn explain_waits(
    measured: &MeasuredRun,
    facts: &RunFacts,
    resolver: &mut Resolver,
) -> Option<Hang> {
    let roster = Roster::new(measured, facts.started_s);
    let sites = Sites::new(&roster);
    let summary = summarize::summarize(measured, facts, (&roster, &sites), resolver);
    hang::now(&roster, &sites, &summary.call_sites, facts)
}

/// Returns what was read from the record; a file that cannot be read is a warning.
fn or_warning<T, E: Display>(
    read: Result<Option<T>, E>,
    what: &str,
    warnings: &mut Vec<String>,
) -> Option<T> {
    read.unwrap_or_else(|error| {
        warnings.push(format!("The summary lacks the {what}: {error}."));
        None
    })
}

fn add_trace(summary: &mut Summary, roster: &Roster<'_>, measured: &MeasuredRun, traced: Traced) {
    summary.tool.records = traced.n_events;
    summary.tool.warnings.extend(traced.warnings);
    // Records known to be lost in transit are among those that did not arrive.
    let n_unexplained = traced.n_missing.saturating_sub(measured.n_records_lost);
    if n_unexplained != 0 {
        summary.tool.records_dropped += n_unexplained;
        summary.tool.warnings.push(format!(
            "{n_unexplained} records that ranks had written did not arrive: the trace has gaps, the totals have none."
        ));
    }
    for (world, split) in summary.worlds.iter_mut().zip(traced.splits) {
        let split = split.map(|split| efficiency::split(&world.pop, split.transfer_efficiency));
        world.pop.serialization_efficiency = split.map(|(serialization, _)| serialization);
        world.pop.transfer_efficiency = split.map(|(_, transfer)| transfer);
    }
    summary.delays = delays::joined(&traced.delays);
    let by_world: Vec<_> = summary.worlds.iter().map(|world| Some(world.pop)).collect();
    summary.pop = efficiency::of_run(roster, &by_world);
}

#[cfg(test)]
mod tests {
    use super::*;
    use run_record::RunStart;
    use samples::{process_with, region};

    fn measured() -> MeasuredRun {
        samples::measured([0, 1].map(|rank| {
            process_with(0, rank, vec![region(rank, (0, 0x10), "MPI_Barrier", 3, (1.0, 2.0))])
        }))
    }

    #[test]
    fn the_table_of_regions_is_in_the_record() {
        let dir = tempfile::tempdir().unwrap();
        let record = RunRecord::create(dir.path(), RunStart::default()).unwrap();
        let assembled = assemble(&measured(), &RunFacts::default(), &record);
        assert!(assembled.unwritten.is_empty(), "{assembled:?}");
        assert_eq!(record.read_regions().unwrap().len(), 2);
        assert_eq!(assembled.summary.n_ranks, 2);
        assert!(!assembled.summary.findings.is_empty());
        assert!(record.events().unwrap().is_none());
    }

    #[test]
    fn a_record_that_cannot_be_written_still_has_a_summary() {
        let dir = tempfile::tempdir().unwrap();
        let record = RunRecord::create(&dir.path().join("r"), RunStart::default()).unwrap();
        std::fs::remove_dir_all(record.dir()).unwrap();
        let assembled = assemble(&measured(), &RunFacts::default(), &record);
        assert!(matches!(assembled.unwritten[..], [AssembleError::Regions(_)]), "{assembled:?}");
        let warnings = &assembled.summary.tool.warnings;
        assert!(warnings.iter().any(|w| w.starts_with("The table of regions")), "{warnings:?}");
    }

    #[test]
    fn an_early_summary_has_the_same_sums() {
        let early = summarize(&measured(), &RunFacts::default(), &mut Resolver::new());
        assert_eq!(early.operations["MPI_Barrier"].calls, 6);
        assert!(!early.findings.is_empty());
    }

    #[test]
    fn a_run_without_mpi_has_a_summary() {
        let early = summarize(&MeasuredRun::default(), &RunFacts::default(), &mut Resolver::new());
        assert_eq!((early.n_ranks, early.findings.len(), early.worlds.len()), (0, 0, 0));
    }
}
