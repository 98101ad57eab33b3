//! Text about functions that were counted and timed.

use crate::{place, ranking};
use display::units::{count, seconds};
use run_record::{FunctionTimes, FunctionTotals, Summary};
use std::collections::HashMap;

/// Formats a time of calls; a dash if no call was seen to end.
pub(crate) fn time(times: &FunctionTimes, time_s: f64) -> String {
    if times.calls_timed == 0 { "-".to_owned() } else { seconds(time_s) }
}

/// Returns the rank with the most time in a function, and the ratio of that time to the mean of all ranks: `3 ×1.25`.
pub(crate) fn slowest(summary: &Summary, function: &FunctionTotals) -> String {
    let Some((idx, _)) = function.slowest else { return "-".to_owned() };
    let name = summary.ranks.get(idx).map(|rank| ranking::name(summary, rank)).unwrap_or_default();
    match function.imbalance(summary.n_ranks) {
        Some(times) => format!("{name} ×{times:.2}"),
        None => name,
    }
}

/// Returns the names of the functions, without parameters where unambiguous.
pub(crate) fn short_names(summary: &Summary) -> Vec<String> {
    let functions = summary.functions.iter();
    let names: Vec<String> = functions.map(|function| place::function(&function.place)).collect();
    let mut n_uses: HashMap<&str, usize> = HashMap::new();
    for name in &names {
        *n_uses.entry(without_parameters(name)).or_default() += 1;
    }
    let short = |name: &String| match without_parameters(name) {
        short if n_uses[short] == 1 => short.to_owned(),
        _ => name.clone(),
    };
    names.iter().map(short).collect()
}

/// Returns a name without the parameter list that ends it.
fn without_parameters(name: &str) -> &str {
    let Some(inside) = name.trim_end_matches(" const").strip_suffix(')') else { return name };
    let mut n_open = 1;
    for (at, letter) in inside.char_indices().rev() {
        match letter {
            ')' => n_open += 1,
            '(' => n_open -= 1,
            _ => {}
        }
        if n_open == 0 {
            return if at == 0 { name } else { &name[..at] };
        }
    }
    name
}

/// Returns notes about the numbers.
pub(crate) fn notes(summary: &Summary) -> Vec<String> {
    let mut notes = Vec::new();
    if 1 < summary.n_ranks {
        let text = "Slowest: the rank with the most time, and that as a multiple of the mean of all ranks.";
        notes.push(text.to_owned());
    }
    let times = summary.functions.iter().map(|function| &function.total);
    let n_open = times.map(|times| times.calls.saturating_sub(times.calls_timed)).sum::<u64>();
    if n_open != 0 {
        notes.push(format!(
            "Calls that are counted and have no time: {} (left by a jump or the end of the run, or their end was not seen).",
            count(n_open)
        ));
    }
    if summary.tool.records_dropped != 0 {
        let text =
            "Passages were dropped, so calls and times of often called functions are too low.";
        notes.push(text.to_owned());
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use run_record::summary::{RankTotals, SourceLocation};

    #[track_caller]
    fn check(slowest_rank: Option<(usize, f64)>, time_s: f64, expected: &str) {
        let rank = |rank| RankTotals { rank, ..RankTotals::default() };
        let summary = Summary { ranks: vec![rank(0), rank(1)], n_ranks: 2, ..Summary::default() };
        let total = FunctionTimes { time_s, ..FunctionTimes::default() };
        let function = FunctionTotals { total, slowest: slowest_rank, ..FunctionTotals::default() };
        assert_eq!(slowest(&summary, &function), expected);
    }

    #[test]
    fn the_slowest_rank_is_compared_with_all() {
        check(None, 0.0, "-");
        check(Some((1, 3.0)), 4.0, "1 ×1.50");
        check(Some((0, 4.0)), 4.0, "0 ×2.00");
        check(Some((0, 0.0)), 0.0, "0");
    }

    #[track_caller]
    fn check_names(names: &[&str], expected: &[&str]) {
        let function = |name: &&str| {
            let place =
                SourceLocation { function: (*name).to_owned(), ..SourceLocation::default() };
            FunctionTotals { place, ..FunctionTotals::default() }
        };
        let functions = names.iter().map(function).collect();
        assert_eq!(short_names(&Summary { functions, ..Summary::default() }), expected);
    }

    #[test]
    fn parameters_are_left_out_where_names_differ() {
        check_names(&["solve", "grid::at(int) const"], &["solve", "grid::at"]);
        check_names(&["f(int)", "f(char)", "g(int)"], &["f(int)", "f(char)", "g"]);
        check_names(&["a::operator()(int (*)(char))"], &["a::operator()"]);
        check_names(&["(anonymous)", "odd)", ""], &["(anonymous)", "odd)", "?"]);
    }

    #[test]
    fn what_was_not_timed_or_lost_is_said() {
        let of = |calls, calls_timed| FunctionTotals {
            total: FunctionTimes { calls, calls_timed, ..FunctionTimes::default() },
            ..FunctionTotals::default()
        };
        let mut summary = Summary { functions: vec![of(5, 5)], n_ranks: 1, ..Summary::default() };
        assert_eq!(notes(&summary), Vec::<String>::new());
        summary.functions.push(of(5, 2));
        summary.tool.records_dropped = 1;
        let found = notes(&summary);
        assert!(found[0].contains("have no time: 3 ("), "{found:?}");
        assert!(found[1].starts_with("Passages were dropped"), "{found:?}");
    }
}
