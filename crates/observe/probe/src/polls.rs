//! Polls whose time is not read from the clock: of those that come one after the other in moments, one of eight is timed.
//!
//! A program that looks for messages millions of times in a second pays for two readings of the clock each time, more than for all else
//! that counts the call. So after many quick polls in a row at one place, the next ones are taken to be like the last one that was timed.
//! What they took otherwise falls between the last of them and the next timed call, so that no time is lost.
//!
//! # Not here
//! Recorded calls (`--trace`), and polls of ranks that nap or yield while they wait: all of these are timed.

/// Polls in a row that have to be quick before some are not timed.
const N_QUICK: u32 = 64;
/// Polls that are not timed after one that is.
const N_UNTIMED: u32 = 7;
/// Longest time from the end of one quick poll to the end of the next one, about 1 us.
const QUICK_TICKS: u64 = 3000;

/// Times of a call: when it began and when it ended, in ticks.
pub(crate) type Span = (u64, u64);

/// Polls of a thread.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Polls {
    /// Quick polls that were timed, in a row at the same place.
    n_quick: u32,
    /// Polls left that are not timed.
    n_untimed: u32,
    /// Time between two polls, and of a poll.
    gap_ticks: u64,
    call_ticks: u64,
    /// Beginning of the last poll that was timed.
    timed_ticks: u64,
}

impl Polls {
    /// Returns the times of a poll that is not timed; `None` for one that is.
    #[inline(always)]
    pub(crate) fn untimed(&mut self, is_at_same: bool, last_exit: u64) -> Option<Span> {
        self.n_untimed = self.n_untimed.checked_sub(1)?;
        if !is_at_same {
            *self = Self::default();
            return None;
        }
        let enter = last_exit + self.gap_ticks;
        Some((enter, enter + self.call_ticks))
    }

    /// Notes a poll that was timed, at these times of the clock, and by how much the times of those before were ahead of it.
    #[inline(always)]
    pub(crate) fn note(&mut self, is_at_same: bool, (enter, exit): Span, ahead_ticks: u64) {
        let call_ticks = exit.saturating_sub(enter);
        let n_polls = if self.n_quick < N_QUICK { 1 } else { u64::from(N_UNTIMED) + 1 };
        let period_ticks = enter.saturating_sub(self.timed_ticks) / n_polls;
        self.timed_ticks = enter;
        if !is_at_same || QUICK_TICKS < period_ticks || QUICK_TICKS < call_ticks {
            (self.n_quick, self.n_untimed) = (0, 0);
            return;
        }
        self.n_quick += 1;
        if N_QUICK <= self.n_quick {
            (self.n_quick, self.n_untimed) = (N_QUICK, N_UNTIMED);
            self.call_ticks = call_ticks.min(period_ticks);
            self.gap_ticks = (period_ticks - self.call_ticks).saturating_sub(ahead_ticks / 8);
        }
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
                known.note(true, span, ahead_ticks);
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
        let polls = |n| (0..n).map(|k| (150 + 7 * (k % 13), if k % 31 == 0 { 900 } else { 250 }));
        let (n_timed, counted, end) = polled(polls(80_000));
        let truth: u64 = polls(80_000).map(|(_, call)| call).sum();
        let all: u64 = polls(80_000).map(|(gap, call)| gap + call).sum();
        assert!(n_timed < 10_200, "{n_timed}");
        assert!(counted.abs_diff(truth) < truth / 20, "{counted} of {truth}");
        assert!(end.abs_diff(all) < 5_000, "{end} of {all}");
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
