//! Reads the figures of programs that print `case fastest median` lines, under each tool in turn.

use crate::build_paths::BuildPaths;
use crate::error::BenchError;
use crate::library::BenchLibrary;
use crate::median;
use crate::sample;
use crate::tool::{self, Tool, ToolRole};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::process::Command;

/// Figures of each tool for each case, turn by turn.
#[derive(Debug)]
pub(crate) struct Figures {
    /// Tools in the order of a turn.
    pub(crate) tools: Vec<Tool>,
    /// Cases in the order in which the program names them.
    pub(crate) cases: Vec<String>,
    /// Time of the fastest batch in ns, by tool and case, one per turn.
    ns: BTreeMap<(&'static str, String), Vec<f64>>,
}

/// Program of this crate, and how it is started.
#[derive(Debug)]
pub(crate) struct BenchProgram<'a> {
    pub(crate) source: &'a str,
    pub(crate) arguments: &'a [&'a str],
    pub(crate) n_ranks: usize,
}

impl Figures {
    /// Runs the program under all tools, `n_turns` times.
    pub(crate) fn take(
        paths: &BuildPaths,
        library: &BenchLibrary,
        program: &BenchProgram<'_>,
        n_turns: usize,
    ) -> Result<Self, BenchError> {
        let name = program.source.trim_end_matches(".c");
        let launcher = library.launch(program.n_ranks);
        let mut words = vec![library.compile(paths, program.source, name)?.into_os_string()];
        words.extend(program.arguments.iter().map(OsString::from));
        let tools = tool::all(paths, library)?;
        let mut figures = Self { tools, cases: Vec::new(), ns: BTreeMap::new() };
        for _ in 0..n_turns {
            figures.turn(paths, &launcher, &words)?;
        }
        tool::clean_up(paths);
        Ok(figures)
    }

    fn turn(
        &mut self,
        paths: &BuildPaths,
        launcher: &[OsString],
        program: &[OsString],
    ) -> Result<(), BenchError> {
        let mut failed = Vec::new();
        for tool in &self.tools {
            match run(tool.command(paths, launcher, program)) {
                Ok(figures) => {
                    for Figure { case, ns: [fastest_ns, _] } in figures {
                        if !self.cases.contains(&case) {
                            self.cases.push(case.clone());
                        }
                        self.ns.entry((tool.name, case)).or_default().push(fastest_ns);
                    }
                }
                // A peer that cannot watch this library is left out instead of stopping all.
                Err(_) if tool.role == ToolRole::Peer => failed.push(tool.name),
                Err(error) => return Err(error),
            }
        }
        self.tools.retain(|tool| !failed.contains(&tool.name));
        Ok(())
    }

    /// Time of a case without a tool, in ns.
    pub(crate) fn bare_ns(&self, case: &str) -> f64 {
        median(self.turns("bare", case).iter().copied())
    }

    /// Time that a tool adds, in ns: the median of the differences to the bare run of the same turn.
    pub(crate) fn added_ns(&self, tool: &str, case: &str) -> Option<f64> {
        self.paired(tool, case, |watched, bare| watched - bare)
    }

    /// Ratio by which a case takes longer: the median of the ratios to the bare run of the same turn.
    pub(crate) fn ratio(&self, tool: &str, case: &str) -> Option<f64> {
        self.paired(tool, case, |watched, bare| watched / bare)
    }

    fn paired(&self, tool: &str, case: &str, of: impl Fn(f64, f64) -> f64) -> Option<f64> {
        let (watched, bare) = (self.turns(tool, case), self.turns("bare", case));
        let pairs = watched.iter().zip(bare);
        (!watched.is_empty()).then(|| median(pairs.map(|(watched, bare)| of(*watched, *bare))))
    }

    fn turns(&self, tool: &str, case: &str) -> &[f64] {
        let key = (tool, case);
        let found = self.ns.iter().find(|((name, of), _)| (*name, of.as_str()) == key);
        found.map(|(_, turns)| turns.as_slice()).unwrap_or_default()
    }

    /// All figures as JSON.
    pub(crate) fn json(&self, library: &BenchLibrary) -> Vec<Value> {
        let rows = self.ns.iter().map(|((tool, case), turns)| {
            json!({
                "library": library.name, "case": case, "tool": tool, "ns_by_turn": turns,
                "ns": median(turns.iter().copied()),
                "added_ns": self.added_ns(tool, case), "ratio": self.ratio(tool, case),
            })
        });
        rows.collect()
    }
}

fn run(command: Command) -> Result<Vec<Figure>, BenchError> {
    sample::figure(command, |output| Some(figures_in(output)).filter(|all| !all.is_empty()))
}

/// Line of a program: a case and two times, often of the fastest and of the median batch.
#[derive(Debug, PartialEq)]
pub(crate) struct Figure {
    pub(crate) case: String,
    pub(crate) ns: [f64; 2],
}

/// Parses the lines `case ns ns` of an output; tools may have printed between them.
pub(crate) fn figures_in(output: &str) -> Vec<Figure> {
    let line = |line: &str| {
        let mut words = line.split_whitespace();
        let (case, first, second) = (words.next()?, words.next()?, words.next()?);
        let ns = [first.parse().ok()?, second.parse().ok()?];
        let is_case = case.starts_with(|first: char| first.is_ascii_lowercase());
        (is_case && words.next().is_none()).then(|| Figure { case: case.to_owned(), ns })
    };
    output.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::{Figure, figures_in};

    #[track_caller]
    fn check(output: &str, expected: &[(&str, [f64; 2])]) {
        let figure = |(case, ns): &(&str, [f64; 2])| Figure { case: (*case).to_owned(), ns: *ns };
        assert_eq!(figures_in(output), expected.iter().map(figure).collect::<Vec<_>>());
    }

    #[test]
    fn figures_are_found_between_the_words_of_tools() {
        check("", &[]);
        check(
            "iprobe 7.5 8.0\nmpiP: V3.5 0 1\nbarrier 4 5\n",
            &[("iprobe", [7.5, 8.0]), ("barrier", [4.0, 5.0])],
        );
        check("DLB[host:1]: Elapsed Time 3 s\nsum 1 2 3\n", &[]);
        check("# uprobe: 1 2\nplain 1 x\n", &[]);
    }
}
