//! Small SVG pictures.

use display::bars::averaged;
use display::units::trimmed;
use maud::{Markup, html};

/// Maximum number of values in a picture beside a table row.
const N_SPARK_MAX: usize = 48;
const SPARK_HEIGHT: f64 = 20.0;
/// Width of a chart, and of the labels before it.
const WIDTH: f64 = 1000.0;
const LEFT: f64 = 58.0;

/// Draws a horizontal bar of parts that sum to at most 1, from the left, each in the color of a class.
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
pub(crate) fn spark(values: &[f64], title: &str) -> Markup {
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

/// Draws a chart over the width of the page, `height` high, with the ends of its horizontal axis below it.
pub(super) fn course(
    caption: &Markup,
    height: f64,
    ends: Option<[String; 2]>,
    content: &Markup,
) -> Markup {
    let n_below = if ends.is_some() { 20.0 } else { 0.0 };
    html! {
        figure {
            figcaption { (caption) }
            svg.course viewBox={ "0 0 " (WIDTH + 6.0) " " (short(height + n_below)) } {
                (content)
                @if let Some([first, last]) = ends {
                    text x=(LEFT) y=(short(height + 15.0)) { (first) }
                    text x=(WIDTH) y=(short(height + 15.0)) text-anchor="end" { (last) }
                }
            }
        }
    }
}

/// Returns the position of a share of a chart's horizontal axis.
pub(super) fn across(share: f64) -> f64 {
    LEFT + (WIDTH - LEFT) * clean(share)
}

/// Draws a horizontal line in a chart, with its label.
pub(super) fn level(y: f64, label: &str) -> Markup {
    html! {
        line x1=(LEFT) x2=(WIDTH) y1=(short(y)) y2=(short(y)) {}
        (label_at(y + 4.0, label))
    }
}

/// Draws a label before a chart.
pub(super) fn label_at(y: f64, label: &str) -> Markup {
    html! { text x=(LEFT - 6.0) y=(short(y)) text-anchor="end" { (label) } }
}

/// Returns a path of steps: each height holds from its position to the next one, the last to `end`.
pub(super) fn steps(points: &[(f64, f64)], end: f64) -> String {
    let mut path = String::new();
    for (idx, (x, y)) in points.iter().enumerate() {
        let (x, y) = (short(*x), short(*y));
        path += &if idx == 0 { format!("M{x} {y}") } else { format!("H{x}V{y}") };
    }
    path + &format!("H{}", short(end))
}

/// Returns the area between steps and `bottom`.
pub(super) fn area(points: &[(f64, f64)], end: f64, bottom: f64) -> String {
    let start = points.first().map_or(end, |point| point.0);
    format!("{}V{}H{}Z", steps(points, end), short(bottom), short(start))
}

/// Formats a coordinate with at most two decimals, which suffices for any screen.
pub(super) fn short(value: f64) -> String {
    trimmed(value, 2)
}

fn clean(share: f64) -> f64 {
    if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(share: f64, expected_width: &str) {
        let drawn = stacked(&[(share, "good")]).into_string();
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
