//! Rate at which a computing rank sends: as high as its iterations allow.
//!
//! The cost of sending shows in the iterations, whichever side copies: the program's own MPI calls make progress on the
//! transfers. So during the first iterations nothing is sent; then the rate rises while iterations take as long as
//! these, and falls when they take longer, but never below the rate at which copying costs about a tenth of the time.

/// Number of iterations measured first.
const N_BEFORE: usize = 5;
/// Smallest rate, in bytes per second: a tenth of the time, where 1 GB/s is copied.
const RATE_MIN: f64 = 100e6;
const RATE_MAX: f64 = 100e9;
/// Factors on the usual time above which iterations count as slow, and below which they allow more.
const SLOW: f64 = 1.25;
const FAST: f64 = 1.1;
/// Factors on the rate in these cases.
const DOWN: f64 = 0.6;
const UP: f64 = 1.2;

/// Rate control of a rank that computes.
#[derive(Clone, Debug)]
pub(crate) struct Throttle {
    before_s: Vec<f64>,
    bytes_per_s: f64,
    /// Bytes that may be sent now.
    left: f64,
}

impl Throttle {
    pub(crate) const fn new() -> Self {
        Self { before_s: Vec::new(), bytes_per_s: RATE_MIN, left: 0.0 }
    }

    /// Counts an iteration; returns whether anything may be sent after it.
    pub(crate) fn pass(&mut self, iteration_s: f64) -> bool {
        if self.before_s.len() < N_BEFORE {
            self.before_s.push(iteration_s);
            self.before_s.sort_by(f64::total_cmp);
            return false;
        }
        let usual_s = self.before_s[N_BEFORE / 2];
        if SLOW * usual_s < iteration_s {
            self.bytes_per_s *= DOWN;
        } else if iteration_s < FAST * usual_s {
            self.bytes_per_s *= UP;
        }
        self.bytes_per_s = self.bytes_per_s.clamp(RATE_MIN, RATE_MAX);
        // Time that an iteration left unused is not saved.
        self.left = self.left.min(0.0) + self.bytes_per_s * usual_s;
        0.0 < self.left
    }

    /// Counts sent bytes; returns whether more may follow.
    #[expect(clippy::cast_precision_loss, reason = "pieces are short")]
    pub(crate) fn send(&mut self, n_bytes: u64) -> bool {
        self.left -= n_bytes as f64;
        0.0 < self.left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes sent in pieces after iterations of these times.
    fn sent(throttle: &mut Throttle, iterations_s: &[f64]) -> u64 {
        let mut n_bytes = 0;
        for iteration_s in iterations_s {
            let mut may_send = throttle.pass(*iteration_s);
            while may_send {
                n_bytes += 1000;
                may_send = throttle.send(1000);
            }
        }
        n_bytes
    }

    #[test]
    fn nothing_is_sent_before_an_iteration_is_known() {
        let mut throttle = Throttle::new();
        assert_eq!(sent(&mut throttle, &[0.001; N_BEFORE]), 0);
        assert_ne!(sent(&mut throttle, &[0.001]), 0);
    }

    #[test]
    fn more_is_sent_while_iterations_are_as_fast_as_before() {
        let mut throttle = Throttle::new();
        sent(&mut throttle, &[0.001; N_BEFORE]);
        let first = sent(&mut throttle, &[0.001; 10]);
        assert!(2 * first < sent(&mut throttle, &[0.001; 10]));
    }

    #[test]
    fn slow_iterations_leave_the_least_rate() {
        let mut throttle = Throttle::new();
        sent(&mut throttle, &[0.001; 20]);
        sent(&mut throttle, &[0.002; 20]);
        assert_eq!(sent(&mut throttle, &[0.002; 10]), 1_000_000);
    }
}
