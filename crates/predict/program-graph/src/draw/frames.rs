//! Frames around sequences: loops, functions, branches.

use super::fragment::{Fragment, GAP, SIZE, SMALL};
use super::text::width;

/// Space between a frame and its contents, in pixels.
const PAD: f64 = 8.0;
/// Space for the back edge of a loop, in pixels.
const BACK: f64 = 10.0;

/// Draws a loop: its count above, the back edge on its left.
pub(super) fn repeated(count: &str, header: &str, inner: &Fragment) -> Fragment {
    let bar = 20.0;
    let words = width(count, SIZE) * 1.08 + width(header, SMALL) + 34.0;
    let left = inner.left.max(20.0) + PAD + BACK;
    let right = (inner.right + PAD).max(words - left);
    let top = bar + GAP;
    let height = top + inner.height + GAP;
    let mut fragment = Fragment::of(left, right, height);
    fragment.rect("loop", (-left, 0.0), (left + right, height));
    fragment.text(-left + 8.0, 14.0, "b", count);
    fragment.text(-left + 16.0 + width(count, SIZE) * 1.08, 14.0, "s", header);
    fragment.flow_line(&[(0.0, bar), (0.0, top)], true);
    fragment.place(&inner.svg, 0.0, top);
    let (bottom, x) = (top + inner.height, -left + BACK * 0.6);
    if !inner.is_end {
        fragment.flow_line(
            &[
                (0.0, bottom),
                (0.0, bottom + 8.0),
                (x, bottom + 8.0),
                (x, bar + 6.0),
                (-2.0, bar + 6.0),
            ],
            true,
        );
    }
    fragment
        .flow_line(&[(0.0, bottom + if inner.is_end { 8.0 } else { 0.0 }), (0.0, height)], false);
    fragment
}

/// Draws the body of a function, with its name.
pub(super) fn called(name: &str, inner: &Fragment) -> Fragment {
    let top = 18.0;
    let left = inner.left.max(20.0) + PAD;
    let right = (inner.right + PAD).max(width(name, SMALL) + 14.0 - left);
    let height = top + inner.height + 8.0;
    let mut fragment = Fragment::of(left, right, height);
    fragment.rect("call", (-left, 0.0), (left + right, height));
    fragment.text(-left + 7.0, 11.5, "f", name);
    // Where the name reaches the axis, the line continues below it.
    let is_crossed = left - 10.0 < width(name, SMALL);
    fragment.flow_line(&[(0.0, if is_crossed { 14.0 } else { 0.0 }), (0.0, top)], false);
    fragment.place(&inner.svg, 0.0, top);
    if !inner.is_end {
        fragment.flow_line(&[(0.0, top + inner.height), (0.0, height)], false);
    }
    fragment.is_end = inner.is_end;
    fragment
}

/// Half the height of a diamond, whose width fits its text.
const DIAMOND: f64 = 12.0;

/// Draws a diamond with a condition in it.
pub(super) fn diamond(condition: &str) -> Fragment {
    let half = width(condition, SMALL) / 2.0 + 16.0;
    let (mid, height) = (DIAMOND, 2.0 * DIAMOND);
    let mut fragment = Fragment::of(half, half, height);
    fragment.put(&format!(
        "<path class=\"cond\" d=\"M{:.1} {mid} L{:.1} 0 H{:.1} L{half:.1} {mid} L{:.1} {height} H{:.1} Z\"/>",
        -half, -half + DIAMOND, half - DIAMOND, half - DIAMOND, -half + DIAMOND
    ));
    fragment.text(0.0, mid + 3.5, "c", condition);
    fragment
}

/// Draws a branch with one arm that is shown; the other bypasses it on the right.
pub(super) fn passed(condition: &Fragment, done: (&str, &Fragment), past: &str) -> Fragment {
    let (label, inner) = done;
    let top = condition.height + 22.0;
    let bypass = inner.right.max(condition.right).max(20.0) + 14.0;
    let right = bypass + width(past, SMALL) + 6.0;
    let left = inner.left.max(condition.left).max(width(label, SMALL) + 12.0);
    let height = top + inner.height + 14.0;
    let mut fragment = Fragment::of(left, right, height);
    fragment.place(&condition.svg, 0.0, 0.0);
    fragment.flow_line(&[(0.0, condition.height), (0.0, top)], true);
    fragment.text(-5.0, condition.height + 13.0, "e", label);
    fragment.place(&inner.svg, 0.0, top);
    fragment.flow_line(
        &[(condition.right, DIAMOND), (bypass, DIAMOND), (bypass, height), (0.0, height)],
        false,
    );
    fragment.text(bypass + 4.0, DIAMOND + 12.0, "s", past);
    if !inner.is_end {
        fragment.flow_line(&[(0.0, top + inner.height), (0.0, height)], false);
    }
    fragment
}

/// Draws a branch with several arms that are shown, side by side.
pub(super) fn parted(condition: &Fragment, arms: &[(String, Fragment)]) -> Fragment {
    let between = 18.0;
    let label_width = |label: &str| width(label, SMALL) + 14.0;
    let spans: Vec<(f64, f64)> = arms
        .iter()
        .map(|(label, arm)| (arm.left.max(12.0), arm.right.max(label_width(label))))
        .collect();
    let total: f64 = spans.iter().map(|(left, right)| left + right).sum::<f64>();
    let total = total + between * (arms.len().saturating_sub(1)) as f64;
    // The line continues straight into the first arm; the others are to its right.
    let first = spans.first().map_or(0.0, |(left, _)| *left);
    let mut x = -first;
    let bus = condition.height + 8.0;
    let top = bus + 24.0;
    let tallest = arms.iter().map(|(_, arm)| arm.height).fold(0.0, f64::max);
    let bottom = top + tallest + 10.0;
    let (left, right) = (first.max(condition.left), (total - first).max(condition.right));
    let mut fragment = Fragment::of(left, right, bottom + 8.0);
    fragment.place(&condition.svg, 0.0, 0.0);
    fragment.flow_line(&[(0.0, condition.height), (0.0, bus)], false);
    let mut is_open = false;
    for ((label, arm), (left, right)) in arms.iter().zip(spans) {
        let axis = x + left;
        fragment.flow_line(&[(0.0, bus), (axis, bus), (axis, top)], true);
        fragment.text(axis + 5.0, bus + 13.0, "s", label);
        fragment.place(&arm.svg, axis, top);
        if !arm.is_end {
            fragment.flow_line(&[(axis, top + arm.height), (axis, bottom), (0.0, bottom)], false);
            is_open = true;
        }
        x = axis + right + between;
    }
    if is_open {
        fragment.flow_line(&[(0.0, bottom), (0.0, bottom + 8.0)], false);
    }
    fragment.is_end = !is_open;
    fragment
}
