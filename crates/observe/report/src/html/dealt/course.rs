//! Iteration times and number of workers over the run.

use super::super::svg::short;
use crate::units::seconds;
use dealing_report::{DealingReport, IterationLine};
use maud::{Markup, html};

const WIDTH: f64 = 1000.0;
const LEFT: f64 = 58.0;
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
    let x = |place: usize| LEFT + (WIDTH - LEFT) * place as f64 / lines.len() as f64;
    let workers_y = |n: f64| top + LANE * (1.0 - n / most);
    let (first, last) = (lines[0].iteration, lines[lines.len() - 1].iteration);
    html! {
        figure {
            figcaption {
                "What iterations took, as a line; what their work alone takes, shared by all who took part, as an area; below, how many took part"
            }
            svg.course viewBox={ "0 0 " (WIDTH + 6.0) " " (short(bottom + 20.0)) } {
                @for share in [0.0, 0.5, 1.0] {
                    @let at = y(share * longest_s);
                    line x1=(LEFT) x2=(WIDTH) y1=(short(at)) y2=(short(at)) {}
                    text x=(LEFT - 6.0) y=(short(at + 4.0)) text-anchor="end" { (seconds(share * longest_s)) }
                }
                path.ideal d=(area(lines, &x, |line| y(line.ideal_s), y(0.0))) {}
                path.taken d=(steps(lines, &x, |line| y(line.duration_s))) {}
                path.crew d=(area(lines, &x, |line| workers_y(f64::from(line.n_workers)), bottom)) {}
                text x=(LEFT - 6.0) y=(short(top + 10.0)) text-anchor="end" { (most) }
                line x1=(LEFT) x2=(WIDTH) y1=(short(bottom)) y2=(short(bottom)) {}
                text x=(LEFT) y=(short(bottom + 15.0)) { "iteration " (first) }
                text x=(WIDTH) y=(short(bottom + 15.0)) text-anchor="end" { (last) }
                @if lines.len() <= 400 { (readings(lines, &x, bottom)) }
            }
        }
    }
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

/// Returns a step line with one step per iteration.
fn steps(
    lines: &[IterationLine],
    x: &dyn Fn(usize) -> f64,
    y: impl Fn(&IterationLine) -> f64,
) -> String {
    let mut path = String::new();
    for (place, line) in lines.iter().enumerate() {
        let height = short(y(line));
        path.push_str(&match place {
            0 => format!("M{} {height}", short(x(0))),
            _ => format!("V{height}"),
        });
        path.push_str(&format!("H{}", short(x(place + 1))));
    }
    path
}

/// Returns the area below a step line.
fn area(
    lines: &[IterationLine],
    x: &dyn Fn(usize) -> f64,
    y: impl Fn(&IterationLine) -> f64,
    bottom: f64,
) -> String {
    format!("{}V{}H{}Z", steps(lines, x, y), short(bottom), short(x(0)))
}
