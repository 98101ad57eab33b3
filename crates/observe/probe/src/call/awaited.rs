//! Publishing what a call waits for, before it is made: relaxed stores, no call of MPI.
//!
//! # Not here
//! Whom a call really waits for, which follows from the state of all ranks (`assemble`).
#![allow(unsafe_code, reason = "reads requests of the program's MPI calls")]

use super::MonitoredCall;
use super::arguments::read_handle;
use crate::communicators::{self, Scope};
use crate::handle::Handle;
use crate::thread::Thread;
use events::call::{ANY_PEER, NO_PEER};
use events::{AwaitedRequest, CommunicatorKey};
use ring::layout::N_AWAITED_REQUESTS;
use std::sync::atomic::Ordering;

impl MonitoredCall {
    /// Publishes communicator, rank and tag of the message for which a call waits.
    #[inline(always)]
    pub(crate) fn awaits(&mut self, comm: Handle, (peer, tag): (i64, i64), count: i64) {
        let (communicator, _) = known_communicator(self, comm);
        let peer = self.rank(peer);
        let tag = number(tag);
        self.thread().writer.awaited().publish(communicator, (peer, tag), count);
    }

    /// Publishes the receiving half of a send-receive.
    #[inline(always)]
    pub(crate) fn awaits_source(&mut self, source: i64, tag: i64) {
        let source = self.rank(source);
        self.thread().writer.awaited().publish_source(source, number(tag));
    }

    /// Counts a collective call, and publishes its communicator and root.
    #[inline(always)]
    pub(crate) fn enters_collective(
        &mut self,
        operation: u16,
        comm: Handle,
        root: i64,
        count: i64,
    ) {
        let (communicator, slot) = known_communicator(self, comm);
        let call = (operation, self.address);
        let writer = &self.thread().writer;
        writer.count_collective(slot, communicator, call);
        writer.awaited().publish(communicator, (number(root), NO_PEER), count);
    }

    /// Publishes the requests for which a call waits.
    #[inline(always)]
    pub(crate) fn awaits_requests(&mut self, requests: usize, n_requests: i64) {
        let request_bytes = self.arguments.request_bytes();
        let n_requests = usize::try_from(n_requests).unwrap_or(0);
        let writer = &self.thread().writer;
        let n_published = if requests == 0 { 0 } else { n_requests.min(N_AWAITED_REQUESTS) };
        for position in 0..n_published {
            // SAFETY: MPI reads the same entry of the program's array.
            let request =
                unsafe { read_handle(requests + position * request_bytes, request_bytes) };
            writer.await_request(position, request as u64);
        }
        #[expect(clippy::cast_possible_truncation, reason = "the argument has 32 bits")]
        let n_requests = n_requests as u32;
        writer.awaited().n_requests.store(n_requests, Ordering::Relaxed);
    }

    /// Determines the properties of a communicator that the call made, so that calls on it know them beforehand.
    #[inline(never)]
    pub(crate) fn made_communicator(&mut self, address: usize) {
        let is_fortran = self.arguments.is_fortran;
        let comm = if is_fortran { Handle::fortran_at(address) } else { Handle::c_at(address) };
        communicators::created(comm, &self.thread().library);
    }

    #[inline(always)]
    fn rank(&mut self, rank: i64) -> i32 {
        if 0 <= rank {
            return number(rank);
        }
        if rank == self.thread().library.proc_null { NO_PEER } else { ANY_PEER }
    }
}

#[inline(never)]
fn known(thread: &mut Thread, comm: Handle) -> (CommunicatorKey, usize) {
    let found = thread.communicators.known(Scope::Communicator, comm, &thread.library);
    found.map_or((CommunicatorKey::UNKNOWN, usize::MAX), |communicator| {
        (CommunicatorKey { id: communicator.id, ordinal: communicator.ordinal }, communicator.slot)
    })
}

#[inline(always)]
fn number(argument: i64) -> i32 {
    #[expect(clippy::cast_possible_truncation, reason = "came from a 32-bit argument")]
    let number = argument as i32;
    number
}

/// Notes what the request that a call made stands for.
#[inline(always)]
pub(super) fn note_request(call: &mut MonitoredCall, operation: u16, request: u64) {
    let communicator = match call.arguments.scope {
        Some((Scope::Communicator, comm)) => known_communicator(call, comm).0,
        _ => CommunicatorKey::UNKNOWN,
    };
    let made = AwaitedRequest { operation, peer: call.peer, tag: call.tag, communicator };
    call.thread().writer.note_request(request, &made);
}

/// Returns a communicator as far as it is known without asking MPI, whose errors would be the program's, and its place among
/// those whose collective calls are counted.
#[inline(always)]
fn known_communicator(call: &mut MonitoredCall, comm: Handle) -> (CommunicatorKey, usize) {
    let is_fortran = call.arguments.is_fortran;
    let thread = call.thread();
    if thread.library.is_world(comm, is_fortran) {
        return (CommunicatorKey { id: 0, ordinal: 0 }, 0);
    }
    known(thread, comm)
}
