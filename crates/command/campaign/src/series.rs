//! Does one run after the other, until all are done or a signal arrives.

use super::Prepared;
use super::folder::Folder;
use super::measured_run::{RunMeasurements, read_measurements};
use super::run_command::{RunCommand, RunEnd, in_words};
use super::{calibration, environment};
use anyhow::{Context, bail};
use experiment::GridPoint;
use experiment::journal::{CompletedRun, Failed};
use experiment::schedule::ScheduledRun;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag::register_usize;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use user_io::bounded_read;
use user_io::exit::{BadDescription, NotExecutable, NotFound, NotWritten};
use user_io::print::indented_end;
use user_io::progress::ProgressLine;

/// Number of failed runs, with none that succeeded, from which the command is taken to be wrong.
const N_FAILED_FIRST: usize = 3;
/// Last lines of its output that are shown when a command failed.
const N_LINES_SHOWN: usize = 10;

/// Reason why a run does not count.
enum Failure {
    /// Another try may succeed.
    ThisTime(String),
    /// The plan is wrong: no run can succeed.
    Always(String),
    /// The user interrupted the run.
    Interrupted,
}

/// Does the runs that are left; returns the signal that ended them, if one did.
pub(super) fn run(
    prepared: &Prepared,
    folder: &mut Folder,
    keep_records: bool,
) -> anyhow::Result<Option<i32>> {
    let signal = signals()?;
    let mut progress = Progress {
        line: ProgressLine::every(Duration::ZERO),
        last_line: None,
        last: String::new(),
    };
    let mut pace = prepared.pace(&folder.journal.runs);
    note_environment(prepared, folder, &mut progress)?;
    let left = prepared.left(&folder.journal);
    for (idx, one) in left.iter().enumerate() {
        let point = &prepared.points[one.point];
        let n_runs = folder.journal.runs.len() + left.len() - idx;
        let number = folder.journal.runs.len() + 1;
        let left_s = pace.remaining_s(&left[idx..]);
        progress.show(&format!("run {number} of {n_runs} ({})", point.in_words()), left_s);
        let started = Instant::now();
        let ended = tries(prepared, folder, *one, (&signal, keep_records, &mut progress));
        match ended? {
            true => pace.add(one.point, started.elapsed().as_secs_f64()),
            false => break,
        }
    }
    progress.line.clear();
    folder.tidy();
    let signal = i32::try_from(signal.load(Ordering::Relaxed)).unwrap_or(0);
    Ok(Some(signal).filter(|signal| *signal != 0))
}

/// Registers handlers that store a signal instead of ending this process.
fn signals() -> anyhow::Result<Arc<AtomicUsize>> {
    let signal = Arc::new(AtomicUsize::new(0));
    for number in [SIGINT, SIGTERM, SIGHUP] {
        let value = usize::try_from(number).unwrap_or(1);
        register_usize(number, Arc::clone(&signal), value).context("signals cannot be caught")?;
    }
    Ok(signal)
}

/// Writes the environment into the journal, and warns of changes since an earlier part of the experiment.
fn note_environment(
    prepared: &Prepared,
    folder: &mut Folder,
    progress: &mut Progress,
) -> anyhow::Result<()> {
    let words = prepared.plan.words(&prepared.points[0], Some(""))?;
    let now = environment::facts(&words, &prepared.home);
    let journal = &mut folder.journal;
    environment::changes(&journal.environment, &now).iter().for_each(|text| progress.warn(text));
    if journal.runs.is_empty() {
        journal.environment = now;
        journal.n_calibration_rounds = calibration::rounds();
    }
    folder.save()
}

/// Starts a run until it succeeds or has failed for good; returns whether to go on.
fn tries(
    prepared: &Prepared,
    folder: &mut Folder,
    run: ScheduledRun,
    (signal, keep_records, progress): (&AtomicUsize, bool, &mut Progress),
) -> anyhow::Result<bool> {
    let point = &prepared.points[run.point];
    let (name, mut why) = (name_of(point, run), String::new());
    for try_idx in 0..prepared.plan.tries {
        if signal.load(Ordering::Relaxed) != 0 {
            return Ok(false);
        }
        let mut done = CompletedRun {
            params: point.parameters.clone(),
            is_holdout: point.is_holdout,
            repetition: run.repetition,
            tries: try_idx + 1,
            load: environment::load(),
            calibration_s: calibration::time_s(folder.journal.n_calibration_rounds),
            ..CompletedRun::default()
        };
        let place = folder.of_now();
        match once(prepared, point, &place, (&mut done, signal))? {
            Ok(seen) => {
                // Before the run counts, so that nothing is left of it if this process is killed in between.
                folder.put_away(keep_records.then_some(&name));
                let mpi = || seen.mpi.clone();
                folder.journal.environment.entry("mpi".to_owned()).or_insert_with(mpi);
                progress.last =
                    format!("; at {} it took {:.3} s", point.in_words(), seen.elapsed_s);
                folder.add(done, &seen.measurements)?;
                folder.draw(prepared.runs.len());
                return Ok(true);
            }
            Err(Failure::Interrupted) => {
                folder.put_away(None);
                return Ok(false);
            }
            Err(Failure::Always(why)) => bail!("nothing can be measured: {why}"),
            Err(Failure::ThisTime(text)) => {
                let (number, tries, at) = (try_idx + 1, prepared.plan.tries, point.in_words());
                // Only the last try shows the command's output.
                let shown = if number < tries { first_line(&text) } else { &text };
                let said =
                    format!("the run at {at} is discarded (try {number} of {tries}): {shown}");
                progress.warn(&said);
                why = text;
                folder.put_away(Some(&name));
            }
        }
    }
    give_up(folder, point, run, &why)?;
    Ok(true)
}

