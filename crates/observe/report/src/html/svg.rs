//! Small SVG pictures.

use crate::ranking::averaged;
use maud::{Markup, html};

/// Maximum number of values in a picture beside a table row.
const N_SPARK_MAX: usize = 48;
const SPARK_HEIGHT: f64 = 20.0;

/// Draws a horizontal bar for a share in 0..=1, in the color of `class`.
pub(super) fn bar(share: f64, class: &str) -> Markup {
    stacked(&[(share, class)])
}

/// Draws a horizontal bar of parts that sum to at most 1, from the left.
pub(super) fn stacked(parts: &[(f64, &str)]) -> Markup {
    let mut end = 0.0;
    let boxes: Vec<(f64, f64, &str)> = parts
        .iter()
        .map(|(share, class)| {
            let start = end;
            end = (start + clean(*share)).min(1.0);
            (start * 100.0, (end - start) * 100.0, *class)
        })
        .collect();
    html! {
        svg.bar viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true" {
            rect.empty width="100" height="10" {}
            @for (start, width, class) in boxes {
                rect class=(class) x=(short(start)) width=(short(width)) height="10" {}
            }
        }
    }
}

/// Draws one column for each value (or group of neighbors), scaled to the largest.
pub(super) fn spark(values: &[f64], title: &str) -> Markup {
    let values = averaged(values, N_SPARK_MAX);
    let largest = values.iter().copied().fold(0.0, f64::max);
    let height =
        |value: f64| if largest > 0.0 { clean(value / largest) * SPARK_HEIGHT } else { 0.0 };
    html! {
        svg.spark viewBox={ "0 0 " (values.len().max(1)) " 20" } preserveAspectRatio="none" {
            title { (title) }
            @for (idx, value) in values.iter().enumerate() {
                @let height = height(*value);
                rect.mpi x=(idx) y=(short(SPARK_HEIGHT - height)) width="0.86" height=(short(height)) {}
            }
        }
    }
}

/// Formats a coordinate with at most two decimals, which suffices for any screen.
pub(super) fn short(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn clean(share: f64) -> f64 {
    if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(share: f64, expected_width: &str) {
        let drawn = bar(share, "good").into_string();
        assert!(drawn.contains(&format!("x=\"0\" width=\"{expected_width}\"")), "{drawn}");
    }

    #[test]
    fn a_bar_stays_in_its_frame() {
        check(0.5, "50");
        check(7.0, "100");
        check(f64::NAN, "0");
        check(1.0 / 3.0, "33.33");
    }
}
