//! Reading of checkpoints: rank 0 reads the state, and distributes it.

use super::CheckpointError;
use super::PIECE_BYTES;
use super::file::Found;
use super::index::{FileRange, Index, SavedGroup, begins, partition, stretches};
use super::writing::FilePositions;
use crate::causes::with_causes;
use crate::data::{Cut, Data, Rows, Slot};
use crate::moving::MoveError;
use crate::present_ranks::PresentRanks;
use crate::tags::Tag;
use mpi::MpiError;
use resize_plan::Partition;
use std::path::Path;

/// Fills the state of all ranks; all of them call it with the same index, and rank 0 with the files.
pub(crate) fn load(
    ranks: &PresentRanks,
    (path, index): (&Path, &Index),
    found: Option<Found>,
    data: &mut Data<'_>,
) -> Result<(), CheckpointError> {
    if let Some((held, registered)) = index.difference(data) {
        return Err(CheckpointError::Registered { path: path.to_owned(), held, registered });
    }
    let mut dealer = Dealer { ranks, found, problem: None };
    for (object, kept) in data.replicated.iter_mut().zip(&index.replicated) {
        let bytes = dealer.all_of(kept.is_constant, kept.array)?;
        object.words.put(&bytes);
    }
    for (group, kept) in data.groups.iter_mut().zip(&index.groups) {
        let partition = dealer.partition(group.cut, kept)?;
        for (object, kept) in group.objects.iter_mut().zip(&kept.objects) {
            let first = kept.arrays[0];
            let from = (&partition, kept.is_constant);
            match &mut object.rows {
                Rows::Even { n_per_row, array } => {
                    let row_bytes = *n_per_row * first.width;
                    dealer.deal(from, &mut **array, (first, row_bytes), None)?;
                }
                Rows::Uneven { lengths, arrays } => {
                    dealer.deal(from, &mut **lengths, (first, 4), None)?;
                    let n_own = lengths.lengths().iter().map(|length| *length as usize).sum();
                    let begins = dealer.begins(kept.is_constant, first, kept.arrays[1]);
                    for (array, place) in arrays.iter_mut().zip(&kept.arrays[1..]) {
                        let uneven = Some((n_own, &*begins));
                        dealer.deal(from, &mut **array, (*place, place.width), uneven)?;
                    }
                }
            }
        }
    }
    dealer.end()
}

/// Distributor of the state; only rank 0 has files.
struct Dealer<'a> {
    ranks: &'a PresentRanks,
    found: Option<Found>,
    /// First error: the other ranks are told at the end, so that none waits in vain.
    problem: Option<CheckpointError>,
}

