//! Decides whether changing the size pays within the iterations left, and which size pays most.
//!
//! `gain = iterations left * (seconds now - seconds then) - seconds that the program stops for the change`. Uncertainty
//! counts against a change: it is advised where it gains even at the worst end of all intervals.
//!
//! ```
//! use resize_plan::payoff::{Estimate, Prospect, Verdict, pays};
//!
//! let prospect = Prospect { size: 4, n_iterations_left: 400, candidates: &[2, 8, 16] };
//! let seconds = |size: u32| Some(Estimate::around(0.01 + 0.4 / f64::from(size), 0.001));
//! let cost = |_size: u32| Estimate::around(0.5, 0.1);
//! let payoff = pays(&prospect, seconds, cost);
//! assert_eq!((payoff.verdict, payoff.size), (Verdict::Resize, 16));
//! assert!(payoff.reason.starts_with("16 processes finish 29.5 s earlier than 4"), "{}", payoff.reason);
//! ```
//!
//! # Not here
//! Models made beforehand (`fitting`), measuring, and other sources of resize requests.

mod cost;
mod curve;
mod seen;
mod sizing;

pub use cost::{Cost, CostFactors};
pub use curve::Curve;
use display::units::seconds;
pub use seen::{History, SizeMeasurement};
pub use sizing::{Sizing, SizingInput};

/// Estimate of a number, with its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Likely value.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

impl Estimate {
    /// Estimate with a symmetric error; estimated values are not negative.
    pub fn around(value: f64, error: f64) -> Self {
        Self { value, low: (value - error).max(0.0), high: value + error }
    }
}

/// Situation of a program before a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prospect<'a> {
    /// Present size.
    pub size: u32,
    /// Number of iterations left.
    pub n_iterations_left: u64,
    /// Allowed sizes; the present one is skipped.
    pub candidates: &'a [u32],
}

/// Kind of advice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// No change pays for certain.
    Stay,
    /// A change pays.
    Resize,
    /// A change may pay, and trying it costs little: advice of [`Sizing`] alone.
    Explore,
}

/// Advice with its reason.
#[derive(Clone, Debug, PartialEq)]
pub struct Payoff {
    /// Kind of advice.
    pub verdict: Verdict,
    /// Size to have; the present one for [`Verdict::Stay`].
    pub size: u32,
    /// Gain of the best change less its cost, in seconds; 0 where no change could be judged.
    pub gain_s: Estimate,
    /// Cost of that change, in seconds.
    pub cost_s: f64,
    /// True if other sizes could be judged, and none is likely to be faster.
    pub is_fastest: bool,
    /// Reason, as a sentence for the user.
    pub reason: String,
}

/// Evaluation of one size.
#[derive(Clone, Copy, Debug)]
struct Judged {
    size: u32,
    seconds: Estimate,
    cost_s: Estimate,
    gain_s: Estimate,
}

/// Advises on a change: `seconds` returns the time of an iteration at a size, including the present one, or `None`
/// where it is unknown; `cost` returns for how many seconds the program stops to change to a size.
pub fn pays(
    prospect: &Prospect<'_>,
    seconds: impl Fn(u32) -> Option<Estimate>,
    cost: impl Fn(u32) -> Estimate,
) -> Payoff {
    let stay = |reason| stay(prospect.size, reason);
    let Some(now) = seconds(prospect.size).filter(|now| now.value.is_finite()) else {
        return stay(format!(
            "it is not known yet how long an iteration takes with {}",
            processes(prospect.size)
        ));
    };
    if prospect.n_iterations_left == 0 {
        return stay("no iterations are left".to_owned());
    }
    let others = prospect.candidates.iter().copied().filter(|size| *size != prospect.size);
    let judged: Vec<Judged> =
        others.filter_map(|size| judge(prospect, now, size, &seconds, &cost)).collect();
    let is_sure = |one: &&Judged| 0.0 < one.gain_s.low;
    if let Some(best) = likeliest(judged.iter().filter(is_sure)) {
        return advise(Verdict::Resize, best, sooner(prospect, now, best));
    }
    match likeliest(judged.iter()) {
        Some(best) => {
            let reason = no_gain(prospect, now, best);
            let is_fastest = best.gain_s.value + best.cost_s.value <= 0.0;
            Payoff { size: prospect.size, is_fastest, ..advise(Verdict::Stay, best, reason) }
        }
        None => stay("no other size is known or allowed".to_owned()),
    }
}

fn stay(size: u32, reason: String) -> Payoff {
    let gain_s = Estimate::around(0.0, 0.0);
    Payoff { verdict: Verdict::Stay, size, gain_s, cost_s: 0.0, is_fastest: false, reason }
}

/// Returns the size with the largest likely gain; among equals the smallest.
fn likeliest<'a>(some: impl Iterator<Item = &'a Judged>) -> Option<&'a Judged> {
    some.max_by(|one, other| {
        one.gain_s.value.total_cmp(&other.gain_s.value).then(other.size.cmp(&one.size))
    })
}

fn judge(
    prospect: &Prospect<'_>,
    now: Estimate,
    size: u32,
    seconds: impl Fn(u32) -> Option<Estimate>,
    cost: impl Fn(u32) -> Estimate,
) -> Option<Judged> {
    let (then, cost_s) = (seconds(size)?, cost(size));
    let gain = |then: f64, cost: f64| iterations(prospect) * (now.value - then) - cost;
    let gain_s = Estimate {
        value: gain(then.value, cost_s.value),
        low: gain(then.high, cost_s.high) - iterations(prospect) * (now.value - now.low),
        high: gain(then.low, cost_s.low) + iterations(prospect) * (now.high - now.value),
    };
    let is_known = [gain_s.value, gain_s.low, gain_s.high].iter().all(|gain| gain.is_finite());
    is_known.then_some(Judged { size, seconds: then, cost_s, gain_s })
}

