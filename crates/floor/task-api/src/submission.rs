//! Submission of a user: a command, to be run once or as an array.

use serde::{Deserialize, Serialize};

use crate::{Demand, DemandError, FailureRules, RETRY_DELAY_MS_MAX, Schedule, ScheduleError};

/// Most tasks of one array.
const N_ARRAY_TASKS_MAX: u64 = 10_000_000;
/// Longest command with its environment and folder, in bytes: it has to fit into one message between nodes.
const SUBMISSION_BYTES_MAX: usize = 256 << 10;
/// Most ranges of one array.
const N_RANGES_MAX: usize = 1_000;

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
    pub array: Option<ArrayIndices>,
    /// Texts, such as the lines of a file, each of a task of its own, which finds it in `SINTONIA_ITEM` and in place of
    /// `%{item}`. Where there is an array too, it has as many indices.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<String>,
    /// Bounds of each task.
    #[serde(default)]
    pub limits: TaskLimits,
    /// Rules for tasks that fail.
    #[serde(default)]
    pub failures: FailureRules,
    /// Resources and time that each task asks for.
    #[serde(default)]
    pub demand: Demand,
    /// When the tasks may run.
    #[serde(default)]
    pub schedule: Schedule,
}

/// Indices of an array, in the order of its tasks. In JSON a range, or a list of ranges.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "IndicesJson", into = "IndicesJson")]
pub struct ArrayIndices(pub Vec<ArrayRange>);

/// Indices from the first to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ArrayRange {
    /// First index.
    pub first: u64,
    /// Last index; at least `first`. It belongs to the array if the steps lead to it.
    pub last: u64,
    /// Difference of one index and the next.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub step: u64,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(untagged)]
enum IndicesJson {
    Range(ArrayRange),
    Ranges(Vec<ArrayRange>),
}

fn one() -> u64 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_one(number: &u64) -> bool {
    *number == 1
}

impl From<IndicesJson> for ArrayIndices {
    fn from(json: IndicesJson) -> Self {
        match json {
            IndicesJson::Range(range) => Self(vec![range]),
            IndicesJson::Ranges(ranges) => Self(ranges),
        }
    }
}

impl From<ArrayIndices> for IndicesJson {
    fn from(indices: ArrayIndices) -> Self {
        match indices.0[..] {
            [range] => Self::Range(range),
            _ => Self::Ranges(indices.0),
        }
    }
}

impl ArrayIndices {
    /// Indices from `first` to `last`.
    pub fn range(first: u64, last: u64) -> Self {
        Self(vec![ArrayRange { first, last, step: 1 }])
    }

    /// Number of indices.
    pub fn n_tasks(&self) -> u64 {
        self.0.iter().map(ArrayRange::n_tasks).fold(0, u64::saturating_add)
    }
}

impl ArrayRange {
    /// Number of indices.
    pub fn n_tasks(&self) -> u64 {
        let n_steps = self.last.saturating_sub(self.first) / self.step.max(1);
        n_steps.saturating_add(1)
    }

    fn is_valid(&self) -> bool {
        self.first <= self.last && 0 < self.step
    }
}

impl std::str::FromStr for ArrayIndices {
    type Err = SubmissionError;

