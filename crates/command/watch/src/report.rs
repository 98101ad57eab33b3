//! `sintonia report`: shows the report of an earlier run, and finishes it first if it was cut off.

use anyhow::{Context, ensure};
use assemble::{AssembleError, assemble, summarize};
use clap::Args;
use collector::recover;
use dealing_report::DealingReport;
use events::{RecordKind, call::NO_PEER};
use report::terminal::{OutputPaths, Style};
use report::timeline::{MessageRole, Timeline, TimelineBuilder, TimelineCall as Drawn};
use run_record::measured::{MeasuredRun, RunFacts};
use run_record::resize_file::{NAME, ResizeLines};
use run_record::summary::missing_in;
use run_record::{Event, RecordError, RunRecord, RunState, Summary, TableError};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use symbols::Resolver;
use user_io::terminal::Terminal;

const EXAMPLES: &str = "\
Examples:
  sintonia report sintonia-runs/xfire-20260102-030405
  sintonia report RUN --html report.html
  sintonia report RUN --json | jq .pop";

/// Show the report of an earlier run
///
/// The record of a run that was cut off (by a killed `sintonia run`, or a node that went down) is finished
/// first, from what collectors left on disk and in shared memory.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// Folder of the record; or the file that a program of the master-worker library wrote with `--report FILE`, or the
    /// folder that a malleable program wrote with `--record DIR`
    run: PathBuf,
    /// Write the report as a self-contained HTML page instead
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
}

