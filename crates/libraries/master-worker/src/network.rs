//! Cost of a message between the master and a worker: estimated throughout the run at almost no cost.
//!
//! For a worker that waits for a chunk it is known when the chunk was sent, how long it computed and when the results
//! came: the rest is the round trip of the bytes sent and returned. Where all chunks are alike in size, that does not
//! separate latency from cost per byte: so at most ten times a second, before an iteration, an idle worker is sent a
//! message of only a header, and answers with another one.
//!
//! Disturbances only add time: of round trips alike in size, only the fastest quarter of the newest counts. The line
//! `2 * latency + cost * bytes` is fitted to them by least squares of relative errors. Before there are any, the line
//! of a file of `sintonia netbench --json` is used, if one is given.
//!
//! # Not here
//! Consequences for the number of workers (tunlet `worker-count`) and for chunk sizes (`chunking`).

use crate::protocol::HEADER_BYTES;
use serde::Deserialize;
use statistics::median;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

/// Cost of a message between the master and a worker.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct WorkerNetwork {
    /// Time of a message without bytes, in seconds.
    pub latency_s: f64,
    /// Time of each byte, in seconds.
    pub s_per_byte: f64,
    /// Confidence from 0, where the values are those of a file, to 1: enough messages of this run, of sizes that
    /// differ.
    pub confidence: f64,
    /// Source of the values.
    pub source: NetworkSource,
}

/// Source of the cost of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NetworkSource {
    /// A file of `sintonia netbench --json`; no message of this run was timed yet.
    File,
    /// Messages of this run, of sizes that differ.
    Messages,
    /// Messages of one size of this run, and the cost per byte of the file.
    Both,
    /// Messages of one size of this run: their whole time counts as latency.
    OneSize,
}

impl WorkerNetwork {
    /// Returns the time of a message of `n_bytes`, in seconds.
    #[must_use]
    pub fn one_way_s(&self, n_bytes: u64) -> f64 {
        self.latency_s + self.s_per_byte * n_bytes as f64
    }

    /// Returns whether latency and cost per byte are known separately, and not only their sum.
    pub(crate) fn is_separated(&self) -> bool {
        self.source != NetworkSource::OneSize
    }
}

impl fmt::Display for WorkerNetwork {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (latency_us, ns_per_byte) = (1e6 * self.latency_s, 1e9 * self.s_per_byte);
        write!(formatter, "latency {latency_us:.1} us and {ns_per_byte:.3} ns per byte, ")?;
        let percent = 100.0 * self.confidence;
        match self.source {
            NetworkSource::File => write!(formatter, "from the network file"),
            NetworkSource::Messages => {
                write!(formatter, "from messages of this run ({percent:.0} % sure)")
            }
            NetworkSource::Both => write!(
                formatter,
                "latency from messages of this run ({percent:.0} % sure), cost per byte from the network file"
            ),
            NetworkSource::OneSize => {
                write!(formatter, "from messages of one size, which cannot separate the two")
            }
        }
    }
}

/// Round trips remembered per size.
const N_NEWEST: usize = 16;
/// Round trips after which a size that did not occur among them is ignored.
const N_FORGOTTEN: u64 = 512;
/// Round trips for full confidence.
const N_SURE: usize = 32;
/// Sizes that differ by less than this share of the largest count as one.
const SIZES_DIFFER: f64 = 0.05;

/// Plausible round-trip times, in seconds; others are discarded.
const POSSIBLE_S: std::ops::Range<f64> = 1e-9..1e4;

/// Round trips of about one size.
#[derive(Debug, Default)]
struct Size {
    /// Newest round trips: bytes and seconds.
    newest: VecDeque<(f64, f64)>,
    /// Number of the group's last round trip, counted over all sizes.
    last: u64,
}

