//! Time between two polls of a thread that waits: none, one yield, or a short sleep.
//!
//! Most messages arrive within microseconds, so that a wait begins with polls only. Sleeps grow with the wait, so that a rank is
//! late by a share of it. A yield alone rarely helps: the kernel's scheduler soon returns to the thread that yielded.
#![allow(unsafe_code, reason = "system calls")]

use ring::clock;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU64, Ordering};

/// Time without a message before the first pause of a call that waits.
const SPIN_US: u64 = 2;
/// The same where a quota is short, not a core: others compute meanwhile, and a sleep costs more than a short wait.
const LATE_US: u64 = 50;
/// Time that a program has to poll by itself, in calls that do not wait, before it is made to pause.
const OWN_LOOP_US: u64 = 200;
/// Longest time between two polls of such a loop: it does nothing else.
const OWN_LOOP_GAP_US: u64 = 5;
/// Shortest sleep. Shorter ones end before the kernel has given the core away.
const NAP_MIN_US: u64 = 20;
/// Longest sleep.
const NAP_MAX_US: u64 = 1000;
/// Part of the time waited so far that a sleep takes.
const NAP_PART: u64 = 8;
/// Time between two polls from which on the thread has lost its core, if the kernel says so too.
const LOST_US: u64 = 300;
/// Longest time between two losses of the core that show a shortage.
const LOST_AGAIN_US: u64 = 200_000;
/// Time for which cores are short once a core was lost, at first and at most; it doubles when that comes again.
const SHORT_US: u64 = 250_000;
const SHORT_MAX_US: u64 = 4_000_000;

/// Conduct of a rank that waits in MPI.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Mode {
    /// Polls, as the MPI library does by itself.
    #[default]
    Off = 0,
    /// Lets other threads run between polls.
    Yield = 1,
    /// Sleeps between polls.
    Nap = 2,
    /// Sleeps between polls for a while after it has lost its core while it polled; else as [`Self::Off`].
    Auto = 3,
    /// As [`Self::Nap`], in long waits only.
    Late = 4,
}

impl Mode {
    const ALL: [Self; 5] = [Self::Off, Self::Yield, Self::Nap, Self::Auto, Self::Late];

    /// Returns the mode with this number, which is the value of the lever.
    pub(crate) fn of_value(value: i64) -> Option<Self> {
        usize::try_from(value).ok().and_then(|at| Self::ALL.get(at)).copied()
    }

    /// Returns the mode with this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let names = ["off", "yield", "nap", "auto", "late"];
        names.iter().position(|known| *known == name).and_then(|at| Self::ALL.get(at)).copied()
    }
}

/// What one thread knows of its waits.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wait {
    /// Ticks when the call began that polled last.
    call_ticks: u64,
    /// Whether that call waits.
    is_blocking: bool,
    /// Ticks of the first poll without a message.
    began_ticks: u64,
    /// Ticks at the end of the last poll.
    polled_ticks: u64,
    /// Length of the sleep after the last poll, 0 without one.
    napped_us: u64,
    /// Ticks of the first poll after the last sleep, and the length of that.
    woke_ticks: u64,
    slept_us: u64,
    /// Ticks until which cores are taken to be short.
    short_until_ticks: u64,
    /// Present length of that time.
    short_us: u64,
    /// Ticks when it last lost its core while it polled.
    lost_ticks: u64,
    /// Number of times that the kernel has taken the core from it.
    n_lost: i64,
}

/// Ticks of the clock in a microsecond.
static TICKS_PER_US: AtomicU64 = AtomicU64::new(0);

/// Measures the clock, the first time.
pub(crate) fn prepare() {
    if TICKS_PER_US.load(Ordering::Relaxed) == 0 {
        TICKS_PER_US.store(ticks_per_us(), Ordering::Relaxed);
    }
}

/// Measures the clock for 50 us.
fn ticks_per_us() -> u64 {
    const MEASURED_US: u32 = 50;
    let (begin, begin_ticks) = (std::time::Instant::now(), clock::ticks());
    while begin.elapsed().as_micros() < MEASURED_US.into() {}
    let us = u64::try_from(begin.elapsed().as_micros()).unwrap_or(u64::MAX).max(1);
    (clock::ticks().wrapping_sub(begin_ticks) / us).max(1)
}

