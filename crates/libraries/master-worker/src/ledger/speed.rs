//! Measured speed of a worker.

/// Weight of the newest chunk in the means.
const NEWEST: f64 = 0.25;

/// Exponential running means of one worker.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WorkerSpeed {
    /// Computing time per task, in seconds.
    task_s: Option<f64>,
    /// Mean relative error of the predicted time of a chunk.
    off: f64,
    /// Round trip between master and worker without computing, in seconds.
    round_trip_s: Option<f64>,
    /// Round trip expected from other workers' messages, in seconds.
    elsewhere_s: Option<f64>,
}

impl WorkerSpeed {
    /// Adds the computing time of a chunk.
    pub(crate) fn computed(&mut self, n_tasks: u64, compute_s: f64) {
        if !compute_s.is_finite() {
            return;
        }
        let task_s = compute_s.max(0.0) / n_tasks.max(1) as f64;
        if let Some(known_s) = self.task_s
            && 0.0 < task_s.max(known_s)
        {
            let off = (task_s - known_s).abs() / task_s.max(known_s);
            self.off += NEWEST * (off - self.off);
        }
        self.task_s = Some(blend(self.task_s, task_s));
    }

    /// Adds a round trip.
    pub(crate) fn add_round_trip(&mut self, round_trip_s: f64) {
        if round_trip_s.is_finite() {
            self.round_trip_s = Some(blend(self.round_trip_s, round_trip_s.max(0.0)));
        }
    }

    /// Expected computing time of a chunk, in seconds; `None` before the first one.
    pub(crate) fn chunk_s(&self, n_tasks: u64) -> Option<f64> {
        Some(self.task_s? * n_tasks as f64)
    }

    /// Tasks per second; `None` before the first chunk, or when tasks take no time.
    pub(crate) fn tasks_per_s(&self) -> Option<f64> {
        self.task_s.filter(|task_s| 0.0 < *task_s).map(|task_s| 1.0 / task_s)
    }

    /// Lead of the next chunk, in seconds: how long before the expected end of a chunk of `chunk_s` it has
    /// to leave to arrive in time.
    pub(crate) fn lead_s(&self, chunk_s: f64) -> f64 {
        2.0 * (self.round_trip_s() + self.off * chunk_s)
    }

    pub(crate) fn round_trip_s(&self) -> f64 {
        self.round_trip_s.or(self.elsewhere_s).unwrap_or(USUAL_ROUND_TRIP_S)
    }

    /// Sets the round trip that other workers' messages take.
    pub(crate) fn expect_round_trip(&mut self, round_trip_s: f64) {
        self.elsewhere_s = Some(round_trip_s);
    }
}

/// Assumed round trip before one was measured, in seconds.
const USUAL_ROUND_TRIP_S: f64 = 20e-6;

fn blend(known: Option<f64>, newest: f64) -> f64 {
    known.map_or(newest, |known| known + NEWEST * (newest - known))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After chunks of 10 tasks that took `chunks_s`: expected time of 20 tasks, and lead.
    #[track_caller]
    fn check(chunks_s: &[f64], chunk_s: Option<f64>, lead_s: f64) {
        let mut speed = WorkerSpeed::default();
        speed.add_round_trip(0.5);
        chunks_s.iter().for_each(|chunk_s| speed.computed(10, *chunk_s));
        assert_eq!(speed.chunk_s(20), chunk_s);
        assert!((speed.lead_s(chunk_s.unwrap_or(0.0)) - lead_s).abs() < 1e-12);
    }

    #[test]
    fn a_chunk_is_expected_to_take_what_others_took() {
        check(&[], None, 1.0);
        check(&[5.0], Some(10.0), 1.0);
        check(&[5.0, 5.0], Some(10.0), 1.0);
        check(&[5.0, 10.0], Some(12.5), 1.0 + 2.0 * 0.125 * 12.5);
        check(&[f64::NAN], None, 1.0);
        check(&[-1.0], Some(0.0), 1.0);
    }
}
