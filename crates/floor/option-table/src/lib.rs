//! Options on a command line, read as their help text lists them.
//!
//! The help text is the table of options: a line that begins with two spaces and a dash is an option, with the form of its
//! value unless it has none; two spaces follow, and the meaning. So the help lists each option, once.
//!
//! ```
//! use option_table::{OptionTable, positive};
//!
//! const TABLE: OptionTable = OptionTable {
//!     help: "Options:\n  -n, --rows N  number of rows (default: 100)\n  --quiet       print nothing\n",
//!     former: &[("--lines", "--rows")],
//! };
//! let (mut n_rows, mut is_quiet) = (100, false);
//! let words = ["--lines", "7", "file", "--quiet"].map(str::to_owned);
//! let (others, problem) = TABLE.read(words, |option, value| {
//!     match option {
//!         "--rows" => n_rows = positive(value)?,
//!         _ => is_quiet = true,
//!     }
//!     Some(())
//! });
//! assert_eq!((n_rows, is_quiet, others, problem), (7, true, vec!["file".to_owned()], None));
//! ```
//!
//! # Not here
//! Options of `sintonia`, which has subcommands (`cli`).

use std::str::FromStr;
use std::time::Duration;

/// Declares methods that set a field and return the value, a line each: `name(argument: Type) => field = expression;`,
/// where the field may be one of a field.
#[macro_export]
macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident($($argument:ident: $type:ty)?) => $($field:ident).+ = $value:expr;)*) => {
        $(
            $(#[$doc])*
            #[must_use]
            pub fn $name(mut self $(, $argument: $type)?) -> Self {
                self.$($field).+ = $value;
                self
            }
        )*
    };
}

/// Options of a program or of a library.
#[derive(Clone, Copy, Debug)]
pub struct OptionTable {
    /// Help text: `  -n, --name FORM  meaning` is an option with a value, `  --name  meaning` one without.
    pub help: &'static str,
    /// Former names, which are accepted and not listed, each with the name of today.
    pub former: &'static [(&'static str, &'static str)],
}

/// Error in the arguments of a program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArgumentError {
    /// The argument is not an option.
    #[error("`{argument}` is not an option; `--help` lists them")]
    Unknown {
        /// Argument as given.
        argument: String,
    },
    /// An option lacks its value.
    #[error("`{option}` has no value; write `{option} {expected}`")]
    NoValue {
        /// Option without a value.
        option: String,
        /// Expected form of the value.
        expected: &'static str,
    },
    /// The value of an option is not valid.
    #[error("`{option} {value}` is not understood; write `{option} {expected}`")]
    Value {
        /// Option with the value.
        option: String,
        /// Value as given.
        value: String,
        /// Expected form of the value.
        expected: &'static str,
    },
}

impl OptionTable {
    /// Hands each option among `words` to `set`, by its last name and with its value, which is empty if it has none;
    /// `None` refuses the value. `--option=value` works as well; after `--` come no options.
    ///
    /// Returns the words that are no options of this table, and the first error.
    pub fn read(
        &self,
        words: impl IntoIterator<Item = String>,
        mut set: impl FnMut(&str, &str) -> Option<()>,
    ) -> (Vec<String>, Option<ArgumentError>) {
        let (mut others, mut problem) = (Vec::new(), None);
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            if word == "--" {
                others.extend(words);
                break;
            }
            let (option, attached) = match word.split_once('=') {
                Some((option, value)) => (option, Some(value.to_owned())),
                None => (word.as_str(), None),
            };
            let Some((name, expected)) = self.find(option) else {
                others.push(word);
                continue;
            };
            let value = match expected {
                "" => Some(String::new()),
                _ => attached.or_else(|| words.next()),
            };
            let option = option.to_owned();
            let error = match value {
                Some(value) if set(name, &value).is_some() => continue,
                Some(value) => ArgumentError::Value { option, value, expected },
                None => ArgumentError::NoValue { option, expected },
            };
            problem.get_or_insert(error);
        }
        (others, problem)
    }

    /// Returns the last name of an option and the form of its value.
    fn find(&self, option: &str) -> Option<(&'static str, &'static str)> {
        let present = self.former.iter().find(|(former, _)| *former == option);
        let option = present.map_or(option, |(_, present)| present);
        let lines = self.help.lines().filter_map(|line| line.strip_prefix("  "));
        let rows = lines.filter_map(|line| line.split("  ").next());
        let mut rows = rows.map(|row| row.split(' ').partition(|word| word.starts_with('-')));
        rows.find_map(|(names, form): (Vec<&str>, Vec<&str>)| {
            let is_it = names.iter().any(|name| name.trim_end_matches(',') == option);
            let name = names.last().filter(|_| is_it)?;
            Some((*name, form.first().copied().unwrap_or_default()))
        })
    }
}

/// Distance between two actions of an iterative program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interval {
    /// Number of iterations.
    Iterations(u64),
    /// Time.
    Time(Duration),
}

