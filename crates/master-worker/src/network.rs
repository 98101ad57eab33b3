//! What a message between the master and a worker costs: followed all the time, for nothing.
//!
//! A worker that waits for a chunk tells when it was sent, how long it computed and when the results came: what
//! is left is the way there and back, of as many bytes as were sent and returned. Where all chunks are alike in size,
//! that does not tell latency and cost per byte apart: so ten times a second at most, before an
//! iteration, a worker that waits is sent a message of a header, and answers with another one.
//!
//! Disturbances only add time: of ways that are alike in size, the fast quarter of the newest counts. The line
//! `2 * latency + cost * bytes` through these is drawn with relative errors. Before there are any, it is
//! that of a file of `sintonia netbench --json`, if one is given.
//!
//! # Not here
//! What follows from it for the number of workers (tunlet `worker-count`) and for chunks (`chunking`).

mod file;
mod ways;

use crate::protocol::HEADER_BYTES;
use std::fmt;
use ways::Ways;

pub use file::NetworkFileError;
pub(crate) use file::read;

/// What a message between the master and a worker costs.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Network {
    /// Time of a message without bytes, in seconds.
    pub latency_s: f64,
    /// Time of each byte, in seconds.
    pub s_per_byte: f64,
    /// From 0, where it is what a file says, to 1: enough messages of this run, of sizes that differ.
    pub confidence: f64,
    /// Where it is known from.
    pub source: NetworkSource,
}

/// Where it is known from what a message costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NetworkSource {
    /// A file of `sintonia netbench --json`; no message of this run was timed yet.
    File,
    /// Messages of this run, of sizes that differ.
    Messages,
    /// Messages of one size of this run, and the cost per byte of the file.
    Both,
    /// Messages of one size of this run: its whole time counts as latency.
    OneSize,
}

impl Network {
    /// Time of a message of so many bytes, in seconds.
    #[must_use]
    pub fn one_way_s(&self, n_bytes: u64) -> f64 {
        self.latency_s + self.s_per_byte * n_bytes as f64
    }

    /// Whether latency and cost per byte are known, and not their sum only.
    pub(crate) fn is_told_apart(&self) -> bool {
        self.source != NetworkSource::OneSize
    }
}

impl fmt::Display for Network {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (latency_us, ns_per_byte) = (1e6 * self.latency_s, 1e9 * self.s_per_byte);
        write!(formatter, "latency {latency_us:.1} us and {ns_per_byte:.3} ns per byte, ")?;
        let percent = 100.0 * self.confidence;
        match self.source {
            NetworkSource::File => write!(formatter, "as the file of the network says"),
            NetworkSource::Messages => {
                write!(formatter, "from messages of this run ({percent:.0} % sure)")
            }
            NetworkSource::Both => write!(
                formatter,
                "the first from messages of this run ({percent:.0} % sure), the second from the file of the network"
            ),
            NetworkSource::OneSize => {
                write!(formatter, "from messages of one size, which do not tell them apart")
            }
        }
    }
}

/// Time from one message for measuring to the next, in seconds.
const BETWEEN_S: f64 = 0.1;
/// An answer is no longer waited for after this time, in seconds.
const ANSWER_S: f64 = 10.0;

/// Follows the cost of messages.
#[derive(Debug, Default)]
pub(crate) struct Followed {
    ways: Ways,
    /// Whom a message for measuring was sent to last, and when; until it was answered.
    asked: Option<(u32, f64)>,
    asked_s: Option<f64>,
}

impl Followed {
    /// Begins with what a file says.
    pub(crate) fn from_guess(guess: Option<Network>) -> Self {
        Self { ways: Ways::new(guess), ..Self::default() }
    }

    /// What is known now; `None` when nothing is.
    pub(crate) fn network(&self) -> Option<Network> {
        self.ways.network()
    }

    /// The way there and back of so many bytes took so long.
    pub(crate) fn traveled(&mut self, n_bytes: u64, round_trip_s: f64) {
        self.ways.add(n_bytes, round_trip_s);
    }

    /// Whether a message for measuring should leave now.
    pub(crate) fn is_due(&self, now_s: f64) -> bool {
        let since_s = self.asked_s.map_or(f64::INFINITY, |asked_s| now_s - asked_s);
        let patience_s = if self.asked.is_some() { ANSWER_S } else { BETWEEN_S };
        patience_s <= since_s
    }

    /// It left.
    pub(crate) fn asked(&mut self, worker: u32, now_s: f64) {
        self.asked = Some((worker, now_s));
        self.asked_s = Some(now_s);
    }

    /// It was answered.
    pub(crate) fn answered(&mut self, worker: u32, now_s: f64) {
        if let Some((_, sent_s)) = self.asked.take_if(|(asked, _)| *asked == worker) {
            self.ways.add(2 * HEADER_BYTES as u64, now_s - sent_s);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_for_measuring_leaves_now_and_then() {
        let mut followed = Followed::default();
        assert!(followed.is_due(5.0));
        followed.asked(3, 5.0);
        assert!(!followed.is_due(5.2));
        followed.answered(2, 5.2);
        assert_eq!(followed.network(), None);
        followed.answered(3, 5.2);
        followed.answered(3, 5.3);
        let network = followed.network().unwrap();
        assert!((network.latency_s - 0.1).abs() < 1e-12, "{network:?}");
        assert!(!followed.is_due(5.05) && followed.is_due(5.2));
    }

    #[track_caller]
    fn check_words(source: NetworkSource, expected: &str) {
        let network = Network { latency_s: 12.34e-6, s_per_byte: 2.5e-10, confidence: 0.5, source };
        let text = format!("latency 12.3 us and 0.250 ns per byte, {expected}");
        assert_eq!(network.to_string(), text);
    }

    #[test]
    fn it_is_said_where_it_is_known_from() {
        check_words(NetworkSource::File, "as the file of the network says");
        check_words(NetworkSource::Messages, "from messages of this run (50 % sure)");
        check_words(
            NetworkSource::Both,
            "the first from messages of this run (50 % sure), the second from the file of the network",
        );
        check_words(
            NetworkSource::OneSize,
            "from messages of one size, which do not tell them apart",
        );
    }

    #[test]
    fn who_never_answers_is_asked_again_later() {
        let mut followed = Followed::default();
        followed.asked(3, 5.0);
        assert!(!followed.is_due(14.0) && followed.is_due(15.0));
    }
}
