//! Jobs as people submit them, by a published model of traces of parallel machines.
//!
//! Sizes, run times and arrivals are those of Lublin and Feitelson, *The workload on parallel supercomputers: modeling the
//! characteristics of rigid jobs*, JPDC 63(11), 2003, with their parameters for all jobs, batch and interactive. That model
//! has no speedup. As in Downey, *A parallel workload model and its implications for processor allocation*, HPDC 1997, the
//! number of nodes asked for is the average parallelism, and its variance lies evenly between 0 and 2. Limits of time are
//! those of the f-model (Mu'alem and Feitelson, TPDS 12(6), 2001): evenly between the run time and `F + 1` times that.

use super::{QueueJob, Speedup};
use random::Random;

/// Share of jobs of one node, and of those of other powers of two.
const SERIAL_SHARE: f64 = 0.244;
const POWER_OF_TWO_SHARE: f64 = 0.576;
/// Sizes: logarithm of the smallest one, how far below the largest its distribution bends, and the share up to there.
const LOWEST_LOG2: f64 = 0.8;
const BEND_BELOW_LOG2: f64 = 2.5;
const BELOW_BEND_SHARE: f64 = 0.86;
/// Run times: shape and scale of the two gamma distributions of the logarithm, and the share of the first, which falls with
/// the number of nodes.
const SHORT_SHAPE_SCALE: (f64, f64) = (4.2, 0.94);
const LONG_SHAPE_SCALE: (f64, f64) = (312.0, 0.03);
const SHORT_SHARE: f64 = 0.78;
const SHORT_SHARE_PER_NODE: f64 = -0.0054;
const LONGEST_LOG: f64 = 12.0;
/// Arrivals: shape and scale of the logarithm of the time between two at rush hour, with the correction for other hours.
const RUSH_SHAPE_SCALE: (f64, f64) = (10.2303 * 1.0225, 0.4871);
const LONGEST_PAUSE_LOG: f64 = 13.0;
/// Shape and scale of the distribution of arrivals over half hours, from the 11th on.
const DAY_SHAPE_SCALE: (f64, f64) = (8.1737, 3.9631);
const FIRST_HALF_HOUR: usize = 11;
const N_HALF_HOURS: usize = 48;
const HALF_HOUR_S: f64 = 1800.0;
/// Limits of time of the f-model.
const F: f64 = 3.0;
/// Largest variance of the parallelism.
const VARIANCE_MAX: f64 = 2.0;

/// Draws jobs for a machine of `n_nodes` nodes. With a `load`, the times between arrivals are stretched so that all work
/// takes this share of all nodes until the last arrival.
pub fn draw_jobs(n_jobs: usize, n_nodes: u32, load: Option<f64>, seed: u64) -> Vec<QueueJob> {
    let (mut sizes, mut times) = (Random::stream(seed, 0), Random::stream(seed, 1));
    let mut arrivals = Arrivals::new(Random::stream(seed, 2));
    let drawn = (1..).take(n_jobs).map(|number| {
        let size = size(&mut sizes, n_nodes);
        QueueJob {
            number,
            submitted_s: arrivals.next_s(),
            ..job(size, run_s(&mut times, size), None, &mut Random::stream(seed ^ number, 3))
        }
    });
    let mut jobs: Vec<QueueJob> = drawn.collect();
    set_load(&mut jobs, n_nodes, load);
    jobs
}

/// Job of this size and run time with a speedup, and with a limit of time if it has none.
pub(super) fn job(n_nodes: u32, run_s: f64, limit_s: Option<f64>, random: &mut Random) -> QueueJob {
    let variance = VARIANCE_MAX * random.share();
    let speedup = Speedup { parallelism: f64::from(n_nodes), variance };
    let limit_s = limit_s.unwrap_or(run_s * (1.0 + F * random.share()));
    QueueJob { number: 0, submitted_s: 0.0, n_nodes, run_s, limit_s: limit_s.max(run_s), speedup }
}

/// Moves the first arrival to 0, and stretches the times between arrivals for a load.
pub(super) fn set_load(jobs: &mut [QueueJob], n_nodes: u32, load: Option<f64>) {
    let first_s = jobs.iter().map(|job| job.submitted_s).fold(f64::INFINITY, f64::min);
    jobs.iter_mut().for_each(|job| job.submitted_s -= first_s);
    let last_s = jobs.iter().map(|job| job.submitted_s).fold(0.0, f64::max);
    let work_s: f64 = jobs.iter().map(|job| f64::from(job.n_nodes) * job.run_s).sum();
    if let Some(load) = load.filter(|_| 0.0 < last_s) {
        let stretch = work_s / (load * f64::from(n_nodes)) / last_s;
        jobs.iter_mut().for_each(|job| job.submitted_s *= stretch);
    }
}

