//! Requests that a call starts, may complete, and has completed.
#![allow(unsafe_code, reason = "reads requests and results of the program's MPI calls")]

use super::MonitoredCall;
use super::arguments::read_handle;
use crate::thread::PendingRequests;

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
    /// Notes the request that the call started.
    #[inline(always)]
    pub(crate) fn made_request(&mut self, operation: u16, request: usize) {
        if request != 0 {
            // SAFETY: MPI has written the handle there.
            let request = unsafe { read_handle(request, self.arguments.request_bytes()) } as u64;
            self.note_request(operation, request);
            self.request = request;
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
        if self.is_traced() && requests != 0 {
            let request_bytes = self.arguments.request_bytes();
            let n_requests = usize::try_from(n_requests).unwrap_or(0);
            self.thread().pending.note(requests, n_requests, request_bytes);
        }
    }

    /// Notes which of the pending requests the call completed.
    #[inline(always)]
    pub(crate) fn completed(&mut self, _requests: usize, done: Done) {
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
        // SAFETY: addresses of the call's results, which MPI has just written.
        let number = |address: usize| unsafe { (address as *const i32).read() };
        let position =
            |address: usize| usize::try_from(number(address).wrapping_sub(first_index)).ok();
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
