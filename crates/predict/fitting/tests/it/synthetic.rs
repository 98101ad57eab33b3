//! Synthetic measurements from known formulas: strong scaling with noise and outliers.

use fitting::{MeasuredPoint, Measurements, Series, Settings, fit};
use random::Random;

/// Parameters of a synthetic set.
#[derive(Clone, Debug)]
pub(crate) struct Recipe {
    pub(crate) seed: u64,
    pub(crate) n_paths: usize,
    pub(crate) n_repetitions: usize,
    /// Standard deviation of a repetition, as a share.
    pub(crate) noise: f64,
    /// Share of repetitions that are outliers.
    pub(crate) outliers: f64,
    pub(crate) sizes: Vec<f64>,
    pub(crate) processes: Vec<f64>,
    /// Numbers of processes to predict.
    pub(crate) unseen: Vec<f64>,
    /// Sizes to predict.
    pub(crate) unseen_sizes: Vec<f64>,
    pub(crate) names: [&'static str; 2],
    pub(crate) mix: Mix,
}

/// Terms that may occur.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mix {
    /// A constant, `n^3/p`, `1/p` and `log2(p)`, in any combination.
    Plain,
    /// A divided power of `n` and communication that may grow with `n`.
    Sized,
    /// Any term that a message-passing program may have.
    Wild,
}

/// Synthetic measurements and the true values at the held-out points.
pub(crate) struct Set {
    pub(crate) measured: Measurements,
    /// Points and true values, for each series.
    pub(crate) unseen: Vec<Vec<(Vec<f64>, f64)>>,
    /// The true formulas, as text.
    pub(crate) truths: Vec<String>,
}

struct Chance(Random);

impl Chance {
    fn normal(&mut self) -> f64 {
        (-2.0 * self.0.share().max(1e-300).ln()).sqrt()
            * (std::f64::consts::TAU * self.0.share()).cos()
    }

    fn between(&mut self, low: f64, high: f64) -> f64 {
        low * (high / low).powf(self.0.share())
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.0.below(choices.len())]
    }
}

