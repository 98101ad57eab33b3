//! Draws policies: the loss of each against the ideal, and the chunks of each worker over time.
//!
//! # Invariants
//! - Chunks too narrow to be seen are merged with their neighbors, so that the size of a picture is bounded.

use simulator::chunking::{Outcome, Span};
use std::fmt::Write;

const WIDTH: f64 = 760.0;
/// Ends of the bars.
const LEFT: f64 = 80.0;
const RIGHT: f64 = 640.0;
const ROW: f64 = 24.0;
const TOP: f64 = 56.0;
/// Most lanes; further workers are not drawn.
const N_LANES_MAX: usize = 64;

const STYLE: &str = "\
text{font:13px system-ui,sans-serif;fill:#24292f}\
.muted{fill:#6e7781}.bar{fill:#3b6ea8}.best{fill:#2d8a5f}.even{fill:#3b6ea8}.odd{fill:#7fa6d0}\
line{stroke:#6e7781;stroke-dasharray:4 3}";

/// Draws the picture as SVG, with lanes if there are spans.
pub(super) fn picture(heading: &str, outcomes: &[Outcome], spans: &[Span]) -> String {
    let lanes_top = TOP + ROW * outcomes.len() as f64 + 48.0;
    let lanes = lanes(spans, outcomes, lanes_top);
    let n_lanes = if spans.is_empty() { 0.0 } else { n_lanes(spans) as f64 + 1.0 };
    let height = lanes_top + n_lanes * ROW;
    let bars = bars(outcomes);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         width=\"{WIDTH}\" height=\"{height}\">\n<style>{STYLE}</style>\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#fff\"/>\n\
         <text x=\"16\" y=\"26\">{heading}</text>\n{bars}{lanes}</svg>\n"
    )
}

/// Draws a bar for each policy: its makespan over the ideal.
fn bars(outcomes: &[Outcome]) -> String {
    let ratio = |outcome: &Outcome| outcome.makespan_over_ideal();
    let largest = outcomes.iter().map(ratio).fold(1.0, f64::max);
    let at = |ratio: f64| LEFT + (RIGHT - LEFT) * ratio / largest;
    let mut drawn = String::new();
    for (k, outcome) in outcomes.iter().enumerate() {
        let (name, ratio, y) = (outcome.policy, ratio(outcome), TOP + ROW * k as f64);
        let class = if name == "best" { "best" } else { "bar" };
        let (text_y, width, end) = (y + 13.0, at(ratio) - LEFT, at(ratio) + 8.0);
        writeln!(
            drawn,
            "<text x=\"16\" y=\"{text_y:.1}\">{name}</text>\
             <rect class=\"{class}\" x=\"{LEFT}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"16\"/>\
             <text x=\"{end:.1}\" y=\"{text_y:.1}\">{ratio:.4}</text>"
        )
        .ok();
    }
    let (x, bottom) = (at(1.0), TOP + ROW * outcomes.len() as f64);
    writeln!(
        drawn,
        "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{:.1}\" y2=\"{bottom:.1}\"/>\
         <text class=\"muted\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">ideal = 1</text>",
        TOP - 8.0,
        bottom + 12.0
    )
    .ok();
    drawn
}

fn n_lanes(spans: &[Span]) -> usize {
    let n_workers = spans.iter().map(|span| span.worker as usize + 1).max().unwrap_or(0);
    n_workers.min(N_LANES_MAX)
}

/// Draws a lane for each worker, with its chunks in two alternating shades.
fn lanes(spans: &[Span], outcomes: &[Outcome], top: f64) -> String {
    let Some(outcome) = outcomes.first().filter(|_| !spans.is_empty()) else {
        return String::new();
    };
    let (end_s, mut drawn) = (outcome.makespan_s, String::new());
    let at = |time_s: f64| LEFT + (RIGHT - LEFT) * time_s / end_s;
    for worker in 0..n_lanes(spans) {
        let y = top + ROW * worker as f64;
        writeln!(drawn, "<text class=\"muted\" x=\"16\" y=\"{:.1}\">{worker}</text>", y + 13.0)
            .ok();
        let of_worker = spans.iter().filter(|span| span.worker as usize == worker);
        let mut from = None;
        let mut is_odd = false;
        for span in of_worker {
            let start = *from.get_or_insert(at(span.start_s));
            let width = at(span.end_s) - start;
            if width < 1.0 {
                continue;
            }
            let class = if is_odd { "odd" } else { "even" };
            writeln!(
                drawn,
                "<rect class=\"{class}\" x=\"{start:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"16\"/>"
            ).ok();
            (from, is_odd) = (None, !is_odd);
        }
    }
    let (x, y) = (at(end_s), top + ROW * n_lanes(spans) as f64 + 12.0);
    writeln!(
        drawn,
        "<text class=\"muted\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"end\">{end_s:.3} s</text>"
    )
    .ok();
    drawn
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(policy: &'static str, makespan_s: f64, n_chunks: u64) -> Outcome {
        let (first_iteration_s, last_iteration_s) = (makespan_s, makespan_s);
        Outcome { policy, makespan_s, ideal_s: 10.0, n_chunks, first_iteration_s, last_iteration_s }
    }

    #[test]
    fn every_policy_has_a_bar_to_its_ratio() {
        let outcomes = [outcome("best", 10.0, 1), outcome("static", 20.0, 1)];
        let drawn = picture("two policies", &outcomes, &[]);
        let width = RIGHT - LEFT;
        assert!(drawn.contains(&format!("width=\"{:.1}\" height=\"16\"", width / 2.0)), "{drawn}");
        assert!(drawn.contains(&format!("width=\"{width:.1}\" height=\"16\"")), "{drawn}");
        assert!(drawn.contains(">2.0000<") && drawn.contains(">two policies<"), "{drawn}");
    }

    #[test]
    fn narrow_chunks_fold() {
        let spans: Vec<Span> = (0_u32..100_000)
            .map(|k| {
                let start_s = f64::from(k) * 1e-4;
                let (worker, first) = (0, k.into());
                Span { worker, iteration: 0, first, n_tasks: 1, start_s, end_s: start_s + 1e-4 }
            })
            .collect();
        let drawn = picture("one worker", &[outcome("ss", 10.0, 100_000)], &spans);
        let n_drawn =
            drawn.matches("class=\"even\"").count() + drawn.matches("class=\"odd\"").count();
        assert!((400..=561).contains(&n_drawn), "{n_drawn}");
    }
}
