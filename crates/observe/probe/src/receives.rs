//! Receives that a thread has posted, by the handle of their request, until a call of the same thread completes them.
//!
//! A table of sets: a request may be in one of the [`N_WAYS`] places of its set. A word of tags, a byte for each place, tells at once that a
//! request is in none of them, as those of sends are. Where a set is full, its first receive is forgotten.
//!
//! # Not here
//! Whether a call has completed a receive, and what its status says (`call/completion.rs`).
#![allow(unsafe_code, reason = "memory straight from the system")]

use ring::private;
use std::ptr::NonNull;

const N_SETS: usize = 512;
const N_WAYS: usize = 8;
/// Requests of one call that are looked up.
const N_LOOKED_UP_MAX: usize = N_SETS * N_WAYS;
/// Words of the largest status of all libraries.
const N_STATUS_WORDS: usize = 4;
/// Place of a request that is no known receive.
const NOWHERE: u16 = u16::MAX;
/// Bit of a room that says that its request is persistent.
const PERSISTENT: u64 = 1 << 63;

/// Posted receives of a thread; knows none when the system has no memory.
#[derive(Debug)]
pub(crate) struct Receives(Option<NonNull<Table>>);

/// All zero when empty.
#[derive(Debug)]
#[repr(C)]
struct Table {
    /// For each place of a set a byte of the request's hash, from the lowest byte on; 0 if the place is free.
    tags: [u64; N_SETS],
    requests: [[u64; N_WAYS]; N_SETS],
    rooms: [[u64; N_WAYS]; N_SETS],
    /// Receives in the table.
    n_known: usize,
    /// Requests of the call in progress, if one of them is a known receive; else 0.
    n_looked_up: usize,
    /// Place of each of them.
    places: [u16; N_LOOKED_UP_MAX],
    /// Lent to calls whose program ignores the status.
    status: [u64; N_STATUS_WORDS],
}

impl Receives {
    /// Makes an empty table, outside of the program's allocator.
    pub(crate) fn new() -> Self {
        Self(private::bytes(size_of::<Table>()).map(NonNull::cast))
    }

    #[inline(always)]
    fn table(&mut self) -> Option<&mut Table> {
        // SAFETY: fresh pages of zeros, which are a valid table; no other reference to it lives.
        self.0.map(|mut table| unsafe { table.as_mut() })
    }

    /// Notes a posted receive with its room in bytes.
    #[inline(always)]
    pub(crate) fn post(&mut self, request: u64, room_bytes: u64, is_persistent: bool) {
        if let Some(table) = self.table() {
            table.post(request, if is_persistent { room_bytes | PERSISTENT } else { room_bytes });
        }
    }

    /// Forgets a handle that stands for something else now.
    #[inline(always)]
    pub(crate) fn forget(&mut self, request: u64) {
        if let Some(table) = self.table()
            && table.n_known != 0
        {
            table.remove(request);
        }
    }

    /// Looks up the requests of a call, before it overwrites them: `request` yields the one at a position.
    #[inline(always)]
    pub(crate) fn look_up(&mut self, n_requests: usize, request: impl Fn(usize) -> u64) {
        if let Some(table) = self.table() {
            table.n_looked_up = 0;
            if table.n_known != 0 && n_requests <= N_LOOKED_UP_MAX {
                table.look_up(n_requests, request);
            }
        }
    }

    /// Returns whether a receive is among the requests of the call in progress.
    #[inline(always)]
    pub(crate) fn has_some(&mut self) -> bool {
        self.table().is_some_and(|table| table.n_looked_up != 0)
    }

    /// Number of requests of the call in progress; 0 if no receive is among them.
    pub(crate) fn n_requests(&mut self) -> usize {
        self.table().map_or(0, |table| table.n_looked_up)
    }

    /// Address of a status for the call in progress.
    pub(crate) fn status(&mut self) -> usize {
        self.table().map_or(0, |table| table.status.as_mut_ptr().addr())
    }

    /// Returns the room of the receive at a position of the completed call, in bytes; `None` if it is no known receive.
    pub(crate) fn complete(&mut self, position: usize) -> Option<u64> {
        let table = self.table()?;
        let place = *table.places[..table.n_looked_up].get(position)?;
        let (set, way) = (usize::from(place) / N_WAYS, usize::from(place) % N_WAYS);
        let room = *table.rooms.get(set)?.get(way)?;
        if room & PERSISTENT == 0 {
            table.free(set, way);
        }
        Some(room & !PERSISTENT)
    }
}

impl Drop for Receives {
    fn drop(&mut self) {
        if let Some(table) = self.0.take() {
            // SAFETY: made by `new` with this length, and the only reference to it ends here.
            unsafe { private::free(table.cast(), size_of::<Table>()) };
        }
    }
}

impl Table {
    /// Set and tag of a request.
    #[inline(always)]
    fn place_of(request: u64) -> (usize, u64) {
        let mixed = request.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        #[expect(clippy::cast_possible_truncation, reason = "shifted down to the number of sets")]
        let set = (mixed >> (u64::BITS - N_SETS.trailing_zeros())) as usize;
        (set % N_SETS, mixed >> 32 & 0xff | 1)
    }

    #[inline(always)]
    fn find(&self, request: u64) -> Option<(usize, usize)> {
        let (set, tag) = Self::place_of(request);
        let mut candidates = bytes_equal_to(tag, self.tags[set]);
        while candidates != 0 {
            let way = first_byte(candidates);
            if self.requests[set][way] == request {
                return Some((set, way));
            }
            candidates &= candidates - 1;
        }
        None
    }

    #[inline(always)]
    fn post(&mut self, request: u64, room: u64) {
        let (set, tag) = Self::place_of(request);
        let (set, way) = self.find(request).unwrap_or_else(|| {
            let free = bytes_equal_to(0, self.tags[set]);
            (set, if free == 0 { 0 } else { first_byte(free) })
        });
        self.free(set, way);
        self.tags[set] |= tag << (8 * way);
        self.requests[set][way] = request;
        self.rooms[set][way] = room;
        self.n_known += 1;
    }

    #[inline(always)]
    fn remove(&mut self, request: u64) {
        if let Some((set, way)) = self.find(request) {
            self.free(set, way);
        }
    }

    #[inline(always)]
    fn free(&mut self, set: usize, way: usize) {
        let place = 0xff << (8 * way);
        if self.tags[set] & place != 0 {
            self.tags[set] &= !place;
            self.n_known -= 1;
        }
    }

    #[inline(always)]
    fn look_up(&mut self, n_requests: usize, request: impl Fn(usize) -> u64) {
        let mut is_one_known = false;
        for position in 0..n_requests {
            let found = self.find(request(position));
            let place = found.and_then(|(set, way)| u16::try_from(set * N_WAYS + way).ok());
            self.places[position] = place.unwrap_or(NOWHERE);
            is_one_known |= place.is_some();
        }
        self.n_looked_up = if is_one_known { n_requests } else { 0 };
    }
}

/// Returns a word whose lowest bit that is set is in the first byte of `word` that equals `byte`; 0 if none does.
#[inline(always)]
fn bytes_equal_to(byte: u64, word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let difference = word ^ (byte * ONES);
    difference.wrapping_sub(ONES) & !difference & (ONES << 7)
}

/// Number of the byte with the lowest bit that is set.
#[inline(always)]
fn first_byte(word: u64) -> usize {
    word.trailing_zeros() as usize / 8
}
