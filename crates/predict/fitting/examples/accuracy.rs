//! Measures errors and time of fitting synthetic programs: `accuracy [SEEDS] [WORSE_THAN]`.
//!
//! Each line covers 200 paths over 25 points with 5 repetitions, averaged over `SEEDS` seeds (default 3).
//! Paths with an error above `WORSE_THAN` percent are listed.
#![allow(clippy::print_stdout, reason = "a program whose result is printed")]
#![allow(clippy::unwrap_used, reason = "a measurement stops where it cannot go on")]

#[path = "../tests/it/synthetic.rs"]
mod synthetic;

use fitting::{Settings, fit};
use synthetic::{Mix, Outcome, Recipe};

/// Returns the processor time of this thread, in seconds.
fn cpu_s() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|ns| ns.parse().ok()).unwrap_or(f64::NAN) * 1e-9
}

type Variant = (&'static str, fn(Recipe) -> Recipe);

const VARIANTS: [Variant; 11] = [
    ("p 2..32 -> 64, 128", |recipe| recipe),
    ("p 4..64 -> 128, 256, n 10..50, 10 % outliers", |recipe| Recipe {
        sizes: vec![10.0, 20.0, 30.0, 40.0, 50.0],
        unseen_sizes: vec![10.0, 20.0, 30.0, 40.0, 50.0],
        processes: vec![4.0, 8.0, 16.0, 32.0, 64.0],
        unseen: vec![128.0, 256.0],
        outliers: 0.1,
        ..recipe
    }),
    ("10 % noise", |recipe| Recipe { noise: 0.1, ..recipe }),
    ("2 % noise, p 1..16 -> 32, 64, n 1000..5000", |recipe| Recipe {
        noise: 0.02,
        sizes: vec![1000.0, 2000.0, 3000.0, 4000.0, 5000.0],
        unseen_sizes: vec![1000.0, 2000.0, 3000.0, 4000.0, 5000.0],
        processes: vec![1.0, 2.0, 4.0, 8.0, 16.0],
        unseen: vec![32.0, 64.0],
        ..recipe
    }),
    ("p 64..512 -> 768, 1024", |recipe| Recipe {
        processes: vec![64.0, 128.0, 256.0, 384.0, 512.0],
        unseen: vec![768.0, 1024.0],
        ..recipe
    }),
    ("p 1..24 -> 36, 48", |recipe| Recipe {
        processes: vec![1.0, 3.0, 6.0, 12.0, 24.0],
        unseen: vec![36.0, 48.0],
        ..recipe
    }),
    ("20 % outliers", |recipe| Recipe { outliers: 0.2, ..recipe }),
    ("other names", |recipe| Recipe { names: ["x", "y"], ..recipe }),
    ("n to 3200 too", |recipe| Recipe { unseen_sizes: vec![2400.0, 3200.0], ..recipe }),
    ("4 x 4 points, 3 repetitions, p 1..4 -> 6, 8", |recipe| Recipe {
        n_repetitions: 3,
        noise: 0.02,
        sizes: vec![200.0, 300.0, 400.0, 600.0],
        unseen_sizes: vec![500.0, 800.0],
        processes: vec![1.0, 2.0, 3.0, 4.0],
        unseen: vec![6.0, 8.0],
        ..recipe
    }),
    ("one size", |recipe| Recipe {
        sizes: vec![500.0],
        unseen_sizes: vec![500.0],
        processes: vec![2.0, 4.0, 8.0, 16.0, 32.0, 48.0, 64.0],
        unseen: vec![128.0],
        ..recipe
    }),
];

fn main() {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<f64>());
    let n_seeds = arguments.next().and_then(Result::ok).unwrap_or(3.0);
    let shown = arguments.next().and_then(Result::ok).unwrap_or(f64::INFINITY);
    println!("{:52} {:>6} {:>6} {:>4} {:>7} {:>7}", "", "median", "mean", "neg", "inside", "cpu s");
    for mix in [Mix::Plain, Mix::Sized, Mix::Wild] {
        for (name, vary) in VARIANTS {
            let (mut sum, mut time_s) = ([0.0; 4], 0.0);
            for seed in (0_u32..).take_while(|seed| f64::from(*seed) < n_seeds) {
                let set = vary(Recipe::new(1000 + u64::from(seed), mix)).set();
                let start_s = cpu_s();
                let n_models = fit(&set.measured, &Settings::default()).len();
                time_s += cpu_s() - start_s;
                assert_eq!(n_models, set.truths.len());
                let Outcome { median, mean, n_negative, inside } =
                    set.outcome(&Settings::default(), |error, text| {
                        if shown < error {
                            println!("{error:6.2} % {text}");
                        }
                    });
                let values = [median, mean, n_negative as f64, inside];
                sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
            }
            let [median, mean, negative, inside] = sum.map(|sum| sum / n_seeds);
            let name = format!("{mix:?}: {name}");
            let time_s = time_s / n_seeds;
            println!("{name:52} {median:6.2} {mean:6.2} {negative:4.0} {inside:7.3} {time_s:7.3}");
        }
    }
}