impl Interval {
    /// Returns whether the next action is due, given the iterations and the time since the last one.
    #[must_use]
    pub fn is_over(self, n_iterations: u64, elapsed: Duration) -> bool {
        match self {
            Self::Iterations(n) => n <= n_iterations,
            Self::Time(time) => time <= elapsed,
        }
    }
}

/// Reads iterations or a time, with their unit: `10it`, `30s`, `5min`.
#[must_use]
pub fn interval(text: &str) -> Option<Interval> {
    match text.strip_suffix("it") {
        Some(number) => positive(number).map(Interval::Iterations),
        None => with_unit(text).map(Interval::Time),
    }
}

/// Reads a time above 0, in seconds unless its unit follows: `30`, `0.5`, `100ms`, `5min`, `2h`.
#[must_use]
pub fn time(text: &str) -> Option<Duration> {
    with_unit(text).or_else(|| seconds(text, 1.0))
}

fn with_unit(text: &str) -> Option<Duration> {
    let units = [("ms", 1e-3), ("s", 1.0), ("min", 60.0), ("h", 3600.0)];
    units.iter().find_map(|(unit, in_s)| seconds(text.strip_suffix(unit)?, *in_s))
}

fn seconds(number: &str, unit_s: f64) -> Option<Duration> {
    let time = Duration::try_from_secs_f64(number.parse::<f64>().ok()? * unit_s);
    time.ok().filter(|time| !time.is_zero())
}

/// Reads a number above 0.
#[must_use]
pub fn positive<N: FromStr + Default + PartialOrd>(text: &str) -> Option<N> {
    text.parse().ok().filter(|number| N::default() < *number)
}

/// Reads one of some words.
#[must_use]
pub fn one_of<T: Copy>(text: &str, words: &[(&str, T)]) -> Option<T> {
    words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: OptionTable = OptionTable {
        help: "\
Options:
  -o, --output FILE    file of the result,
                       - for standard output
  --at STEP:N,...      steps
  --quiet              print nothing
",
        former: &[("--to", "--output")],
    };

    /// Reads a line; returns what was set, the other words and the error.
    fn read(line: &str) -> (Vec<String>, String, Option<String>) {
        let mut set = Vec::new();
        let words = line.split_whitespace().map(str::to_owned);
        let (others, problem) = TABLE.read(words, |option, value| {
            set.push(format!("{option} {value}"));
            (value != "wrong").then_some(())
        });
        (set, others.join(" "), problem.map(|problem| problem.to_string()))
    }

    #[track_caller]
    fn check(line: &str, set: &[&str], others: &str) {
        assert_eq!(
            read(line),
            (set.iter().map(|&one| one.to_owned()).collect(), others.to_owned(), None)
        );
    }

    #[test]
    fn options_are_read_as_they_are_listed() {
        check("--output a --quiet", &["--output a", "--quiet "], "");
        check("-o a --to=b", &["--output a", "--output b"], "");
        check("--at 1:2,3:4", &["--at 1:2,3:4"], "");
        check("--quiet=yes b", &["--quiet "], "b");
        check("a=b - --out -x --quiet -- -o", &["--quiet "], "a=b - --out -x -o");
    }

    #[test]
    fn the_first_error_is_told_and_the_rest_is_read() {
        let told = |line: &str| read(line).2.unwrap();
        assert_eq!(told("a --output"), "`--output` has no value; write `--output FILE`");
        assert_eq!(told("--to"), "`--to` has no value; write `--to FILE`");
        let line = "--at=wrong --output wrong --quiet b";
        assert_eq!(told(line), "`--at wrong` is not understood; write `--at STEP:N,...`");
        assert_eq!(read(line).1, "b");
    }

    #[test]
    fn times_have_units() {
        let ms = |ms| Some(Duration::from_millis(ms));
        assert_eq!([time("0.5"), time("30s"), time("2ms")], [ms(500), ms(30_000), ms(2)]);
        assert_eq!([time("5min"), time("1h")], [ms(300_000), ms(3_600_000)]);
        assert_eq!(["0", "-1", "inf", "nan", "1e99s", "s", "", "1d"].map(time), [None; 8]);
    }

    #[test]
    fn an_interval_says_its_unit() {
        let half = Duration::from_millis(500);
        assert_eq!(interval("10it"), Some(Interval::Iterations(10)));
        assert_eq!(interval("0.5s"), Some(Interval::Time(half)));
        assert_eq!(["10", "0it", "1.5it", "0s"].map(interval), [None; 4]);
        assert!(Interval::Iterations(3).is_over(3, Duration::ZERO));
        assert!(!Interval::Time(half).is_over(9, half / 2));
    }

    #[test]
    fn numbers_are_above_0() {
        assert_eq!(["1", "0", "-1", "x"].map(positive::<u32>), [Some(1), None, None, None]);
    }
}
