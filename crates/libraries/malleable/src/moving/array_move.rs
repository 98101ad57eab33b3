//! An array that moves from sources to targets, with one rank's part in it.

use super::agreed::Agreed;
use super::budget::DutyCycle;
use super::route::{Piece, Route, RowTransfer, Seats, split};
use crate::bridge::Bridge;
use crate::data::{Allocate, Class, Data, Memory, Rows, SharedBuffer, Slot};
use mpi::{Bundle, ByteRange};
use std::collections::BTreeSet;
use std::time::Instant;

/// Number of bytes copied at once.
const KEEP_BYTES: u64 = 1 << 20;

/// Array to move.
pub(crate) struct ArrayMove {
    /// Order of sending within a class: earlier arrays are needed to interpret later ones.
    pub(crate) turn: u32,
    /// Size of an element, in bytes.
    pub(crate) width: usize,
    pub(crate) route: Route,
    /// Whether at most one stretch goes from any rank to any other, so that counts and offsets suffice.
    pub(crate) is_plain: bool,
    /// Bytes of all ranks together, and those of them that go to another rank.
    pub(crate) bytes: [u64; 2],
    /// Contents lent by a source.
    pub(crate) lent: Option<SharedBuffer>,
    pub(crate) target: TargetMemory,
}

/// Memory of a target.
pub(crate) enum TargetMemory {
    /// None, on a rank that is not a target.
    None,
    /// Memory to allocate.
    Wanted(Allocate),
    /// Memory, filled or not.
    Memory(Box<dyn Memory>),
}

/// All arrays of a class, in an order that is the same on all ranks; sources lend theirs.
pub(crate) fn array_moves(
    bridge: &Bridge<'_>,
    agreed: &Agreed,
    data: &mut Data<'_>,
    class: Class,
) -> Vec<ArrayMove> {
    let mut array_moves = Vec::new();
    let mut add = |transfers: &[RowTransfer], array: &mut dyn Slot, turn| {
        array_moves.push(ArrayMove::of(bridge, transfers, array, turn));
    };
    for (group, of) in data.groups.iter_mut().zip(&agreed.groups) {
        let objects = group.objects.iter_mut().enumerate();
        for (number, object) in objects.filter(|(_, object)| object.class == class) {
            match &mut object.rows {
                Rows::Even { n_per_row, array } => {
                    add(&of.even(*n_per_row as u64), &mut **array, 0);
                }
                Rows::Uneven { lengths, arrays } => {
                    add(&of.even(1), &mut **lengths, 0);
                    let transfers = of.uneven(number);
                    (1..).zip(arrays).for_each(|(turn, array)| add(&transfers, &mut **array, turn));
                }
            }
        }
    }
    array_moves
}

/// Slots of the arrays of a class, in the order of [`array_moves`].
pub(crate) fn places<'d, 'a>(
    data: &'d mut Data<'a>,
    class: Class,
) -> impl Iterator<Item = &'d mut (dyn Slot + 'd)>
where
    'a: 'd,
{
    let objects = data.groups.iter_mut().flat_map(|group| &mut group.objects);
    objects.filter(move |object| object.class == class).flat_map(|object| {
        let places: Vec<&'d mut (dyn Slot + 'd)> = match &mut object.rows {
            Rows::Even { array, .. } => vec![&mut **array],
            Rows::Uneven { lengths, arrays } => {
                let lengths: &'d mut (dyn Slot + 'd) = &mut **lengths;
                let arrays = arrays.iter_mut().map(|array| &mut **array as &'d mut (dyn Slot + 'd));
                std::iter::once(lengths).chain(arrays).collect()
            }
        };
        places
    })
}

impl ArrayMove {
    fn of(bridge: &Bridge<'_>, transfers: &[RowTransfer], place: &mut dyn Slot, turn: u32) -> Self {
        let seats = Seats { sources: &bridge.sources, targets: &bridge.targets };
        let width = place.element_bytes();
        let route = Route::of(bridge.comm.rank(), seats, transfers, width as u64);
        Self {
            turn,
            width,
            route,
            is_plain: is_plain(seats, transfers),
            bytes: bytes(seats, transfers, width as u64),
            lent: bridge.is_source().then(|| place.lend()),
            target: match bridge.target() {
                Some(_) => TargetMemory::Wanted(place.allocator()),
                None => TargetMemory::None,
            },
        }
    }

