//! Submission of a user: a command, to be run once or as an array.

use serde::{Deserialize, Serialize};

use crate::{FailureRules, RETRY_DELAY_MS_MAX};

/// Most tasks of one array.
const N_ARRAY_TASKS_MAX: u64 = 10_000_000;
/// Longest command with its environment and folder, in bytes: it has to fit into one message between nodes.
const SUBMISSION_BYTES_MAX: usize = 256 << 10;

/// Most bytes kept of each of a task's two outputs: both have to fit into one message between nodes.
pub const OUTPUT_BYTES_MAX: u32 = 192 << 10;

/// Command to be run once or once for each index of an array.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Submission {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Title for users; the program's name where none is given.
    #[serde(default)]
    pub name: Option<String>,
    /// Working folder, absolute.
    pub folder: String,
    /// All environment variables that the command sees.
    #[serde(default)]
    pub environment: Vec<(String, String)>,
    /// Indices of an array; each task finds its own index in `SINTONIA_ARRAY_INDEX`.
    #[serde(default)]
    pub array: Option<ArrayRange>,
    /// Bounds of each task.
    #[serde(default)]
    pub limits: TaskLimits,
    /// Rules for tasks that fail.
    #[serde(default)]
    pub failures: FailureRules,
}

/// Indices of an array, first and last included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ArrayRange {
    /// First index.
    pub first: u64,
    /// Last index; at least `first`.
    pub last: u64,
}

/// Bounds of a task.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TaskLimits {
    /// Most bytes kept of the standard output, and of the standard error; [`OUTPUT_BYTES_MAX`] at most.
    pub output_bytes_max: u32,
    /// Folder that receives the whole output instead, absolute: files `NAME.out` and `NAME.err` with the
    /// task's name.
    #[serde(default)]
    pub output_folder: Option<String>,
    /// Most starts of the task, when its nodes are lost while it runs.
    pub n_starts_max: u32,
}

impl Default for TaskLimits {
    fn default() -> Self {
        Self { output_bytes_max: 64 << 10, output_folder: None, n_starts_max: 10 }
    }
}

/// Reasons why a submission is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SubmissionError {
    /// The command is empty.
    #[error("the `command` is empty: write it after `--`")]
    NoCommand,
    /// A text cannot be passed to a program.
    #[error(
        "`{0}` contains a zero byte, or is a variable name with `=`; neither can be passed to a program"
    )]
    Text(String),
    /// A path is relative.
    #[error("the folder `{0}` is not absolute: write it from `/`")]
    Folder(String),
    /// The indices run backwards or are too many.
    #[error(
        "the array `{first}-{last}` is not valid; use 1 to {N_ARRAY_TASKS_MAX} indices, the smaller first"
    )]
    Array {
        /// The first index.
        first: u64,
        /// The last index.
        last: u64,
    },
    /// The submission does not fit into a message.
    #[error(
        "the command with its environment has {0} bytes, {SUBMISSION_BYTES_MAX} at most: put data into files"
    )]
    TooLong(usize),
    /// More output is to be kept than fits into a message.
    #[error(
        "`output_bytes_max` is {0}, {OUTPUT_BYTES_MAX} at most: have the whole output written to a folder"
    )]
    Output(u32),
    /// The task may never start.
    #[error("`n_starts_max` is 0: a task has to start at least once")]
    NoStart,
    /// The time before a retry is too long.
    #[error("`retry_delay_ms` is {0}, {RETRY_DELAY_MS_MAX} at most")]
    RetryDelay(u64),
}

