//! Time of a message as a function of its length: one line for each protocol by which a library sends messages.
//!
//! Short messages are copied (eager); before a long one the receiver is asked (rendezvous). So the time
//! over the length is not one line but a few, with jumps between them. [`NetModel::fit`] finds the
//! lines and their borders from median times at many lengths.
//!
//! Lengths span seven orders of magnitude, so errors are relative; the wider the interval of a length's
//! median, the less the length weighs.
//! The chosen number of lines minimizes `n ln(RSS / n) + 3 k ln(n)` (Schwarz's criterion for `k`
//! lines of three numbers each through `n` points).
//!
//! # Invariants
//! - Pieces are sorted by length and cover all lengths from 0 bytes on, without gaps.
//! - Latencies and costs per byte are not negative.
//!
//! # Not here
//! Measuring: `comm::netbench`.

mod places;

use serde::{Deserialize, Serialize};

pub use places::{Locality, Networks, Pair};

/// Largest number of lines that is tried.
const N_PIECES_MAX: usize = 4;
/// Smallest number of lengths that a line is fitted to.
const N_SAMPLES_MIN: usize = 3;

/// The time of a message between two ranks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NetModel {
    /// One piece for each protocol, from short to long messages.
    pub pieces: Vec<LinearPiece>,
    /// Samples that the pieces were fitted to.
    pub samples: Vec<LengthSample>,
    /// Time of a long message while another one comes the other way, over its time alone: 1 if they do not slow each
    /// other, 2 if they take turns. Missing where it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exchange_ratio: Option<f64>,
}

/// Time of a message of `from_bytes` or more: `latency_s + s_per_byte * n_bytes`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinearPiece {
    /// Length of the shortest message that the piece holds for, in bytes.
    pub from_bytes: u64,
    /// Intercept of the line: the time of an empty message if the line held down to 0 bytes, in seconds.
    pub latency_s: f64,
    /// Half-width of the 95 % confidence interval of `latency_s`, in seconds.
    pub latency_margin_s: f64,
    /// Seconds per byte.
    pub s_per_byte: f64,
    /// Half-width of the 95 % confidence interval of `s_per_byte`.
    pub s_per_byte_margin: f64,
}

impl NetModel {
    /// Fits the lines. `None` with fewer than three lengths whose time is positive.
    #[must_use]
    pub fn fit(samples: &[LengthSample]) -> Option<Self> {
        let mut samples: Vec<LengthSample> =
            samples.iter().copied().filter(|sample| 0.0 < sample.median_s).collect();
        samples.sort_by_key(|sample| sample.n_bytes);
        samples.dedup_by_key(|sample| sample.n_bytes);
        if samples.len() < N_SAMPLES_MIN {
            return None;
        }
        let most = N_PIECES_MAX.min(samples.len() / N_SAMPLES_MIN);
        let ways = (1..=most).map(|n_pieces| best_cut(&samples, n_pieces));
        let best = ways.min_by(|a, b| judged(a, &samples).total_cmp(&judged(b, &samples)))?;
        Some(Self { pieces: joined(&best), samples, exchange_ratio: None })
    }

    /// Returns the seconds from the start of sending until a message of this length is received.
    #[must_use]
    pub fn one_way_s(&self, n_bytes: u64) -> f64 {
        LinearPiece::of(&self.pieces, n_bytes).time_s(n_bytes)
    }
}

impl LinearPiece {
    /// Creates a piece that is known exactly.
    #[must_use]
    pub const fn exact(from_bytes: u64, latency_s: f64, s_per_byte: f64) -> Self {
        Self { from_bytes, latency_s, latency_margin_s: 0.0, s_per_byte, s_per_byte_margin: 0.0 }
    }

    /// Returns the piece for messages of a length, of pieces sorted by length: the first one also holds below its
    /// `from_bytes`. Without pieces, messages take no time.
    #[must_use]
    pub fn of(pieces: &[Self], n_bytes: u64) -> Self {
        let piece = pieces.iter().rev().find(|piece| piece.from_bytes <= n_bytes);
        piece.or(pieces.first()).copied().unwrap_or(Self::exact(0, 0.0, 0.0))
    }

    /// Returns the time of a message of this length, in s.
    #[must_use]
    pub fn time_s(&self, n_bytes: u64) -> f64 {
        self.latency_s + self.s_per_byte * n_bytes as f64
    }

    /// Returns the piece at an end of its intervals: -1 is the lower, 1 the upper end.
    #[must_use]
    pub fn at_end(&self, end: f64) -> Self {
        let latency_s = (self.latency_s + end * self.latency_margin_s).max(0.0);
        let s_per_byte = (self.s_per_byte + end * self.s_per_byte_margin).max(0.0);
        Self::exact(self.from_bytes, latency_s, s_per_byte)
    }
}

