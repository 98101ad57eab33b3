//! The collector's sleep until something is due or a wake-up arrives; ends of processes are one of the wake-ups.

use super::process::Observed;
use super::{Collector, plan};
use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use rustix::fd::OwnedFd;
use std::time::{Duration, Instant};

/// Sources that ended the last sleep; only these are polled.
#[derive(Clone, Copy, Debug)]
pub(super) struct WakeUps {
    pub(super) by_doorbell: bool,
    pub(super) by_link: bool,
    pub(super) by_end: bool,
}

impl Collector {
    /// Sleeps until something is due or a wake-up arrives.
    pub(super) fn sleep(&mut self, now: Instant) {
        let timeout = Timespec::try_from(self.rest(now)).ok();
        let doorbell = self.folder.doorbell.as_ref().map(|bell| PollFd::new(bell, PollFlags::IN));
        let link = self.link.connection().map(|connection| {
            let writing =
                if connection.n_waiting() == 0 { PollFlags::empty() } else { PollFlags::OUT };
            PollFd::new(connection.stream(), PollFlags::IN | writing)
        });
        let ends = self.ends.handle().map(|ends| PollFd::new(ends, PollFlags::IN));
        let there = [doorbell.is_some(), link.is_some(), ends.is_some()];
        let mut fds: Vec<PollFd<'_>> = [doorbell, link, ends].into_iter().flatten().collect();
        // An interrupted sleep ends early.
        let is_told = poll(&mut fds, timeout.as_ref()).is_ok();
        let mut told = fds.iter().map(|fd| !is_told || !fd.revents().is_empty());
        let mut called = |is_there| is_there && told.next().unwrap_or(true);
        let [by_doorbell, by_link, by_end] = there.map(&mut called);
        self.wake_ups = WakeUps { by_doorbell, by_link, by_end };
    }

    /// Returns the time until something is due without a wake-up.
    fn rest(&mut self, now: Instant) -> Duration {
        let until = |at: Instant| at.saturating_duration_since(now);
        let mut rest = until(self.schedule.next_scan).min(self.link.rest(now));
        if self.processes.iter().any(Observed::is_traced) {
            rest = rest.min(until(self.schedule.next_sum_drain));
            if self.schedule.is_prompt {
                rest = rest.min(until(self.schedule.next_drain));
            }
        }
        if let Some(next_flush) = self.sums.next_flush() {
            rest = rest.min(until(next_flush));
        }
        if self.orders_wait {
            rest = rest.min(plan::ORDERS_EVERY);
        }
        if self.link.is_given_up() && !self.processes.is_empty() {
            rest = rest.min(until(self.schedule.next_spilled_reports));
        } else if self.link.connection().is_some() {
            rest = rest.min(until(self.schedule.next_reports));
        }
        // Minimum sleep, so that something that cannot be done yet is not retried in a busy loop.
        rest.max(Duration::from_millis(1))
    }
}

/// Maximum number of ends returned at a time.
const N_TOLD_MAX: usize = 256;

/// Process handles that are watched together.
#[derive(Debug)]
pub(crate) struct Ends(Option<OwnedFd>);

impl Ends {
    /// Creates an empty set. Where the system has no epoll, ends are noticed by scanning.
    pub(crate) fn new() -> Self {
        Self(epoll::create(epoll::CreateFlags::CLOEXEC).ok())
    }

    /// Watches the handle of process `pid` until it is closed.
    pub(crate) fn add(&self, pidfd: &OwnedFd, pid: u32) {
        if let Some(epoll) = &self.0 {
            let data = epoll::EventData::new_u64(pid.into());
            epoll::add(epoll, pidfd, data, epoll::EventFlags::IN).ok();
        }
    }

    /// Returns the handle that becomes readable when a process ends.
    pub(crate) fn handle(&self) -> Option<&OwnedFd> {
        self.0.as_ref()
    }

    /// Returns the ids of processes that ended.
    pub(crate) fn told(&self) -> Vec<u64> {
        let Some(epoll) = &self.0 else { return Vec::new() };
        let mut events = Vec::with_capacity(N_TOLD_MAX);
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let room = rustix::buffer::spare_capacity(&mut events);
        epoll::wait(epoll, room, Some(&now)).ok();
        events.iter().map(|event| event.data.u64()).collect()
    }
}
