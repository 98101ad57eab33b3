//! The period of a program in the sequence of one thread's MPI calls.
//!
//! A call site's passages cut the sequence into pieces. Where the pieces hold the same calls in the same proportions, one
//! piece is an iteration: of an outer loop, whose pieces are long, or of an inner one. An inner loop that takes a variable
//! number of turns changes the length of the outer loop's pieces but hardly their proportions.
//!
//! # Not here
//! Which calls are recorded, and when (`iteration_finder`).

use statistics::median;
use std::collections::{BTreeMap, HashMap};

/// Least number of repetitions.
pub(crate) const N_PERIODS_MIN: usize = 8;
/// Most passages of one call site in an iteration.
const N_PASSAGES_MAX: usize = 64;
/// Longest iteration in s that is preferred to those of an inner loop.
const LONGEST_S: f64 = 0.25;
/// Least similarity of an iteration with the mean of all.
const LIKENESS_MIN: f64 = 0.9;
/// Least share of the calls in iterations, or of their time.
const SHARE_MIN: f64 = 0.75;
/// Ratio to the median from which on a duration is unusual; where ranks wait for cores, they differ much.
const UNUSUAL: f64 = 8.0;
/// Least share of the iterations with a usual duration, and least share of the time in them: a burst of calls now and then is
/// no loop, whatever the program does between bursts.
const USUAL_MIN: (f64, f64) = (0.75, 0.4);
/// Gain of likeness for which an iteration is taken to have more passages of its call site.
const LIKENESS_GAIN: f64 = 0.01;
/// Calls after the last passage of a call site, in longest times between two passages, above which its loop is over.
const TAIL_MAX: usize = 2;
/// Parts of the sequence in which a period is looked for: all, the last half, quarter, ...
const N_PARTS: usize = 4;
/// Least calls in a part: fewer may be one burst of messages.
const N_PART_MIN: usize = 64;
/// Relative difference in length below which iterations are of one loop.
const SAME_LENGTH: f64 = 1.25;

/// An MPI call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Call {
    /// Return address.
    pub(crate) address: u64,
    /// Index of the operation.
    pub(crate) operation: u16,
    /// Bytes moved.
    pub(crate) bytes: u64,
    /// Time of the return in s.
    pub(crate) end_s: f64,
}

/// Iteration of the program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Period {
    /// Return address of the call that ends an iteration.
    pub(crate) address: u64,
    /// Index of its operation.
    pub(crate) operation: u16,
    /// Passages of the call site in an iteration.
    pub(crate) every: u32,
    /// Mean duration in s: where ranks wait for cores, few iterations take most of the time.
    pub(crate) duration_s: f64,
    /// Median number of calls.
    pub(crate) n_calls: f64,
    /// Share of the calls, or of their time, that is in iterations.
    pub(crate) share: f64,
    /// Whether durations are more alike per call than as they are: iterations differ in work.
    pub(crate) is_per_call: bool,
    likeness: f64,
}

/// Returns the period of a sequence of calls; `None` if nothing repeats often enough.
///
/// The end of the sequence counts: what came before the loop may be left out.
pub(crate) fn find(calls: &[Call]) -> Option<Period> {
    let halves = std::iter::successors(Some(0), |from| Some(from + (calls.len() - from) / 2));
    let is_long = |from: &usize| *from == 0 || N_PART_MIN <= calls.len() - from;
    halves.take(N_PARTS).filter(is_long).find_map(|from| Sequence::of(&calls[from..]).period())
}

/// Calls as small numbers: calls of one site and operation with messages of similar size have the same one.
struct Sequence<'a> {
    calls: &'a [Call],
    symbols: Vec<usize>,
    n_symbols: usize,
}

impl<'a> Sequence<'a> {
    fn of(calls: &'a [Call]) -> Self {
        let mut known = HashMap::new();
        let symbol = |call: &Call| {
            let next = known.len();
            let size = u64::BITS - call.bytes.leading_zeros();
            *known.entry((call.address, call.operation, size)).or_insert(next)
        };
        let symbols = calls.iter().map(symbol).collect();
        Self { calls, symbols, n_symbols: known.len() }
    }