/// Time until the next poll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pause {
    None,
    Yield,
    Nap { us: u64 },
}

/// Makes the pause.
pub(crate) fn make(pause: Pause) {
    match pause {
        Pause::None => {}
        Pause::Yield => yield_now(),
        Pause::Nap { us } => nap(us),
    }
}

/// Lets other threads run.
fn yield_now() {
    // SAFETY: a system call without arguments.
    unsafe { libc::syscall(libc::SYS_sched_yield) };
}

impl Wait {
    /// Begins the wait again, since a poll has found something.
    pub(crate) fn begin_again(&mut self) {
        self.began_ticks = clock::ticks();
    }

    /// Chooses the pause after a poll that found nothing, in a call that began at some tick and that waits or not. Yielding is
    /// taken for better than sleeping for some time.
    pub(crate) fn after_poll(&mut self, mode: Mode, call: (u64, bool), yield_us: u64) -> Pause {
        self.after_poll_at(clock::ticks(), mode, call, yield_us)
    }

    fn after_poll_at(
        &mut self,
        now: u64,
        mode: Mode,
        (call_ticks, is_blocking): (u64, bool),
        yield_us: u64,
    ) -> Pause {
        let per_us = TICKS_PER_US.load(Ordering::Relaxed).max(1);
        let last_ticks = std::mem::replace(&mut self.polled_ticks, now);
        let gap_us = now.wrapping_sub(last_ticks) / per_us;
        let napped_us = std::mem::take(&mut self.napped_us);
        let is_same = if is_blocking {
            self.call_ticks == call_ticks
        } else {
            napped_us != 0 || gap_us <= OWN_LOOP_GAP_US
        };
        let goes_on = is_same && self.is_blocking == is_blocking;
        (self.call_ticks, self.is_blocking) = (call_ticks, is_blocking);
        if !goes_on {
            self.began_ticks = now;
            if mode == Mode::Auto && !is_blocking {
                // Nobody knows what the program did between two polls of its own; it may have polled until it lost its core.
                let _known_at_the_next = self.is_short(now, gap_us, per_us);
            }
            return Pause::None;
        }
        if napped_us != 0 {
            (self.woke_ticks, self.slept_us) = (now, napped_us);
        }
        let is_short = match mode {
            Mode::Off => return Pause::None,
            Mode::Yield => return Pause::Yield,
            Mode::Nap | Mode::Late => true,
            Mode::Auto => self.is_short(now, gap_us, per_us),
        };
        let waited_us = now.wrapping_sub(self.began_ticks) / per_us;
        let spin_us = match mode {
            _ if !is_blocking => OWN_LOOP_US,
            Mode::Late => LATE_US,
            _ => SPIN_US,
        };
        if !is_short || waited_us < spin_us {
            return Pause::None;
        }
        // A loop of the program's own may do a step of its work between two polls: it is left as much time as it sleeps.
        if !is_blocking && now.wrapping_sub(self.woke_ticks) / per_us < self.slept_us {
            return Pause::None;
        }
        if waited_us < yield_us {
            return Pause::Yield;
        }
        self.napped_us = (waited_us / NAP_PART).clamp(NAP_MIN_US, NAP_MAX_US);
        Pause::Nap { us: self.napped_us }
    }

    /// Returns whether cores are short: this thread has lost its core while it had nothing to do but to poll, twice in a
    /// short time, since a service of the system may take a core once.
    fn is_short(&mut self, now: u64, gap_us: u64, per_us: u64) -> bool {
        if now < self.short_until_ticks {
            return true;
        }
        if gap_us < LOST_US {
            return false;
        }
        let n_lost = n_lost();
        let has_lost = self.n_lost < n_lost;
        self.n_lost = n_lost;
        if !has_lost {
            return false;
        }
        let is_within = |ticks: u64, us: u64| ticks != 0 && now.wrapping_sub(ticks) / per_us < us;
        let is_again = is_within(self.short_until_ticks, SHORT_US);
        let is_second = is_within(self.lost_ticks, LOST_AGAIN_US);
        self.lost_ticks = now;
        if is_again || is_second {
            let longer = (2 * self.short_us).min(SHORT_MAX_US);
            self.short_us = if is_again { longer } else { SHORT_US };
            self.short_until_ticks = now.wrapping_add(self.short_us * per_us);
        }
        is_again || is_second
    }
}