/// Returns the pieces of the lines, each starting where the previous one ends.
fn joined(lines: &[Line]) -> Vec<LinearPiece> {
    let starts = std::iter::once(0).chain(lines.iter().map(|line| line.last_bytes + 1));
    let pieces = lines.iter().zip(starts);
    pieces.map(|(line, from_bytes)| LinearPiece { from_bytes, ..line.piece }).collect()
}

/// Schwarz's criterion; smaller is better.
fn judged(lines: &[Line], samples: &[LengthSample]) -> f64 {
    let (n, k) = (samples.len() as f64, lines.len() as f64);
    let residual: f64 = lines.iter().map(|line| line.residual).sum();
    // A residual below a hundredth of a percent per sample is chance.
    let residual = residual.max(n * 1e-8);
    n * (residual / n).ln() + 3.0 * k * n.ln()
}

/// Returns the lines with the least error when the lengths are cut into `n_pieces` parts.
fn best_cut(samples: &[LengthSample], n_pieces: usize) -> Vec<Line> {
    if n_pieces <= 1 {
        return vec![through(samples)];
    }
    let last_cut = samples.len() - N_SAMPLES_MIN;
    let first_cut = N_SAMPLES_MIN * (n_pieces - 1);
    let ways = (first_cut..=last_cut).map(|cut| {
        let (before, after) = samples.split_at(cut);
        let mut lines = best_cut(before, n_pieces - 1);
        lines.push(through(after));
        lines
    });
    let error = |lines: &[Line]| -> f64 { lines.iter().map(|line| line.residual).sum() };
    ways.min_by(|a, b| error(a).total_cmp(&error(b))).unwrap_or_default()
}

/// The median time of messages of one length, and the interval that holds the true median with at least
/// 95 percent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LengthSample {
    /// Length of the messages, in bytes.
    pub n_bytes: u64,
    /// Median one-way time, in seconds.
    pub median_s: f64,
    /// Lower end of the interval, in seconds.
    pub low_s: f64,
    /// Upper end of the interval, in seconds.
    pub high_s: f64,
    /// Number of measured times.
    pub n_times: u32,
}

/// Returns the sample of these times; `None` without times.
///
/// The interval is between two of the sorted times: the number of times below the true median is
/// binomial, about normal with mean `n / 2` and deviation `sqrt(n) / 2`. No shape is assumed for the times.
#[must_use]
pub fn median_of(n_bytes: u64, times_s: &[f64]) -> Option<LengthSample> {
    let mut sorted = times_s.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = u32::try_from(sorted.len()).ok()?;
    let middle = sorted.len() / 2;
    let median_s = *sorted.get(middle)?;
    #[expect(clippy::cast_possible_truncation, reason = "below 2^16 for 32 bits")]
    #[expect(clippy::cast_sign_loss, reason = "a root is not negative")]
    let reach = (0.98 * f64::from(n).sqrt()).ceil() as usize;
    let low_s = sorted[middle.saturating_sub(reach)];
    let high_s = sorted[(middle + reach).min(sorted.len() - 1)];
    Some(LengthSample { n_bytes, median_s, low_s, high_s, n_times: n })
}

/// A line and its distance from the samples.
#[derive(Clone, Copy, Debug)]
struct Line {
    piece: LinearPiece,
    /// Sum of the squares of the relative errors.
    residual: f64,
    /// Length of the longest message that it was fitted to, in bytes.
    last_bytes: u64,
}

/// Relative errors of a sample below this one weigh the same.
const ERROR_MIN: f64 = 0.01;

/// The line `t = a + b n` with the least sum of `w^2 ((a + b n) / t - 1)^2`, with `a` and `b` not negative.
///
/// The weight `w` is 1 for times known to within 1 percent, and falls as the interval gets wider.
/// With `u = w / t` and `v = w n / t` that is `a u + b v = w`; the sums of products are `uu`, `uv`, `vv`, `uw`,
/// `vw`. The margins are 1.96 standard errors.
fn through(samples: &[LengthSample]) -> Line {
    let points: Vec<[f64; 3]> = samples.iter().map(weighted).collect();
    let sum = |i: usize, j: usize| -> f64 { points.iter().map(|point| point[i] * point[j]).sum() };
    let (uu, uv, vv, uw, vw) = (sum(0, 0), sum(0, 1), sum(1, 1), sum(0, 2), sum(1, 2));
    let determinant = uu * vv - uv * uv;
    let (mut a, mut b) = ((uw * vv - vw * uv) / determinant, (vw * uu - uw * uv) / determinant);
    if a < 0.0 {
        (a, b) = (0.0, vw / vv);
    }
    if b < 0.0 || !b.is_finite() {
        (a, b) = (uw / uu, 0.0);
    }
    let residual = points.iter().map(|[u, v, w]| (a * u + b * v - w).powi(2)).sum::<f64>();
    let variance = residual / samples.len().saturating_sub(2).max(1) as f64;
    let margin = |cofactor: f64| {
        let squared = variance * cofactor / determinant;
        if squared.is_finite() { 1.96 * squared.max(0.0).sqrt() } else { 0.0 }
    };
    let piece = LinearPiece {
        from_bytes: 0,
        latency_s: a,
        latency_margin_s: margin(vv),
        s_per_byte: b,
        s_per_byte_margin: margin(uu),
    };
    let last_bytes = samples.last().map_or(0, |sample| sample.n_bytes);
    Line { piece, residual, last_bytes }
}

