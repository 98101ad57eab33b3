//! Detection of ended processes: thousands of process handles behind one epoll handle.

use rustix::event::{Timespec, epoll};
use rustix::fd::OwnedFd;

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
