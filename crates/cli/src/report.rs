//! `sintonia report`: the report of an earlier run, finished first when it was cut off.

mod dealt;
mod pictures;
mod resizes;

use crate::arguments::ReportOptions;
use crate::exit::NotWritten;
use crate::terminal::Terminal;
use analyzer::{Measured, RunFacts, assemble, recover};
use anyhow::Context;
use dashboard::terminal::{Style, Written};
use run_record::{RunRecord, RunState, Summary};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Shows the record of a run.
pub(crate) fn report(options: &ReportOptions, terminal: Terminal) -> anyhow::Result<ExitCode> {
    if let Some(folder) = resizes::folder(&options.run) {
        return resizes::report(options, folder, terminal);
    }
    if options.run.is_file() {
        return dealt::report(options, terminal);
    }
    let mut record = RunRecord::open(&options.run)?;
    let mut report = match record.state() {
        RunState::Finished => Report::of(record.read_summary()?),
        RunState::Running => finish_first(&mut record),
    };
    report.problems.iter().for_each(|problem| eprintln!("sintonia: {problem}"));
    if options.json {
        print_json(&report.summary)?;
    }
    if let Some(path) = &options.html {
        let page = pictures::page(&record, &report.summary)?;
        std::fs::write(path, page)
            .context(NotWritten)
            .with_context(|| format!("`{}`", path.display()))?;
        report.html = Some(path.clone());
    }
    if !options.json {
        let text = report.text(&record, terminal.stdout_style());
        std::io::stdout().write_all(text.as_bytes()).context(NotWritten)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn finish_first(record: &mut RunRecord) -> Report {
    let (facts, measured) = recover::unfinished(record);
    let mut report = Report::assemble(&measured, &facts, record);
    report.write_html(record);
    report.close(record, &facts);
    report
}

/// A run added up, and what could not be kept of it.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) summary: Summary,
    /// Sentences about files that could not be written.
    pub(crate) problems: Vec<String>,
    html: Option<PathBuf>,
    /// Something is in the spool and nowhere else.
    needs_spool: bool,
}

impl Report {
    fn of(summary: Summary) -> Self {
        Self { summary, problems: Vec::new(), html: None, needs_spool: false }
    }

    /// Adds everything up and writes it to the record.
    pub(crate) fn assemble(measured: &Measured, facts: &RunFacts, record: &RunRecord) -> Self {
        let assembled = assemble(measured, facts, record);
        let mut report = Self::of(assembled.summary);
        report.needs_spool = !assembled.unwritten.is_empty();
        report.problems.extend(assembled.unwritten.iter().map(ToString::to_string));
        if let Err(error) = record.write_summary(&report.summary) {
            report.needs_spool = true;
            report.problems.push(format!("the summary is not in the record: {error}"));
        }
        report
    }

    /// Writes the report with its pictures to the record.
    pub(crate) fn write_html(&mut self, record: &RunRecord) {
        let path = record.dir().join("report.html");
        let written =
            pictures::page(record, &self.summary).and_then(|page| Ok(std::fs::write(&path, page)?));
        match written {
            Ok(()) => self.html = Some(path),
            Err(error) => {
                std::fs::remove_file(&path).ok();
                self.problems.push(format!("the HTML report could not be written: {error:#}"));
            }
        }
    }

    /// Declares the record whole, unless something of it is only in the spool.
    pub(crate) fn close(&mut self, record: &mut RunRecord, facts: &RunFacts) {
        if self.needs_spool {
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
        let written =
            Written { record: Some(in_words(record.dir())), html: html.as_deref().map(in_words) };
        dashboard::terminal::report(&self.summary, &written, style)
    }
}

/// Prints the summary on standard output.
pub(crate) fn print_json(summary: &Summary) -> anyhow::Result<()> {
    let mut text = serde_json::to_string_pretty(summary)?;
    text.push('\n');
    std::io::stdout().write_all(text.as_bytes()).context(NotWritten)
}