impl Dealer<'_> {
    fn read(&mut self, is_constant: bool, bytes: &mut [u8], at: u64) {
        let read = self.found.as_ref().map_or(Ok(()), |found| found.read(is_constant, bytes, at));
        if let Err(error) = read {
            self.problem.get_or_insert(error);
        }
    }

    /// Reads and broadcasts an array of which every rank gets all.
    fn all_of(&mut self, is_constant: bool, place: FileRange) -> Result<Vec<u8>, MpiError> {
        let mut bytes = vec![0; usize::try_from(place.n_bytes).unwrap_or(0)];
        self.read(is_constant, &mut bytes, place.at);
        self.ranks.comm.broadcast(&mut bytes, 0)?;
        Ok(bytes)
    }

    /// Partition of a group's rows among the ranks.
    fn partition(&mut self, cut: Cut, group: &SavedGroup) -> Result<Partition, CheckpointError> {
        let n_parts = self.ranks.size();
        let divided = |weights: &[u32]| partition(group, cut, n_parts, weights);
        if !matches!(cut, Cut::Weighted) {
            return divided(&[]).map_err(|error| MoveError::from(error).into());
        }
        let weighty = group.objects.iter().find(|object| object.n_per_row == 0);
        let mut n_rows = vec![0; n_parts as usize];
        if let Some(object) = weighty.filter(|_| self.found.is_some()) {
            let lengths = self.lengths(object.is_constant, object.arrays[0]);
            if let Ok(parts) = divided(&lengths) {
                n_rows = (0..n_parts).map(|part| parts.n_rows_of(part)).collect();
            }
        }
        self.ranks.comm.broadcast(&mut n_rows, 0)?;
        Partition::of_lengths(n_rows).map_err(|error| MoveError::from(error).into())
    }

    fn lengths(&mut self, is_constant: bool, place: FileRange) -> Vec<u32> {
        let mut lengths = vec![0_u32; usize::try_from(place.n_bytes / 4).unwrap_or(0)];
        self.read(is_constant, bytemuck::cast_slice_mut(&mut lengths), place.at);
        lengths
    }

    /// On rank 0, the start of each row's entries; checks that these add up to the number of entries.
    fn begins(&mut self, is_constant: bool, lengths: FileRange, entries: FileRange) -> Vec<u64> {
        let Some(found) = &self.found else { return Vec::new() };
        let damaged = found.damaged();
        let begins = begins(&self.lengths(is_constant, lengths));
        let n_entries = entries.n_bytes.checked_div(entries.width as u64).unwrap_or(0);
        if begins.last() != Some(&n_entries) {
            self.problem.get_or_insert(damaged);
        }
        begins
    }

    /// Gives each rank its part of an array with this partition; for sparse rows, `uneven` has its number of entries and
    /// the start of each row.
    fn deal(
        &mut self,
        (partition, is_constant): (&Partition, bool),
        array: &mut dyn Slot,
        (place, row_bytes): (FileRange, usize),
        uneven: Option<(usize, &[u64])>,
    ) -> Result<(), MpiError> {
        let rank = self.ranks.comm.rank();
        let n_rows = usize::try_from(partition.n_rows_of(rank)).unwrap_or(usize::MAX);
        let n_bytes = uneven.map_or(n_rows, |(n_own, _)| n_own) * row_bytes;
        let mut memory = array.allocator()(n_bytes / place.width.max(1));
        let begins = uneven.map(|(_, begins)| begins);
        if self.found.is_some() {
            for part in 1..self.ranks.size() {
                let stretches = stretches(partition, part, row_bytes as u64, begins);
                self.send(is_constant, place.at, stretches, part)?;
            }
            let mut places = FilePositions::of(stretches(partition, 0, row_bytes as u64, begins));
            let own = (*memory).as_mut();
            places.take(n_bytes, |to, from| {
                self.read(is_constant, &mut own[to], place.at + from);
            });
        } else {
            for piece in (*memory).as_mut().chunks_mut(PIECE_BYTES) {
                self.ranks.backstage.receive(piece, 0, Tag::Piece.number())?;
            }
        }
        array.put(memory);
        Ok(())
    }

    fn send(
        &mut self,
        is_constant: bool,
        at: u64,
        stretches: Vec<(u64, usize)>,
        to: u32,
    ) -> Result<(), MpiError> {
        let n_bytes = stretches.iter().map(|(_, n_bytes)| n_bytes).sum::<usize>();
        let mut places = FilePositions::of(stretches);
        let mut piece = Vec::new();
        for begin in (0..n_bytes).step_by(PIECE_BYTES) {
            let n_here = PIECE_BYTES.min(n_bytes - begin);
            piece.resize(n_here, 0_u8);
            places.take(n_here, |to, from| self.read(is_constant, &mut piece[to], at + from));
            self.ranks.backstage.send(&piece, to, Tag::Piece.number())?;
        }
        Ok(())
    }

    /// Agrees on all ranks whether an error occurred.
    fn end(self) -> Result<(), CheckpointError> {
        let why = self.problem.as_ref().map_or_else(String::new, |error| with_causes(error));
        let why = self.ranks.tell(why)?;
        match self.problem {
            Some(problem) => Err(problem),
            None if why.is_empty() => Ok(()),
            None => Err(CheckpointError::Elsewhere { why }),
        }
    }
}
