//! Laws that hold for all curves, costs and prospects.

use proptest::prelude::*;
use resize_plan::payoff::{Curve, Estimate, Prospect, SizeMeasurement, Verdict, pays};

/// Coefficients of a true curve, and sizes at which it is measured.
fn truth() -> impl Strategy<Value = ([f64; 3], Vec<u32>)> {
    let coefficient = || prop_oneof![Just(0.0), 0.001..10.0_f64];
    let coefficients = [coefficient().boxed(), (0.001..10.0_f64).boxed(), coefficient().boxed()];
    (coefficients, prop::collection::btree_set(1..40_u32, 1..12))
        .prop_map(|(coefficients, sizes)| (coefficients, sizes.into_iter().collect()))
}

fn at(coefficients: &[f64; 3], size: u32) -> f64 {
    let p = f64::from(size);
    coefficients[0] + coefficients[1] / p + coefficients[2] * p
}

fn seen(coefficients: &[f64; 3], sizes: &[u32], noise: &[f64]) -> Vec<SizeMeasurement> {
    let one = |(size, noise): (&u32, &f64)| {
        let seconds = at(coefficients, *size);
        SizeMeasurement {
            size: *size,
            seconds: seconds * (1.0 + 0.05 * noise),
            error_s: 0.06 * seconds,
        }
    };
    sizes.iter().zip(noise.iter().cycle()).map(one).collect()
}

proptest! {
    /// If measurements are as good as they claim, the truth lies in the interval, at any size.
    #[test]
    fn intervals_hold_the_truth(
        (coefficients, sizes) in truth(),
        noise in prop::collection::vec(-1.0..1.0_f64, 12),
        size in 1..64_u32,
    ) {
        let curve = Curve::through(&seen(&coefficients, &sizes, &noise)).unwrap();
        let (found, truth) = (curve.seconds(size), at(&coefficients, size));
        prop_assert!(found.low <= found.value && found.value <= found.high);
        prop_assert!(found.low <= truth * 1.000_001 && truth <= found.high * 1.000_001, "{truth} {found:?}");
    }

    /// A further measurement never widens an interval of exact ones.
    #[test]
    fn more_is_known_of_more_sizes((coefficients, sizes) in truth(), size in 1..64_u32) {
        prop_assume!(!sizes.contains(&size) && sizes.len() <= 8);
        let all = seen(&coefficients, &sizes, &[0.0]);
        let width = |seen: &[SizeMeasurement]| {
            let found = Curve::through(seen).unwrap().seconds(size);
            found.high - found.low
        };
        let (some, more) = (width(&all[..all.len().div_ceil(2)]), width(&all));
        prop_assert!(more <= some * 1.001 + 1e-6, "{some} {more}");
    }

    /// No advised change could lose, and with more iterations left it still gains.
    #[test]
    fn an_advised_change_gains(
        times in prop::collection::vec((0.001..10.0_f64, 0.0..1.0_f64), 8),
        n_iterations_left in 0..1000_u64,
        cost_s in 0.0..100.0_f64,
    ) {
        let seconds = |size: u32| {
            let (value, error) = times[size as usize - 1];
            Some(Estimate::around(value, error * value))
        };
        let candidates: Vec<u32> = (1..=8).collect();
        let prospect = Prospect { size: 4, n_iterations_left, candidates: &candidates };
        let cost = |_| Estimate::around(cost_s, 0.0);
        let payoff = pays(&prospect, seconds, cost);
        match payoff.verdict {
            Verdict::Stay => prop_assert_eq!(payoff.size, 4),
            Verdict::Explore => prop_assert!(false, "nothing is tried here"),
            Verdict::Resize => {
                let then = seconds(payoff.size).unwrap();
                let gain_s = n_iterations_left as f64 * (seconds(4).unwrap().low - then.high) - cost_s;
                prop_assert!(0.0 < gain_s && (gain_s - payoff.gain_s.low).abs() < 1e-6);
                let later = Prospect { n_iterations_left: 2 * n_iterations_left, ..prospect };
                prop_assert_eq!(pays(&later, seconds, cost).verdict, Verdict::Resize);
            }
        }
    }
}
