//! Data moved by a call: the functions that the generated accounting calls.
#![allow(unsafe_code, reason = "reads a status that MPI has filled")]

use super::Call;
use events::call::NO_PEER;

impl Call {
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
        if let Some(slot) =
            u32::try_from(peer).ok().and_then(|peer| self.thread().writer.peer(peer))
        {
            slot.sent(bytes);
        }
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
        let peer = if source < 0 { NO_PEER } else { self.arguments.world_rank(source) };
        if was_sent {
            self.half = Some((peer, tag, bytes));
        } else {
            self.peer = peer;
        }
        if let Some(slot) =
            u32::try_from(peer).ok().and_then(|peer| self.thread().writer.peer(peer))
        {
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
        let (source, tag, bytes) = unsafe { self.arguments.read_status(status) };
        if 0 <= source {
            self.arrived(bytes, source.into(), tag);
            if self.half.is_none() {
                self.tag = tag;
            }
        }
    }
}
