//! Breakdown of a resize's time by phase.

use crate::Resize;

/// Phase of a resize.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Evaluating the resize, and requesting nodes; the program computes.
    Decide,
    /// Starting processes; the program computes.
    Spawn,
    /// Joining them with the present ones; the program computes.
    Connect,
    /// Moving constant data; the program computes.
    Moving,
    /// Everything is ready, but the program has not reached its next check.
    Approach,
    /// The program stands still.
    Wait,
    /// Waiting for the end of processes that left; the program computes.
    Release,
}

impl Phase {
    /// All phases, in order of time.
    pub const ALL: [Self; 7] = [
        Self::Decide,
        Self::Spawn,
        Self::Connect,
        Self::Moving,
        Self::Approach,
        Self::Wait,
        Self::Release,
    ];

    /// Name of the phase.
    pub fn words(self) -> &'static str {
        match self {
            Self::Decide => "decide",
            Self::Spawn => "spawn",
            Self::Connect => "connect",
            Self::Moving => "moving meanwhile",
            Self::Approach => "until the next look",
            Self::Wait => "wait",
            Self::Release => "release",
        }
    }
}

impl Resize {
    /// Returns the phases that took time, with their seconds; they do not overlap.
    ///
    /// Time before the new size was in force that belongs to no other phase is [`Phase::Approach`].
    pub fn phases(&self) -> Vec<(Phase, f64)> {
        let seconds = &self.seconds;
        let before_s = seconds.decide + seconds.spawn + seconds.connect;
        // Data that move while the program waits belong to that phase.
        let moving_s = if self.redistribution == "sync" || self.iterations_meanwhile == 0 {
            0.0
        } else {
            seconds.constant.min((seconds.total - before_s - seconds.wait).max(0.0))
        };
        let known_s = before_s + moving_s + seconds.wait;
        let times_s = [
            seconds.decide,
            seconds.spawn,
            seconds.connect,
            moving_s,
            (seconds.total - known_s).max(0.0),
            seconds.wait,
            seconds.release,
        ];
        Phase::ALL.into_iter().zip(times_s).filter(|(_, time_s)| 0.0 < *time_s).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seconds;
    use Phase::{Approach, Connect, Decide, Moving, Release, Spawn, Wait};

    #[track_caller]
    fn check(redistribution: &str, seconds: Seconds, expected: &[(Phase, f64)]) {
        let redistribution = redistribution.to_owned();
        let resize =
            Resize { redistribution, seconds, iterations_meanwhile: 3, ..Resize::default() };
        assert_eq!(resize.phases(), expected);
    }

    #[test]
    fn each_moment_is_in_one_phase() {
        let seconds = Seconds { decide: 1.0, spawn: 2.0, connect: 4.0, ..Seconds::default() };
        let begun = [(Decide, 1.0), (Spawn, 2.0), (Connect, 4.0)];
        check("sync", seconds, &begun);
        let seconds = Seconds { constant: 8.0, wait: 16.0, total: 32.0, release: 64.0, ..seconds };
        let [a, b, c] = begun;
        check("sync", seconds, &[a, b, c, (Approach, 9.0), (Wait, 16.0), (Release, 64.0)]);
        check(
            "async",
            seconds,
            &[a, b, c, (Moving, 8.0), (Approach, 1.0), (Wait, 16.0), (Release, 64.0)],
        );
        let short = Seconds { total: 25.0, ..seconds };
        check("p2p", short, &[a, b, c, (Moving, 2.0), (Wait, 16.0), (Release, 64.0)]);
    }
}
