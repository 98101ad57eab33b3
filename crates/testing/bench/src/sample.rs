//! Runs a command once: its output, its elapsed time, and its processor time.

use crate::error::BenchError;
use std::process::Command;
use std::time::{Duration, Instant};
use timed_command::CommandError;

/// Run that has finished.
#[derive(Clone, Debug)]
pub(crate) struct RunSample {
    /// Standard output, then standard error.
    pub(crate) output: String,
    /// Time from start to end, in s.
    pub(crate) elapsed_s: f64,
    /// Processor time of the command and of all processes that it started and waited for, in s.
    pub(crate) cpu_s: f64,
}

const LIMIT: Duration = Duration::from_secs(300);

/// Runs a command to its end.
pub(crate) fn take(mut command: Command) -> Result<RunSample, BenchError> {
    let words = name_of(&command);
    // Open MPI refuses root, and more ranks than cores.
    for name in ["ALLOW_RUN_AS_ROOT", "ALLOW_RUN_AS_ROOT_CONFIRM", "MCA_rmaps_base_oversubscribe"] {
        command.env(format!("OMPI_{name}"), "1");
    }
    let (cpu_before_s, begin) = (children_cpu_s(), Instant::now());
    let ended = match timed_command::run(&mut command, LIMIT) {
        Ok(ended) => ended,
        Err(CommandError::Late(limit)) => {
            return Err(BenchError::Late { command: words, limit_s: limit.as_secs() });
        }
        Err(CommandError::Start(source) | CommandError::Read(source)) => {
            return Err(BenchError::Start { command: words, source });
        }
    };
    let elapsed_s = begin.elapsed().as_secs_f64();
    let (status, output) = (ended.status, ended.output + &ended.errors);
    if !status.success() {
        return Err(BenchError::Failed { command: words, status, output: last_lines(&output) });
    }
    Ok(RunSample { output, elapsed_s, cpu_s: children_cpu_s() - cpu_before_s })
}

/// Runs a command; returns its output.
pub(crate) fn output_of(command: Command) -> Result<String, BenchError> {
    take(command).map(|sample| sample.output)
}

/// Runs a command and reads figures in its output.
pub(crate) fn figure<T>(
    command: Command,
    read: impl FnOnce(&str) -> Option<T>,
) -> Result<T, BenchError> {
    let name = name_of(&command);
    let output = output_of(command)?;
    read(&output).ok_or_else(|| BenchError::NoFigure { command: name, output: last_lines(&output) })
}

/// Words of the command, for messages.
pub(crate) fn name_of(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// The last lines of an output.
pub(crate) fn last_lines(output: &str) -> String {
    let lines: Vec<&str> = output.lines().collect();
    lines[lines.len().saturating_sub(8)..].join("\n")
}

/// Processor time of all children that have ended, in s: fields 16 and 17 of proc(5), cutime and cstime.
fn children_cpu_s() -> f64 {
    cpu_s_in(&std::fs::read_to_string("/proc/self/stat").unwrap_or_default(), 16)
}

/// Sum of two fields of a `stat` file of proc(5), which has hundredths, in s.
pub(crate) fn cpu_s_in(stat: &str, first_field: usize) -> f64 {
    // The third field is the first one after the name, which may have blanks.
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let fields = after_name.split_whitespace().skip(first_field - 3).take(2);
    fields.filter_map(|field| field.parse::<f64>().ok()).sum::<f64>() / 100.0
}