fn size(random: &mut Random, n_nodes: u32) -> u32 {
    let share = random.share();
    if share <= SERIAL_SHARE || n_nodes < 2 {
        return 1;
    }
    let (low, high) = (LOWEST_LOG2, f64::from(n_nodes).log2());
    let bend = (high - BEND_BELOW_LOG2).max(low);
    let (from, to) = if random.share() <= BELOW_BEND_SHARE { (low, bend) } else { (bend, high) };
    let log2 = from + random.share() * (to - from);
    let is_power = share <= SERIAL_SHARE + POWER_OF_TWO_SHARE;
    let size = if is_power { log2.round() } else { log2 }.exp2().round();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "1 to `n_nodes`")]
    let size = size as u32;
    size.clamp(1, n_nodes)
}

fn run_s(random: &mut Random, n_nodes: u32) -> f64 {
    let short = (SHORT_SHARE + SHORT_SHARE_PER_NODE * f64::from(n_nodes)).clamp(0.0, 1.0);
    loop {
        let (shape, scale) =
            if random.share() <= short { SHORT_SHAPE_SCALE } else { LONG_SHAPE_SCALE };
        let log = scale * random.gamma(shape);
        if log <= LONGEST_LOG {
            return log.exp();
        }
    }
}

/// Arrivals over days whose half hours see more or fewer of them.
struct Arrivals {
    random: Random,
    /// Weights of the half hours, 1 in the mean.
    weights: Vec<f64>,
    half_hour: usize,
    points: f64,
    /// Half hours that have passed.
    n_passed: f64,
}

impl Arrivals {
    fn new(random: Random) -> Self {
        let (shape, scale) = DAY_SHAPE_SCALE;
        let density = |x: f64| x.powf(shape - 1.0) * (-x / scale).exp();
        let mut weights = vec![0.0; N_HALF_HOURS];
        for at in FIRST_HALF_HOUR..FIRST_HALF_HOUR + N_HALF_HOURS {
            let x = at as f64;
            // Simpson's rule over half an hour; the factor cancels below.
            weights[(at - 1) % N_HALF_HOURS] =
                density(x - 0.5) + 4.0 * density(x) + density(x + 0.5);
        }
        let mean = weights.iter().sum::<f64>() / N_HALF_HOURS as f64;
        weights.iter_mut().for_each(|weight| *weight /= mean);
        Self { random, weights, half_hour: 0, points: 0.0, n_passed: 0.0 }
    }

    /// Time of the next arrival in seconds: a half hour passes when as many points have come as it has weight.
    fn next_s(&mut self) -> f64 {
        let (shape, scale) = RUSH_SHAPE_SCALE;
        let log = loop {
            let log = scale * self.random.gamma(shape);
            if log <= LONGEST_PAUSE_LOG {
                break log;
            }
        };
        self.points += log.exp() / HALF_HOUR_S;
        while self.weights[self.half_hour] < self.points {
            self.points -= self.weights[self.half_hour];
            self.half_hour = (self.half_hour + 1) % N_HALF_HOURS;
            self.n_passed += 1.0;
        }
        HALF_HOUR_S * (self.n_passed + self.points / self.weights[self.half_hour])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_as_the_model_says() {
        let jobs = draw_jobs(20_000, 128, None, 1);
        let share = |is_so: fn(&QueueJob) -> bool| {
            jobs.iter().filter(|job| is_so(job)).count() as f64 / jobs.len() as f64
        };
        assert!((share(|job| job.n_nodes == 1) - SERIAL_SHARE).abs() < 0.02);
        assert!(jobs.iter().all(|job| (1..=128).contains(&job.n_nodes)));
        assert!(0.9 * 128.0 < f64::from(jobs.iter().map(|job| job.n_nodes).max().unwrap()));
        // Medians of the two parts: some 40 s and some 3 h.
        assert!(
            (share(|job| job.run_s < 600.0) - 0.67).abs() < 0.05,
            "{}",
            share(|job| job.run_s < 600.0)
        );
        assert!(jobs.iter().all(|job| job.run_s <= LONGEST_LOG.exp() && job.run_s <= job.limit_s));
        assert!(jobs.is_sorted_by(|a, b| a.submitted_s <= b.submitted_s));
        // More come in the afternoon than before dawn.
        let at = |from: f64, to: f64| {
            let hours = jobs.iter().map(|job| job.submitted_s / 3600.0 % 24.0);
            hours.filter(|hour| (from..to).contains(hour)).count()
        };
        let first_s = Arrivals::new(Random::stream(1, 2)).next_s();
        assert!(first_s < 24.0 * 3600.0 && at(3.0, 6.0) < at(12.0, 15.0));
    }

    #[test]
    fn a_load_stretches_the_arrivals() {
        let jobs = draw_jobs(40, 32, Some(0.5), 7);
        let work_s: f64 = jobs.iter().map(|job| f64::from(job.n_nodes) * job.run_s).sum();
        assert!(jobs[0].submitted_s.abs() < 1e-9);
        assert!((work_s / (32.0 * jobs[39].submitted_s) - 0.5).abs() < 1e-9);
    }
}