    fn period(&self) -> Option<Period> {
        let mut passages: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for (at, call) in self.calls.iter().enumerate() {
            passages.entry(call.address).or_default().push(at);
        }
        let found: Vec<Period> =
            passages.values().filter_map(|passages| self.period_at(passages)).collect();
        let short = found.iter().filter(|period| period.duration_s <= LONGEST_S);
        let outer = short
            .max_by(|a, b| a.n_calls.total_cmp(&b.n_calls))
            .or_else(|| found.iter().min_by(|a, b| a.duration_s.total_cmp(&b.duration_s)))?;
        // Several call sites of one loop: the one whose passages cut best.
        let same = |period: &&Period| {
            let ratio = period.n_calls / outer.n_calls;
            ratio < SAME_LENGTH && 1.0 / SAME_LENGTH < ratio
        };
        found.iter().filter(same).max_by(|a, b| a.rank().total_cmp(&b.rank())).copied()
    }

    /// Returns the best period of a call site, given the positions of its passages.
    fn period_at(&self, passages: &[usize]) -> Option<Period> {
        let longest = passages.windows(2).map(|two| two[1] - two[0]).max()?;
        if TAIL_MAX * longest < self.calls.len() - 1 - passages.last()? {
            return None;
        }
        let mut best: Option<Period> = None;
        for every in 1..=N_PASSAGES_MAX {
            if passages.len() / every <= N_PERIODS_MIN {
                break;
            }
            let is_better = |found: &Period| {
                best.is_none_or(|best| best.likeness + LIKENESS_GAIN < found.likeness)
            };
            if let Some(found) = self.cut(passages, every).filter(is_better) {
                best = Some(found);
            }
            if best.is_some_and(|best| 1.0 - best.likeness < LIKENESS_GAIN) {
                break;
            }
        }
        best
    }

    /// Returns the period if every `every`-th passage ends an iteration.
    fn cut(&self, passages: &[usize], every: usize) -> Option<Period> {
        // From the end backwards: the last iterations are those that matter.
        let mut ends: Vec<usize> = passages.iter().rev().step_by(every).copied().collect();
        ends.reverse();
        let likeness = self.likeness(&ends);
        let n_calls: Vec<f64> = ends.windows(2).map(|ends| (ends[1] - ends[0]) as f64).collect();
        let time_s = |at: usize| self.calls[at].end_s;
        let durations_s: Vec<f64> =
            ends.windows(2).map(|ends| time_s(ends[1]) - time_s(ends[0])).collect();
        let all_s = (time_s(self.calls.len() - 1) - time_s(0)).max(f64::MIN_POSITIVE);
        let share_of = |parts: &[f64], all: f64| {
            let alike = likeness.iter().zip(parts);
            alike.filter(|(like, _)| LIKENESS_MIN <= **like).map(|(_, part)| part).sum::<f64>()
                / all
        };
        let share = share_of(&n_calls, self.calls.len() as f64).max(share_of(&durations_s, all_s));
        let likeness = median(likeness)?;
        if likeness < LIKENESS_MIN || share < SHARE_MIN || !are_usual(&durations_s) {
            return None;
        }
        let per_call: Vec<f64> = durations_s.iter().zip(&n_calls).map(|(s, n)| s / n).collect();
        let last = self.calls[*passages.last()?];
        Some(Period {
            address: last.address,
            operation: last.operation,
            every: u32::try_from(every).ok()?,
            duration_s: durations_s.iter().sum::<f64>() / durations_s.len() as f64,
            n_calls: median(n_calls.iter().copied())?,
            share,
            is_per_call: spread(&per_call) < 0.8 * spread(&durations_s) && 0.0 < spread(&n_calls),
            likeness,
        })
    }

    /// Returns the similarity of each piece with the mean of all: the cosine between their numbers of calls by symbol.
    ///
    /// Pieces count alike in the mean, whatever their length: few long ones, as output or a new mesh make them, do not
    /// shift it.
    fn likeness(&self, ends: &[usize]) -> Vec<f64> {
        let mut counts = vec![0.0_f64; self.n_symbols];
        let mut pieces: Vec<Vec<(usize, f64)>> = Vec::new();
        let mut mean = vec![0.0_f64; self.n_symbols];
        for ends in ends.windows(2) {
            let piece = &self.symbols[ends[0] + 1..=ends[1]];
            piece.iter().for_each(|symbol| counts[*symbol] += 1.0);
            // Each symbol once, and its place is empty again for the next piece.
            let taken = piece.iter().map(|symbol| (*symbol, std::mem::take(&mut counts[*symbol])));
            let mut piece: Vec<(usize, f64)> = taken.filter(|(_, n)| 0.0 < *n).collect();
            let length = piece.iter().map(|(_, n)| n * n).sum::<f64>().sqrt();
            for (symbol, n) in &mut piece {
                *n /= length;
                mean[*symbol] += *n;
            }
            pieces.push(piece);
        }
        let length = mean.iter().map(|n| n * n).sum::<f64>().sqrt();
        let cosine = |piece: Vec<(usize, f64)>| {
            piece.iter().map(|(symbol, n)| n * mean[*symbol]).sum::<f64>() / length
        };
        pieces.into_iter().map(cosine).collect()
    }
}

