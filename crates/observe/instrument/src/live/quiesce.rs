//! Waits until no thread is in the middle of code that is about to change.
//!
//! The system tells where a thread that sleeps in the kernel will continue, so this thread is left alone and its
//! system call does not end. A running thread is asked by a signal, whose handler moves it out.
//!
//! # Invariants
//! - Entries are trapped before: a thread once seen outside stays outside.
//! - The caller sleeps between two polls, since the awaited threads may need its core.
#![allow(unsafe_code, reason = "system calls")]

use super::handlers::{ACKNOWLEDGED, N_REQUESTS_MAX, QUIESCE_REQUEST, QuiesceRequest};
use super::threads::{self, ThreadPosition};
use super::{errno, signals};
use crate::site::Refusal;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const POLL_INTERVAL: Duration = Duration::from_micros(50);
/// Time within which a thread that has a core answers; another thread must get a core first.
const ACKNOWLEDGE_TIME: Duration = Duration::from_micros(30);
const TIMEOUT: Duration = Duration::from_secs(2);
/// Time for which threads block their signals when they start and end; they hardly sleep meanwhile.
const BLOCKED_TIME_MAX: Duration = Duration::from_millis(100);

static N_PASSES: AtomicUsize = AtomicUsize::new(0);

/// Refuses if a trap would kill a thread, or a thread could not be asked.
pub(super) fn check_open(others: &[u32]) -> Result<(), Refusal> {
    others.iter().try_for_each(|thread| {
        let begin = Instant::now();
        while let Some(signal) =
            threads::closed(*thread, &[signals::TRAP, signals::quiesce_signal()])
        {
            // A thread without a core cannot unblock signals.
            let is_asleep = matches!(threads::position(*thread), ThreadPosition::Blocked(_));
            if (if is_asleep { BLOCKED_TIME_MAX } else { TIMEOUT }) < begin.elapsed() {
                let name = threads::name(*thread);
                return Err(Refusal::SignalBlocked { tid: *thread, name, signal });
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        Ok(())
    })
}

/// Returns once every other thread has been seen outside the spans (sorted by start).
pub(super) fn wait_until_outside(spans: &[Range<usize>]) -> Result<(), Refusal> {
    let others = threads::others().map_err(|error| Refusal::NoThreads(errno(&error)))?;
    let deadline = Instant::now() + TIMEOUT;
    others.chunks(N_REQUESTS_MAX).try_for_each(|threads| Round::new(threads, spans).run(deadline))
}

/// Threads that are asked together.
struct Round<'a> {
    pass: usize,
    spans: &'a [Range<usize>],
    awaited: Vec<Awaited>,
}

struct Awaited {
    thread: u32,
    place: usize,
    is_requested: bool,
}

impl<'a> Round<'a> {
    fn new(threads: &[u32], spans: &'a [Range<usize>]) -> Self {
        let awaited = threads.iter().zip(0..);
        let awaited =
            awaited.map(|(&thread, place)| Awaited { thread, place, is_requested: false });
        Self {
            pass: N_PASSES.fetch_add(1, Ordering::Relaxed) + 1,
            spans,
            awaited: awaited.collect(),
        }
    }

    fn run(mut self, deadline: Instant) -> Result<(), Refusal> {
        let _exact = ExactSleep::begin();
        self.poll();
        self.await_acknowledgments();
        loop {
            let Some(awaited) = self.awaited.first() else { return Ok(()) };
            if deadline < Instant::now() {
                let (tid, signal) = (awaited.thread, signals::quiesce_signal());
                return Err(Refusal::Unresponsive { tid, name: threads::name(tid), signal });
            }
            std::thread::sleep(POLL_INTERVAL);
            self.poll();
        }
    }

    /// Keeps the threads not known to be outside, and sends a request to those without one.
    fn poll(&mut self) {
        let (pass, spans) = (self.pass, self.spans);
        self.awaited.retain_mut(|awaited| !awaited.is_outside(pass, spans));
    }

    fn await_acknowledgments(&mut self) {
        let end = Instant::now() + ACKNOWLEDGE_TIME;
        while !self.awaited.is_empty() && Instant::now() < end {
            self.awaited.retain(|awaited| !awaited.has_acknowledged(self.pass));
            std::hint::spin_loop();
        }
    }
}

impl Awaited {
    fn has_acknowledged(&self, pass: usize) -> bool {
        self.is_requested && ACKNOWLEDGED[self.place].load(Ordering::Acquire) == pass
    }

    fn is_outside(&mut self, pass: usize, spans: &[Range<usize>]) -> bool {
        if self.has_acknowledged(pass) {
            return true;
        }
        match threads::position(self.thread) {
            ThreadPosition::Gone => return true,
            ThreadPosition::Blocked(next) if !is_inside(next, spans) => return true,
            ThreadPosition::Blocked(_) | ThreadPosition::Unknown => {}
        }
        if !self.is_requested {
            match request(self.thread, pass * N_REQUESTS_MAX + self.place) {
                Ok(()) => self.is_requested = true,
                // The system has too many pending signals: the next poll tries again.
                Err(error) => return error.raw_os_error() == Some(libc::ESRCH),
            }
        }
        false
    }
}

/// Returns whether an address is behind the first byte of a span, which is trapped.
fn is_inside(next: usize, spans: &[Range<usize>]) -> bool {
    let after = spans.partition_point(|span| span.start < next);
    after.checked_sub(1).is_some_and(|idx| next < spans[idx].end)
}

fn request(thread: u32, number: usize) -> io::Result<()> {
    let request = QuiesceRequest {
        signal: signals::quiesce_signal(),
        errno: 0,
        code: QUIESCE_REQUEST,
        filling: 0,
        sender: [std::process::id(), 0],
        number,
        rest: [0; 12],
    };
    // SAFETY: `request` has the layout and size of the kernel's `siginfo_t`; our handler takes the signal.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_rt_tgsigqueueinfo,
            std::process::id(),
            thread,
            request.signal,
            &raw const request,
        )
    };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Timer slack of 1 ns for the calling thread, while it exists; by default the system delays and bundles wake-ups.
struct ExactSleep {
    slack_ns: i32,
}

impl ExactSleep {
    fn begin() -> Self {
        // SAFETY: asks for a number.
        let slack_ns = unsafe { libc::prctl(libc::PR_GET_TIMERSLACK) };
        set_slack(1);
        Self { slack_ns }
    }
}

impl Drop for ExactSleep {
    fn drop(&mut self) {
        set_slack(self.slack_ns);
    }
}

/// A value of 0, or an unavailable one, sets the default slack.
fn set_slack(slack_ns: i32) {
    // SAFETY: numbers only; should it fail, sleep takes longer.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, libc::c_ulong::from(slack_ns.max(0).unsigned_abs()))
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(next: usize, expected: bool) {
        let spans = [100..105, 105..111];
        assert_eq!(is_inside(next, &spans), expected);
    }

    #[test]
    fn only_what_lies_behind_a_first_byte_is_inside() {
        check(0, false);
        check(99, false);
        check(100, false);
        check(101, true);
        check(104, true);
        check(105, false);
        check(110, true);
        check(111, false);
    }

    #[test]
    fn a_question_is_as_large_as_the_kernel_reads() {
        assert_eq!(size_of::<QuiesceRequest>(), size_of::<libc::siginfo_t>());
        assert_eq!(std::mem::offset_of!(QuiesceRequest, number), 24);
    }
}
