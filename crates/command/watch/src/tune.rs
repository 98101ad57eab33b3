//! `sintonia tune`: shows what is tuned in a program that runs, and switches that off or on.
//!
//! The word goes into a file of the run's record, which the process that tunes looks at; what it did is in the journal of
//! the record.

use anyhow::Context;
use clap::{Args, ValueEnum};
use display::text::harmless;
use display::units::seconds;
use run_record::tuning::{DecisionOutcome, DecisionSummary, TuningSummary};
use run_record::{RunRecord, RunState, switch};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use user_io::exit::{NoRecord, NotWritten};
use user_io::print::{result, warn};
use user_io::terminal::Terminal;

/// Longest wait until everything is taken back.
const PATIENCE: Duration = Duration::from_secs(30);
/// Time between two reads of the journal.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

const EXAMPLES: &str = "\
Examples:
  sintonia tune sintonia-runs/lmp-20260102-030405
  sintonia tune RUN off     takes everything back, while the program goes on
  sintonia tune RUN on";

/// Show what is tuned in a program that runs, or switch tuning off or on
///
/// `off` takes back all changes of `sintonia run --tune` or `--tunlet`, waits until that is done, and lets the program
/// run on as it would alone; `on` lets tuning begin again.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// Folder of the run's record
    run: PathBuf,
    /// Position of the switch; without it, the changes are shown
    switch: Option<Position>,
}

/// Position of the switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Position {
    /// Tuning begins again
    On,
    /// Everything is taken back
    Off,
}

/// Switches, then shows.
pub fn run(options: &Options, _: Terminal) -> anyhow::Result<ExitCode> {
    let record = RunRecord::open(&options.run)?;
    let mut tuning = journal(&record)?;
    if let Some(position) = options.switch {
        if record.state() != RunState::Running {
            return Err(NoRecord.because("the run has ended; there is nothing to switch").into());
        }
        let is_on = position == Position::On;
        switch::write(&record.switch_path(), is_on).context(NotWritten)?;
        let deadline = Instant::now() + PATIENCE;
        while !has_followed(&tuning, is_on) && Instant::now() < deadline {
            std::thread::sleep(POLL_INTERVAL);
            tuning = journal(&record)?;
        }
        if !has_followed(&tuning, is_on) {
            warn("the run does not answer; check that `sintonia run` still watches the program");
        }
    }
    result(&in_words(&tuning))
}

fn journal(record: &RunRecord) -> anyhow::Result<TuningSummary> {
    let lines = record.read_tuning()?;
    let lines = lines.with_context(|| {
        format!("`{}` is of a run that is not tuned; use `--tune`", record.dir().display())
    })?;
    Ok(TuningSummary::of(&lines))
}

/// Returns whether the program is as the switch says.
fn has_followed(tuning: &TuningSummary, is_on: bool) -> bool {
    tuning.is_off != is_on && (is_on || !tuning.decisions.iter().any(holds))
}

fn holds(decision: &DecisionSummary) -> bool {
    let is_standing = [DecisionOutcome::Open, DecisionOutcome::Kept].contains(&decision.outcome);
    is_standing && decision.applied_s.is_some()
}

fn in_words(tuning: &TuningSummary) -> String {
    let mut text = format!("tuning is {}\n", if tuning.is_off { "off" } else { "on" });
    for decision in &tuning.decisions {
        let state = if holds(decision) { "set" } else { outcome(decision.outcome) };
        let (point, new, at) = (&decision.point, decision.new, seconds(decision.t_s));
        let why = &decision.reason;
        text += &harmless(&format!("{point} = {new}, {state}, after {at}, because {why}"));
        text.push('\n');
        if !decision.outcome_reason.is_empty() {
            text += &harmless(&format!("  {}", decision.outcome_reason));
            text.push('\n');
        }
    }
    text
}

fn outcome(outcome: DecisionOutcome) -> &'static str {
    match outcome {
        DecisionOutcome::Open => "not carried out yet",
        DecisionOutcome::Would => "not carried out (dry run)",
        DecisionOutcome::Declined => "declined",
        DecisionOutcome::Kept => "kept",
        DecisionOutcome::Undone => "taken back",
        DecisionOutcome::Lost => "lost",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use run_record::tuning::{self, TuningLines};

    fn journal_of(lines: &[&str]) -> TuningSummary {
        let TuningLines { lines, problems } = tuning::parse(lines.join("\n").as_bytes());
        assert!(problems.is_empty(), "{problems:?}");
        TuningSummary::of(&TuningLines { lines, problems })
    }

    #[test]
    fn off_is_done_once_nothing_holds() {
        let decision = r#"{"t_s":1,"kind":"decision","decision":1,"tunlet":"waiting","point":"waiting","old":0,"new":2,"reason":"4 ranks share a core"}"#;
        let applied = r#"{"t_s":1,"kind":"applied","decision":1,"old":0,"new":2,"rank":0,"n_ranks":8,"hit":0,"iteration":0}"#;
        let off = r#"{"t_s":2,"kind":"switched","is_on":false}"#;
        let undone = r#"{"t_s":3,"kind":"undone","decision":1,"reason":"tuning was switched off"}"#;
        let switched = journal_of(&[decision, applied, off]);
        assert!(!has_followed(&switched, false));
        let whole = journal_of(&[decision, applied, off, undone]);
        assert!(has_followed(&whole, false) && !has_followed(&whole, true));
        let words = in_words(&whole);
        assert!(words.starts_with("tuning is off\nwaiting = 2, taken back, after"), "{words}");
    }
}