impl Submission {
    /// Checks whether the submission can be accepted.
    ///
    /// # Errors
    /// When there is no command, it is too long, its texts cannot be passed to a program, a folder is not
    /// absolute, a limit is out of range, or its array is empty or too long.
    pub fn check(&self) -> Result<(), SubmissionError> {
        if self.command.first().is_none_or(String::is_empty) {
            return Err(SubmissionError::NoCommand);
        }
        if self.limits.n_starts_max == 0 {
            return Err(SubmissionError::NoStart);
        }
        if OUTPUT_BYTES_MAX < self.limits.output_bytes_max {
            return Err(SubmissionError::Output(self.limits.output_bytes_max));
        }
        if RETRY_DELAY_MS_MAX < self.failures.retry_delay_ms {
            return Err(SubmissionError::RetryDelay(self.failures.retry_delay_ms));
        }
        let bad = self.texts().find(|text| text.contains('\0'));
        let mut names = self.environment.iter().map(|(name, _)| name.as_str());
        let bad_name = names.find(|name| name.is_empty() || name.contains('='));
        if let Some(text) = bad.or(bad_name) {
            return Err(SubmissionError::Text(text.to_owned()));
        }
        let folders = [Some(&self.folder), self.limits.output_folder.as_ref()];
        if let Some(folder) = folders.into_iter().flatten().find(|folder| !folder.starts_with('/'))
        {
            return Err(SubmissionError::Folder(folder.clone()));
        }
        self.check_size()
    }

    /// Number of tasks that it makes.
    pub fn n_tasks(&self) -> u64 {
        self.array.map_or(1, |array| array.last.saturating_sub(array.first).saturating_add(1))
    }

    /// Title for users.
    pub fn title(&self) -> &str {
        let program = || self.command.first().map_or("", String::as_str);
        self.name.as_deref().unwrap_or_else(|| program().rsplit('/').next().unwrap_or(""))
    }

    fn check_size(&self) -> Result<(), SubmissionError> {
        if let Some(ArrayRange { first, last }) = self.array
            && (last < first || N_ARRAY_TASKS_MAX <= last - first)
        {
            return Err(SubmissionError::Array { first, last });
        }
        let n_bytes = self.texts().map(|text| text.len() + 4).sum();
        if SUBMISSION_BYTES_MAX < n_bytes {
            return Err(SubmissionError::TooLong(n_bytes));
        }
        Ok(())
    }

    fn texts(&self) -> impl Iterator<Item = &str> {
        let environment = self.environment.iter().flat_map(|(name, value)| [name, value]);
        let others = [Some(&self.folder), self.name.as_ref(), self.limits.output_folder.as_ref()];
        self.command
            .iter()
            .chain(environment)
            .chain(others.into_iter().flatten())
            .map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(change: impl FnOnce(&mut Submission), expected: &str) {
        let mut submission = Submission {
            command: vec!["/bin/true".to_owned()],
            folder: "/tmp".to_owned(),
            ..Submission::default()
        };
        change(&mut submission);
        let found = submission.check().map_or_else(|error| error.to_string(), |()| String::new());
        assert!(found.starts_with(expected) && found.is_empty() == expected.is_empty(), "{found}");
    }

    #[test]
    fn a_submission_is_refused_with_its_reason() {
        check(|_| {}, "");
        check(|it| it.command.clear(), "the `command` is empty");
        check(|it| it.command[0].clear(), "the `command` is empty");
        check(|it| it.command.push("a\0b".to_owned()), "`a\0b` contains a zero byte");
        check(|it| it.environment.push(("A=".to_owned(), String::new())), "`A=` contains");
        check(|it| it.folder = "here".to_owned(), "the folder `here` is not absolute");
        check(
            |it| it.array = Some(ArrayRange { first: 2, last: 1 }),
            "the array `2-1` is not valid",
        );
        check(|it| it.array = Some(ArrayRange { first: 0, last: u64::MAX }), "the array `0-");
        check(|it| it.array = Some(ArrayRange { first: 0, last: 9_999_999 }), "");
        check(|it| it.command.push("x".repeat(300_000)), "the command with its environment has");
        check(|it| it.limits.n_starts_max = 0, "`n_starts_max` is 0");
        check(|it| it.failures.retry_delay_ms = 300_001, "`retry_delay_ms` is 300001, 300000");
        check(|it| it.limits.output_bytes_max = 1 << 20, "`output_bytes_max` is 1048576");
    }

    #[test]
    fn its_title_is_its_name_or_its_program() {
        let mut submission =
            Submission { command: vec!["/usr/bin/env".to_owned()], ..Submission::default() };
        assert_eq!(submission.title(), "env");
        submission.name = Some("sweep".to_owned());
        assert_eq!(submission.title(), "sweep");
    }
}
