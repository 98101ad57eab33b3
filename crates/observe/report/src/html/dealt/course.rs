//! Iteration times and number of workers over the run.

use crate::svg::{self, across, label_at, level, short, steps};
use dealing_report::{DealingReport, IterationLine};
use display::units::seconds;
use maud::{Markup, html};

const TIMES: f64 = 150.0;
const LANE: f64 = 56.0;
/// Space above the lane of workers.
const GAP: f64 = 16.0;
const TOP: f64 = 8.0;

/// Draws the time of each iteration over its ideal time, and the number of workers below.
pub(super) fn draw(dealt: &DealingReport) -> Markup {
    let lines = &dealt.iterations;
    if lines.len() < 2 {
        return html! {};
    }
    let longest_s = lines.iter().map(|line| line.duration_s).fold(f64::MIN_POSITIVE, f64::max);
    let most = lines.iter().map(|line| f64::from(line.n_workers)).fold(1.0, f64::max);
    let (top, bottom) = (TIMES + GAP, TIMES + GAP + LANE);
    let y = |time_s: f64| TOP + (TIMES - TOP) * (1.0 - (time_s / longest_s).clamp(0.0, 1.0));
    let x = |place: usize| across(place as f64 / lines.len() as f64);
    let workers_y = |n: f64| top + LANE * (1.0 - n / most);
    let (first, last) = (lines[0].iteration, lines[lines.len() - 1].iteration);
    let points = |y: &dyn Fn(&IterationLine) -> f64| -> Vec<(f64, f64)> {
        lines.iter().enumerate().map(|(place, line)| (x(place), y(line))).collect()
    };
    let ideal = points(&|line| y(line.ideal_s));
    let crew = points(&|line| workers_y(f64::from(line.n_workers)));
    let content = html! {
        @for share in [0.0, 0.5, 1.0] { (level(y(share * longest_s), &seconds(share * longest_s))) }
        path.ideal d=(svg::area(&ideal, across(1.0), y(0.0))) {}
        path.taken d=(steps(&points(&|line| y(line.duration_s)), across(1.0))) {}
        path.crew d=(svg::area(&crew, across(1.0), bottom)) {}
        (label_at(top + 10.0, &most.to_string()))
        (level(bottom, ""))
        @if lines.len() <= 400 { (readings(lines, &x, bottom)) }
    };
    let caption = html! {
        "What iterations took, as a line; what their work alone takes, shared by all who took part, as an area; below, how many took part"
    };
    svg::course(&caption, bottom, Some([format!("iteration {first}"), last.to_string()]), &content)
}

/// Returns the areas to point at, each with its numbers.
fn readings(lines: &[IterationLine], x: &dyn Fn(usize) -> f64, bottom: f64) -> Markup {
    html! {
        @for (place, line) in lines.iter().enumerate() {
            g {
                rect.hit x=(short(x(place))) y="0" width=(short(x(place + 1) - x(place))) height=(short(bottom)) {
                    title {
                        "iteration " (line.iteration) ": " (seconds(line.duration_s)) ", ideal " (seconds(line.ideal_s)) "; "
                        (line.n_tasks) " tasks in " (line.n_chunks) " chunks, " (line.n_workers) " workers"
                    }
                }
            }
        }
    }
}
