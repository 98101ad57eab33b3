//! One monitored MPI call: from the wrapper's entry to the counters.
//!
//! The wrapper calls [`MonitoredCall::begin`], the real function, [`MonitoredCall::returned`], then the generated
//! accounting (with further methods in `arguments.rs` and `completion.rs`), and last [`MonitoredCall::finish`]. All of it is
//! inlined, so that a call carries only what its operation needs, in registers: nothing takes the
//! address of a [`MonitoredCall`].
#![allow(unsafe_code, reason = "thread-local state behind a raw pointer")]

mod arguments;
mod awaited;
mod completion;

use crate::openmp;
use crate::pause::Mode;
use crate::thread::{self, Thread, tls};
use crate::waiting;
use crate::watch;
use events::CallRecord;
use events::call::{ANY_PEER, NO_PEER, RecordKind};
use ring::clock;
use ring::layout::PeerSlot;

use arguments::Arguments;
pub(crate) use arguments::{CountArray, OwnStatus};
pub(crate) use completion::Done;

/// Monitored call in progress.
pub(crate) struct MonitoredCall {
    pub(crate) arguments: Arguments,
    address: u64,
    enter: u64,
    exit: u64,
    is_poll: bool,
    /// Whether its times are those of earlier polls.
    is_untimed: bool,
    /// Time by which such times before it were ahead of the clock.
    ahead_ticks: u64,
    /// Bytes moved so far.
    bytes: u64,
    /// Bytes that came in by the receives that the call completed.
    completed_bytes: u64,
    /// World rank of the other side, or of the root.
    peer: i32,
    tag: i32,
    /// Request started, or the first one completed.
    request: u64,
    /// Number of requests completed, at the front of the thread's pending ones.
    n_completed: usize,
    /// Receiving half of a send-receive: peer, tag, bytes.
    half: Option<(i32, i32, u64)>,
}

impl MonitoredCall {
    /// Enters a call from C; `None` if it is not to be counted.
    #[inline(always)]
    pub(crate) fn begin(operation: u16, is_poll: bool) -> Option<Self> {
        // SAFETY: the calling thread's own words.
        let words = unsafe { &mut *tls::words() };
        let mut address = words.return_address;
        if words.fortran_address != 0 {
            address = words.fortran_address;
            words.fortran_address = 0;
        }
        Self::start(attached(words.thread)?, operation, address, is_poll)
    }

    /// Enters a call from Fortran; `None` if it is not to be counted here because the entry point itself
    /// calls the C function by its MPI name (`goes_on`, in libraries that do so).
    #[inline(always)]
    pub(crate) fn begin_fortran(operation: u16, goes_on: bool, is_poll: bool) -> Option<Self> {
        // SAFETY: the calling thread's own words.
        let words = unsafe { &mut *tls::words() };
        let address = words.return_address;
        let thread = attached(words.thread)?;
        // SAFETY: the calling thread's own state.
        if goes_on && unsafe { (*thread).library.fortran_calls_c } {
            words.fortran_address = address;
            return None;
        }
        let mut call = Self::start(thread, operation, address, is_poll)?;
        call.arguments.is_fortran = true;
        Some(call)
    }

    /// Leaves a Fortran entry point whose call was counted in C, or not counted.
    #[inline(always)]
    pub(crate) fn end_fortran_layer() {
        // SAFETY: the calling thread's own words.
        unsafe { (*tls::words()).fortran_address = 0 };
    }

    /// Enters a call of an attached thread.
    #[inline(always)]
    pub(crate) fn start(
        thread: *mut Thread,
        operation: u16,
        address: u64,
        is_poll: bool,
    ) -> Option<Self> {
        // SAFETY: the calling thread's own words.
        let stack_pointer = unsafe { (*tls::words()).stack_pointer };
        // SAFETY: the calling thread's own state; no other reference to it lives.
        let state = unsafe { &mut *thread };
        if stack_pointer < state.outer_stack {
            return None;
        }
        state.outer_stack = stack_pointer;
        let is_at_same = state.previous == address;
        let untimed = if is_poll { state.polls.untimed(is_at_same, state.last_exit) } else { None };
        let (enter, exit, ahead_ticks) = match untimed {
            Some((enter, exit)) => (enter, exit, 0),
            None => {
                let now = clock::ticks();
                let ahead_ticks = state.last_exit.saturating_sub(now);
                (now + ahead_ticks, now + ahead_ticks, ahead_ticks)
            }
        };
        state.writer.enter(operation, address, enter);
        if state.sampler.is_due(enter) {
            sample_computing(state, operation, address, enter);
        }
        Some(Self {
            arguments: Arguments { thread, is_fortran: false, scope: None },
            address,
            enter,
            exit,
            is_poll,
            is_untimed: untimed.is_some(),
            ahead_ticks,
            bytes: 0,
            completed_bytes: 0,
            peer: NO_PEER,
            tag: -1,
            request: 0,
            n_completed: 0,
            half: None,
        })
    }

