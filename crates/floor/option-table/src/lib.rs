//! Options on a command line, read as their help text lists them.
//!
//! The help text is the table of options: a line that begins with two spaces and a dash is an option, with the form of its
//! value unless it has none; two spaces follow, and the meaning. So each option is in the help, and stands there once.
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

mod value;

pub use value::{Interval, interval, one_of, positive, time};

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
}
