//! Symbol of an MPI operation: the outline shows its side and whether it blocks, the pictogram its kind.

use crate::shape::{Mpi, SendMode, Side};

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

/// Returns a pictogram of an operation.
fn pictogram(mpi: &Mpi) -> String {
    let stem = mpi.operation.trim_start_matches("MPI_").to_ascii_lowercase();
    let stem = stem.trim_end_matches("_c");
    let body = stem.strip_prefix('i').filter(|_| mpi.mode == "nonblocking").unwrap_or(stem);
    match mpi.class {
        "point-to-point" => message(mpi, body),
        "collective" | "neighborhood" => collective(mpi, body),
        "completion" if body.starts_with("test") => letters("test"),
        "completion" => letters(if body.starts_with("wait") { "wait" } else { "req" }),
        "one-sided" => one_sided(body),
        "io" => letters(if mpi.side == Side::Sends { "write" } else { "file" }),
        "communicator" => letters("comm"),
        _ => letters("mpi"),
    }
}

/// Returns a word in the middle.
fn letters(word: &str) -> String {
    let y = HEIGHT / 2.0 + 3.5;
    format!("<text x=\"0\" y=\"{y}\" class=\"p\">{word}</text>")
}

/// Returns an arrow, with a letter for the send mode.
fn message(mpi: &Mpi, body: &str) -> String {
    if body.contains("probe") {
        return letters("?");
    }
    if body.starts_with("start") || body.starts_with("pready") {
        return letters("start");
    }
    let letter = match mpi.send_mode {
        Some(SendMode::Synchronous) => "S",
        Some(SendMode::Buffered) => "B",
        Some(SendMode::Ready) => "R",
        _ => "",
    };
    let arrow = match mpi.side {
        Side::Both => line("M-11 10 H9 M5 7 L9 10 L5 13 M11 17 H-9 M-5 14 L-9 17 L-5 20"),
        Side::Receives => line("M11 13 H-7 M-3 9 L-7 13 L-3 17"),
        _ => line("M-15 13 H7 M3 9 L7 13 L3 17"),
    };
    if letter.is_empty() {
        return arrow;
    }
    format!("{arrow}<text x=\"-8\" y=\"10\" class=\"p\">{letter}</text>")
}

fn collective(mpi: &Mpi, body: &str) -> String {
    let body = body.strip_prefix("neighbor_").unwrap_or(body);
    let fan_out = "M-9 13 L7 6 M-9 13 H8 M-9 13 L7 20";
    let fan_in = "M-7 6 L9 13 M-8 13 H9 M-7 20 L9 13";
    let both = "M-10 6 L0 13 M-10 13 H10 M-10 20 L0 13 L10 6 M0 13 L10 20";
    let plus = "<circle class=\"dot\" cx=\"0\" cy=\"13\" r=\"5\"/><path class=\"l\" d=\"M-3 13 H3 M0 10 V16\"/>";
    let squares = "<path class=\"fill\" d=\"M6 4 h4 v4 h-4z M6 11 h4 v4 h-4z M6 18 h4 v4 h-4z\"/>";
    let squares_left =
        "<path class=\"fill\" d=\"M-10 4 h4 v4 h-4z M-10 11 h4 v4 h-4z M-10 18 h4 v4 h-4z\"/>";
    let ball = |x: i32| format!("<circle class=\"fill\" cx=\"{x}\" cy=\"13\" r=\"3\"/>");
    let own = if mpi.side == Side::Receives { ball(8) } else { ball(-9) };
    match body {
        _ if body.starts_with("barrier") => line("M-13 7 H13 M-13 13 H13 M-13 19 H13"),
        _ if body.starts_with("bcast") => line(fan_out) + &own,
        _ if body.starts_with("scatter") => line(fan_out) + squares,
        _ if body.starts_with("gather") => line(fan_in) + squares_left,
        _ if body.starts_with("allgather") => line(both) + squares_left + squares,
        _ if body.starts_with("reduce_scatter") => line(both) + plus + squares,
        _ if body.starts_with("reduce") => line(fan_in) + plus,
        _ if body.starts_with("allreduce") => line(both) + plus,
        _ if body.starts_with("alltoall") => {
            line("M-9 6 L9 20 M-9 20 L9 6 M-9 13 H9 M-9 6 H9 M-9 20 H9")
        }
        _ if body.starts_with("scan") || body.starts_with("exscan") => {
            line("M-11 20 H-4 V14 H3 V8 H11") + plus
        }
        _ => letters("all"),
    }
}

fn one_sided(body: &str) -> String {
    let body = body.strip_prefix('r').unwrap_or(body);
    let window = "<path class=\"l\" d=\"M2 6 H14 V20 H2 Z\"/>";
    match body {
        _ if body.starts_with("put") => line("M-15 13 H7 M3 9 L7 13 L3 17") + window,
        _ if body.starts_with("get") => line("M8 13 H-15 M-11 9 L-15 13 L-11 17") + window,
        _ if body.contains("acc") || body.contains("op") || body.contains("swap") => {
            line("M-15 13 H4 M0 9 L4 13 L0 17")
                + window
                + "<text x=\"8\" y=\"17\" class=\"p\">+</text>"
        }
        _ => letters("win"),
    }
}

fn line(path: &str) -> String {
    format!("<path class=\"l\" d=\"{path}\"/>")
}