type Shape = (&'static str, fn(f64, f64) -> f64);

const DIVIDED: [Shape; 5] = [
    ("n^3/p", |n, p| n.powi(3) / p),
    ("n^2/p", |n, p| n * n / p),
    ("n/p", |n, p| n / p),
    ("n*log2(n)/p", |n, p| n * n.log2() / p),
    ("n^1.5/p", |n, p| n.powf(1.5) / p),
];
const MESSAGES: [Shape; 8] = [
    ("log2(p)", |_, p| p.log2()),
    ("n*log2(p)", |n, p| n * p.log2()),
    ("n", |n, _| n),
    ("n^2", |n, _| n * n),
    ("1", |_, _| 1.0),
    ("p", |_, p| p),
    ("n/sqrt(p)", |n, p| n / p.sqrt()),
    ("n^2*log2(p)", |n, p| n * n * p.log2()),
];

/// Returns the terms of one formula and the share of each in the time at the middle of the points.
fn shapes(mix: Mix, chance: &mut Chance) -> Vec<(Shape, f64)> {
    let log = MESSAGES[0];
    match mix {
        Mix::Plain => {
            let inverse: Shape = ("1/p", |_, p| 1.0 / p);
            let mut terms = vec![(chance.of(&[DIVIDED[0], DIVIDED[0], inverse]), 1.0)];
            if chance.0.share() < 0.7 {
                terms.push((log, chance.between(0.02, 1.0)));
            }
            if chance.0.share() < 0.6 {
                terms.push((MESSAGES[4], chance.between(0.02, 1.0)));
            }
            terms
        }
        Mix::Sized => vec![
            (chance.of(&DIVIDED[..4]), 1.0),
            (chance.of(&MESSAGES[..4]), chance.between(0.02, 1.0)),
            (MESSAGES[4], chance.between(0.01, 0.3)),
        ],
        Mix::Wild => {
            let mut terms = vec![(chance.of(&DIVIDED), 1.0)];
            let n_more = chance.0.below(4);
            for _ in 0..n_more {
                let shape = chance.of(&MESSAGES);
                if terms.iter().all(|(other, _)| other.0 != shape.0) {
                    terms.push((shape, chance.between(0.01, 1.0)));
                }
            }
            terms
        }
    }
}

impl Recipe {
    /// Creates a recipe of 200 paths, 25 points, 5 repetitions and 5 % noise.
    pub(crate) fn new(seed: u64, mix: Mix) -> Self {
        Self {
            seed,
            n_paths: 200,
            n_repetitions: 5,
            noise: 0.05,
            outliers: 0.05,
            sizes: vec![100.0, 200.0, 400.0, 800.0, 1600.0],
            processes: vec![2.0, 4.0, 8.0, 16.0, 32.0],
            unseen: vec![64.0, 128.0],
            unseen_sizes: vec![100.0, 200.0, 400.0, 800.0, 1600.0],
            names: ["p", "n"],
            mix,
        }
    }

    /// Creates the set.
    pub(crate) fn set(&self) -> Set {
        let mut chance = Chance(Random::new(self.seed));
        let mut measured = Measurements::of(self.names.map(str::to_owned).to_vec());
        let (mut unseen, mut truths) = (Vec::new(), Vec::new());
        for path_idx in 0..self.n_paths {
            let (truth, text) = self.formula(&mut chance);
            let mut points = Vec::new();
            for &p in &self.processes {
                for &n in &self.sizes {
                    let values = self.repetitions(truth(n, p), &mut chance);
                    points.push(MeasuredPoint { at: vec![p, n], values });
                }
            }
            let region = format!("main->path{path_idx}");
            measured.series.push(Series { region, metric: "time".into(), points });
            let later = self.unseen.iter().flat_map(|p| self.unseen_sizes.iter().map(|n| (*n, *p)));
            unseen.push(later.map(|(n, p)| (vec![p, n], truth(n, p))).collect());
            truths.push(text);
        }
        Set { measured, unseen, truths }
    }

    fn formula(&self, chance: &mut Chance) -> (impl Fn(f64, f64) -> f64 + use<>, String) {
        let middle = |values: &[f64]| values[values.len() / 2];
        let (n, p) = (middle(&self.sizes), middle(&self.processes));
        let scale = chance.between(1e-3, 1e2);
        let terms: Vec<(Shape, f64)> = shapes(self.mix, chance)
            .into_iter()
            .map(|(shape, share)| (shape, scale * share / shape.1(n, p)))
            .collect();
        let text: Vec<String> =
            terms.iter().map(|(shape, c)| format!("{c:.3e}*{}", shape.0)).collect();
        (move |n, p| terms.iter().map(|(shape, c)| c * shape.1(n, p)).sum(), text.join(" + "))
    }

    fn repetitions(&self, truth: f64, chance: &mut Chance) -> Vec<f64> {
        let one = |_| {
            let noisy = truth * (1.0 + self.noise * chance.normal()).max(0.1);
            if chance.0.share() < self.outliers { noisy * chance.between(1.3, 4.0) } else { noisy }
        };
        (0..self.n_repetitions).map(one).collect()
    }
}

/// Accuracy of the predictions for a set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome {
    /// Median and mean of the paths' errors, in percent.
    pub(crate) median: f64,
    pub(crate) mean: f64,
    /// Number of predictions that are not positive.
    pub(crate) n_negative: usize,
    /// Share of the true values inside their intervals.
    pub(crate) inside: f64,
}

impl Set {
    /// Fits every path and predicts the held-out points.
    pub(crate) fn outcome(&self, settings: &Settings, tell: impl Fn(f64, &str)) -> Outcome {
        let (mut errors, mut n_negative, mut n_inside, mut n_points) = (Vec::new(), 0, 0, 0);
        for (idx, model) in fit(&self.measured, settings).into_iter().enumerate() {
            let model = model.unwrap();
            let mut pairs = Vec::new();
            for (at, truth) in &self.unseen[idx] {
                let predicted = model.value_at(at).unwrap();
                n_negative += usize::from(predicted.low <= 0.0);
                n_inside += usize::from((predicted.low..=predicted.high).contains(truth));
                n_points += 1;
                pairs.push((predicted.value, *truth));
            }
            errors.push(smape(&pairs));
            tell(errors[idx], &format!("{} | {}", self.truths[idx], model.text));
        }
        let mean = errors.iter().sum::<f64>() / errors.len() as f64;
        errors.sort_by(f64::total_cmp);
        let median = errors[errors.len() / 2];
        Outcome { median, mean, n_negative, inside: n_inside as f64 / n_points as f64 }
    }
}

/// Returns the mean of the absolute differences over the means of both, in percent, from 0 to 200.
pub(crate) fn smape(pairs: &[(f64, f64)]) -> f64 {
    let one = |(a, b): &(f64, f64)| 200.0 * (a - b).abs() / (a.abs() + b.abs());
    pairs.iter().map(one).sum::<f64>() / pairs.len() as f64
}
