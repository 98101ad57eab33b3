//! Models with breakpoints.

use fitting::{FittedModel, Fitter, Measurements, Settings, Warning};

fn model(parameters: &[&str], points: &[(Vec<f64>, f64)]) -> FittedModel {
    model_at(Settings::default().rate, parameters, points)
}

fn model_at(rate: f64, parameters: &[&str], points: &[(Vec<f64>, f64)]) -> FittedModel {
    let names = parameters.iter().map(|name| (*name).to_owned()).collect();
    let mut measured = Measurements::of(names);
    for (at, value) in points {
        measured.add("", "time", at, &[*value]);
    }
    let settings = Settings { rate, ..Settings::default() };
    Fitter::new(&measured.parameters, &settings).fit(&measured.series[0]).unwrap()
}

/// Returns the time of a message in microseconds: eager, rendezvous and pipelined.
fn message_us(bytes: f64) -> f64 {
    match bytes {
        small if small <= 6824.0 => 2.0 + 0.001 * small,
        middle if middle <= 65536.0 => 12.0 + 0.0004 * middle,
        large => 90.0 + 0.0002 * large,
    }
}

#[test]
fn protocols_that_change_with_the_size_are_found() {
    let sizes: Vec<f64> = (0..20).map(|step| 16.0 * 2_f64.powi(step)).collect();
    let points: Vec<_> = sizes.iter().map(|bytes| (vec![*bytes], message_us(*bytes))).collect();
    let model = model(&["bytes"], &points);
    let breaks = model.breakpoints();
    assert_eq!(breaks.len(), 2, "{}", model.text);
    assert!((4096.0..8192.0).contains(&breaks[0]) && (65536.0..131_072.0).contains(&breaks[1]));
    for bytes in [100.0, 3000.0, 20_000.0, 1e6, 5e6] {
        let off = model.value_at(&[bytes]).unwrap().value / message_us(bytes) - 1.0;
        assert!(off.abs() < 0.01, "{bytes}: {off} {}", model.text);
    }
    let warnings = model.warnings_at(&[70_000.0]);
    assert!(matches!(warnings[..], [Warning::BetweenPieces { .. }]), "{warnings:?}");
}

/// Between two pieces the model fell to a millionth, with an interval that included anything.
#[test]
fn nothing_leaps_between_two_neighbors() {
    // Beyond the last breakpoint there are two sizes, through which many curves pass.
    let mut points = Vec::new();
    for p in [1.0, 2.0, 4.0, 8.0, 16.0] {
        for n in [1e3_f64, 2e3, 4e3, 8e3, 16e3, 32e3] {
            let slower = if n < 12e3 { 1.0 } else { 40.0 + n / 1e3 };
            let noise = 1.0 + 0.05 * (n / 77.0 + 3.0 * p).sin();
            points.push((vec![n, p], noise * (slower * 1e-4 * n / p + 0.01)));
        }
    }
    let model = model(&["n", "p"], &points);
    let value = |n: f64, p: f64| model.value_at(&[n, p]).unwrap();
    for p in [1.0, 4.0, 16.0] {
        for step in 0..200 {
            let n = 1e3 * 32_f64.powf(f64::from(step) / 200.0);
            let (here, next) = (value(n, p), value(n * 32_f64.powf(1.0 / 200.0), p));
            let ratio = next.value / here.value;
            assert!(
                (0.6..1.9).contains(&ratio),
                "from {n} at {p}: {here:?} {next:?} {}",
                model.text
            );
            assert!(0.0 < here.low && here.high < 1e3 * here.value, "{n}: {here:?}");
        }
    }
}

#[test]
fn a_smooth_curve_has_none() {
    let points: Vec<_> = (1..=20)
        .map(|step| (vec![f64::from(step)], 3.0 + 0.01 * f64::from(step).powi(2)))
        .collect();
    let model = model(&["n"], &points);
    assert!(model.breakpoints().is_empty(), "{}", model.text);
    assert_eq!(model.text, "3 + 0.01 * n^2");
}

#[test]
fn one_size_past_a_cache_is_enough_beside_processes() {
    let mut points = Vec::new();
    for p in [1.0, 2.0, 4.0, 8.0, 16.0] {
        for n in [100.0_f64, 200.0, 300.0, 400.0] {
            let slower = if n < 350.0 { 1.0 } else { 2.0 };
            points.push((vec![n, p], slower * 1e-8 * n.powi(3) / p + 0.001));
        }
    }
    let model = model(&["n", "p"], &points);
    assert_eq!(model.breakpoints().len(), 1, "{}", model.text);
    let beyond = model.value(&[("p", 32.0), ("n", 400.0)]).unwrap();
    let truth = 2.0 * 1e-8 * 6.4e7 / 32.0 + 0.001;
    assert!((beyond.value / truth - 1.0).abs() < 0.01, "{beyond:?} {}", model.text);
}

/// An interval between two pieces should contain the values of both. It does, except within a fiftieth of the
/// gap at its ends, at 95 %; at lower rates it is narrower, as elsewhere.
#[test]
fn an_interval_between_pieces_is_wider_the_further_they_are_apart() {
    let sizes: Vec<f64> = (0..20).map(|step| 16.0 * 2_f64.powi(step)).collect();
    let points: Vec<_> = sizes.iter().map(|bytes| (vec![*bytes], message_us(*bytes))).collect();
    for (rate, n_deviations) in [(0.95, 1.96_f64), (0.5, 0.67)] {
        let model = model_at(rate, &["bytes"], &points);
        for bytes in [4100.0_f64, 5000.0, 6000.0, 7000.0, 8190.0] {
            let (eager, rendezvous) = (2.0 + 0.001 * bytes, 12.0 + 0.0004 * bytes);
            // Neither piece is extrapolated beyond the range of the values at the ends.
            let factor = rendezvous / eager.max(message_us(4096.0));
            let said = model.value_at(&[bytes]).unwrap();
            let (width, least) = ((said.high / said.low).ln(), 0.95 * n_deviations * factor.ln());
            assert!(least < width, "{rate} {bytes}: {said:?} {}", model.text);
            assert!(eager < said.value && said.value < rendezvous, "{bytes}: {said:?}");
        }
    }
}
