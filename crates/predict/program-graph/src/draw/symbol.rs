//! Symbol of an MPI operation: the outline shows its side and whether it blocks, the pictogram its kind.

use super::pictogram::pictogram;
use crate::shape::{Mpi, Side};

/// Half the width, and the height, of a symbol, in pixels.
pub(super) const HALF: f64 = 24.0;
pub(super) const HEIGHT: f64 = 26.0;

/// Returns the CSS class, and so the color, of an operation's family.
fn class(mpi: &Mpi) -> &'static str {
    match (mpi.class, mpi.side) {
        ("point-to-point", Side::Sends) => "send",
        ("point-to-point", _) => "recv",
        ("collective" | "neighborhood", _) => "coll",
        ("completion", _) => "done",
        ("one-sided", _) => "side",
        ("io", _) => "file",
        _ => "else",
    }
}

/// Returns the symbol, around the axis, from the top down.
pub(super) fn symbol(mpi: &Mpi) -> String {
    let dashed = if mpi.mode == "blocking" { "" } else { " dash" };
    let (color, outline) = (class(mpi), outline(mpi));
    format!("<path class=\"{color}{dashed}\" d=\"{outline}\"/>{}", pictogram(mpi))
}

/// Returns the outline: a tip on the right for sending, a notch on the left for receiving, both for either.
fn outline(mpi: &Mpi) -> String {
    let (w, h, tip) = (HALF, HEIGHT, 9.0);
    let middle = h / 2.0;
    if matches!(mpi.class, "completion" | "communicator" | "process") {
        return format!(
            "M{x0} {middle} A{middle} {middle} 0 0 1 {x1} 0 H{x2} A{middle} {middle} 0 0 1 {x2} {h} H{x1} A{middle} {middle} 0 0 1 {x0} {middle} Z",
            x0 = -w,
            x1 = -w + middle,
            x2 = w - middle,
        );
    }
    let right = match mpi.side {
        Side::Sends | Side::Both => format!("H{} L{w} {middle} L{} {h}", w - tip, w - tip),
        _ => format!("H{w} V{h}"),
    };
    let left = match mpi.side {
        Side::Receives | Side::Both => format!("H{} L{} {middle} Z", -w, -w + tip),
        _ => format!("H{} Z", -w),
    };
    format!("M{} 0 {right} {left}", -w)
}
