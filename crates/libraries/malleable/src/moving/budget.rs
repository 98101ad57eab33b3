//! Share of its time that a rank spends on moving data.

use std::time::{Duration, Instant};

/// Share of a node's cores that all its new ranks together take from the ranks that compute, where there are not enough
/// cores for all; also the share of its own time that a computing rank spends on fetching.
const SHARE: f64 = 0.1;
/// Time that a new rank works without a pause.
const SLICE: Duration = Duration::from_millis(1);
/// Longest pause, so that incoming data are handled. It must make up for a slice of work that a library extends to several
/// milliseconds: MPICH 5 over libfabric copies what a socket holds in one call.
const PAUSE_MAX: Duration = Duration::from_millis(50);
/// Pause of a rank that waits for others.
const LOOK: Duration = Duration::from_micros(500);

/// Share of its time that a rank on a node with `n_cores` may work while others compute: the `n_new` new ones of its
/// `n_ranks` ranks all do so.
pub(crate) fn share(n_cores: usize, n_ranks: usize, n_new: usize) -> f64 {
    if n_ranks <= n_cores {
        return 1.0;
    }
    (SHARE * n_cores as f64 / n_new.max(1) as f64).min(1.0)
}

/// Work and pauses of a rank that has nothing else to do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DutyCycle {
    pub(crate) share: f64,
}

impl DutyCycle {
    /// For a rank that works all the time.
    pub(crate) const ALL: Self = Self { share: 1.0 };
    /// For a thread of a rank that computes.
    pub(crate) const BESIDE: Self = Self { share: SHARE };

    pub(crate) const fn budget(self) -> Duration {
        SLICE
    }

    /// Pause after a slice of work of this length.
    pub(crate) fn pause_after(self, worked: Duration) -> Duration {
        let pause = worked.mul_f64((1.0 / self.share.clamp(0.01, 1.0) - 1.0).max(0.0));
        pause.min(PAUSE_MAX)
    }

    /// The same, but longer after a short slice, which found nothing to do.
    pub(crate) fn pause_after_look(self, worked: Duration) -> Duration {
        let pause = self.pause_after(worked);
        if worked < LOOK / 10 { pause.max(LOOK) } else { pause }
    }
}

/// Time budget of a rank that computes: unused time is saved for later, and an overdraft counts as well.
#[derive(Debug)]
pub(crate) struct TimeBudget {
    left_s: f64,
    since: Instant,
}

impl TimeBudget {
    pub(crate) fn new() -> Self {
        Self { left_s: 0.0, since: Instant::now() }
    }

    /// Time that may be spent now.
    pub(crate) fn budget(&mut self) -> Duration {
        self.left_s += SHARE * self.since.elapsed().as_secs_f64();
        self.since = Instant::now();
        Duration::try_from_secs_f64(self.left_s).unwrap_or(Duration::ZERO)
    }

    /// Charges the time since [`budget`](Self::budget) returned a budget above zero.
    pub(crate) fn spend(&mut self) {
        self.left_s -= self.since.elapsed().as_secs_f64();
        self.since = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::float_cmp, reason = "a share is a tenth, divided")]
    fn new_ranks_leave_the_cores_to_those_that_compute() {
        assert_eq!(share(8, 8, 4), 1.0);
        assert_eq!(share(2, 4, 2), 0.1);
        assert_eq!(share(2, 10, 8), 0.025);
        assert_eq!(share(16, 17, 1), 1.0);
    }

    #[test]
    fn a_pause_is_as_long_as_the_share_asks_for() {
        let ms = Duration::from_millis;
        assert_eq!(DutyCycle { share: 1.0 }.pause_after(ms(1)), ms(0));
        assert_eq!(DutyCycle { share: 0.1 }.pause_after(ms(1)), ms(9));
        assert_eq!(DutyCycle { share: 0.1 }.pause_after(ms(9)), PAUSE_MAX);
        assert_eq!(DutyCycle::ALL.pause_after_look(Duration::ZERO), LOOK);
    }
}
