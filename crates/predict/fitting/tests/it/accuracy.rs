//! Synthetic programs are predicted on more processes than were measured.

use crate::synthetic::{Mix, Recipe};
use fitting::{Measurements, Settings, fit};

/// Checks that the errors over the paths, in percent, have at most this median and mean.
#[track_caller]
fn check(recipe: &Recipe, median_max: f64, mean_max: f64) {
    let outcome = recipe.set().outcome(&Settings::default(), |_, _| ());
    let good = outcome.median <= median_max && outcome.mean <= mean_max;
    assert!(good && outcome.n_negative == 0 && 0.95 <= outcome.inside, "{outcome:?} {recipe:?}");
}

#[test]
fn strong_scaling_is_foretold() {
    for seed in 1..=3 {
        for mix in [Mix::Plain, Mix::Sized, Mix::Wild] {
            check(&Recipe::new(seed, mix), 3.0, 4.0);
        }
    }
}

#[test]
fn sizes_and_processes_may_be_others() {
    let many = Recipe {
        processes: vec![64.0, 128.0, 256.0, 384.0, 512.0],
        unseen: vec![768.0, 1024.0],
        ..Recipe::new(4, Mix::Sized)
    };
    check(&many, 3.0, 4.0);
    let small = Recipe {
        sizes: vec![10.0, 20.0, 30.0, 40.0, 50.0],
        unseen_sizes: vec![10.0, 20.0, 30.0, 40.0, 50.0],
        processes: vec![4.0, 8.0, 16.0, 32.0, 64.0],
        unseen: vec![128.0, 256.0],
        ..Recipe::new(5, Mix::Wild)
    };
    check(&small, 3.0, 4.0);
    let odd = Recipe {
        processes: vec![1.0, 3.0, 6.0, 12.0, 24.0],
        unseen: vec![36.0, 48.0],
        ..Recipe::new(6, Mix::Plain)
    };
    check(&odd, 3.0, 4.0);
}

#[test]
fn the_error_follows_the_noise() {
    check(&Recipe { noise: 0.02, ..Recipe::new(7, Mix::Wild) }, 1.5, 2.5);
    check(&Recipe { noise: 0.1, ..Recipe::new(8, Mix::Wild) }, 6.0, 8.0);
    check(&Recipe { outliers: 0.2, ..Recipe::new(9, Mix::Wild) }, 3.0, 5.0);
    check(&Recipe { noise: 0.0, outliers: 0.0, ..Recipe::new(10, Mix::Wild) }, 0.1, 0.5);
}

/// Returns a time over processes, a size and threads.
fn hybrid([p, n, threads]: [f64; 3]) -> f64 {
    1e-9 * n.powi(3) / (p * threads) + 2e-4 * p.log2() + 1e-3 * threads
}

#[test]
fn three_parameters_are_no_harder() {
    let mut measured = Measurements::of(vec!["p".into(), "n".into(), "threads".into()]);
    for p in [2.0, 4.0, 8.0, 16.0] {
        for n in [200.0, 400.0, 800.0, 1600.0] {
            for threads in [1.0, 2.0, 4.0, 8.0] {
                let at = [p, n, threads];
                let noise = |k: f64| 1.0 + 0.05 * (k * n + 7.0 * p + threads).sin();
                let values = [1.0, 2.0, 3.0].map(|k| hybrid(at) * noise(k));
                measured.add("", "time", &at, &values);
            }
        }
    }
    let model = fit(&measured, &Settings::default()).remove(0).unwrap();
    for at in [[64.0, 1600.0, 4.0], [32.0, 400.0, 8.0], [16.0, 3200.0, 16.0]] {
        let said = model.value_at(&at).unwrap();
        let off = said.value / hybrid(at) - 1.0;
        assert!(off.abs() < 0.05, "{at:?}: {off} {}", model.text);
    }
}

#[test]
fn four_parameters_may_be_multiplied() {
    let truth =
        |[p, n, m, steps]: [f64; 4]| steps * (1e-8 * n * n * m / p + 1e-5 * p.log2() + 1e-6 * n);
    let names = ["p", "n", "m", "steps"].map(str::to_owned).to_vec();
    let mut measured = Measurements::of(names);
    for p in [1.0, 2.0, 4.0, 8.0] {
        for n in [100.0, 200.0, 400.0] {
            for m in [10.0, 20.0, 40.0] {
                for steps in [10.0, 20.0, 30.0] {
                    let at = [p, n, m, steps];
                    let noise = |k: f64| 1.0 + 0.02 * (k * n + 7.0 * p + 3.0 * m + steps).sin();
                    measured.add("", "time", &at, &[1.0, 2.0, 3.0].map(|k| truth(at) * noise(k)));
                }
            }
        }
    }
    let model = fit(&measured, &Settings::default()).remove(0).unwrap();
    for at in [[16.0, 800.0, 80.0, 50.0], [32.0, 400.0, 40.0, 30.0]] {
        let off = model.value_at(&at).unwrap().value / truth(at) - 1.0;
        assert!(off.abs() < 0.03, "{at:?}: {off} {}", model.text);
    }
}
