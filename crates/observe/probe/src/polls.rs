//! Polls whose time is not read from the clock: of those that come one after the other in moments, one of eight is timed.
//!
//! A program that looks for messages millions of times in a second pays for two readings of the clock each time, more than for all else
//! that counts the call. So after many quick polls in a row at one place, the next ones are taken to be like those before.
//!
//! No time is lost: what they took beyond that counts as computation before the next timed poll. Some of it was the library's,
//! which moves messages in polls. Since one of eight polls is timed, a long one that is stands for seven that were not: as much is moved
//! from computation to MPI.
//!
//! # Not here
//! Recorded calls (`--trace`), and polls of ranks that nap or yield while they wait: all of these are timed.

/// Polls in a row that have to be quick before some are not timed.
const N_QUICK: u32 = 64;
/// Polls that are not timed after one that is.
const N_UNTIMED: u32 = 7;
/// The same with the one that is.
const N_TOGETHER: u64 = N_UNTIMED as u64 + 1;
/// Longest time from the beginning of one quick poll to that of the next one, about 1 us.
const QUICK_TICKS: u64 = 3000;

/// Times of a call: when it began and when it ended, in ticks.
pub(crate) type Span = (u64, u64);

/// Polls of a thread.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Polls {
    /// Call site.
    address: u64,
    /// Quick polls that were timed, in a row.
    n_quick: u32,
    /// Polls left that are not timed.
    n_untimed: u32,
    /// Time between two polls, and of a poll.
    gap_ticks: u64,
    call_ticks: u64,
    /// Beginning of the last poll that was timed.
    timed_ticks: u64,
    /// Time that counts as computation and may be that of polls, and time of polls that is to be found there.
    excess_ticks: u64,
    missing_ticks: u64,
}

impl Polls {
    /// Returns the times of a poll that is not timed; `None` for one that is.
    #[inline(always)]
    pub(crate) fn untimed(&mut self, is_at_same: bool, last_exit: u64) -> Option<Span> {
        self.n_untimed = self.n_untimed.checked_sub(1)?;
        if !is_at_same {
            self.time_all();
            return None;
        }
        let enter = last_exit + self.gap_ticks;
        Some((enter, enter + self.call_ticks))
    }

    /// Returns the times of a poll that is not timed, but has received something and ends now: all polls are timed again.
    #[inline(always)]
    pub(crate) fn received(&mut self, (enter, exit): Span, now: u64) -> Span {
        let late_ticks = now.saturating_sub(exit);
        self.excess_ticks += late_ticks;
        self.time_all();
        (enter + late_ticks, exit + late_ticks)
    }

    /// Lets all polls be timed until many are quick again.
    #[inline(always)]
    pub(crate) fn time_all(&mut self) {
        (self.n_quick, self.n_untimed) = (0, 0);
    }

    /// Notes a poll that was timed, at these times of the clock, and by how much the times of those before were ahead of it.
    /// Returns the time that is to be counted as that of polls instead of computation.
    #[inline(always)]
    pub(crate) fn note(
        &mut self,
        (address, is_at_same): (u64, bool),
        (enter, exit): Span,
        ahead_ticks: u64,
    ) -> u64 {
        if self.address != address {
            *self = Self { address, ..Self::default() };
        }
        let call_ticks = exit.saturating_sub(enter);
        let is_after_untimed = is_at_same && N_QUICK <= self.n_quick;
        let n_polls = if is_after_untimed { N_TOGETHER } else { 1 };
        let span_ticks = enter.saturating_sub(self.timed_ticks);
        let period_ticks = span_ticks / n_polls;
        self.timed_ticks = enter;
        let moved_ticks =
            if is_after_untimed { self.move_excess(span_ticks, call_ticks) } else { 0 };
        if !is_at_same || QUICK_TICKS < period_ticks || QUICK_TICKS < call_ticks {
            self.time_all();
            return moved_ticks;
        }
        self.n_quick += 1;
        if N_QUICK <= self.n_quick {
            (self.n_quick, self.n_untimed) = (N_QUICK, N_UNTIMED);
            self.call_ticks = call_ticks.min(period_ticks);
            self.gap_ticks =
                (period_ticks - self.call_ticks).saturating_sub(ahead_ticks / N_TOGETHER);
        }
        moved_ticks
    }

