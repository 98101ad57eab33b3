//! Requests that a call starts, may complete, and has completed.
#![allow(unsafe_code, reason = "reads requests and results of the program's MPI calls")]

use super::MonitoredCall;
use super::arguments::{read_handle, read_status};
use super::awaited::note_request;
use crate::thread::{PendingRequests, Thread};

/// Requests that a completion call has completed, given its results.
#[derive(Clone, Copy)]
pub(crate) enum Done {
    /// All.
    All,
    /// All, if the flag at this address is set.
    AllIf(usize),
    /// The request with the index at the first address, if the flag at the second (when not 0) is set.
    One(usize, usize),
    /// As many requests as the number at the first address; their indices are at the second.
    Some(usize, usize),
}

impl MonitoredCall {
    /// Notes the request that the call started, which receives nothing.
    #[inline(always)]
    pub(crate) fn made_request(&mut self, operation: u16, request: usize) {
        if request != 0 {
            let request = started(self, operation, request);
            self.thread().receives.forget(request);
        }
    }

    /// Notes the request of a receive that the call posted, with its room in bytes.
    #[inline(always)]
    pub(crate) fn made_receive(
        &mut self,
        operation: u16,
        request: usize,
        room_bytes: u64,
        is_persistent: bool,
    ) {
        if request != 0 {
            let request = started(self, operation, request);
            self.thread().receives.post(request, room_bytes, is_persistent);
        }
    }

    /// Notes the request that the call starts or gives up.
    #[inline(always)]
    pub(crate) fn used_request(&mut self, request: usize) {
        if self.is_traced() && request != 0 {
            // SAFETY: the program's own handle.
            self.request = unsafe { read_handle(request, self.arguments.request_bytes()) } as u64;
        }
    }

    /// Notes the requests that the call may complete, before it overwrites them.
    #[inline(always)]
    pub(crate) fn will_complete(&mut self, requests: usize, n_requests: i64) {
        let request_bytes = self.arguments.request_bytes();
        let n_requests = usize::try_from(n_requests).unwrap_or(0);
        let n_requests = if requests == 0 { 0 } else { n_requests };
        self.thread().receives.look_up(n_requests, |position| {
            // SAFETY: MPI reads the same entry of the program's array.
            (unsafe { read_handle(requests + position * request_bytes, request_bytes) }) as u64
        });
        if self.is_traced() {
            self.thread().pending.note(requests, n_requests, request_bytes);
        }
    }

    /// Returns the address of the status to pass to MPI: the program's own, or ours if the program ignores it and a receive
    /// may complete. Several are left as they are: after an error, calls of MPICH and Open MPI 5 with statuses return other
    /// codes, and leave other requests open, than those without.
    #[inline(always)]
    pub(crate) fn status_or_own(&mut self, status: usize) -> usize {
        if self.thread().receives.has_some() && ignored(self, status, false) == Some(true) {
            self.thread().receives.status()
        } else {
            status
        }
    }

    /// Counts the bytes of the receives that the call completed.
    #[inline(always)]
    pub(crate) fn received(&mut self, done: Done, statuses: usize, are_several: bool) {
        if self.thread().receives.has_some() {
            let statuses = match ignored(self, statuses, are_several) {
                Some(false) => Some(statuses),
                _ => None,
            };
            let first_index = i32::from(self.arguments.is_fortran);
            self.completed_bytes = received_bytes(self.thread(), done, statuses, first_index);
        }
    }

    /// Notes which of the pending requests the call completed.
    #[inline(always)]
    pub(crate) fn completed(&mut self, done: Done) {
        if self.is_traced() {
            let first_index = i32::from(self.arguments.is_fortran);
            let pending = &mut self.thread().pending;
            let n_completed = pending.keep_completed(done, first_index);
            let request = if 0 < n_completed { pending.requests[0] } else { 0 };
            self.n_completed = n_completed;
            self.request = request;
        }
    }
}

/// Notes the request that a call started; returns its handle.
#[inline(always)]
fn started(call: &mut MonitoredCall, operation: u16, request: usize) -> u64 {
    // SAFETY: MPI has written the handle there.
    let request = unsafe { read_handle(request, call.arguments.request_bytes()) } as u64;
    note_request(call, operation, request);
    call.request = request;
    request
}

