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

mod file;
mod round_trips;

use crate::protocol::HEADER_BYTES;
use round_trips::RoundTrips;
use std::fmt;

pub use file::NetworkFileError;
pub(crate) use file::read;

/// Cost of a message between the master and a worker.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Network {
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

impl Network {
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

impl fmt::Display for Network {
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

/// Time between two timing messages, in seconds.
const BETWEEN_S: f64 = 0.1;
/// Time after which an answer is no longer waited for, in seconds.
const ANSWER_S: f64 = 10.0;

/// Running estimate of the cost of messages.
#[derive(Debug, Default)]
pub(crate) struct NetworkEstimator {
    round_trips: RoundTrips,
    /// Worker that the last timing message was sent to, and the time, until the worker answers.
    asked: Option<(u32, f64)>,
    asked_s: Option<f64>,
}

impl NetworkEstimator {
    /// Starts from the values of a file.
    pub(crate) fn from_guess(guess: Option<Network>) -> Self {
        Self { round_trips: RoundTrips::new(guess), ..Self::default() }
    }

    /// Returns the present estimate; `None` before the first measurement without a file.
    pub(crate) fn network(&self) -> Option<Network> {
        self.round_trips.network()
    }

    /// Adds a round trip of `n_bytes`.
    pub(crate) fn add_round_trip(&mut self, n_bytes: u64, round_trip_s: f64) {
        self.round_trips.add(n_bytes, round_trip_s);
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
            self.round_trips.add(2 * HEADER_BYTES as u64, now_s - sent_s);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let network = Network { latency_s: 12.34e-6, s_per_byte: 2.5e-10, confidence: 0.5, source };
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
}