    /// Reads `1-10:2,40`: ranges with steps, and single indices.
    fn from_str(text: &str) -> Result<Self, SubmissionError> {
        let part = |part: &str| {
            let (range, step) = part.split_once(':').unwrap_or((part, "1"));
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let number = |text: &str| text.trim().parse().ok();
            Some(ArrayRange { first: number(first)?, last: number(last)?, step: number(step)? })
        };
        let ranges = text.split(',').map(|it| part(it).filter(ArrayRange::is_valid));
        let ranges = ranges.collect::<Option<Vec<_>>>();
        ranges.map(Self).ok_or_else(|| SubmissionError::Indices(text.to_owned()))
    }
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
    /// A text is not a list of indices.
    #[error(
        "the array `{0}` is not valid: write ranges, with steps where needed, and single indices: 1-1000, 1-10:2,40"
    )]
    Indices(String),
    /// The number of texts and that of indices differ.
    #[error("there are {n_items} items for {n_indices} indices: give each item its index, or none")]
    Items {
        /// Number of texts.
        n_items: u64,
        /// Number of indices.
        n_indices: u64,
    },
    /// A node cannot be asked for this.
    #[error(transparent)]
    Demand(#[from] DemandError),
    /// Tasks cannot run like this.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
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
        self.demand.check()?;
        self.check_size()?;
        Ok(self.schedule.check(self.n_tasks())?)
    }

    /// Number of tasks that it makes.
    pub fn n_tasks(&self) -> u64 {
        let n_items = if self.items.is_empty() { 1 } else { self.items.len() as u64 };
        self.array.as_ref().map_or(n_items, ArrayIndices::n_tasks)
    }

    /// Title for users.
    pub fn title(&self) -> &str {
        let program = || self.command.first().map_or("", String::as_str);
        self.name.as_deref().unwrap_or_else(|| program().rsplit('/').next().unwrap_or(""))
    }

    fn check_size(&self) -> Result<(), SubmissionError> {
        if let Some(array) = &self.array {
            let (first, last) = array.0.first().map_or((1, 0), |it| (it.first, it.last));
            let is_valid = array.0.iter().all(ArrayRange::is_valid);
            if !is_valid || !(1..=N_ARRAY_TASKS_MAX).contains(&array.n_tasks()) {
                return Err(SubmissionError::Array { first, last });
            }
            let (n_items, n_indices) = (self.items.len() as u64, array.n_tasks());
            if 0 < n_items && n_items != n_indices {
                return Err(SubmissionError::Items { n_items, n_indices });
            }
        }
        if N_RANGES_MAX < self.array.as_ref().map_or(0, |array| array.0.len()) {
            let n_ranges = self.array.as_ref().map_or(0, |array| array.0.len());
            return Err(SubmissionError::Indices(format!("of {n_ranges} ranges")));
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
            .chain(&self.items)
            .chain(environment)
            .chain(others.into_iter().flatten())
            .map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Resources;

    #[test]
    fn indices_are_ranges_with_steps_and_lists() {
        let check = |text: &str, expected: Option<&[u64]>| {
            let found = text.parse::<ArrayIndices>().ok().map(|it| {
                let indices =
                    |it: ArrayRange| (0..it.n_tasks()).map(move |n| it.first + n * it.step);
                it.0.into_iter().flat_map(indices).collect::<Vec<_>>()
            });
            assert_eq!(found.as_deref(), expected, "{text}");
        };
        check("1-10:2,40", Some(&[1, 3, 5, 7, 9, 40]));
        check("3", Some(&[3]));
        check("0-4:2, 7-8", Some(&[0, 2, 4, 7, 8]));
        for wrong in ["", "5-1", "1-9:0", "a-b", "1,,2", "1-2-3"] {
            check(wrong, None);
        }
    }

    #[test]
    fn indices_are_a_range_or_a_list_in_json() {
        let range = serde_json::from_str::<ArrayIndices>(r#"{"first":1,"last":9}"#).unwrap();
        assert_eq!(range, ArrayIndices::range(1, 9));
        assert_eq!(serde_json::to_string(&range).unwrap(), r#"{"first":1,"last":9}"#);
        let list = "1-5:2,9".parse::<ArrayIndices>().unwrap();
        let json = serde_json::to_string(&list).unwrap();
        assert_eq!(json, r#"[{"first":1,"last":5,"step":2},{"first":9,"last":9}]"#);
        assert_eq!(serde_json::from_str::<ArrayIndices>(&json).unwrap(), list);
    }

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
        check(|it| it.array = Some(ArrayIndices::range(2, 1)), "the array `2-1` is not valid");
        check(|it| it.array = Some(ArrayIndices::range(0, u64::MAX)), "the array `0-");
        check(|it| it.array = Some(ArrayIndices::range(0, 9_999_999)), "");
        check(
            |it| (it.array, it.items) = (Some(ArrayIndices::range(1, 2)), vec![String::new()]),
            "there are 1 items for 2 indices",
        );
        check(|it| it.schedule.n_at_once_max = Some(0), "`n_at_once_max` is 0");
        check(|it| it.demand.variants = vec![Resources::nothing()], "`cpus` is 0");
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