/// Records a run that failed for good.
fn give_up(
    folder: &mut Folder,
    point: &GridPoint,
    run: ScheduledRun,
    why: &str,
) -> anyhow::Result<()> {
    let (params, repetition) = (point.parameters.clone(), run.repetition);
    let why = first_line(why).to_owned();
    folder.journal.failed.push(Failed { params, repetition, why: why.clone() });
    folder.save()?;
    let (n_done, n_failed) = (folder.journal.runs.len(), folder.journal.failed.len());
    if n_done == 0 && N_FAILED_FIRST <= n_failed {
        bail!("the first {n_failed} runs failed; check the command: {why}");
    }
    Ok(())
}

/// Starts a run once.
fn once(
    prepared: &Prepared,
    point: &GridPoint,
    place: &Path,
    (done, signal): (&mut CompletedRun, &AtomicUsize),
) -> anyhow::Result<Result<RunMeasurements, Failure>> {
    let name = || format!("`{}`", place.display());
    fs::create_dir_all(place).context(NotWritten).with_context(name)?;
    let plan = &prepared.plan;
    let script = place.join("script");
    if let Some(text) = plan.script(point)? {
        fs::write(&script, text).context(NotWritten).with_context(name)?;
    }
    let command = RunCommand {
        words: plan.words(point, Some(&script.to_string_lossy()))?,
        variables: plan.variables(point)?,
        home: prepared.home.clone(),
        record: place.join("record"),
        output: place.join("output.txt"),
        functions: plan.functions.clone(),
        timeout: Duration::from_secs_f64(plan.timeout_s),
    };
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    done.started_s = since_1970.as_secs_f64();
    let started = Instant::now();
    let ended = command.run(signal).context("the run cannot be started")?;
    done.wall_s = started.elapsed().as_secs_f64();
    let seen = judge(ended, &command);
    if let Ok(seen) = &seen {
        done.elapsed_s = seen.elapsed_s;
        done.placement = seen.placement;
    }
    Ok(seen)
}

/// Returns what a run measured, if it counts.
fn judge(ended: RunEnd, command: &RunCommand) -> Result<RunMeasurements, Failure> {
    let status = match ended {
        RunEnd::Itself(status) => status,
        RunEnd::TooLong => {
            let limit_s = command.timeout.as_secs_f64();
            let text = format!("it took longer than {limit_s} s (`timeout_s`)");
            return Err(Failure::ThisTime(text));
        }
        RunEnd::Interrupted => return Err(Failure::Interrupted),
    };
    if !status.success() {
        let (words, how) = (command.words.join(" "), in_words(status));
        let text = format!("`{words}` ended with {how}{}", last_lines(&command.output));
        let never = [NotExecutable, NotFound, BadDescription].map(|it| i32::from(it.code()));
        let is_never = status.code().is_some_and(|code| never.contains(&code));
        return Err(if is_never { Failure::Always(text) } else { Failure::ThisTime(text) });
    }
    read_measurements(&command.record, !command.functions.is_empty())
        .map_err(|error| Failure::ThisTime(format!("{error:#}{}", last_lines(&command.output))))
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// Last lines of a command's output, indented.
fn last_lines(output: &Path) -> String {
    let bytes = bounded_read::read_end(output).unwrap_or_default();
    indented_end(&String::from_utf8_lossy(&bytes), N_LINES_SHOWN)
}

/// Name of a run for files: `n200-p4-0`.
fn name_of(point: &GridPoint, run: ScheduledRun) -> String {
    let each = point.parameters.iter().map(|(name, value)| format!("{name}{value}-"));
    each.collect::<String>() + &run.repetition.to_string()
}

/// Time between lines in a pipe.
const LINES_EVERY: Duration = Duration::from_secs(30);

/// Shows the progress on standard error.
struct Progress {
    line: ProgressLine,
    last_line: Option<Instant>,
    /// What the last run was, as the end of a sentence.
    last: String,
}

impl Progress {
    /// Shows that a run begins.
    fn show(&mut self, run: &str, left_s: Option<f64>) {
        let left = left_s.map(|s| format!("{} left", display::units::seconds(s)));
        let left = left.as_deref().unwrap_or("time left unknown");
        let line = format!("{run}, {left}{}", self.last);
        if self.line.is_terminal {
            self.line.show(|| line);
        } else if self.last_line.is_none_or(|at| LINES_EVERY < at.elapsed()) {
            eprintln!("sintonia: {line}");
            self.last_line = Some(Instant::now());
        }
    }

    /// Prints a sentence that the progress does not replace.
    fn warn(&mut self, text: &str) {
        self.line.clear();
        user_io::print::warn(text);
    }
}
