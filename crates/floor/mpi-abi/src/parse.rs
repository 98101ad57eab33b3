//! Reads the table of operations; its format is at the top of `operations.txt`.
//!
//! # Invariants
//! - A line with a problem is left out and reported; the others are read.

mod clauses;

use crate::kind::ParameterKind;
use crate::operation::{Class, Mode, Operation, Param};
use std::fmt;

/// Content of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// Operations; a large-count variant follows its normal operation.
    pub operations: Vec<Operation>,
    /// Functions that do not communicate.
    pub local: Vec<LocalName>,
}

/// One name, or all names with a prefix or suffix, without `MPI_`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalName(String);

impl LocalName {
    /// Returns whether the pattern covers the function of that name (without `MPI_`).
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        let pattern = self.0.as_str();
        if let Some(start) = pattern.strip_suffix('*') {
            return name.starts_with(start);
        }
        if let Some(end) = pattern.strip_prefix('*') {
            return name.ends_with(end);
        }
        let Some(stem) = pattern.strip_suffix("+c") else { return name == pattern };
        name.strip_suffix("_c").unwrap_or(name) == stem
    }
}

/// Reads a table; returns the valid lines and the problems of the others.
#[must_use]
pub fn parse(text: &str) -> (Table, Vec<SkippedLine>) {
    let mut table = Table::default();
    let mut problems = Vec::new();
    for (line_number, line) in (1..).zip(text.lines().map(str::trim)) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(names) = line.strip_prefix("local ") {
            let names = names.split_whitespace().map(|name| LocalName(name.to_owned()));
            table.local.extend(names);
            continue;
        }
        match parse_operation(line) {
            Ok(operations) => table.operations.extend(operations),
            Err(trouble) => problems.push(SkippedLine { line_number, trouble }),
        }
    }
    (table, problems)
}

/// Parses the operation of a line, and adds its large-count variant when there is one.
fn parse_operation(line: &str) -> Result<Vec<Operation>, Trouble> {
    let (declaration, accounting) = line.split_once('|').ok_or(Trouble::NoAccounting)?;
    let mut words = declaration.split_whitespace();
    let name = words.next().ok_or(Trouble::NoName)?;
    let stem = name.strip_suffix("+c").unwrap_or(name);
    let class = lookup(Class::NAMES, words.next()).map_err(Trouble::UnknownClass)?;
    let mode = lookup(Mode::NAMES, words.next()).map_err(Trouble::UnknownMode)?;
    let params = words.map(parse_param).collect::<Result<Vec<_>, _>>()?;
    let clauses = clauses::parse_clauses(accounting, &params)?;
    let normal = Operation {
        name: format!("MPI_{stem}"),
        stem: stem.to_owned(),
        is_large: false,
        class,
        mode,
        params,
        movements: clauses.movements,
        completes: clauses.completes,
    };
    if stem == name {
        return Ok(vec![normal]);
    }
    let large = large_variant(&normal);
    Ok(vec![normal, large])
}

/// Returns the value of a name in a list of names, or the name as an error.
fn lookup<T: Copy>(names: &[(&str, T)], name: Option<&str>) -> Result<T, String> {
    let name = name.unwrap_or_default();
    let row = names.iter().find(|(known, _)| *known == name);
    row.map(|(_, value)| *value).ok_or_else(|| name.to_owned())
}

fn parse_param(word: &str) -> Result<Param, Trouble> {
    let unknown = || Trouble::UnknownKind(word.to_owned());
    let (name, kind) = word.split_once(':').ok_or_else(unknown)?;
    Ok(Param { name: name.to_owned(), kind: ParameterKind::named(kind).ok_or_else(unknown)? })
}

fn large_variant(normal: &Operation) -> Operation {
    let mut large = normal.clone();
    large.name.push_str("_c");
    large.is_large = true;
    for param in &mut large.params {
        param.kind = param.kind.large();
    }
    large
}