    #[inline(always)]
    fn thread(&mut self) -> &mut Thread {
        self.arguments.thread()
    }

    /// Returns whether records are written.
    #[inline(always)]
    fn is_traced(&mut self) -> bool {
        self.thread().traced
    }

    /// Notes that the real function has returned.
    #[inline(always)]
    pub(crate) fn returned(&mut self) {
        if !self.is_untimed {
            self.exit = clock::ticks() + self.ahead_ticks;
        }
    }

    /// Counts the call.
    #[inline(always)]
    pub(crate) fn finish(mut self, operation: u16) {
        let moved_ticks = if self.is_poll { note_poll(&mut self) } else { 0 };
        let is_untimed = self.is_untimed;
        let (address, enter, exit) = (self.address, self.enter, self.exit);
        let bytes = self.bytes;
        let counted_bytes = bytes.wrapping_add(self.completed_bytes);
        let thread = self.thread();
        let region = thread.writer.region(address, thread.previous, operation);
        region.count(exit.wrapping_sub(enter), enter.wrapping_sub(thread.last_exit), counted_bytes);
        if moved_ticks != 0 {
            region.move_to_mpi(moved_ticks);
        }
        thread.previous = address;
        thread.last_exit = exit;
        thread.writer.leave(exit);
        if thread.sampler.is_due(exit) {
            thread.sampler.sample(exit, &region.mpi);
        }
        if !is_untimed && watch::is_on() {
            // Which messages a completion finds depends on who comes first: iterations are told apart without them.
            watch::see(&mut thread.writer, operation, address, (enter, exit), bytes);
        }
        // SAFETY: the calling thread's own words.
        let part = unsafe { (*tls::words()).openmp_part };
        if !part.is_null() {
            openmp::note_mpi(exit.wrapping_sub(enter));
        }
        if thread.traced {
            self.record(operation);
        }
        self.thread().outer_stack = 0;
    }

    #[inline(always)]
    fn record(&mut self, operation: u16) {
        let bytes = self.bytes.wrapping_add(self.completed_bytes);
        let record = CallRecord {
            enter_ticks: self.enter,
            exit_ticks: self.exit,
            address: self.address,
            bytes: self.half.map_or(bytes, |(.., received)| bytes.saturating_sub(received)),
            request: self.request,
            // A receive from any rank has no peer in the records.
            peer: if self.peer == ANY_PEER { NO_PEER } else { self.peer },
            tag: self.tag,
            communicator: self.arguments.communicator_id(),
            operation,
            kind: RecordKind::Call as u16,
            more: 0,
        };
        let (half, n_completed) = (self.half, self.n_completed);
        let thread = self.thread();
        thread.writer.push(&record);
        if half.is_some() || 1 < n_completed {
            record_rest(thread, record, half, n_completed);
        }
    }

    /// Sets the tag of the message.
    #[inline(always)]
    pub(crate) fn tagged(&mut self, tag: i64) {
        #[expect(clippy::cast_possible_truncation, reason = "came from a 32-bit argument")]
        let tag = tag as i32;
        self.tag = tag;
    }

    /// Sets the root of the collective as the peer.
    #[inline(always)]
    pub(crate) fn rooted(&mut self, root: i64) {
        if self.is_traced() && 0 <= root {
            self.peer = self.arguments.world_rank(root);
        }
    }

    /// Counts bytes moved without a peer.
    #[inline(always)]
    pub(crate) fn moved(&mut self, bytes: u64) {
        self.bytes = self.bytes.wrapping_add(bytes);
    }