impl Size {
    /// Mean bytes of the round trips, and the first quartile of their times.
    fn point(&self) -> (f64, f64) {
        let mut times_s: Vec<f64> = self.newest.iter().map(|(_, time_s)| *time_s).collect();
        times_s.sort_by(f64::total_cmp);
        let n_bytes = self.newest.iter().map(|(n_bytes, _)| n_bytes).sum::<f64>();
        (n_bytes / self.newest.len() as f64, times_s[times_s.len() / 4])
    }
}

/// Time between two timing messages, in seconds.
const BETWEEN_S: f64 = 0.1;
/// Time after which an answer is no longer waited for, in seconds.
const ANSWER_S: f64 = 10.0;

/// Running estimate of the cost of messages, from round trips grouped by size: one group per power of two.
#[derive(Debug, Default)]
pub(crate) struct NetworkEstimator {
    guess: Option<WorkerNetwork>,
    sizes: BTreeMap<u32, Size>,
    /// Number of round trips so far.
    n_ever: u64,
    /// Worker that the last timing message was sent to, and the time, until the worker answers.
    asked: Option<(u32, f64)>,
    asked_s: Option<f64>,
}

impl NetworkEstimator {
    /// Starts from the values of a file.
    pub(crate) fn from_guess(guess: Option<WorkerNetwork>) -> Self {
        Self { guess, ..Self::default() }
    }

    /// Returns whether a timing message is due.
    pub(crate) fn is_due(&self, now_s: f64) -> bool {
        let since_s = self.asked_s.map_or(f64::INFINITY, |asked_s| now_s - asked_s);
        let patience_s = if self.asked.is_some() { ANSWER_S } else { BETWEEN_S };
        patience_s <= since_s
    }

    /// Records that a timing message was sent.
    pub(crate) fn asked(&mut self, worker: u32, now_s: f64) {
        self.asked = Some((worker, now_s));
        self.asked_s = Some(now_s);
    }

    /// Records the answer to the timing message.
    pub(crate) fn answered(&mut self, worker: u32, now_s: f64) {
        if let Some((_, sent_s)) = self.asked.take_if(|(asked, _)| *asked == worker) {
            self.add_round_trip(2 * HEADER_BYTES as u64, now_s - sent_s);
        }
    }

    /// Adds a round trip of `n_bytes`.
    pub(crate) fn add_round_trip(&mut self, n_bytes: u64, time_s: f64) {
        if !POSSIBLE_S.contains(&time_s) {
            return;
        }
        self.n_ever += 1;
        let size = self.sizes.entry(n_bytes.max(1).ilog2()).or_default();
        if size.newest.len() == N_NEWEST {
            size.newest.pop_front();
        }
        size.newest.push_back((n_bytes as f64, time_s));
        size.last = self.n_ever;
    }

    /// Returns the present estimate; `None` before the first measurement without a file.
    pub(crate) fn network(&self) -> Option<WorkerNetwork> {
        let fresh = self.sizes.values().filter(|size| self.n_ever - size.last < N_FORGOTTEN);
        let fresh: Vec<&Size> = fresh.collect();
        let points: Vec<(f64, f64)> = fresh.iter().map(|size| size.point()).collect();
        let Some(&(n_bytes, time_s)) = points.first() else { return self.guess };
        let n_round_trips: usize = fresh.iter().map(|size| size.newest.len()).sum();
        let sure = n_round_trips.min(N_SURE) as f64 / N_SURE as f64;
        if is_one_size(&points) {
            let known = self.guess.map_or(0.0, |guess| guess.s_per_byte);
            let s_per_byte = known.min(time_s / n_bytes.max(1.0));
            let latency_s = (time_s - s_per_byte * n_bytes) / 2.0;
            let source = self.guess.map_or(NetworkSource::OneSize, |_guess| NetworkSource::Both);
            return Some(WorkerNetwork { latency_s, s_per_byte, confidence: sure / 2.0, source });
        }
        let (latency_s, s_per_byte) = line(&points);
        Some(WorkerNetwork {
            latency_s,
            s_per_byte,
            confidence: sure,
            source: NetworkSource::Messages,
        })
    }
}