/// Returns `u`, `v` and `w` of a sample.
fn weighted(sample: &LengthSample) -> [f64; 3] {
    let n_bytes = sample.n_bytes as f64;
    let error = (sample.high_s - sample.low_s) / 2.0 / sample.median_s;
    let weight = ERROR_MIN / error.max(ERROR_MIN);
    [weight / sample.median_s, weight * n_bytes / sample.median_s, weight]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Times of `time_s` with an error of up to `error` that changes from length to length.
    fn samples(error: f64, time_s: impl Fn(f64) -> f64) -> Vec<LengthSample> {
        let lengths = (0..=22).flat_map(|power| [1_u64 << power, 3 << power >> 1]);
        let lengths = std::iter::once(0).chain(lengths);
        let numbered = (0_u32..).zip(lengths);
        numbered
            .map(|(number, n_bytes)| {
                let noise = 1.0 + error * f64::from(number * 7 % 5).mul_add(0.5, -1.0);
                let median_s = time_s(n_bytes as f64) * noise;
                LengthSample { n_bytes, median_s, low_s: median_s, high_s: median_s, n_times: 9 }
            })
            .collect()
    }

    #[track_caller]
    fn check_near(found: f64, expected: f64, within: f64) {
        assert!((found - expected).abs() <= within * expected.abs(), "{found}, not {expected}");
    }

    #[test]
    fn one_line_stays_one() {
        let model = NetModel::fit(&samples(0.01, |n| 2e-6 + 1e-10 * n)).expect("enough samples");
        assert_eq!(model.pieces.len(), 1, "{:?}", model.pieces);
        check_near(model.pieces[0].latency_s, 2e-6, 0.01);
        check_near(model.pieces[0].s_per_byte, 1e-10, 0.02);
        assert!((model.pieces[0].latency_s - 2e-6).abs() <= model.pieces[0].latency_margin_s);
        check_near(model.one_way_s(1 << 20), 2e-6 + 1e-10 * f64::from(1 << 20), 0.02);
    }

    #[test]
    fn the_change_from_eager_to_rendezvous_is_found() {
        let time_s = |n: f64| if n <= 4096.0 { 1e-6 + 5e-10 * n } else { 6e-6 + 1e-10 * n };
        let model = NetModel::fit(&samples(0.01, time_s)).expect("enough samples");
        assert_eq!(model.pieces.len(), 2, "{:?}", model.pieces);
        assert_eq!((model.pieces[0].from_bytes, model.pieces[1].from_bytes), (0, 4097));
        check_near(model.pieces[1].latency_s, 6e-6, 0.03);
        check_near(model.pieces[1].s_per_byte, 1e-10, 0.03);
    }

    #[test]
    fn what_was_disturbed_counts_little() {
        let mut samples = samples(0.01, |n| 2e-6 + 1e-10 * n);
        for sample in &mut samples[12..15] {
            (sample.median_s, sample.high_s) = (40.0 * sample.median_s, 90.0 * sample.median_s);
        }
        let model = NetModel::fit(&samples).expect("enough samples");
        assert_eq!(model.pieces.len(), 1, "{:?}", model.pieces);
        check_near(model.pieces[0].latency_s, 2e-6, 0.03);
    }

    #[test]
    fn a_latency_is_never_negative() {
        let model = NetModel::fit(&samples(0.0, |n| 1e-9 * n * n.sqrt() + 1e-7)).expect("enough");
        for piece in model.pieces {
            assert!(0.0 <= piece.latency_s && 0.0 <= piece.s_per_byte, "{piece:?}");
        }
    }

    #[test]
    fn two_lengths_make_no_model() {
        assert_eq!(NetModel::fit(&samples(0.0, |_| 1e-6)[..2]), None);
        assert_eq!(NetModel::fit(&samples(0.0, |_| 0.0)), None);
    }

    #[test]
    fn the_interval_holds_the_middle_of_the_times() {
        let times: Vec<f64> = (0..100).rev().map(f64::from).collect();
        let sample = median_of(8, &times).expect("there are times");
        // The 40th and the 61st of 100 enclose the median with 95.4 percent.
        assert_eq!((sample.low_s, sample.median_s, sample.high_s), (40.0, 50.0, 60.0));
        assert_eq!((sample.n_bytes, sample.n_times), (8, 100));
    }

    #[test]
    fn few_times_make_a_wide_interval() {
        let sample = median_of(0, &[3.0, 1.0, 2.0]).expect("there are times");
        assert_eq!((sample.low_s, sample.median_s, sample.high_s), (1.0, 2.0, 3.0));
        assert_eq!(median_of(0, &[]), None);
    }
}