    /// Counts bytes sent to a rank.
    #[inline(always)]
    pub(crate) fn send(&mut self, bytes: u64, dest: i64) {
        if dest < 0 {
            return;
        }
        self.bytes = self.bytes.wrapping_add(bytes);
        let peer = self.arguments.world_rank(dest);
        self.peer = peer;
        let tag = self.tag;
        if let Some(slot) = self.peer_slot(peer) {
            slot.sent(bytes, tag);
        }
    }

    #[inline(always)]
    fn peer_slot(&mut self, peer: i32) -> Option<&'static PeerSlot> {
        self.thread().writer.peer(u32::try_from(peer).ok()?)
    }

    /// Counts bytes received (or to be received) from a rank.
    #[inline(always)]
    pub(crate) fn receive(&mut self, bytes: u64, source: i64) {
        if source == self.thread().library.proc_null {
            return;
        }
        let tag = self.tag;
        self.arrived(bytes, source, tag);
    }

    #[inline(always)]
    fn arrived(&mut self, bytes: u64, source: i64, tag: i32) {
        let was_sent = self.peer != NO_PEER;
        self.bytes = self.bytes.wrapping_add(bytes);
        let peer = if source < 0 { ANY_PEER } else { self.arguments.world_rank(source) };
        if was_sent {
            self.half = Some((peer, tag, bytes));
        } else {
            self.peer = peer;
        }
        if let Some(slot) = self.peer_slot(peer) {
            slot.received(bytes);
        }
    }

    /// Counts the message of a blocking receive, from its status.
    #[inline(always)]
    pub(crate) fn receive_status(&mut self, status: usize) {
        if status == 0 {
            return;
        }
        // SAFETY: MPI has just filled this status; the layouts are those of `mpi-abi`.
        let (source, tag, bytes) =
            unsafe { arguments::read_status(&self.thread().library, status) };
        if 0 <= source {
            self.arrived(bytes, source.into(), tag);
            if self.half.is_none() {
                self.tag = tag;
            }
        }
    }
}

/// Notes a poll; returns the time that is to be counted as that of polls instead of computation.
#[inline(always)]
fn note_poll(call: &mut MonitoredCall) -> u64 {
    let (span, ahead_ticks) = ((call.enter, call.exit), call.ahead_ticks);
    let (address, is_untimed) = (call.address, call.is_untimed);
    let has_received = call.completed_bytes != 0;
    let thread = call.thread();
    if is_untimed {
        if has_received {
            (call.enter, call.exit) = thread.polls.received(span, clock::ticks());
        }
        return 0;
    }
    if thread.traced || waiting::mode() != Mode::Off {
        thread.polls.time_all();
        return 0;
    }
    let span = (span.0 - ahead_ticks, span.1 - ahead_ticks);
    thread.polls.note((address, thread.previous == address), span, ahead_ticks)
}

/// Returns the state of the calling thread, which is attached now if it was not; `None` if it is not to be monitored.
#[inline(always)]
fn attached(thread: *mut Thread) -> Option<*mut Thread> {
    if thread::is_watched(thread) {
        return Some(thread);
    }
    let thread = thread::attach();
    (!thread.is_null()).then_some(thread)
}

/// Samples the processor time of the computation that the call at `address` ends.
#[cold]
#[inline(never)]
fn sample_computing(thread: &mut Thread, operation: u16, address: u64, now_ticks: u64) {
    let region = thread.writer.region(address, thread.previous, operation);
    thread.sampler.sample(now_ticks, &region.compute);
}

/// Records what one record cannot hold: a second peer, more requests.
///
/// Separate from [`MonitoredCall`], whose fields stay in registers as long as its address is not taken.
#[cold]
#[inline(never)]
fn record_rest(
    thread: &mut Thread,
    call: CallRecord,
    half: Option<(i32, i32, u64)>,
    n_completed: usize,
) {
    if let Some((peer, tag, bytes)) = half {
        let peer = if peer == ANY_PEER { NO_PEER } else { peer };
        let kind = RecordKind::ReceiveHalf as u16;
        thread.writer.push(&CallRecord { peer, tag, bytes, kind, ..call });
    }
    let completed = thread.pending.requests.get(1..n_completed).unwrap_or_default();
    for pair in completed.chunks(2) {
        let (request, more) = (pair[0], pair.get(1).copied().unwrap_or(0));
        let kind = RecordKind::Requests as u16;
        thread.writer.push(&CallRecord { request, more, bytes: 0, kind, ..call });
    }
}