/// Error from reading a network file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NetworkFileError {
    /// The file cannot be read.
    #[error("`{}` cannot be read; write it with `sintonia netbench --json`", .path.display())]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        source: std::io::Error,
    },
    /// The file is not a result of `sintonia netbench --json`.
    #[error("`{}` is not a result of `sintonia netbench --json`", .path.display())]
    Form {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        source: serde_json::Error,
    },
    /// The file has no pair of ranks with a fitted line.
    #[error("`{}` names no pair of ranks; measure again with `sintonia netbench --json`", .path.display())]
    Empty {
        /// Path of the file.
        path: PathBuf,
    },
}

/// Model of the time of messages between two ranks, as far as it is needed here.
#[derive(Debug, Deserialize)]
struct Pair {
    from: u32,
    model: Model,
}

#[derive(Debug, Deserialize)]
struct Model {
    pieces: Vec<Piece>,
}

#[derive(Debug, Deserialize)]
struct Piece {
    latency_s: f64,
    s_per_byte: f64,
}

/// Returns the latency of short messages and the cost per byte of long ones: medians over all pairs with the
/// master.
pub(crate) fn read(path: &Path) -> Result<WorkerNetwork, NetworkFileError> {
    let name = || path.to_owned();
    let text = fs::read_to_string(path)
        .map_err(|source| NetworkFileError::Read { path: name(), source })?;
    let mut pairs: Vec<Pair> = serde_json::from_str(&text)
        .map_err(|source| NetworkFileError::Form { path: name(), source })?;
    // Other pairs may be within a node, where the master may not be.
    pairs.retain(|pair| pair.from == 0);
    let mut first = pairs.iter().filter_map(|pair| Some(pair.model.pieces.first()?.latency_s));
    let mut last = pairs.iter().filter_map(|pair| Some(pair.model.pieces.last()?.s_per_byte));
    let middle =
        |values: &mut dyn Iterator<Item = f64>| median(values.filter(|value| 0.0 <= *value));
    let network = middle(&mut first).zip(middle(&mut last));
    let (latency_s, s_per_byte) =
        network.ok_or_else(|| NetworkFileError::Empty { path: name() })?;
    Ok(WorkerNetwork { latency_s, s_per_byte, confidence: 0.0, source: NetworkSource::File })
}

fn is_one_size(points: &[(f64, f64)]) -> bool {
    let sizes = || points.iter().map(|(n_bytes, _)| *n_bytes);
    let largest = sizes().fold(0.0, f64::max);
    largest - sizes().fold(f64::INFINITY, f64::min) <= SIZES_DIFFER * largest
}

