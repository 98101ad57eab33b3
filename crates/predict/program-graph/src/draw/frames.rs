//! Frames around sequences: loops, functions, branches.

use super::part::{GAP, Part, SIZE, SMALL};
use super::text::width;

/// Space between a frame and its contents, in pixels.
const PAD: f64 = 8.0;
/// Space for the back edge of a loop, in pixels.
const BACK: f64 = 10.0;

/// Draws a loop: its count above, the back edge on its left.
pub(super) fn repeated(count: &str, header: &str, inner: &Part) -> Part {
    let bar = 20.0;
    let words = width(count, SIZE) * 1.08 + width(header, SMALL) + 34.0;
    let left = inner.left.max(20.0) + PAD + BACK;
    let right = (inner.right + PAD).max(words - left);
    let top = bar + GAP;
    let height = top + inner.height + GAP;
    let mut part = Part::of(left, right, height);
    part.rect("loop", (-left, 0.0), (left + right, height));
    part.text(-left + 8.0, 14.0, "b", count);
    part.text(-left + 16.0 + width(count, SIZE) * 1.08, 14.0, "s", header);
    part.way(&[(0.0, bar), (0.0, top)], true);
    part.place(inner, 0.0, top);
    let (bottom, x) = (top + inner.height, -left + BACK * 0.6);
    if !inner.is_end {
        part.way(
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
    part.way(&[(0.0, bottom + if inner.is_end { 8.0 } else { 0.0 }), (0.0, height)], false);
    part
}

/// Draws the body of a function, with its name.
pub(super) fn called(name: &str, inner: &Part) -> Part {
    let top = 18.0;
    let left = inner.left.max(20.0) + PAD;
    let right = (inner.right + PAD).max(width(name, SMALL) + 14.0 - left);
    let height = top + inner.height + 8.0;
    let mut part = Part::of(left, right, height);
    part.rect("call", (-left, 0.0), (left + right, height));
    part.text(-left + 7.0, 11.5, "f", name);
    // Where the name reaches the axis, the line continues below it.
    let is_crossed = left - 10.0 < width(name, SMALL);
    part.way(&[(0.0, if is_crossed { 14.0 } else { 0.0 }), (0.0, top)], false);
    part.place(inner, 0.0, top);
    if !inner.is_end {
        part.way(&[(0.0, top + inner.height), (0.0, height)], false);
    }
    part.is_end = inner.is_end;
    part
}

/// Half the height of a diamond, whose width fits its text.
const DIAMOND: f64 = 12.0;

/// Draws a diamond with a condition in it.
pub(super) fn diamond(condition: &str) -> Part {
    let half = width(condition, SMALL) / 2.0 + 16.0;
    let (mid, height) = (DIAMOND, 2.0 * DIAMOND);
    let mut part = Part::of(half, half, height);
    part.put(&format!(
        "<path class=\"cond\" d=\"M{:.1} {mid} L{:.1} 0 H{:.1} L{half:.1} {mid} L{:.1} {height} H{:.1} Z\"/>",
        -half, -half + DIAMOND, half - DIAMOND, half - DIAMOND, -half + DIAMOND
    ));
    part.text(0.0, mid + 3.5, "c", condition);
    part
}

/// Draws a branch with one arm that is shown; the other bypasses it on the right.
pub(super) fn passed(condition: &Part, done: (&str, &Part), past: &str) -> Part {
    let (label, inner) = done;
    let top = condition.height + 22.0;
    let bypass = inner.right.max(condition.right).max(20.0) + 14.0;
    let right = bypass + width(past, SMALL) + 6.0;
    let left = inner.left.max(condition.left).max(width(label, SMALL) + 12.0);
    let height = top + inner.height + 14.0;
    let mut part = Part::of(left, right, height);
    part.place(condition, 0.0, 0.0);
    part.way(&[(0.0, condition.height), (0.0, top)], true);
    part.text(-5.0, condition.height + 13.0, "e", label);
    part.place(inner, 0.0, top);
    part.way(
        &[(condition.right, DIAMOND), (bypass, DIAMOND), (bypass, height), (0.0, height)],
        false,
    );
    part.text(bypass + 4.0, DIAMOND + 12.0, "s", past);
    if !inner.is_end {
        part.way(&[(0.0, top + inner.height), (0.0, height)], false);
    }
    part
}

/// Draws a branch with several arms that are shown, side by side.
pub(super) fn parted(condition: &Part, arms: &[(String, Part)]) -> Part {
    let between = 18.0;
    let label_width = |label: &str| width(label, SMALL) + 14.0;
    let spans: Vec<(f64, f64)> = arms
        .iter()
        .map(|(label, arm)| (arm.left.max(12.0), arm.right.max(label_width(label))))
        .collect();
    let total: f64 = spans.iter().map(|(left, right)| left + right).sum::<f64>();
    #[expect(clippy::cast_precision_loss, reason = "a few arms")]
    let total = total + between * (arms.len().saturating_sub(1)) as f64;
    // The line continues straight into the first arm; the others are to its right.
    let first = spans.first().map_or(0.0, |(left, _)| *left);
    let mut x = -first;
    let bus = condition.height + 8.0;
    let top = bus + 24.0;
    let tallest = arms.iter().map(|(_, arm)| arm.height).fold(0.0, f64::max);
    let bottom = top + tallest + 10.0;
    let (left, right) = (first.max(condition.left), (total - first).max(condition.right));
    let mut part = Part::of(left, right, bottom + 8.0);
    part.place(condition, 0.0, 0.0);
    part.way(&[(0.0, condition.height), (0.0, bus)], false);
    let mut is_open = false;
    for ((label, arm), (left, right)) in arms.iter().zip(spans) {
        let axis = x + left;
        part.way(&[(0.0, bus), (axis, bus), (axis, top)], true);
        part.text(axis + 5.0, bus + 13.0, "s", label);
        part.place(arm, axis, top);
        if !arm.is_end {
            part.way(&[(axis, top + arm.height), (axis, bottom), (0.0, bottom)], false);
            is_open = true;
        }
        x = axis + right + between;
    }
    if is_open {
        part.way(&[(0.0, bottom), (0.0, bottom + 8.0)], false);
    }
    part.is_end = !is_open;
    part
}