    /// Processes a timed poll of this length that began so long after the last timed one, with polls in between that were not.
    #[inline(always)]
    fn move_excess(&mut self, span_ticks: u64, call_ticks: u64) -> u64 {
        let assumed_ticks = N_TOGETHER * (self.gap_ticks + self.call_ticks);
        let excess_ticks = span_ticks.saturating_sub(assumed_ticks);
        if QUICK_TICKS < excess_ticks {
            self.excess_ticks += excess_ticks;
        }
        if QUICK_TICKS < call_ticks {
            self.missing_ticks += u64::from(N_UNTIMED) * call_ticks;
        }
        let moved_ticks = self.missing_ticks.min(self.excess_ticks);
        self.missing_ticks -= moved_ticks;
        self.excess_ticks -= moved_ticks;
        moved_ticks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Polls after these gaps, each for this long, and returns how many polls were timed, what was counted for them, and what was
    /// counted in all.
    fn polled(polls: impl Iterator<Item = (u64, u64)>) -> (usize, u64, u64) {
        let (mut known, mut now, mut last_exit) = (Polls::default(), 0, 0);
        let (mut n_timed, mut counted) = (0, 0);
        for (gap_ticks, call_ticks) in polls {
            let span = (now + gap_ticks, now + gap_ticks + call_ticks);
            now = span.1;
            let (enter, exit) = known.untimed(true, last_exit).unwrap_or_else(|| {
                let ahead_ticks = u64::saturating_sub(last_exit, span.0);
                n_timed += 1;
                counted += known.note((1, true), span, ahead_ticks);
                (span.0 + ahead_ticks, span.1 + ahead_ticks)
            });
            assert!(last_exit <= enter && enter <= exit);
            counted += exit - enter;
            last_exit = exit;
        }
        (n_timed, counted, last_exit)
    }

    #[test]
    fn one_of_eight_quick_polls_is_timed() {
        let (n_timed, counted, _) = polled(std::iter::repeat_n((200, 300), 80_000));
        assert!((9_900..10_200).contains(&n_timed), "{n_timed}");
        assert_eq!(counted, 80_000 * 300);
    }

    /// Timed polls take longer, since the clock is read; others take longer now and then.
    #[test]
    fn no_time_is_lost_or_made() {
        let polls = |n| {
            (0..n).map(|k| (150 + 7 * (k % 13), if u64::is_multiple_of(k, 31) { 900 } else { 250 }))
        };
        let (n_timed, counted, end) = polled(polls(80_000));
        let truth: u64 = polls(80_000).map(|(_, call)| call).sum();
        let all: u64 = polls(80_000).map(|(gap, call)| gap + call).sum();
        assert!(n_timed < 10_200, "{n_timed}");
        assert!(counted.abs_diff(truth) < truth / 20, "{counted} of {truth}");
        assert!(end.abs_diff(all) < 5_000, "{end} of {all}");
    }

    /// A library that moves messages in polls takes long now and then; a program that finds work takes long between polls.
    #[test]
    fn long_polls_are_told_from_long_gaps() {
        let at = |k: u64, usual, long| if k.is_multiple_of(1009) { long } else { usual };
        let long_polls = |n| (0..n).map(|k| (90, at(k, 120, 300_000)));
        let truth: u64 = long_polls(1_000_000).map(|(_, call)| call).sum();
        let (n_timed, counted, _) = polled(long_polls(1_000_000));
        assert!(n_timed < 250_000, "{n_timed}");
        assert!(counted.abs_diff(truth) < truth / 5, "{counted} of {truth}");

        let long_gaps = |n| (0..n).map(|k| (at(k, 90, 300_000), 120));
        let (_, counted, _) = polled(long_gaps(1_000_000));
        assert!(counted.abs_diff(120_000_000) < 1_200_000, "{counted}");
    }

    /// Polls at the same place every 200 ticks, for 100 ticks each; all that are to be timed are.
    fn known_to_be_quick() -> Polls {
        let mut known = Polls::default();
        for number in 0..u64::from(N_QUICK) {
            assert_eq!(known.untimed(true, 0), None);
            known.note((1, true), (200 * number, 200 * number + 100), 0);
        }
        known
    }

    #[test]
    fn a_poll_that_receives_ends_when_it_does_and_the_next_is_timed() {
        let mut known = known_to_be_quick();
        let assumed = known.untimed(true, 20_000).unwrap();
        assert_eq!(assumed, (20_100, 20_200));
        assert_eq!(known.received(assumed, 90_000), (89_900, 90_000));
        assert_eq!(known.untimed(true, 90_000), None);
    }

    /// Time of naps between polls was taken for computation, of which none had been counted.
    #[test]
    fn nothing_is_moved_from_before_polls_were_all_timed() {
        let mut known = known_to_be_quick();
        known.time_all();
        assert_eq!(known.note((1, true), (9_000_000, 9_000_100), 0), 0);
        assert_eq!(known.note((1, true), (9_000_200, 9_900_000), 0), 0);
    }

    #[test]
    fn polls_between_steps_of_work_are_all_timed() {
        let steps = [(200, 300), (200, 300), (200, 300), (1_000_000, 300)];
        let (n_timed, counted, _) = polled(std::iter::repeat_n(steps, 1000).flatten());
        assert_eq!((n_timed, counted), (4000, 4000 * 300));
    }

    #[test]
    fn work_after_a_loop_is_not_taken_for_a_poll() {
        let loops = std::iter::repeat_n((200, 300), 1000).chain([(1_000_000, 300)]);
        let (_, counted, _) = polled(std::iter::repeat_n(loops, 10).flatten());
        assert_eq!(counted, 10_010 * 300);
    }
}
