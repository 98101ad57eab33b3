//! Functions that match patterns: each gets an event at its entry and one at its exit.

use super::ResolveError;
use super::sites::Sites;
use events::ProbePoint;
use std::collections::BTreeMap;
use symbols::{Function, Program};
use wire::facts::{EventFacts, ProbedFunction};

/// Adds events of matching functions after those of the description, at places where it has none.
pub(super) fn add(
    events: &mut Vec<EventFacts>,
    patterns: &[String],
    sites: &mut Sites<'_>,
) -> Result<Vec<ProbedFunction>, ResolveError> {
    let mut probed = Vec::new();
    for function in matching(patterns, sites.program)? {
        let id = sites.add(function);
        let mut added = ProbedFunction { source: source(function), ..ProbedFunction::default() };
        let places = [
            (ProbePoint::Entry, "entry", &mut added.entry),
            (ProbePoint::Exit, "exit", &mut added.exit),
        ];
        for (place, at, number) in places {
            if sites.add_point(id, events.len(), place, Vec::new()) {
                *number = u32::try_from(events.len()).ok();
                events.push(EventFacts {
                    name: format!("{} {at}", function.name),
                    function: function.signature(),
                    place,
                    attributes: Vec::new(),
                });
            }
        }
        if added.events().next().is_some() {
            probed.push(added);
        }
    }
    Ok(probed)
}

/// Returns the description of a function for reports.
fn source(function: &Function) -> run_record::summary::SourceLocation {
    let source = function.source.clone();
    let (file, line) = source.map_or_else(Default::default, |source| (source.file, source.line));
    run_record::summary::SourceLocation {
        function: function.signature(),
        file,
        line,
        module: function.module.display().to_string(),
        offset: function.address,
    }
}

/// Returns warnings about calls of matching functions that will not be seen.
pub(super) fn warnings(
    patterns: &[String],
    program: &Program,
) -> Result<Vec<String>, ResolveError> {
    let found = matching(patterns, program)?;
    let mut warnings = Vec::new();
    let inlined: Vec<&Function> =
        found.iter().copied().filter(|function| function.n_inlined() != 0).collect();
    match inlined[..] {
        [] => {}
        [one] => warnings.push(format!(
            "`{}` was also inlined at {} places, and is not seen there: compile it with `__attribute__((noinline))`",
            one.name,
            one.n_inlined()
        )),
        _ => warnings.push(format!(
            "{} of {} functions were also inlined in others, and are not seen there: `sintonia functions {}` lists \
             them",
            inlined.len(),
            found.len(),
            program.path().display()
        )),
    }
    if program.is_profiled() && !found.is_empty() {
        warnings.push(format!(
            "`{}` is compiled with `-pg`: its own profile does not know the callers of functions with probes",
            program.path().display()
        ));
    }
    Ok(warnings)
}

/// Returns the matching functions that can have probes, each once, in order of address.
fn matching<'a>(
    patterns: &[String],
    program: &'a Program,
) -> Result<Vec<&'a Function>, ResolveError> {
    let mut functions = BTreeMap::new();
    for pattern in patterns {
        let (candidates, wanted) = place_of(pattern, program);
        let matches = |function: &&Function| {
            [&*function.name, &*function.symbol, &*function.signature()]
                .iter()
                .any(|name| is_match(wanted, name))
        };
        let probeable = candidates.iter().filter(|function| function.probeable().is_ok());
        let mut found = probeable.filter(matches).peekable();
        if found.peek().is_none() {
            let (pattern, program) = (pattern.clone(), program.path().to_owned());
            return Err(ResolveError::NoMatch { pattern, program });
        }
        for function in found {
            functions.entry((&*function.module, function.address)).or_insert(function);
        }
    }
    Ok(functions.into_values().collect())
}

/// Splits a pattern into functions to search and name to match: `libsolver.so:step*` refers to a linked library.
fn place_of<'a, 'p>(pattern: &'p str, program: &'a Program) -> (&'a [Function], &'p str) {
    match pattern.split_once(':') {
        Some((library, wanted)) if library.contains(".so") => {
            (program.functions_of_library(library), wanted)
        }
        _ => (program.functions(), pattern),
    }
}

/// Returns whether `name` matches a pattern, in which `*` stands for any text and `?` for any character.
fn is_match(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), name.chars().collect());
    let (mut at, mut in_name) = (0, 0);
    // Position of the last star in the pattern, and end of the text it currently stands for in the name.
    let mut star = None;
    while in_name < name.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, in_name));
                at += 1;
            }
            Some(letter) if *letter == '?' || *letter == name[in_name] => {
                at += 1;
                in_name += 1;
            }
            _ => {
                let Some((star_at, end)) = star else { return false };
                star = Some((star_at, end + 1));
                at = star_at + 1;
                in_name = end + 1;
            }
        }
    }
    pattern[at..].iter().all(|letter| *letter == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, name: &str, expected: bool) {
        assert_eq!(is_match(pattern, name), expected, "{pattern} {name}");
    }

    #[test]
    fn stars_stand_for_any_text() {
        check("solve", "solve", true);
        check("solve", "solver", false);
        check("solve*", "solver", true);
        check("*", "", true);
        check("*", "fire::advance(double)", true);
        check("*::advance(*)", "fire::advance(double)", true);
        check("s?lve", "solve", true);
        check("s?lve", "slve", false);
        check("*a*b", "xaxbxb", true);
        check("*a*b", "xaxbx", false);
        check("", "x", false);
        check("?", "", false);
    }
}