/// Line that was left out, with the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedLine {
    /// Number of the line, counted from 1.
    pub line_number: usize,
    trouble: Trouble,
}

impl fmt::Display for SkippedLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line_number, self.trouble)
    }
}

impl std::error::Error for SkippedLine {}

/// Reason why a line cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Trouble {
    NoName,
    NoAccounting,
    UnknownClass(String),
    UnknownMode(String),
    UnknownKind(String),
    UnknownClause(String),
    UnknownParam { name: String, expression: String },
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let listed = "use one of those listed at the top of the table";
        match self {
            Self::NoName => write!(f, "the name of the operation is missing: start with it"),
            Self::NoAccounting => {
                write!(f, "`|` and what the call moves are missing: end the line with `| none`")
            }
            Self::UnknownClass(name) => write!(f, "`{name}` is no class: {listed}"),
            Self::UnknownMode(name) => write!(f, "`{name}` is no mode: {listed}"),
            Self::UnknownKind(word) => {
                write!(f, "`{word}` is not `name:kind` with a kind listed at the top of the table")
            }
            Self::UnknownClause(clause) => write!(f, "`{clause}` is no clause: {listed}"),
            Self::UnknownParam { name, expression } => {
                write!(f, "`{name}` is no parameter of the kind needed in `{expression}`")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: &str) {
        let (table, problems) = parse(line);
        let problems: Vec<_> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(problems, [expected]);
        assert_eq!(table, Table::default());
    }

    #[test]
    fn a_line_that_cannot_be_read_is_told() {
        check(
            "Send point-to-point blocking",
            "line 1: `|` and what the call moves are missing: end the line with `| none`",
        );
        check(
            "Send mail blocking | none",
            "line 1: `mail` is no class: use one of those listed at the top of the table",
        );
        check(
            "Send collective often | none",
            "line 1: `often` is no mode: use one of those listed at the top of the table",
        );
        check(
            "Send collective blocking buf:pig | none",
            "line 1: `buf:pig` is not `name:kind` with a kind listed at the top of the table",
        );
        check(
            "Send collective blocking n:count t:type | payload m*t",
            "line 1: `m` is no parameter of the kind needed in `m*t`",
        );
        check(
            "Send collective blocking n:count t:type | payload t*n",
            "line 1: `t` is no parameter of the kind needed in `t*n`",
        );
        check(
            "Send collective blocking n:count t:type | carry n*t",
            "line 1: `carry n*t` is no clause: use one of those listed at the top of the table",
        );
    }

    #[test]
    fn a_bad_line_costs_only_itself() {
        let (table, problems) = parse("A collective blocking | none\nB\nC io blocking | none");
        let names: Vec<_> = table.operations.iter().map(|o| o.name.as_str()).collect();
        assert_eq!(names, ["MPI_A", "MPI_C"]);
        assert_eq!(problems.len(), 1);
    }

    #[test]
    fn a_large_count_variant_follows_with_the_large_kinds() {
        let (table, _) = parse("A+c collective blocking n:count d:displs u:unit i:int | none");
        assert_eq!(table.operations[1].name, "MPI_A_c");
        let kinds: Vec<_> = table.operations[1].params.iter().map(|p| p.kind).collect();
        assert_eq!(
            kinds,
            [
                ParameterKind::LargeCount,
                ParameterKind::Aints,
                ParameterKind::Aint,
                ParameterKind::Int
            ]
        );
    }

    #[test]
    fn local_names_match_whole_by_start_by_end_and_with_their_variant() {
        let (table, _) = parse("local Wtime T_* *_c2f Pack+c");
        let is_local = |name: &str| table.local.iter().any(|local| local.matches(name));
        for name in ["Wtime", "T_init_thread", "Comm_c2f", "Pack", "Pack_c"] {
            assert!(is_local(name), "{name}");
        }
        for name in ["Wtime_c", "Type_free", "Comm_free", "Pack_size"] {
            assert!(!is_local(name), "{name}");
        }
    }
}
