//! Trials of the algorithms of a communicator, and the choice that follows from them.
//!
//! Blocks of calls alternate between the library's algorithm and one of the others, so that what else happens in the
//! program reaches both alike. A block's time counts relative to the library's blocks before and after it.
//!
//! # Invariants
//! - An algorithm that is much slower in all cells is dropped after its first, shortest block.
//! - It is chosen for a cell only if it was faster in all blocks but one, and clearly so in their median.

use super::{N_ARMS, N_CELLS};

/// Rounds over all algorithms.
const N_ROUNDS: usize = 5;
/// Calls in a block of the library's algorithm, and of another one: in the first round, and later.
const N_OWN_CALLS: u64 = 12;
const N_FIRST_CALLS: u64 = 6;
const N_LATER_CALLS: u64 = 12;
/// Time relative to the library's, below which an algorithm is chosen.
const CHOSEN_BELOW: f64 = 0.9;
/// The same above which it is not tried again.
const DROPPED_ABOVE: f64 = 2.0;

type Times = [Option<f64>; N_CELLS];

/// Next step of the trials.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// A block with this algorithm, of this many calls.
    Block(u8, u64),
    /// The trials are over.
    Over(Vec<Choice>),
}

/// Algorithm that is faster than the library's in a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// The cell.
    pub cell: usize,
    /// The algorithm.
    pub arm: u8,
    /// Its time relative to the library's.
    pub ratio: f64,
}

/// Trials under way.
#[derive(Clone, Debug)]
pub struct Trials {
    round: usize,
    /// Algorithm of the block under way; 0 is the library's.
    arm: u8,
    /// Algorithm tried last.
    last_arm: u8,
    own: Times,
    other: Option<Times>,
    is_dropped: [bool; N_ARMS],
    ratios: Vec<[[Option<f64>; N_ROUNDS]; N_ARMS]>,
}

impl Default for Trials {
    fn default() -> Self {
        Self {
            round: 0,
            arm: 0,
            last_arm: 0,
            own: [None; N_CELLS],
            other: None,
            is_dropped: [false; N_ARMS],
            ratios: vec![[[None; N_ROUNDS]; N_ARMS]; N_CELLS],
        }
    }
}

impl Trials {
    /// First block.
    pub fn first() -> Next {
        Next::Block(0, N_OWN_CALLS)
    }

    /// Returns the next step, given the times of the block that has ended.
    pub fn next(&mut self, times: &Times) -> Next {
        if self.arm != 0 {
            self.other = Some(*times);
            self.arm = 0;
            return Self::first();
        }
        if let Some(other) = self.other.take() {
            self.compare(&other, times);
        }
        self.own = *times;
        if !self.go_on() {
            return Next::Over(self.choices());
        }
        let n_calls = if self.round == 0 { N_FIRST_CALLS } else { N_LATER_CALLS };
        Next::Block(self.arm, n_calls)
    }

    /// Turns to the next algorithm; returns false if there is none.
    fn go_on(&mut self) -> bool {
        loop {
            self.last_arm += 1;
            if usize::from(self.last_arm) == N_ARMS {
                (self.last_arm, self.round) = (0, self.round + 1);
                if self.round == N_ROUNDS {
                    return false;
                }
            } else if !self.is_dropped[usize::from(self.last_arm)] {
                self.arm = self.last_arm;
                return true;
            }
        }
    }

    fn compare(&mut self, other: &Times, after: &Times) {
        let arm = usize::from(self.last_arm);
        let mut lowest = f64::INFINITY;
        for cell in 0..N_CELLS {
            if let (Some(before), Some(other), Some(after)) =
                (self.own[cell], other[cell], after[cell])
            {
                let ratio = other / f64::midpoint(before, after).max(1.0);
                self.ratios[cell][arm][self.round] = Some(ratio);
                lowest = lowest.min(ratio);
            }
        }
        self.is_dropped[arm] = DROPPED_ABOVE < lowest && lowest.is_finite();
    }

    fn choices(&self) -> Vec<Choice> {
        (0..N_CELLS).filter_map(|cell| self.choice(cell)).collect()
    }

    fn choice(&self, cell: usize) -> Option<Choice> {
        let arms = (1..N_ARMS).filter_map(|arm| {
            let mut ratios: Vec<f64> =
                self.ratios[cell][arm].iter().copied().collect::<Option<_>>()?;
            ratios.sort_by(f64::total_cmp);
            // The slowest block may have met something else that kept the cores.
            let (median, second) = (*ratios.get(N_ROUNDS / 2)?, *ratios.get(N_ROUNDS - 2)?);
            let is_faster = median < CHOSEN_BELOW && second < 1.0;
            is_faster.then_some(Choice { cell, arm: u8::try_from(arm).ok()?, ratio: median })
        });
        arms.min_by(|a, b| a.ratio.total_cmp(&b.ratio))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plays the trials with these times by algorithm for a cell; returns the choices and the calls of each algorithm.
    fn played(time: impl Fn(u8, usize) -> Option<f64>) -> (Vec<Choice>, [u64; N_ARMS]) {
        let (mut trials, mut next, mut n_calls) = (Trials::default(), Trials::first(), [0; N_ARMS]);
        for idx in 0.. {
            let (arm, n) = match next {
                Next::Block(arm, n) => (arm, n),
                Next::Over(choices) => return (choices, n_calls),
            };
            n_calls[usize::from(arm)] += n;
            let mut times = [None; N_CELLS];
            times[7] = time(arm, idx);
            next = trials.next(&times);
        }
        unreachable!()
    }

    #[test]
    fn the_fastest_algorithm_is_chosen() {
        let (choices, _) =
            played(|arm, _| Some([100.0, 80.0, 50.0, 120.0, 300.0][usize::from(arm)]));
        assert_eq!(choices, [Choice { cell: 7, arm: 2, ratio: 0.5 }]);
    }

    #[test]
    fn a_slow_algorithm_costs_one_short_block() {
        let (choices, n_calls) = played(|arm, _| Some(if arm == 0 { 100.0 } else { 600.0 }));
        assert_eq!(choices, []);
        assert_eq!(n_calls[1..], [N_FIRST_CALLS; N_ARMS - 1]);
    }

    #[test]
    fn doubt_keeps_the_algorithm_of_the_library() {
        let slight = played(|arm, _| Some(if arm == 0 { 100.0 } else { 95.0 })).0;
        assert_eq!(slight, []);
        // Faster only in the first block of each.
        let once = played(|arm, idx| Some(if arm == 0 || 9 < idx { 100.0 } else { 10.0 })).0;
        assert_eq!(once, []);
        let seldom = played(|_, idx| (idx == 3).then_some(1.0)).0;
        assert_eq!(seldom, []);
    }

    #[test]
    fn a_program_that_gets_slower_by_itself_is_no_reason() {
        let drifting = played(|_, idx| Some(100.0 + 20.0 * idx as f64)).0;
        assert_eq!(drifting, []);
    }
}
