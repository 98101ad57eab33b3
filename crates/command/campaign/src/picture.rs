//! Picture of an experiment as its points arrive: the time of each run, over the parameter with the most values.

use display::chart::{self, ChartLine, Panel};
use experiment::journal::CompletedRun;
use experiment::plan::Parameters;

/// Most lines; of more combinations of the other parameters, the last ones are not drawn.
const N_LINES_MAX: usize = 8;

/// Draws the times of these runs as SVG, with a line for each combination of the other parameters.
pub(super) fn picture(runs: &[CompletedRun], n_runs: usize) -> String {
    let x_name = across(runs);
    let mut lines: Vec<(String, Parameters, ChartLine)> = Vec::new();
    for run in runs {
        let mut others = run.params.clone();
        let Some(x) = others.remove(&x_name) else { continue };
        let idx = lines.iter().position(|(_, known, _)| *known == others).unwrap_or_else(|| {
            let each = others.iter().map(|(name, value)| format!("{name} = {value}"));
            lines.push((each.collect::<Vec<_>>().join(", "), others, ChartLine::default()));
            lines.len() - 1
        });
        let line = &mut lines[idx].2;
        let points = if run.is_holdout { &mut line.hollow } else { &mut line.points };
        points.push([x, run.elapsed_s]);
    }
    lines.sort_by(|a, b| a.0.cmp(&b.0));
    lines.truncate(N_LINES_MAX);
    let line = |(name, _, line): (String, Parameters, ChartLine)| ChartLine {
        name,
        line: fastest(&line.points),
        ..line
    };
    let panel = Panel {
        title: format!("{} of {n_runs} runs; lines join the fastest", runs.len()),
        x_name,
        y_name: "time in s".to_owned(),
        lines: lines.into_iter().map(line).collect(),
        ..Panel::default()
    };
    chart::panels(&[panel], 1)
}

/// Name of the parameter with the most values.
fn across(runs: &[CompletedRun]) -> String {
    let names = runs.first().map(|run| run.params.keys().cloned().collect::<Vec<_>>());
    let n_values = |name: &String| {
        let mut values: Vec<f64> =
            runs.iter().filter_map(|run| run.params.get(name).copied()).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        values.len()
    };
    names.unwrap_or_default().into_iter().max_by_key(n_values).unwrap_or_default()
}

/// Smallest value at each position.
fn fastest(points: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let mut sorted = points.to_vec();
    sorted.sort_by(|a, b| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])));
    sorted.dedup_by(|later, kept| later[0].total_cmp(&kept[0]).is_eq());
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_lines_over_the_parameter_with_most_values() {
        let run = |(n, p, elapsed_s): (f64, f64, f64)| CompletedRun {
            params: [("n".to_owned(), n), ("p".to_owned(), p)].into_iter().collect(),
            elapsed_s,
            ..CompletedRun::default()
        };
        let runs = [(1.0, 2.0, 4.0), (1.0, 4.0, 2.0), (1.0, 8.0, 1.5), (3.0, 2.0, 9.0)].map(run);
        let drawn = picture(&runs, 12);
        for expected in ["4 of 12 runs", "n = 1", "n = 3"] {
            assert!(drawn.contains(expected), "{expected}: {drawn}");
        }
        assert_eq!(fastest(&[[2.0, 3.0], [1.0, 5.0], [2.0, 1.0]]), [[1.0, 5.0], [2.0, 1.0]]);
        assert!(picture(&[], 3).contains("svg"));
    }
}
