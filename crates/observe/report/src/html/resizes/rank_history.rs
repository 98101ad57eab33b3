//! Ranks over time, with the phases of each resize below.

use super::{class, in_words};
use crate::resizes::RankHistory;
use crate::svg::{across, area, course, level, short};
use display::units::seconds;
use maud::{Markup, html};
use resize_api::Resize;

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
    let x = |at_s: f64| across((at_s - history.start_s) / span_s);
    let most = f64::from(history.most().max(1));
    let y = |n_ranks: u32| TOP + HEIGHT * (1.0 - f64::from(n_ranks) / most);
    let (bottom, lane) = (TOP + HEIGHT, TOP + HEIGHT + GAP);
    let points: Vec<(f64, f64)> =
        history.steps.iter().map(|(from_s, n_ranks)| (x(*from_s), y(*n_ranks))).collect();
    let content = html! {
        path.crew d=(area(&points, across(1.0), bottom)) {}
        @for n_ranks in [0, history.most()] { (level(y(n_ranks), &n_ranks.to_string())) }
        @for resize in resizes.iter().take(N_RESIZES_MAX) { (phases(resize, &x, lane)) }
    };
    let caption = html! { "Ranks over time, and below what went on in each resize" };
    course(&caption, lane + LANE, Some(["0 s".to_owned(), seconds(span_s)]), &content)
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
