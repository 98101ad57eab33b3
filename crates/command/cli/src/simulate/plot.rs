//! Draws policies: the loss of each against the ideal, and the chunks of each worker over time.

use display::chart::{Bars, COLORS, Gantt, bars};
use simulator::chunking::{Outcome, Span};

/// Most lanes; further workers are not drawn.
const N_LANES_MAX: usize = 64;

/// Draws the picture as SVG, with lanes if there are spans.
pub(super) fn picture(heading: &str, outcomes: &[Outcome], spans: &[Span]) -> String {
    let names: Vec<String> = outcomes.iter().map(|outcome| outcome.policy.to_owned()).collect();
    let ratios = outcomes.iter().map(Outcome::makespan_over_ideal);
    let ratios = Bars {
        title: "makespan / ideal".to_owned(),
        values: ratios.map(|ratio| (ratio, format!("{ratio:.4}"))).collect(),
        mark: Some((1.0, "ideal = 1".to_owned())),
        color: COLORS[0],
    };
    let n_workers = spans.iter().map(|span| span.worker as usize + 1).max().unwrap_or(0);
    let lane = |worker: usize| {
        let its = spans.iter().filter(|span| span.worker as usize == worker);
        its.map(|span| [span.start_s, span.end_s]).collect()
    };
    let end_s = outcomes.first().map_or(0.0, |outcome| outcome.makespan_s);
    let lanes = (0..n_workers.min(N_LANES_MAX)).map(lane).collect();
    bars(heading, &names, &[ratios], &Gantt { lanes, end_s })
}