/// Number of times that the kernel has taken the core from the calling thread.
fn n_lost() -> i64 {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: fills the structure.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) };
    // SAFETY: zeroed at the start, so valid in any case.
    unsafe { usage.assume_init() }.ru_nivcsw
}

/// Sleeps. The kernel adds a slack to the sleeps of a thread, 50 us by default: here it is put aside, then set again.
fn nap(us: u64) {
    let duration =
        libc::timespec { tv_sec: 0, tv_nsec: i64::try_from(1000 * us).unwrap_or(20_000) };
    // SAFETY: a system call that returns the slack of the calling thread.
    let slack_ns = unsafe { libc::prctl(libc::PR_GET_TIMERSLACK) };
    set_slack(1);
    // SAFETY: the address of a local variable; the rest of an interrupted sleep is not needed.
    unsafe {
        libc::clock_nanosleep(libc::CLOCK_MONOTONIC, 0, &raw const duration, std::ptr::null_mut())
    };
    set_slack(slack_ns);
}

fn set_slack(ns: i32) {
    if let Ok(ns @ 1..) = libc::c_ulong::try_from(ns) {
        // SAFETY: a system call for the calling thread.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, ns) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::affinity;
    use std::sync::atomic::AtomicBool;
    use std::time::{Duration, Instant};

    /// Polls in the automatic mode beside a thread that needs the core as well, and checks that it gives the core away: a wait of
    /// one call, or a loop of the program around calls that do not wait.
    #[track_caller]
    fn check_gives_its_core_away(is_blocking: bool) {
        prepare();
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            // Also the thread that it starts: 0 is the calling one.
            let cores = affinity::cores_of(0).unwrap();
            affinity::bind(0, &cores[..1]).unwrap();
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
            let (mut wait, begin) = (Wait::default(), Instant::now());
            let mut naps = || {
                let call_ticks = if is_blocking { 1 } else { clock::ticks() };
                matches!(
                    wait.after_poll(Mode::Auto, (call_ticks, is_blocking), 0),
                    Pause::Nap { .. }
                )
            };
            let napped =
                std::iter::repeat_with(|| naps() || Duration::from_secs(60) < begin.elapsed())
                    .any(|is_done| is_done);
            is_over.store(true, Ordering::Relaxed);
            assert!(
                napped && begin.elapsed() < Duration::from_secs(60),
                "it never gave its core away"
            );
        });
    }

    /// Share of its time that a thread sleeps which polls every 200 ns in a call that waits or in a loop of the program's own.
    fn slept_share(is_blocking: bool) -> f64 {
        prepare();
        let per_us = TICKS_PER_US.load(Ordering::Relaxed);
        let (mut wait, begin, mut slept_us) = (Wait::default(), 1_000_000, 0);
        let mut now = begin;
        for _ in 0..200_000 {
            let call_ticks = if is_blocking { begin } else { now };
            now += (per_us / 5).max(1);
            let pause = wait.after_poll_at(now, Mode::Nap, (call_ticks, is_blocking), 0);
            if let Pause::Nap { us } = pause {
                now += us * per_us;
                slept_us += us;
            }
        }
        (slept_us * per_us) as f64 / (now - begin) as f64
    }

    /// A program that does a step of its work between two polls took twice as long as with ranks that keep each other from
    /// their core: it slept at every step.
    #[test]
    fn a_loop_of_the_programs_own_is_left_half_of_its_time() {
        let (waiting, own_loop) = (slept_share(true), slept_share(false));
        assert!(0.95 < waiting, "{waiting}");
        assert!((0.4..0.55).contains(&own_loop), "{own_loop}");
    }

    #[test]
    fn a_call_that_loses_its_core_gives_it_away() {
        check_gives_its_core_away(true);
    }

    /// Such loops kept the core: each poll that came late was taken for the first of a new wait.
    #[test]
    fn a_loop_of_the_programs_own_that_loses_its_core_gives_it_away() {
        check_gives_its_core_away(false);
    }
}