/// Fits latency `a` and cost per byte `b`, neither below 0, with the least sum of `((2*a + b*n)/t -
/// 1)^2`.
///
/// With `u = 2/t` and `v = n/t` the line is `a*u + b*v = 1`.
fn line(points: &[(f64, f64)]) -> (f64, f64) {
    let sum = |of: fn(f64, f64) -> f64| -> f64 {
        points.iter().map(|(n_bytes, time_s)| of(2.0 / time_s, n_bytes / time_s)).sum()
    };
    let (uu, uv, vv) = (sum(|u, _| u * u), sum(|u, v| u * v), sum(|_, v| v * v));
    let (u, v) = (sum(|u, _| u), sum(|_, v| v));
    let determinant = uu * vv - uv * uv;
    let (a, b) = ((u * vv - v * uv) / determinant, (v * uu - u * uv) / determinant);
    if b < 0.0 || !b.is_finite() {
        return (u / uu, 0.0);
    }
    if a < 0.0 { (0.0, v / vv) } else { (a, b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_message_for_measuring_leaves_now_and_then() {
        let mut estimator = NetworkEstimator::default();
        assert!(estimator.is_due(5.0));
        estimator.asked(3, 5.0);
        assert!(!estimator.is_due(5.2));
        estimator.answered(2, 5.2);
        assert_eq!(estimator.network(), None);
        estimator.answered(3, 5.2);
        estimator.answered(3, 5.3);
        let network = estimator.network().unwrap();
        assert!((network.latency_s - 0.1).abs() < 1e-12, "{network:?}");
        assert!(!estimator.is_due(5.05) && estimator.is_due(5.2));
    }

    #[track_caller]
    fn check_words(source: NetworkSource, expected: &str) {
        let network =
            WorkerNetwork { latency_s: 12.34e-6, s_per_byte: 2.5e-10, confidence: 0.5, source };
        let text = format!("latency 12.3 us and 0.250 ns per byte, {expected}");
        assert_eq!(network.to_string(), text);
    }

    #[test]
    fn it_is_said_where_it_is_known_from() {
        check_words(NetworkSource::File, "from the network file");
        check_words(NetworkSource::Messages, "from messages of this run (50 % sure)");
        check_words(
            NetworkSource::Both,
            "latency from messages of this run (50 % sure), cost per byte from the network file",
        );
        check_words(
            NetworkSource::OneSize,
            "from messages of one size, which cannot separate the two",
        );
    }

    #[test]
    fn who_never_answers_is_asked_again_later() {
        let mut estimator = NetworkEstimator::default();
        estimator.asked(3, 5.0);
        assert!(!estimator.is_due(14.0) && estimator.is_due(15.0));
    }

    fn read_text(text: &str) -> Result<WorkerNetwork, NetworkFileError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("network.json");
        fs::write(&path, text).unwrap();
        read(&path)
    }

    fn pair(latency_s: f64) -> String {
        pair_from(0, latency_s)
    }

    fn pair_from(from: u32, latency_s: f64) -> String {
        format!(
            r#"{{"from":{from},"to":1,"model":{{"samples":[],"pieces":[
            {{"from_bytes":0,"latency_s":{latency_s},"latency_margin_s":0,"s_per_byte":1e-9,"s_per_byte_margin":0}},
            {{"from_bytes":4097,"latency_s":9e-6,"latency_margin_s":0,"s_per_byte":2e-10,"s_per_byte_margin":0}}]}}}}"#
        )
    }

    #[test]
    fn the_middle_pair_is_the_first_guess() {
        let inside = [pair_from(3, 1e-9), pair_from(5, 1e-9)].join(",");
        let text = format!("[{},{},{},{inside}]", pair(3e-6), pair(1e-6), pair(2e-6));
        let source = NetworkSource::File;
        let expected =
            WorkerNetwork { latency_s: 2e-6, s_per_byte: 2e-10, confidence: 0.0, source };
        assert_eq!(read_text(&text).unwrap(), expected);
    }

    #[track_caller]
    fn check_refused(text: &str, expected: &str) {
        let said = read_text(text).unwrap_err().to_string();
        assert!(said.ends_with(expected), "{said}");
    }

    #[test]
    fn other_files_are_refused() {
        check_refused("", "is not a result of `sintonia netbench --json`");
        check_refused("{}", "is not a result of `sintonia netbench --json`");
        check_refused(
            "[]",
            "names no pair of ranks; measure again with `sintonia netbench --json`",
        );
        let missing = read(Path::new("none.json")).unwrap_err().to_string();
        assert!(missing.starts_with("`none.json` cannot be read"), "{missing}");
    }

    /// Adds round trips of these sizes in turn over a network, two of five disturbed.
    fn talk(
        estimator: &mut NetworkEstimator,
        sizes: &[u64],
        n_round_trips: u64,
        network: WorkerNetwork,
    ) {
        for round_trip in 0..n_round_trips {
            let n_bytes = sizes[usize::try_from(round_trip).unwrap() % sizes.len()];
            let disturbed_s = if round_trip % 5 < 2 { 1e-3 * (round_trip % 7) as f64 } else { 0.0 };
            let time_s = network.latency_s + network.one_way_s(n_bytes) + disturbed_s;
            estimator.add_round_trip(n_bytes, time_s);
        }
    }

    const FAST: WorkerNetwork = WorkerNetwork {
        latency_s: 1e-6,
        s_per_byte: 1e-10,
        confidence: 0.0,
        source: NetworkSource::Messages,
    };
    const SLOW: WorkerNetwork = WorkerNetwork { latency_s: 5e-5, s_per_byte: 8e-9, ..FAST };

    #[track_caller]
    fn check(estimator: &NetworkEstimator, expected: WorkerNetwork) {
        let found = estimator.network().expect("something is known");
        let off = |found: f64, expected: f64| (found / expected - 1.0).abs();
        assert!(off(found.latency_s, expected.latency_s) < 0.01, "{found:?}");
        assert!(off(found.s_per_byte, expected.s_per_byte) < 0.01, "{found:?}");
        assert!((found.confidence - expected.confidence).abs() < 1e-12, "{found:?}");
        assert_eq!(found.source, expected.source);
    }

    #[test]
    fn latency_and_cost_per_byte_are_told_apart() {
        let mut estimator = NetworkEstimator::from_guess(None);
        assert_eq!(estimator.network(), None);
        talk(&mut estimator, &[128, 100_000], 16, SLOW);
        check(&estimator, WorkerNetwork { confidence: 0.5, ..SLOW });
        talk(&mut estimator, &[128, 100_000], 100, SLOW);
        check(&estimator, WorkerNetwork { confidence: 1.0, ..SLOW });
    }

    #[test]
    fn a_change_of_the_network_is_followed() {
        let mut estimator = NetworkEstimator::from_guess(None);
        talk(&mut estimator, &[128, 1000, 100_000], 300, FAST);
        check(&estimator, WorkerNetwork { confidence: 1.0, ..FAST });
        talk(&mut estimator, &[128, 1000, 100_000], 48, SLOW);
        check(&estimator, WorkerNetwork { confidence: 1.0, ..SLOW });
    }

    #[test]
    fn sizes_of_the_past_are_forgotten() {
        let mut estimator = NetworkEstimator::from_guess(None);
        talk(&mut estimator, &[1 << 20], 40, FAST);
        talk(&mut estimator, &[128, 100_000], 600, SLOW);
        check(&estimator, WorkerNetwork { confidence: 1.0, ..SLOW });
    }

    #[test]
    fn one_size_leaves_the_cost_per_byte_as_it_was_guessed() {
        let mut estimator = NetworkEstimator::from_guess(Some(FAST));
        assert_eq!(estimator.network(), Some(FAST));
        talk(&mut estimator, &[10_000], 64, WorkerNetwork { latency_s: 3e-5, ..FAST });
        let source = NetworkSource::Both;
        check(&estimator, WorkerNetwork { latency_s: 3e-5, confidence: 0.25, source, ..FAST });
    }

    #[test]
    fn one_size_alone_is_all_latency() {
        let mut estimator = NetworkEstimator::from_guess(None);
        talk(&mut estimator, &[10_000], 64, FAST);
        let found = estimator.network().unwrap();
        assert!((found.latency_s - 1.5e-6).abs() < 1e-12 && found.s_per_byte == 0.0, "{found:?}");
        assert_eq!(found.source, NetworkSource::OneSize);
        assert!(!found.is_separated());
    }

    proptest! {
        #[test]
        fn neither_is_negative(round_trips in prop::collection::vec((0..1_u64 << 30, any::<f64>()), 1..80)) {
            let mut seen = NetworkEstimator::from_guess(None);
            for (n_bytes, time_s) in round_trips {
                seen.add_round_trip(n_bytes, time_s);
            }
            if let Some(network) = seen.network() {
                prop_assert!(0.0 <= network.latency_s && 0.0 <= network.s_per_byte, "{network:?}");
                prop_assert!((0.0..=1.0).contains(&network.confidence));
            }
        }
    }
}