impl Period {
    /// Order of call sites of one loop: alike pieces first, then few passages in each.
    fn rank(&self) -> f64 {
        (self.likeness / LIKENESS_GAIN).floor() - f64::from(self.every) / 2.0
    }
}

/// Returns whether most durations are like the median, and not only some that together are short.
fn are_usual(durations_s: &[f64]) -> bool {
    let Some(middle_s) = median(durations_s.iter().copied()) else { return false };
    let is_usual = |s: &&f64| middle_s <= UNUSUAL * **s && **s <= UNUSUAL * middle_s;
    let n_usual = durations_s.iter().filter(is_usual).count() as f64;
    let usual_s: f64 = durations_s.iter().filter(is_usual).sum();
    let all_s: f64 = durations_s.iter().sum();
    USUAL_MIN.0 * durations_s.len() as f64 <= n_usual && USUAL_MIN.1 * all_s <= usual_s
}

/// Returns the median deviation from the median, relative to it.
fn spread(values: &[f64]) -> f64 {
    let Some(middle) = median(values.iter().copied()).filter(|middle| 0.0 < *middle) else {
        return 0.0;
    };
    median(values.iter().map(|value| (value - middle).abs())).unwrap_or(0.0) / middle
}

#[cfg(test)]
mod tests {
    use super::*;
    use events::OperationId;

    /// A program: letters are call sites, a call takes 1 ms.
    fn calls(text: &str) -> Vec<Call> {
        let call = |(at, letter): (usize, char)| Call {
            address: u64::from(letter),
            operation: OperationId(1).0,
            bytes: 8,
            end_s: at as f64 * 1e-3,
        };
        text.chars().enumerate().map(call).collect()
    }

    /// Checks the call site that ends an iteration, its passages in one, and the calls in one.
    #[track_caller]
    fn check(text: &str, expected: Option<(&str, u32, f64)>) {
        let found = find(&calls(text));
        let found = found.map(|found| {
            (
                char::from_u32(u32::try_from(found.address).unwrap()).unwrap(),
                found.every,
                found.n_calls,
            )
        });
        match (found, expected) {
            (Some((letter, every, n_calls)), Some((letters, e, n))) => {
                assert!(letters.contains(letter), "{letter} is none of {letters}");
                assert_eq!((every, n_calls), (e, n));
            }
            (found, expected) => assert_eq!(found.is_some(), expected.is_some(), "{found:?}"),
        }
    }

    #[test]
    fn a_loop_is_found_behind_its_preamble() {
        check(&"irswa".repeat(20), Some(("irswa", 1, 5.0)));
        check(&("mnopqrstuvwxyz".to_owned() + &"abc".repeat(40)), Some(("abc", 1, 3.0)));
        let setup = "mnopqrstuvwxyzmonqsrtzyxwvnopqonm";
        check(&(setup.to_owned() + &"abcde".repeat(20)), Some(("abcde", 1, 5.0)));
        check(&(("xy".repeat(60)) + &"abcde".repeat(50)), Some(("abcde", 1, 5.0)));
    }

    #[test]
    fn a_call_site_may_be_passed_several_times_in_an_iteration() {
        check(&"a".repeat(100), Some(("a", 1, 1.0)));
        check(&"dhdhhddd".repeat(20), Some(("h", 3, 8.0)));
        check(&"aab".repeat(30), Some(("b", 1, 3.0)));
    }

    #[test]
    fn the_outermost_loop_that_repeats_often_enough_is_taken() {
        check(&("p".to_owned() + &"dhd".repeat(10)).repeat(9), Some(("p", 1, 31.0)));
        check(&("p".to_owned() + &"dha".repeat(10)).repeat(4), Some(("dha", 1, 3.0)));
    }

