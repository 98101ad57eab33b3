//! Time of a message on the network, split into the parts that determine waiting.

use models::network::{LinearPiece, NetModel};

/// Default length up to which messages are eager, in bytes.
const EAGER_BYTES: u64 = 65_536;
/// Default cost of a byte that a rank copies to itself, in s: the bandwidth of one core to memory, read and written.
pub const COPY_S_PER_BYTE: f64 = 1e-10;
/// Default share of the latency during which the sender's processor is busy, and again the receiver's.
const OVERHEAD_SHARE: f64 = 0.25;

/// A network between any two ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// Lines of time over length, from short to long messages.
    lines: Vec<LinearPiece>,
    /// Length of the longest eager message, sent without asking the receiver, in bytes.
    pub eager_bytes: u64,
    /// Share of the latency during which the sender is busy, and again the receiver; from 0 to 0.5.
    pub overhead_share: f64,
    /// Time of the data of a long message while others leave the receiver, over their time alone; from 1 to 2.
    pub exchange_ratio: f64,
}

/// Components of the time of one message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MessageCost {
    /// Time that the sender is busy before the first byte leaves, and the receiver after the last has
    /// arrived, in s.
    pub overhead_s: f64,
    /// Travel time of the first byte, in s.
    pub flight_s: f64,
    /// Time for all bytes to leave the sender, or to enter the receiver, in s.
    pub data_s: f64,
    /// True if the sender continues without the receiver.
    pub is_eager: bool,
    /// See [`Network::exchange_ratio`].
    pub exchange_ratio: f64,
}

impl MessageCost {
    /// Returns the cost of a message of a rank to itself: a copy, without a network and without a wait for the receiver.
    #[must_use]
    pub fn copy(n_bytes: u64, s_per_byte: f64) -> Self {
        // Half of it at the send, half at the receive.
        let data_s = 0.5 * s_per_byte * n_bytes as f64;
        Self { overhead_s: 0.0, flight_s: 0.0, data_s, is_eager: true, exchange_ratio: 1.0 }
    }

    /// Returns the time without waiting, as a ping-pong measures it, in s.
    #[must_use]
    pub fn one_way_s(&self) -> f64 {
        2.0 * self.overhead_s + self.flight_s + self.data_s
    }

    /// Returns the time that an eager sender is busy, in s.
    #[must_use]
    pub fn sender_s(&self) -> f64 {
        self.overhead_s + self.data_s
    }
}

impl Network {
    /// Creates a network with one line for all lengths.
    #[must_use]
    pub fn uniform(latency_s: f64, s_per_byte: f64) -> Self {
        Self::of_lines(vec![LinearPiece::exact(0, latency_s, s_per_byte)])
    }

    /// Creates a network with several lines; the first one also holds below its `from_bytes`.
    #[must_use]
    pub fn of_lines(mut lines: Vec<LinearPiece>) -> Self {
        lines.sort_by_key(|line| line.from_bytes);
        let eager_bytes = first_jump(&lines).unwrap_or(EAGER_BYTES);
        Self { lines, eager_bytes, overhead_share: OVERHEAD_SHARE, exchange_ratio: 1.0 }
    }

    /// Creates the network that `sintonia netbench` measured between two ranks.
    #[must_use]
    pub fn measured(model: &NetModel) -> Self {
        let exchange_ratio = model.exchange_ratio.unwrap_or(1.0).clamp(1.0, 2.0);
        Self { exchange_ratio, ..Self::of_lines(model.pieces.clone()) }
    }

    /// Does the same with latencies and costs per byte at an end of their intervals: -1 is the lower, 1 the
    /// upper end.
    #[must_use]
    pub fn measured_at(model: &NetModel, end: f64) -> Self {
        let Self { eager_bytes, exchange_ratio, .. } = Self::measured(model);
        let lines = model.pieces.iter().map(|piece| piece.at_end(end)).collect();
        Self { eager_bytes, exchange_ratio, ..Self::of_lines(lines) }
    }

    /// Returns the lines, from short to long messages.
    #[must_use]
    pub fn lines(&self) -> &[LinearPiece] {
        &self.lines
    }

    /// Returns the components of the time of a message of this length.
    #[must_use]
    pub fn cost(&self, n_bytes: u64) -> MessageCost {
        let LinearPiece { latency_s, s_per_byte, .. } = LinearPiece::of(&self.lines, n_bytes);
        MessageCost {
            overhead_s: self.overhead_share * latency_s,
            flight_s: (1.0 - 2.0 * self.overhead_share) * latency_s,
            data_s: s_per_byte * n_bytes as f64,
            is_eager: n_bytes <= self.eager_bytes,
            exchange_ratio: self.exchange_ratio,
        }
    }

    /// Returns the time of a message without waiting, in s.
    #[must_use]
    pub fn one_way_s(&self, n_bytes: u64) -> f64 {
        self.cost(n_bytes).one_way_s()
    }
}

/// Returns the longest length before the first line that starts above the end of the previous one: asking
/// the receiver makes a message slower by a jump, while caches only change the slope.
fn first_jump(lines: &[LinearPiece]) -> Option<u64> {
    let jumps = lines.windows(2).filter(|pair| {
        let at_bytes = pair[1].from_bytes;
        pair[0].time_s(at_bytes) < pair[1].time_s(at_bytes)
    });
    jumps.map(|pair| pair[1].from_bytes.saturating_sub(1)).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: LinearPiece = LinearPiece::exact(0, 1e-6, 1e-9);

    #[track_caller]
    fn check_eager(second: LinearPiece, expected: u64) {
        assert_eq!(Network::of_lines(vec![SHORT, second]).eager_bytes, expected);
    }

    #[test]
    fn the_first_jump_upwards_ends_eager_messages() {
        check_eager(LinearPiece::exact(4097, 9e-6, 1e-9), 4096);
        // A steeper line that starts below the previous one is a cache effect.
        check_eager(LinearPiece::exact(4097, 0.0, 1.1e-9), EAGER_BYTES);
    }

    #[test]
    fn parts_add_up_to_the_line() {
        let long = LinearPiece::exact(1000, 5e-6, 2e-9);
        let network = Network::of_lines(vec![long, SHORT]);
        for (n_bytes, expected) in [(0, 1e-6), (999, 1.999e-6), (1000, 7e-6), (10_000, 25e-6)] {
            let found = network.one_way_s(n_bytes);
            assert!((found - expected).abs() < 1e-15, "{n_bytes}: {found}, not {expected}");
        }
        assert!(network.cost(999).is_eager && !network.cost(1000).is_eager);
    }
}