/// Returns whether an address stands for ignored statuses; `None` where Fortran's is not known.
#[inline(always)]
fn ignored(call: &mut MonitoredCall, statuses: usize, are_several: bool) -> Option<bool> {
    let language = usize::from(call.arguments.is_fortran);
    let library = &call.thread().library;
    let of_all = if are_several { &library.statuses_ignore } else { &library.status_ignore };
    let ignored = of_all[language];
    (language == 0 || ignored != 0).then_some(statuses == ignored)
}

/// Returns the bytes that came in by the receives that a call completed: as its statuses say, or without them the room of
/// each. Forgets these receives.
#[inline(never)]
fn received_bytes(
    thread: &mut Thread,
    done: Done,
    statuses: Option<usize>,
    first_index: i32,
) -> u64 {
    let Thread { library, receives, .. } = thread;
    let status_bytes = library.family.status_layout().size_bytes;
    let n_requests = receives.n_requests();
    let mut bytes_of = |request: Option<usize>, status: usize| {
        let Some(room_bytes) = request.and_then(|request| receives.complete(request)) else {
            return 0;
        };
        statuses.map_or(room_bytes, |statuses| {
            // SAFETY: MPI has filled the status of each completed request; their layout is that of `mpi-abi`.
            let (.., bytes) = unsafe { read_status(library, statuses + status * status_bytes) };
            bytes
        })
    };
    match done {
        Done::AllIf(flag) if number(flag) == 0 => 0,
        Done::One(_, flag) if flag != 0 && number(flag) == 0 => 0,
        Done::All | Done::AllIf(_) => {
            (0..n_requests).map(|position| bytes_of(Some(position), position)).sum()
        }
        Done::One(indx, _) => bytes_of(index_at(indx, first_index), 0),
        Done::Some(outcount, indices) => {
            let n_done = usize::try_from(number(outcount)).unwrap_or(0);
            let index = |done: usize| index_at(indices + 4 * done, first_index);
            (0..n_done).map(|done| bytes_of(index(done), done)).sum()
        }
    }
}

/// Reads a result of the call.
fn number(address: usize) -> i32 {
    // SAFETY: the address of a result, which MPI has just written.
    unsafe { (address as *const i32).read() }
}

/// Reads the index of a request, as a position from 0 on.
fn index_at(address: usize, first_index: i32) -> Option<usize> {
    usize::try_from(number(address).wrapping_sub(first_index)).ok()
}

impl PendingRequests {
    #[inline(never)]
    fn note(&mut self, requests: usize, n_requests: usize, request_bytes: usize) {
        self.n_requests = n_requests.min(self.requests.len());
        for (place, position) in self.requests.iter_mut().zip(0..self.n_requests) {
            // SAFETY: MPI reads the same entry of the program's array.
            *place =
                unsafe { read_handle(requests + position * request_bytes, request_bytes) } as u64;
        }
    }

    /// Moves the completed requests to the front and returns their number.
    #[inline(never)]
    fn keep_completed(&mut self, done: Done, first_index: i32) -> usize {
        let n_pending = self.n_requests;
        let position = |address: usize| index_at(address, first_index);
        match done {
            Done::All => n_pending,
            Done::AllIf(flag) if number(flag) == 0 => 0,
            Done::AllIf(_) => n_pending,
            Done::One(_, flag) if flag != 0 && number(flag) == 0 => 0,
            Done::One(indx, _) => match position(indx).filter(|at| *at < n_pending) {
                Some(at) => {
                    self.requests[0] = self.requests[at];
                    1
                }
                None => 0,
            },
            Done::Some(outcount, indices) => {
                let n_done = usize::try_from(number(outcount)).unwrap_or(0).min(n_pending);
                let all = self.requests;
                for (place, done) in self.requests.iter_mut().zip(0..n_done) {
                    let request = position(indices + 4 * done).and_then(|at| all.get(at));
                    *place = request.copied().unwrap_or(0);
                }
                n_done
            }
        }
    }
}
