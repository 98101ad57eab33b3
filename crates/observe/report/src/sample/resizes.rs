//! Sample malleable program.

use resize_api::{BytesMoved, ModelDecision, Resize, ResizeOutcome, Seconds};

/// Time of the first resize, in seconds since 1970.
const BEGAN_S: f64 = 1_795_248_010.0;

/// Returns resizes of a program that grows, is refused nodes, and shrinks again.
#[must_use]
pub fn resizes() -> Vec<Resize> {
    let seconds = Seconds {
        decide: 0.3e-3,
        spawn: 0.412,
        wait: 21.4e-3,
        connect: 36.2e-3,
        constant: 0.288,
        variable: 9.1e-3,
        release: 0.0,
        total: 0.81,
    };
    let bytes = BytesMoved { constant: 512 << 20, variable: 96 << 20, moved: 280 << 20 };
    let grown = Resize {
        began_s: BEGAN_S,
        iteration: 210,
        from: 4,
        to: 8,
        reason: "model".to_owned(),
        redistribution: "async".to_owned(),
        sentence: "4 ranks became 8".to_owned(),
        seconds,
        bytes,
        iterations_meanwhile: 17,
        decision: Some(ModelDecision {
            sentence: "8 ranks save 41.2 s of the 800 iterations left, and cost 0.8 s".to_owned(),
            ..ModelDecision::default()
        }),
        ..Resize::default()
    };
    let refused = Resize {
        began_s: BEGAN_S + 9.0,
        iteration: 530,
        from: 8,
        to: 16,
        reason: "person".to_owned(),
        outcome: ResizeOutcome::Refused,
        sentence: "no nodes are idle".to_owned(),
        seconds: Seconds { decide: 2.0, total: 2.0, ..Seconds::default() },
        ..Resize::default()
    };
    let seconds = Seconds { spawn: 0.0, connect: 0.0, release: 55e-3, total: 0.33, ..seconds };
    let shrunk = Resize {
        began_s: BEGAN_S + 20.0,
        iteration: 900,
        from: 8,
        to: 2,
        reason: "slurm-policy <b>".to_owned(),
        sentence: "8 ranks became 2".to_owned(),
        seconds,
        decision: None,
        ..grown.clone()
    };
    vec![grown, refused, shrunk]
}