/// Shows the record of a run.
pub fn run(options: &Options, terminal: Terminal) -> anyhow::Result<ExitCode> {
    if let Some(folder) = folder_of_resizes(&options.run) {
        return report_resizes(options, folder, terminal);
    }
    if options.run.is_file() {
        return report_dealing(options, terminal);
    }
    let mut record = RunRecord::open(&options.run)?;
    let mut report = match record.state() {
        RunState::Finished => RunReport::of(record.read_summary()?),
        RunState::Running => finish_first(&mut record),
    };
    report.problems.iter().for_each(|problem| eprintln!("sintonia: {problem}"));
    if options.json {
        print_json(&report.summary)?;
    }
    if let Some(path) = &options.html {
        let page = page(&record, &report.summary)?;
        user_io::result_file::write(path, &page)?;
        report.html = Some(path.clone());
    }
    if !options.json {
        let text = report.text(&record, terminal.stdout_style());
        user_io::print::result(&text)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Completes the record from what is left of the run, unless the summary in it holds more than that.
fn finish_first(record: &mut RunRecord) -> RunReport {
    let (facts, measured) = recover::unfinished(record);
    if let Ok(kept) = record.read_summary()
        && let Some(what) = lost_by(&kept, &summarize(&measured, &facts, &mut Resolver::new()))
    {
        return RunReport::kept(kept, &what);
    }
    let mut report = RunReport::assemble(&measured, &facts, record);
    report.write_html(record);
    report.close(record, &measured, &facts);
    report
}

/// Part of `kept` that `early`, which was made of statistics alone, lacks.
fn lost_by(kept: &Summary, early: &Summary) -> Option<String> {
    let mut whole = kept.clone();
    whole.n_ranks = early.n_ranks;
    whole.tool.calls = early.tool.calls;
    missing_in(kept, &whole)
}

/// Summary of a run, and what could not be kept of the run.
#[derive(Debug)]
pub(crate) struct RunReport {
    pub(crate) summary: Summary,
    /// Sentences about files that could not be written.
    pub(crate) problems: Vec<String>,
    html: Option<PathBuf>,
    /// Reason why something is in the spool and nowhere else.
    reason: Option<IncompleteReason>,
}

impl RunReport {
    fn of(summary: Summary) -> Self {
        Self { summary, problems: Vec::new(), html: None, reason: None }
    }

    /// Makes a report of the summary in the record, which holds more than one made now.
    fn kept(summary: Summary, what: &str) -> Self {
        let problem =
            format!("the existing summary is kept: what is left of the run has less data ({what})");
        let reason = Some(IncompleteReason::WouldLoseInformation);
        Self { problems: vec![problem], reason, ..Self::of(summary) }
    }

    /// Summarizes the run and writes the summary to the record.
    pub(crate) fn assemble(measured: &MeasuredRun, facts: &RunFacts, record: &RunRecord) -> Self {
        let assembled = assemble(measured, facts, record);
        let mut report = Self::of(assembled.summary);
        report.reason = assembled.unwritten.iter().map(IncompleteReason::of_table).max();
        report.problems.extend(assembled.unwritten.iter().map(ToString::to_string));
        let Err(error) = record.write_summary(&report.summary) else { return report };
        report.reason = report.reason.max(Some(IncompleteReason::of_record(&error)));
        if let RecordError::WouldLoseInformation { what, .. } = &error {
            report.summary = record.read_summary().unwrap_or(report.summary);
            report.problems.extend(Self::kept(Summary::default(), what).problems);
        } else {
            report.problems.push(format!("the summary is not in the record: {error}"));
        }
        report
    }

    /// Writes the report with its pictures to the record.
    pub(crate) fn write_html(&mut self, record: &RunRecord) {
        let written = page(record, &self.summary).and_then(|page| Ok(record.write_page(&page)?));
        let failed = |error| format!("the HTML report could not be written: {error:#}");
        match written {
            Ok(path) => self.html = Some(path),
            Err(error) => self.problems.push(failed(error)),
        }
    }

    /// Marks the record as complete, unless something of it is only in the spool: then the record keeps what
    /// `sintonia report` needs to complete it later.
    pub(crate) fn close(
        &mut self,
        record: &mut RunRecord,
        measured: &MeasuredRun,
        facts: &RunFacts,
    ) {
        if let Some(reason) = self.reason {
            self.problems.push(match recover::keep(measured, facts, record) {
                Ok(()) => format!("the record is incomplete; {}", reason.remedy(record.dir())),
                Err(error) => {
                    format!("the record is incomplete, and may not be completable later: {error}")
                }
            });
            return;
        }
        match record.finish() {
            Ok(()) => recover::remove_left(facts),
            Err(error) => self.problems.push(format!("the record stays unfinished: {error}")),
        }
    }

    /// The report as text.
    pub(crate) fn text(&self, record: &RunRecord, style: Style) -> String {
        let in_words = |path: &Path| {
            let here = std::env::current_dir().ok();
            let near = here.and_then(|here| path.strip_prefix(here).ok().map(Path::to_owned));
            near.unwrap_or_else(|| path.to_owned()).display().to_string()
        };
        let kept = record.dir().join("report.html");
        let html = self.html.clone().or_else(|| kept.is_file().then_some(kept));
        let written = OutputPaths {
            record: Some(in_words(record.dir())),
            html: html.as_deref().map(in_words),
        };
        report::terminal::report(&self.summary, &written, style)
    }
}

/// Prints the summary on standard output.
pub(crate) fn print_json(summary: &Summary) -> anyhow::Result<ExitCode> {
    user_io::print::result(&(serde_json::to_string_pretty(summary)? + "\n"))
}

/// Reason why a part of a run is in the spool and nowhere else. Of several, the last one is to be removed first, since
/// it may be the cause of the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum IncompleteReason {
    /// The record already holds more.
    WouldLoseInformation,
    /// A file cannot be written, though there is room.
    Unwritable,
    /// No room is left on the disk.
    DiskFull,
}

impl IncompleteReason {
    fn of_table(error: &AssembleError) -> Self {
        match error.table() {
            TableError::HoldsMore { .. } => Self::WouldLoseInformation,
            error if error.is_storage_full() => Self::DiskFull,
            _ => Self::Unwritable,
        }
    }

    fn of_record(error: &RecordError) -> Self {
        match error {
            RecordError::WouldLoseInformation { .. } => Self::WouldLoseInformation,
            RecordError::File(file) if file.is_storage_full() => Self::DiskFull,
            _ => Self::Unwritable,
        }
    }

    /// Sentence that says how the record in the folder `record` can be completed.
    fn remedy(self, record: &Path) -> String {
        let record = record.display();
        let first = match self {
            Self::WouldLoseInformation => &format!(
                "the remaining data is in `{record}/spool`: restore any missing files, then"
            ),
            Self::Unwritable => "when the files named above can be written,",
            Self::DiskFull => "free room on its disk, then",
        };
        format!("{first} complete the record with `sintonia report {record}`")
    }
}

/// Shows the file that a program of the master/worker library wrote (`--report FILE`).
fn report_dealing(options: &Options, terminal: Terminal) -> anyhow::Result<ExitCode> {
    let path = &options.run;
    let text = user_io::bounded_read::read(path, user_io::bounded_read::MEASURED_BYTES_MAX)
        .with_context(|| format!("cannot read `{}`", path.display()))?;
    ensure!(
        checked_json::check(&text).is_ok(),
        "`{}` was changed after it was written; run the program again, or remove its `checksum` to read it as it is",
        path.display()
    );
    let dealt = serde_json::from_slice(&text).context("it is not JSON of that kind");
    let dealt = dealt.and_then(|dealt: DealingReport| {
        // All fields have defaults: any other JSON object would be read as an empty report.
        ensure!(!dealt.policy.is_empty(), "it names no policy");
        Ok(dealt)
    });
    let dealt = dealt.with_context(|| {
        let path = path.display();
        format!("`{path}` is not the report of a program; give that, or the folder of a run record")
    })?;
    let text = if options.json {
        format!("{}\n", serde_json::to_string_pretty(&dealt)?)
    } else {
        report::terminal::dealt(&dealt, terminal.stdout_style())
    };
    if let Some(path) = &options.html {
        let page = report::html::dealt(&dealt, &options.run.display().to_string());
        user_io::result_file::write(path, &page)?;
    }
    user_io::print::result(&text)
}

/// HTML page of a run.
///
/// # Errors
/// If the event file cannot be read.
fn page(record: &RunRecord, summary: &Summary) -> anyhow::Result<String> {
    let timeline = timeline(record)?;
    let samples = record.read_samples()?;
    Ok(report::html::page_with_samples(summary, timeline.as_ref(), &samples))
}

fn timeline(record: &RunRecord) -> anyhow::Result<Option<Timeline>> {
    let Some(events) = record.events()? else { return Ok(None) };
    let mut builder = TimelineBuilder::default();
    for batch in events.batches() {
        for event in batch? {
            draw(&mut builder, &event);
        }
    }
    Ok(Some(builder.finish()))
}

fn draw(builder: &mut TimelineBuilder, event: &Event) {
    let Some(operation) = mpi_abi::operation(event.operation) else { return };
    let role = match event.kind {
        RecordKind::Call => MessageRole::of(&operation.name),
        RecordKind::ReceiveHalf => MessageRole::Receive,
        RecordKind::Requests => return,
    };
    let end_ns = event.end_ns.cast_signed();
    let is_half = event.kind == RecordKind::ReceiveHalf;
    builder.add(&Drawn {
        world: event.world as usize,
        rank: event.rank,
        thread: event.thread,
        start_ns: if is_half { end_ns } else { event.start_ns.cast_signed() },
        end_ns,
        operation: &operation.name,
        class: operation.class.name(),
        call_site: event.call_site.map(|id| id as usize),
        peer: (NO_PEER < event.peer).then_some(event.peer.cast_unsigned()),
        bytes: event.bytes,
        role,
    });
}

/// Folder that a malleable program wrote without `sintonia run` (`--record DIR`): `path` if it is no record of a run, or the folder of the file at `path`.
fn folder_of_resizes(path: &Path) -> Option<&Path> {
    if path.is_file() {
        return path.parent().filter(|_| path.ends_with(NAME));
    }
    (path.join(NAME).is_file() && !path.join("run.json").exists()).then_some(path)
}

/// Shows the resizes in the folder.
fn report_resizes(
    options: &Options,
    folder: &Path,
    terminal: Terminal,
) -> anyhow::Result<ExitCode> {
    let lines = ResizeLines::read(folder)?.unwrap_or_default();
    lines.problems().iter().for_each(|problem| eprintln!("sintonia: {problem}"));
    let text = if options.json {
        format!("{}\n", serde_json::to_string_pretty(&lines.resizes)?)
    } else if lines.resizes.is_empty() {
        "the program did not change its size\n".to_owned()
    } else {
        report::terminal::resizes(&lines.resizes, terminal.stdout_style())
    };
    if let Some(path) = &options.html {
        let page = report::html::resizes(&lines.resizes, &folder.display().to_string());
        user_io::result_file::write(path, &page)?;
    }
    user_io::print::result(&text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use run_record::RunStart;

    /// "Free room on its disk" was said whatever the cause was, even if the disk had room.
    #[test]
    fn a_remedy_is_one_of_its_cause() {
        let folder = tempfile::tempdir().unwrap();
        let create = |name| RunRecord::create(&folder.path().join(name), RunStart::default());
        let facts = RunFacts { shm_dir: folder.path().to_owned(), ..RunFacts::default() };
        let remedy_of = |mut record: RunRecord| {
            let mut report = RunReport::assemble(&MeasuredRun::default(), &facts, &record);
            report.close(&mut record, &MeasuredRun::default(), &facts);
            assert_eq!(record.state(), RunState::Running);
            report.problems.pop().unwrap()
        };
        let record = create("better").unwrap();
        record.write_summary(&Summary { n_ranks: 2, ..Summary::default() }).unwrap();
        let said = remedy_of(record);
        assert!(said.contains("restore any missing files") && !said.contains("room"), "{said}");

        let record = create("unwritable").unwrap();
        std::fs::create_dir(record.dir().join("regions.parquet")).unwrap();
        let said = remedy_of(record);
        assert!(said.contains("can be written") && !said.contains("room"), "{said}");

        let record = create("full").unwrap();
        std::os::unix::fs::symlink("/dev/full", record.dir().join("regions.parquet.new")).unwrap();
        let said = remedy_of(record);
        assert!(said.contains("free room on its disk"), "{said}");
    }

    #[test]
    fn only_what_is_no_record_of_a_run_is_taken() {
        let outer = tempfile::tempdir().unwrap();
        let file = outer.path().join(NAME);
        let found = || [outer.path(), &file].map(folder_of_resizes);
        assert_eq!(found(), [None; 2]);
        std::fs::write(&file, "").unwrap();
        assert_eq!(found(), [Some(outer.path()); 2]);
        std::fs::write(outer.path().join("run.json"), "").unwrap();
        assert_eq!(folder_of_resizes(outer.path()), None);
    }
}