    #[test]
    fn inner_loops_may_take_a_variable_number_of_turns() {
        let turn = |n| "p".to_owned() + &"dha".repeat(n) + "q";
        let text: String = [20, 25, 31, 22, 27, 24, 30, 21, 26, 23, 28].map(turn).concat();
        let found = find(&calls(&text)).unwrap();
        assert!(found.is_per_call && [u64::from('p'), u64::from('q')].contains(&found.address));
    }

    #[test]
    fn output_now_and_then_does_not_hide_the_loop() {
        let text = ("irswa".repeat(10) + "oo").repeat(5);
        check(&text, Some(("irswa", 1, 5.0)));
    }

    #[test]
    fn adaptive_steps_do_not_hide_the_loop() {
        // Every tenth step exchanges much more, in little time.
        let text = ("abcd".repeat(10) + &"rs".repeat(20)).repeat(5);
        check(&text, None);
        let quick = |call: Call| {
            let is_quick = [u64::from('r'), u64::from('s')].contains(&call.address);
            if is_quick { 0.1e-3 } else { 1e-3 }
        };
        let mut now_s = 0.0;
        let timed = calls(&text).into_iter().map(|call| {
            now_s += quick(call);
            Call { end_s: now_s, ..call }
        });
        let found = find(&timed.collect::<Vec<_>>()).unwrap();
        assert!((found.n_calls - 4.0).abs() < 1e-9, "{found:?}");
    }

    /// Returns calls of one site, of which some are followed by a pause.
    fn paused(n: usize, pause_s: impl Fn(usize) -> f64) -> Vec<Call> {
        let mut now_s = 0.0;
        let paused = calls(&"c".repeat(n)).into_iter().enumerate().map(|(at, call)| {
            now_s += 1e-4 + pause_s(at);
            Call { end_s: now_s, ..call }
        });
        paused.collect()
    }

    #[test]
    fn a_burst_of_calls_is_no_loop_of_its_own() {
        // As a checksum of 20 arrays, one after the other, every fifth step.
        let found = find(&paused(400, |at| if at % 20 == 0 { 0.05 } else { 0.0 })).unwrap();
        assert!((15..=20).contains(&found.every), "{found:?}");
        // Many calls after each other, and the time between three bursts of them.
        let pause_s = |at: usize| if [50, 170, 390].contains(&at) { 0.05 } else { 0.0 };
        assert_eq!(find(&paused(400, pause_s)), None);
        // Output now and then.
        let found = find(&paused(400, |at| if at % 20 == 0 { 1e-3 } else { 0.0 })).unwrap();
        assert_eq!(found.every, 1, "{found:?}");
    }

    #[test]
    fn a_loop_that_is_over_is_none() {
        let setup = "xy".repeat(300);
        check(&setup, Some(("xy", 1, 2.0)));
        check(&(setup.clone() + "irswairswa"), None);
        check(&(setup + &"irswa".repeat(20)), Some(("irswa", 1, 5.0)));
    }

    #[test]
    fn a_loop_that_is_too_slow_gives_way_to_the_loop_inside() {
        let text = ("p".to_owned() + &"dha".repeat(20)).repeat(10);
        let slow = calls(&text).into_iter().map(|call| Call { end_s: 20.0 * call.end_s, ..call });
        let found = find(&slow.collect::<Vec<_>>()).unwrap();
        assert!((found.n_calls - 3.0).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn where_nothing_repeats_there_is_no_period() {
        check("abcdefghijklmnopqrstuvwxyz", None);
        check("", None);
        check("aaaa", None);
        let mut state = 1_u32;
        let mut letter = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            char::from(b'A' + u8::try_from(state >> 27).unwrap())
        };
        let text: String = (0..200).map(|_| letter()).collect();
        check(&text, None);
    }

    #[test]
    fn messages_of_one_wrapper_are_told_apart_by_size() {
        let mut all = calls(&"w".repeat(120));
        let sizes = [8, 8, 4096, 65_536, 8, 1 << 20];
        all.iter_mut().zip(sizes.into_iter().cycle()).for_each(|(call, bytes)| call.bytes = bytes);
        assert_eq!(find(&all).unwrap().every, 6);
    }
}