    /// Returns whether this rank has to allocate memory for the array and copy what it keeps.
    pub(crate) fn is_wanted(&self) -> bool {
        matches!(self.target, TargetMemory::Wanted(_))
    }

    /// Allocates memory for incoming data and copies what is kept, in slices with pauses between them.
    pub(crate) fn prepare(&mut self, duty_cycle: DutyCycle) {
        self.target = match std::mem::replace(&mut self.target, TargetMemory::None) {
            TargetMemory::Wanted(allocate) => {
                let mut memory = allocate(to_usize(self.route.n_bytes) / self.width.max(1));
                if let Some(lent) = &self.lent {
                    keep((**lent).as_ref(), (*memory).as_mut(), &self.route.keeps, duty_cycle);
                }
                TargetMemory::Memory(memory)
            }
            other => other,
        };
    }

    /// Adds the array to a bundle, whose arrays go in one message to each rank. It must be prepared.
    pub(crate) fn board(&mut self, bundle: &mut Bundle) {
        if let Some(lent) = self.lent.take() {
            bundle.sent.push((lent, stretches(&self.route.sends)));
        }
        match std::mem::replace(&mut self.target, TargetMemory::None) {
            TargetMemory::Memory(memory) => {
                bundle.received.push((memory, stretches(&self.route.receives)));
            }
            other => self.target = other,
        }
    }
}

fn stretches(pieces: &[Piece]) -> Vec<ByteRange> {
    let stretch = |piece: &Piece| {
        let (peer, start) = (piece.peer, to_usize(piece.here));
        ByteRange { peer, start, n_bytes: to_usize(piece.n_bytes) }
    };
    pieces.iter().map(stretch).collect()
}

fn keep(from: &[u8], to: &mut [u8], keeps: &[Piece], duty_cycle: DutyCycle) {
    for piece in split(keeps, KEEP_BYTES) {
        let began = Instant::now();
        let n_bytes = to_usize(piece.n_bytes);
        let kept = &from[to_usize(piece.here)..][..n_bytes];
        to[to_usize(piece.there)..][..n_bytes].copy_from_slice(kept);
        std::thread::sleep(duty_cycle.pause_after(began.elapsed()));
    }
}

/// Returns whether counts of elements suffice, on every rank.
fn is_plain(seats: Seats<'_>, transfers: &[RowTransfer]) -> bool {
    let mut pairs = BTreeSet::new();
    transfers.iter().filter(|transfer| 0 < transfer.n_elements).all(|transfer| {
        let pair = (seats.sources[transfer.from as usize], seats.targets[transfer.to as usize]);
        let end = transfer.n_elements + transfer.send_at.max(transfer.receive_at);
        pair.0 == pair.1 || pairs.insert(pair) && i32::try_from(end).is_ok()
    })
}

fn bytes(seats: Seats<'_>, transfers: &[RowTransfer], width: u64) -> [u64; 2] {
    let is_sent = |transfer: &&RowTransfer| {
        seats.sources[transfer.from as usize] != seats.targets[transfer.to as usize]
    };
    let sent = transfers.iter().filter(is_sent).map(|transfer| transfer.n_elements).sum::<u64>();
    let all = transfers.iter().map(|transfer| transfer.n_elements).sum::<u64>();
    [all, sent].map(|n_elements| n_elements * width)
}

/// Converts a position in memory, which has less than 2^64 bytes.
pub(crate) fn to_usize(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

/// Array that has arrived, with its number among those of its class.
pub(crate) type Landed = (usize, Box<dyn Memory>);

/// Memory of an array of which nothing moves.
pub(crate) fn landed((number, array_move): (usize, ArrayMove)) -> Option<Landed> {
    match array_move.target {
        TargetMemory::Memory(memory) => Some((number, memory)),
        TargetMemory::None | TargetMemory::Wanted(_) => None,
    }
}
