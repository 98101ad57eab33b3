//! Measured round trips, and the line through them.

use super::{Network, NetworkSource};
use std::collections::{BTreeMap, VecDeque};

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

/// Round trips grouped by size, one group per power of two.
#[derive(Debug, Default)]
pub(super) struct RoundTrips {
    guess: Option<Network>,
    sizes: BTreeMap<u32, Size>,
    n_ever: u64,
}

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

impl RoundTrips {
    pub(super) fn new(guess: Option<Network>) -> Self {
        Self { guess, ..Self::default() }
    }

    pub(super) fn add(&mut self, n_bytes: u64, time_s: f64) {
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

    pub(super) fn network(&self) -> Option<Network> {
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
            return Some(Network { latency_s, s_per_byte, confidence: sure / 2.0, source });
        }
        let (latency_s, s_per_byte) = line(&points);
        Some(Network { latency_s, s_per_byte, confidence: sure, source: NetworkSource::Messages })
    }
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

    /// Adds round trips of these sizes in turn over a network, two of five disturbed.
    fn talk(round_trips: &mut RoundTrips, sizes: &[u64], n_round_trips: u64, network: Network) {
        for round_trip in 0..n_round_trips {
            let n_bytes = sizes[usize::try_from(round_trip).unwrap() % sizes.len()];
            let disturbed_s = if round_trip % 5 < 2 { 1e-3 * (round_trip % 7) as f64 } else { 0.0 };
            let time_s = network.latency_s + network.one_way_s(n_bytes) + disturbed_s;
            round_trips.add(n_bytes, time_s);
        }
    }

    const FAST: Network = Network {
        latency_s: 1e-6,
        s_per_byte: 1e-10,
        confidence: 0.0,
        source: NetworkSource::Messages,
    };
    const SLOW: Network = Network { latency_s: 5e-5, s_per_byte: 8e-9, ..FAST };

    #[track_caller]
    fn check(round_trips: &RoundTrips, expected: Network) {
        let found = round_trips.network().expect("something is known");
        let off = |found: f64, expected: f64| (found / expected - 1.0).abs();
        assert!(off(found.latency_s, expected.latency_s) < 0.01, "{found:?}");
        assert!(off(found.s_per_byte, expected.s_per_byte) < 0.01, "{found:?}");
        assert!((found.confidence - expected.confidence).abs() < 1e-12, "{found:?}");
        assert_eq!(found.source, expected.source);
    }

    #[test]
    fn latency_and_cost_per_byte_are_told_apart() {
        let mut round_trips = RoundTrips::new(None);
        assert_eq!(round_trips.network(), None);
        talk(&mut round_trips, &[128, 100_000], 16, SLOW);
        check(&round_trips, Network { confidence: 0.5, ..SLOW });
        talk(&mut round_trips, &[128, 100_000], 100, SLOW);
        check(&round_trips, Network { confidence: 1.0, ..SLOW });
    }

    #[test]
    fn a_change_of_the_network_is_followed() {
        let mut round_trips = RoundTrips::new(None);
        talk(&mut round_trips, &[128, 1000, 100_000], 300, FAST);
        check(&round_trips, Network { confidence: 1.0, ..FAST });
        talk(&mut round_trips, &[128, 1000, 100_000], 48, SLOW);
        check(&round_trips, Network { confidence: 1.0, ..SLOW });
    }

    #[test]
    fn sizes_of_the_past_are_forgotten() {
        let mut round_trips = RoundTrips::new(None);
        talk(&mut round_trips, &[1 << 20], 40, FAST);
        talk(&mut round_trips, &[128, 100_000], 600, SLOW);
        check(&round_trips, Network { confidence: 1.0, ..SLOW });
    }

    #[test]
    fn one_size_leaves_the_cost_per_byte_as_it_was_guessed() {
        let mut round_trips = RoundTrips::new(Some(FAST));
        assert_eq!(round_trips.network(), Some(FAST));
        talk(&mut round_trips, &[10_000], 64, Network { latency_s: 3e-5, ..FAST });
        let source = NetworkSource::Both;
        check(&round_trips, Network { latency_s: 3e-5, confidence: 0.25, source, ..FAST });
    }

    #[test]
    fn one_size_alone_is_all_latency() {
        let mut round_trips = RoundTrips::new(None);
        talk(&mut round_trips, &[10_000], 64, FAST);
        let found = round_trips.network().unwrap();
        assert!((found.latency_s - 1.5e-6).abs() < 1e-12 && found.s_per_byte == 0.0, "{found:?}");
        assert_eq!(found.source, NetworkSource::OneSize);
        assert!(!found.is_separated());
    }

    proptest! {
        #[test]
        fn neither_is_negative(round_trips in prop::collection::vec((0..1_u64 << 30, any::<f64>()), 1..80)) {
            let mut seen = RoundTrips::new(None);
            round_trips.iter().for_each(|(n_bytes, time_s)| seen.add(*n_bytes, *time_s));
            if let Some(network) = seen.network() {
                prop_assert!(0.0 <= network.latency_s && 0.0 <= network.s_per_byte, "{network:?}");
                prop_assert!((0.0..=1.0).contains(&network.confidence));
            }
        }
    }
}
