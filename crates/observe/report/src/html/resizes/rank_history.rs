//! Ranks over time, with the phases of each resize below.

use super::super::svg::short;
use super::{class, in_words};
use crate::resizes::RankHistory;
use crate::units::seconds;
use maud::{Markup, html};
use resize_api::Resize;

const WIDTH: f64 = 1000.0;
const LEFT: f64 = 40.0;
const TOP: f64 = 8.0;
const HEIGHT: f64 = 120.0;
/// Height of the lane of phases, and of the space above it.
const LANE: f64 = 16.0;
const GAP: f64 = 8.0;
/// Minimum width of a phase.
const NARROWEST: f64 = 1.2;
const N_RESIZES_MAX: usize = 500;

pub(super) fn draw(history: &RankHistory, resizes: &[Resize]) -> Markup {
    let span_s = (history.end_s - history.start_s).max(f64::MIN_POSITIVE);
    let x = |at_s: f64| LEFT + (WIDTH - LEFT) * ((at_s - history.start_s) / span_s).clamp(0.0, 1.0);
    let most = f64::from(history.most().max(1));
    let y = |n_ranks: u32| TOP + HEIGHT * (1.0 - f64::from(n_ranks) / most);
    let (bottom, lane) = (TOP + HEIGHT, TOP + HEIGHT + GAP);
    html! {
        figure {
            figcaption { "Ranks over time, and below what went on in each resize" }
            svg.course viewBox={ "0 0 " (WIDTH + 6.0) " " (short(lane + LANE + 20.0)) } {
                path.crew d=(area(history, &x, &y, bottom)) {}
                @for n_ranks in [0, history.most()] {
                    line x1=(LEFT) x2=(WIDTH) y1=(short(y(n_ranks))) y2=(short(y(n_ranks))) {}
                    text x=(LEFT - 6.0) y=(short(y(n_ranks) + 4.0)) text-anchor="end" { (n_ranks) }
                }
                @for resize in resizes.iter().take(N_RESIZES_MAX) { (phases(resize, &x, lane)) }
                text x=(LEFT) y=(short(lane + LANE + 15.0)) { "0 s" }
                text x=(WIDTH) y=(short(lane + LANE + 15.0)) text-anchor="end" { (seconds(span_s)) }
            }
        }
    }
}

/// Draws the phases of a resize in order.
fn phases(resize: &Resize, x: &dyn Fn(f64) -> f64, lane: f64) -> Markup {
    let phases = resize.phases();
    let mut end_s = resize.began_s;
    let mut boxes = Vec::with_capacity(phases.len());
    for (phase, time_s) in &phases {
        let start_s = end_s;
        end_s += time_s;
        boxes.push((x(start_s), (x(end_s) - x(start_s)).max(NARROWEST), class(*phase)));
    }
    html! {
        g {
            title { (resize.from) " → " (resize.to) " before iteration " (resize.iteration) ": " (in_words(&phases)) }
            @for (left, width, class) in boxes {
                rect class=(class) x=(short(left)) y=(short(lane)) width=(short(width)) height=(LANE) {}
            }
        }
    }
}

fn area(
    history: &RankHistory,
    x: &dyn Fn(f64) -> f64,
    y: &dyn Fn(u32) -> f64,
    bottom: f64,
) -> String {
    let mut path = format!("M{} {}", short(x(history.start_s)), short(bottom));
    for (from_s, n_ranks) in &history.steps {
        path.push_str(&format!("H{}V{}", short(x(*from_s)), short(y(*n_ranks))));
    }
    path.push_str(&format!("H{}V{}Z", short(x(history.end_s)), short(bottom)));
    path
}
