//! Names of tasks: `HOME.NUMBER`, and `HOME.FIRST-LAST` for several.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// Longest name of a node in bytes.
const NODE_NAME_BYTES_MAX: usize = 64;

/// Name of one task: the node that it was submitted to (its home), and its number there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct TaskName {
    /// Name of the node that the task was submitted to.
    pub home: String,
    /// Number of the task on that node, from 1.
    pub number: u64,
}

/// Name of tasks of one home with consecutive numbers: one task, or an array.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct TaskRange {
    /// Name of the node that the tasks were submitted to.
    pub home: String,
    /// Number of the first task.
    pub first: u64,
    /// Number of the last task; at least `first`.
    pub last: u64,
}

/// Reasons why a text names no task.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// No number follows the node's name.
    #[error(
        "`{0}` is not a task name; write `NODE.NUMBER` or `NODE.FIRST-LAST`, as `submit` printed it"
    )]
    Shape(String),
    /// A node cannot have this name.
    #[error(
        "`{0}` cannot be a node's name: use 1 to 64 letters, digits, `-`, `_` and `.`, not beginning with `-` or `.`"
    )]
    Node(String),
}

impl TaskName {
    /// Returns the range that holds this task alone.
    pub fn alone(&self) -> TaskRange {
        TaskRange { home: self.home.clone(), first: self.number, last: self.number }
    }
}

impl TaskRange {
    /// Number of tasks in the range.
    pub fn n_tasks(&self) -> u64 {
        (self.last - self.first).saturating_add(1)
    }

    /// Returns whether the range holds `number`.
    pub fn holds(&self, number: u64) -> bool {
        self.first <= number && number <= self.last
    }
}

/// Checks whether `text` can be the name of a node.
///
/// # Errors
/// When `text` is empty, too long, begins with `-` or `.`, or has other characters than letters, digits, `-`,
/// `_` and `.`.
pub fn check_node_name(text: &str) -> Result<(), NameError> {
    let fine = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let begins_well = !text.starts_with(['-', '.']);
    if (1..=NODE_NAME_BYTES_MAX).contains(&text.len()) && begins_well && text.bytes().all(fine) {
        return Ok(());
    }
    Err(NameError::Node(text.to_owned()))
}

impl fmt::Display for TaskName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.home, self.number)
    }
}

impl fmt::Display for TaskRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.first == self.last {
            return write!(f, "{}.{}", self.home, self.first);
        }
        write!(f, "{}.{}-{}", self.home, self.first, self.last)
    }
}

impl FromStr for TaskName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let range = text.parse::<TaskRange>()?;
        if range.first != range.last {
            return Err(NameError::Shape(text.to_owned()));
        }
        Ok(Self { home: range.home, number: range.first })
    }
}

impl FromStr for TaskRange {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let shape = || NameError::Shape(text.to_owned());
        let (home, numbers) = text.rsplit_once('.').ok_or_else(shape)?;
        check_node_name(home)?;
        let (first, last) = numbers.split_once('-').unwrap_or((numbers, numbers));
        let first = number(first).ok_or_else(shape)?;
        let last = number(last).ok_or_else(shape)?;
        if last < first {
            return Err(shape());
        }
        Ok(Self { home: home.to_owned(), first, last })
    }
}

impl From<TaskName> for String {
    fn from(name: TaskName) -> Self {
        name.to_string()
    }
}

impl From<TaskRange> for String {
    fn from(range: TaskRange) -> Self {
        range.to_string()
    }
}

impl TryFrom<String> for TaskName {
    type Error = NameError;

    fn try_from(text: String) -> Result<Self, NameError> {
        text.parse()
    }
}

impl TryFrom<String> for TaskRange {
    type Error = NameError;

    fn try_from(text: String) -> Result<Self, NameError> {
        text.parse()
    }
}

/// Reads a number as `Display` writes it: no sign, no leading zero.
fn number(digits: &str) -> Option<u64> {
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0');
    plain.then(|| digits.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, expected: Option<(&str, u64, u64)>) {
        let found = text.parse::<TaskRange>().ok();
        let found = found.as_ref().map(|range| (range.home.as_str(), range.first, range.last));
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn a_range_is_a_home_and_numbers() {
        check("alpha.17", Some(("alpha", 17, 17)));
        check("alpha.17-20", Some(("alpha", 17, 20)));
        check("node-1.cluster.org.3-4", Some(("node-1.cluster.org", 3, 4)));
        check("alpha", None);
        check("alpha.", None);
        check(".17", None);
        check("alpha.0", None);
        check("alpha.+1", None);
        check("alpha.20-17", None);
        check("al pha.1", None);
        check("alpha.99999999999999999999", None);
    }

    #[test]
    fn an_array_is_no_single_task() {
        assert!("alpha.17-20".parse::<TaskName>().is_err());
        assert_eq!("alpha.17".parse::<TaskName>().unwrap().alone().n_tasks(), 1);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(home in "[a-z][a-z0-9.-]{0,20}", first in 1_u64.., n in 0_u64..9) {
            let range = TaskRange { home, first, last: first.saturating_add(n) };
            prop_assert_eq!(range.to_string().parse::<TaskRange>().unwrap(), range);
        }
    }
}