#[expect(clippy::cast_precision_loss, reason = "fewer iterations than 2^53")]
fn iterations(prospect: &Prospect<'_>) -> f64 {
    prospect.n_iterations_left as f64
}

fn advise(verdict: Verdict, best: &Judged, reason: String) -> Payoff {
    let Judged { size, cost_s, gain_s, .. } = *best;
    Payoff { verdict, size, gain_s, cost_s: cost_s.value, is_fastest: false, reason }
}

fn sooner(prospect: &Prospect<'_>, now: Estimate, best: &Judged) -> String {
    format!(
        "{} finish {} earlier than {} in the {} iterations left: {} each instead of {}, and the change costs {}",
        processes(best.size),
        seconds(best.gain_s.value),
        prospect.size,
        prospect.n_iterations_left,
        seconds(best.seconds.value),
        seconds(now.value),
        seconds(best.cost_s.value)
    )
}

fn worth(prospect: &Prospect<'_>, best: &Judged) -> String {
    format!(
        "{} may finish about {} earlier than {} ({} at best); trying costs {}",
        processes(best.size),
        seconds(best.gain_s.value),
        prospect.size,
        seconds(best.gain_s.high),
        seconds(best.cost_s.value)
    )
}

fn no_gain(prospect: &Prospect<'_>, now: Estimate, best: &Judged) -> String {
    let saved_s = iterations(prospect) * (now.value - best.seconds.value);
    let (size, cost) = (processes(best.size), seconds(best.cost_s.value));
    let n_left = prospect.n_iterations_left;
    if saved_s <= 0.0 {
        format!("no size is faster: {size} would take {} longer", seconds(-saved_s))
    } else if best.gain_s.value <= 0.0 {
        format!(
            "{size} would save {} in the {n_left} iterations left, and the change costs {cost}",
            seconds(saved_s)
        )
    } else {
        format!(
            "{size} would finish about {} earlier, but this is uncertain: it may be {} later",
            seconds(best.gain_s.value),
            seconds(-best.gain_s.low)
        )
    }
}

fn processes(n: u32) -> String {
    if n == 1 { "1 process".to_owned() } else { format!("{n} processes") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Time of an iteration with a serial part and a parallel part.
    fn amdahl(size: u32) -> Estimate {
        Estimate::around(0.01 + 0.4 / f64::from(size), 0.002)
    }

    #[track_caller]
    fn check(n_left: u64, cost_s: f64, expected: (Verdict, u32, &str)) {
        let prospect = Prospect { size: 4, n_iterations_left: n_left, candidates: &[2, 4, 8] };
        let payoff = pays(&prospect, |size| Some(amdahl(size)), |_| Estimate::around(cost_s, 0.0));
        assert_eq!((payoff.verdict, payoff.size, payoff.reason.as_str()), expected);
    }

    #[test]
    fn a_change_has_to_earn_what_it_costs() {
        let sooner = "8 processes finish 4.50 s earlier than 4 in the 100 iterations left: 60.0 ms each instead of 110 ms, and the change costs 500 ms";
        check(100, 0.5, (Verdict::Resize, 8, sooner));
        let dear =
            "8 processes would save 450 ms in the 9 iterations left, and the change costs 500 ms";
        check(9, 0.5, (Verdict::Stay, 4, dear));
        let unsure = "8 processes would finish about 200 ms earlier, but this is uncertain: it may be 200 ms later";
        check(100, 4.8, (Verdict::Stay, 4, unsure));
        check(0, 0.0, (Verdict::Stay, 4, "no iterations are left"));
    }

    #[track_caller]
    fn check_unknown(seconds: fn(u32) -> Option<Estimate>, n_left: u64, expected: (Verdict, &str)) {
        let prospect = Prospect { size: 4, n_iterations_left: n_left, candidates: &[3, 8] };
        let payoff = pays(&prospect, seconds, |_| Estimate::around(0.1, 0.02));
        assert_eq!((payoff.verdict, payoff.reason.as_str()), expected);
    }

    #[test]
    fn what_is_not_known_for_sure_is_left() {
        let unsure: fn(u32) -> Option<Estimate> = |size| {
            let (value, error) = if size == 4 { (1.0, 0.0) } else { (0.9, 0.3) };
            Some(Estimate::around(value, error))
        };
        let later = "3 processes would finish about 400 ms earlier, but this is uncertain: it may be 1.12 s later";
        check_unknown(unsure, 5, (Verdict::Stay, later));
        let slower: fn(u32) -> Option<Estimate> =
            |size| Some(Estimate::around(f64::from(size.abs_diff(4) + 1), 0.0));
        let longer = "no size is faster: 3 processes would take 100 s longer";
        check_unknown(slower, 100, (Verdict::Stay, longer));
        let unknown = "it is not known yet how long an iteration takes with 4 processes";
        check_unknown(|_| None, 9, (Verdict::Stay, unknown));
        let only: fn(u32) -> Option<Estimate> =
            |size| (size == 4).then(|| Estimate::around(1.0, 0.0));
        check_unknown(only, 9, (Verdict::Stay, "no other size is known or allowed"));
    }
}
