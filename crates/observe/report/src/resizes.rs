//! Resizes of a malleable program: data and text shared by the terminal and HTML reports.

use display::units::{bytes, plural, seconds, whole};
use resize_api::{Resize, ResizeOutcome, Started};
use run_record::Summary;

/// Number of ranks over time, in seconds since 1970.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RankHistory {
    pub(crate) start_s: f64,
    pub(crate) end_s: f64,
    /// Start time and number of ranks of each period; the first starts with the history.
    pub(crate) steps: Vec<(f64, u32)>,
}

impl RankHistory {
    /// Covers all `resizes`, and the program's duration if known; returns `None` if their times are unknown.
    pub(crate) fn new(resizes: &[Resize], program: Option<(f64, f64)>) -> Option<Self> {
        let first = resizes.first()?;
        if resizes.iter().any(|resize| resize.began_s <= 0.0) {
            return None;
        }
        let ends_s = resizes.iter().map(|one| in_force_s(one) + one.seconds.release);
        let last_s = ends_s.fold(first.began_s, f64::max);
        let first_s = resizes.iter().map(|one| one.began_s).fold(first.began_s, f64::min);
        let (start_s, end_s) = program.unwrap_or((first_s, last_s));
        let (start_s, end_s) = (start_s.min(first_s), end_s.max(last_s));
        let done = resizes.iter().filter(|one| one.outcome == ResizeOutcome::Done);
        let mut steps = vec![(start_s, first.from)];
        steps.extend(done.map(|one| (in_force_s(one), one.to)));
        Some(Self { start_s, end_s, steps })
    }

    /// Returns the number of ranks in the middle of each of `n` equal parts of the time.
    pub(crate) fn sampled(&self, n: usize) -> Vec<f64> {
        let part_s = (self.end_s - self.start_s) / n.max(1) as f64;
        let at = |idx: usize| {
            let moment_s = self.start_s + part_s * (idx as f64 + 0.5);
            let so_far = self.steps.iter().take_while(|(from_s, _)| *from_s <= moment_s);
            f64::from(so_far.last().map_or(0, |(_, n_ranks)| *n_ranks))
        };
        (0..n).map(at).collect()
    }

    /// Returns the largest number of ranks.
    pub(crate) fn most(&self) -> u32 {
        self.steps.iter().map(|(_, n_ranks)| *n_ranks).max().unwrap_or(0)
    }
}

/// Returns the start and end of a run's program, if known.
pub(crate) fn program_of(summary: &Summary) -> Option<(f64, f64)> {
    let Summary { started_s, wall_s, .. } = summary;
    (0.0 < *started_s && 0.0 < *wall_s).then(|| (*started_s, started_s + wall_s))
}

/// Returns when the new size took effect, or was given up.
pub(crate) fn in_force_s(resize: &Resize) -> f64 {
    resize.began_s + resize.seconds.total
}

/// Returns a sentence with the number of resizes and the time for which they stopped the program.
pub(crate) fn note(resizes: &[Resize]) -> String {
    let done: Vec<&Resize> =
        resizes.iter().filter(|one| one.outcome == ResizeOutcome::Done).collect();
    let wait_s: f64 = done.iter().map(|one| one.seconds.wait).sum();
    let of =
        if done.len() == resizes.len() { String::new() } else { format!("{} of ", done.len()) };
    format!(
        "{of}{}; the program was stopped for {}",
        plural(resizes.len(), "resize"),
        seconds(wait_s)
    )
}

/// Returns a warning about the numbers of a program whose unneeded ranks sleep.
pub(crate) fn caution(resizes: &[Resize]) -> Option<&'static str> {
    resizes.iter().any(|one| one.started == Started::Parked).then_some(
        "Ranks that are not wanted sleep outside MPI, which counts as computing everywhere in this report.",
    )
}

/// Returns the outcome in a word or two.
pub(crate) fn outcome(resize: &Resize) -> &'static str {
    match resize.outcome {
        ResizeOutcome::Done => "done",
        ResizeOutcome::Refused => "refused",
        ResizeOutcome::TimedOut => "timed out",
        ResizeOutcome::Failed => "failed",
    }
}

/// Returns the amount of data moved between processes, and its rate.
pub(crate) fn moved(resize: &Resize) -> String {
    let moved = resize.bytes.moved;
    let travel_s = resize.seconds.constant + resize.seconds.variable;
    if moved == 0 || travel_s <= 0.0 {
        return bytes(moved);
    }
    format!("{}, {}/s", bytes(moved), bytes(whole(moved as f64 / travel_s)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use resize_api::Seconds;

    fn resize(began_s: f64, (from, to): (u32, u32), outcome: ResizeOutcome) -> Resize {
        let seconds = Seconds { total: 1.0, wait: 0.25, ..Seconds::default() };
        Resize { began_s, from, to, outcome, seconds, ..Resize::default() }
    }

    #[test]
    fn ranks_over_time_are_those_in_force() {
        let resizes = [
            resize(11.0, (2, 4), ResizeOutcome::Done),
            resize(14.0, (4, 9), ResizeOutcome::Refused),
            resize(16.0, (4, 1), ResizeOutcome::Done),
        ];
        let history = RankHistory::new(&resizes, Some((10.0, 20.0))).unwrap();
        assert_eq!(history.steps, [(10.0, 2), (12.0, 4), (17.0, 1)]);
        assert_eq!(history.sampled(10), [2.0, 2.0, 4.0, 4.0, 4.0, 4.0, 4.0, 1.0, 1.0, 1.0]);
        assert_eq!(history.most(), 4);
        let alone = RankHistory::new(&resizes, None).unwrap();
        assert_eq!((alone.start_s, alone.end_s), (11.0, 17.0));
        assert_eq!(note(&resizes), "2 of 3 resizes; the program was stopped for 500 ms");
        assert_eq!(caution(&resizes), None);
        assert!(caution(&[Resize { started: Started::Parked, ..Resize::default() }]).is_some());
        assert_eq!(RankHistory::new(&[resize(0.0, (1, 2), ResizeOutcome::Done)], None), None);
    }
}
