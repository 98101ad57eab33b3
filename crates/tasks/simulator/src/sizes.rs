//! Random programs on which the choice of a size is judged: what an iteration takes by the number of ranks, what a change
//! costs, how long ranks need to start, how times vary, and loads that come and go.
//!
//! The largest size is 4 to 64 ranks, the smallest one 1 or a quarter of that; the program starts at either or between. The
//! best size takes 3 to 200 s in all. Sizes that a program has are chosen by [`resize_plan::payoff::Sizing`], the rule of
//! malleable programs. Each run is compared with the best fixed size, which somebody would have to know beforehand, under
//! the same load, and with the best of those that one would try: the smallest, the first and the largest.

mod case;

use case::SizesRun;
pub use case::{Shape, SizesCase};
use resize_plan::payoff::{CostFactors, Sizing, SizingInput};

/// Kind of a run, by which results are grouped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// At least 20 s, without a load.
    Calm,
    /// At least 20 s, with a load that comes and goes.
    Loaded,
    /// Less than 20 s.
    Short,
}

/// How the size is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// By the program, which knows its number of iterations.
    Known,
    /// By the program, which does not.
    Unknown,
    /// The smallest.
    Least,
    /// The one that it starts with.
    First,
    /// The largest.
    Most,
}

impl Rule {
    /// All rules.
    pub const ALL: [Self; 5] = [Self::Known, Self::Unknown, Self::Least, Self::First, Self::Most];

    /// Name, as in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Known => "by itself",
            Self::Unknown => "by itself, not knowing its end",
            Self::Least => "smallest",
            Self::First => "first",
            Self::Most => "largest",
        }
    }
}

/// Result of a run.
#[derive(Clone, Copy, Debug)]
pub struct SizesResult {
    /// Kind of the run.
    pub kind: Kind,
    /// How the size was chosen.
    pub rule: Rule,
    /// Time over that of the best fixed size.
    pub of_best: f64,
    /// Time over that of the best of the smallest, the first and the largest.
    pub of_simple: f64,
    /// Number of changes.
    pub n_resizes: u32,
}

/// Runs a case by each rule.
pub fn run(case: &SizesCase) -> Vec<SizesResult> {
    let (min, max) = case.range;
    let best_s = (min..=max).map(|size| case.fixed_s(size)).fold(f64::INFINITY, f64::min);
    let fixed = [min, case.first, max].map(|size| case.fixed_s(size));
    let simple_s = fixed.into_iter().fold(f64::INFINITY, f64::min);
    let kind = match (best_s < 20.0, case.load.is_some()) {
        (true, _) => Kind::Short,
        (false, true) => Kind::Loaded,
        (false, false) => Kind::Calm,
    };
    let result = |rule: Rule| {
        let (time_s, n_resizes) = match rule {
            Rule::Known => chosen(case, true),
            Rule::Unknown => chosen(case, false),
            Rule::Least => (fixed[0], 0),
            Rule::First => (fixed[1], 0),
            Rule::Most => (fixed[2], 0),
        };
        let (of_best, of_simple) = (time_s / best_s, time_s / simple_s);
        SizesResult { kind, rule, of_best, of_simple, n_resizes }
    };
    Rule::ALL.map(result).to_vec()
}

/// Runs a program that chooses its size; returns its time in seconds, and how often it changed.
fn chosen(case: &SizesCase, is_end_known: bool) -> (f64, u32) {
    let mut program = SizesRun::new(case);
    let mut sizing = Sizing::default();
    let candidates: Vec<u32> = (case.range.0..=case.range.1).collect();
    let change = |from: u32, to: u32| CostFactors {
        n_new: to.saturating_sub(from),
        n_leaving: from.saturating_sub(to),
        bytes_moved: 0,
    };
    while !program.is_done() {
        if let Some((from, to, since_s)) = program.switch() {
            sizing.changed(&change(from, to), case.wait_s, since_s);
        }
        let Some((seconds, n_iterations)) = program.stretch() else { continue };
        sizing.saw(program.size, seconds, n_iterations);
        if !sizing.is_due() {
            continue;
        }
        let input = SizingInput {
            size: program.size,
            n_done: program.n_done,
            n_iterations: is_end_known.then_some(case.n_iterations),
            candidates: &candidates,
        };
        let advice = sizing.advice(&input, |_| None, change);
        if advice.size != program.size {
            program.order(advice.size);
        }
    }
    (program.time_s, program.n_resizes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ratios::Ratios;

    /// Programs that choose come close to what one would have to know, and lose little where what they have is the best.
    #[test]
    fn choosing_comes_close_to_knowing() {
        let drawn = (0..).map(|number| SizesCase::drawn(5_000_000 + number));
        let cases: Vec<SizesCase> =
            drawn.filter(|case| case.range.1 <= 8 && case.n_iterations < 5000).take(20).collect();
        let best_s = |case: &SizesCase| {
            let sizes = case.range.0..=case.range.1;
            sizes.map(|size| case.fixed_s(size)).fold(f64::INFINITY, f64::min)
        };
        let of = |time_s: &dyn Fn(&SizesCase) -> f64| {
            Ratios::of(cases.iter().map(|case| time_s(case) / best_s(case)).collect())
        };
        let known = of(&|case| chosen(case, true).0);
        let first = of(&|case| case.fixed_s(case.first));
        assert!(known.mean < 1.15 && known.max < 1.7, "{known:?}");
        assert!(1.3 < first.mean && 2.5 < first.max, "the cases tell something: {first:?}");
    }
}
