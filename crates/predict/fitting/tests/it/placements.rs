//! Regimes: where ranks fill a node or need several, breakpoints are found with few points, and predictions say what was
//! not measured.

use fitting::{FittedModel, KnownChanges, Measurements, Placement, Settings, fit};

/// Returns a model of runs on nodes with four cores: memory bandwidth is shared inside a node, and messages between nodes
/// take time.
fn model(values_of_p: &[u32], with_placements: bool) -> FittedModel {
    let mut measured = Measurements::of(vec!["p".into(), "n".into()]);
    for &p in values_of_p {
        for n in [100.0, 200.0, 400.0] {
            let at = [f64::from(p), n];
            measured.add("solve", "time", &at, &[time(p, n)]);
            let ranks_per_node = p.min(4);
            let placement =
                Placement { ranks: p, nodes: p.div_ceil(4), ranks_per_node, cores_per_node: 4 };
            measured.placements.extend(with_placements.then(|| (at.to_vec(), placement)));
        }
    }
    let known = KnownChanges { regimes: measured.regimes(), ..KnownChanges::default() };
    let settings = Settings { known, ..Settings::default() };
    fit(&measured, &settings).remove(0).expect("it can be modeled")
}

fn time(p: u32, n: f64) -> f64 {
    let between = if 4 < p { 1e-6 * n * n * f64::from(p).log2() } else { 0.0 };
    let rate = if p < 4 { 1.0 } else { 1.6 };
    rate * 1e-5 * n * n / f64::from(p) + between
}

#[test]
fn a_second_node_is_a_regime() {
    let error = |model: &FittedModel| {
        let said = model.value_at(&[64.0, 400.0]).expect("it has a value").value;
        (said / time(64, 400.0)).ln().abs()
    };
    let p = [1, 2, 4, 8, 16, 32];
    let (known, unknown) = (model(&p, true), model(&p, false));
    assert!(known.breakpoints().iter().any(|at| (4.0..=8.0).contains(at)), "{}", known.text);
    assert!(error(&known) < error(&unknown).max(0.1), "{} {}", error(&known), error(&unknown));
}

#[test]
fn what_was_not_measured_is_said() {
    let model = model(&[1, 2, 3], true);
    let said =
        |p: f64| model.warnings_at(&[p, 400.0]).iter().map(ToString::to_string).collect::<Vec<_>>();
    assert!(
        said(8.0).iter().any(|text| text.contains("more ranks than cores on a node")),
        "{:?}",
        said(8.0)
    );
    assert!(!said(4.0).iter().any(|text| text.contains("cores")), "{:?}", said(4.0));
}
