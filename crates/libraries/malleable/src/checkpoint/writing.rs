//! Writing of checkpoints: rank 0 collects the state and writes it.

use super::CheckpointError;
use super::PIECE_BYTES;
use super::file::{CheckpointDraft, all_constants, constants_at, program};
use super::index::{FileRange, Index, begins, stretches};
use crate::bridge::Bridge;
use crate::data::{Class, Data, Rows, Slot};
use crate::moving::partitions;
use crate::present_ranks::PresentRanks;
use crate::tags::Tag;
use files::Draft;
use mpi::{MpiError, Op};
use resize_plan::Partition;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// State of the file of constant data, as rank 0 knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Constants {
    /// It is written, with this id.
    Written(u64),
    /// It has to be written.
    Missing,
}

/// Writes the state before this iteration; all ranks call it, and agree on whether constant data are missing. Returns
/// on rank 0 the error of the file system, or the id of the file of constant data.
pub(crate) fn save(
    ranks: &PresentRanks,
    data: &mut Data<'_>,
    path: &Path,
    iteration: u64,
    constants: Constants,
) -> Result<Result<u64, CheckpointError>, CheckpointError> {
    let all = (0..ranks.size()).collect::<Vec<_>>();
    let bridge = Bridge { comm: &ranks.comm, sources: all.clone(), targets: all };
    let rows = partitions(&bridge, data)?;
    let mut n_entries = n_entries(data);
    ranks.comm.allreduce(Op::Sum, &mut n_entries)?;
    let mut index = Index::of(data, &rows, &n_entries);
    let id = match constants {
        Constants::Written(id) => id,
        Constants::Missing => new_id(),
    };
    let is_first = ranks.is_first();
    let is_missing = constants == Constants::Missing;
    let mut drafts = [
        is_first.then(|| CheckpointDraft::of(path)),
        (is_first && is_missing).then(|| CheckpointDraft::of(&constants_at(path, id))),
    ];
    for (object, kept) in data.replicated.iter().zip(&index.replicated) {
        if let Some(draft) = &mut drafts[usize::from(kept.is_constant)] {
            draft.write(object.words.bytes(), kept.array.at);
        }
    }
    for ((group, kept), (_, partition)) in data.groups.iter_mut().zip(&index.groups).zip(&rows) {
        for (object, kept) in group.objects.iter_mut().zip(&kept.objects) {
            if object.class == Class::Constant && !is_missing {
                continue;
            }
            let draft = &mut drafts[usize::from(kept.is_constant)];
            let mut collector = Collector { ranks, partition, draft };
            match &mut object.rows {
                Rows::Even { n_per_row, array } => {
                    let row_bytes = *n_per_row * kept.arrays[0].width;
                    collector.collect(&mut **array, (kept.arrays[0].at, row_bytes), None)?;
                }
                Rows::Uneven { lengths, arrays } => {
                    collector.collect(&mut **lengths, (kept.arrays[0].at, 4), None)?;
                    let begins = collector.begins(kept.arrays[0]);
                    for (array, place) in arrays.iter_mut().zip(&kept.arrays[1..]) {
                        let at = (place.at, place.width);
                        collector.collect(&mut **array, at, Some(&begins))?;
                    }
                }
            }
        }
    }
    (index.program, index.iteration, index.constants) = (program(), iteration, id);
    Ok(finish(path, drafts, &index).map(|()| id))
}

fn finish(
    path: &Path,
    [draft, constants]: [Option<CheckpointDraft>; 2],
    index: &Index,
) -> Result<(), CheckpointError> {
    let [n_variable, n_constant] = index.n_bytes();
    let text = serde_json::to_vec(index).unwrap_or_default();
    let is_new = constants.is_some();
    constants.map_or(Ok(()), |draft| draft.finish(index.constants, n_constant, &[]))?;
    draft.map_or(Ok(()), |draft| draft.finish(index.constants, n_variable, &text))?;
    if is_new {
        let own = constants_at(path, index.constants);
        all_constants(path).into_iter().filter(|other| *other != own).for_each(|other| {
            // A file that cannot be removed only wastes space.
            let _removed = std::fs::remove_file(other);
        });
    }
    Ok(())
}

/// Removes the checkpoint of a program that is done; called by rank 0.
pub(crate) fn remove(path: &Path) {
    let draft = Draft::of(path).place().to_owned();
    let unfinished = path.with_added_extension(resize_api::UNFINISHED);
    for file in [path.to_owned(), draft, unfinished].into_iter().chain(all_constants(path)) {
        // If a file remains, a restarted program continues from it, which is correct as well.
        let _removed = std::fs::remove_file(file);
    }
}

/// Number of entries on this rank of each object with rows of different lengths.
fn n_entries(data: &Data<'_>) -> Vec<u64> {
    let objects = data.groups.iter().flat_map(|group| &group.objects);
    let sums = objects.filter_map(|object| match &object.rows {
        Rows::Uneven { lengths, .. } => {
            Some(lengths.lengths().iter().map(|length| u64::from(*length)).sum())
        }
        Rows::Even { .. } => None,
    });
    sums.collect()
}

/// Returns an id that no earlier file has.
fn new_id() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_nanos()).unwrap_or_default() ^ (u64::from(std::process::id()) << 48)
}

/// Collector of an array of all ranks on rank 0, part after part.
struct Collector<'a> {
    ranks: &'a PresentRanks,
    partition: &'a Partition,
    draft: &'a mut Option<CheckpointDraft>,
}

impl Collector<'_> {
    /// Writes the array into the file at `at`, with `row_bytes` per row, or per entry if `begins` has the start of each
    /// row.
    fn collect(
        &mut self,
        array: &mut dyn Slot,
        (at, row_bytes): (u64, usize),
        begins: Option<&[u64]>,
    ) -> Result<(), MpiError> {
        let lent = array.lend();
        let own = (*lent).as_ref();
        let backstage = &self.ranks.backstage;
        let Some(draft) = self.draft else {
            return own
                .chunks(PIECE_BYTES)
                .try_for_each(|p| backstage.send(p, 0, Tag::Piece.number()));
        };
        let mut piece = Vec::new();
        for part in 0..self.ranks.size() {
            let stretches = stretches(self.partition, part, row_bytes as u64, begins);
            let n_bytes = stretches.iter().map(|(_, n_bytes)| n_bytes).sum::<usize>();
            let mut places = FilePositions::of(stretches);
            if part == 0 {
                places.take(own.len(), |from, to| draft.write(&own[from], at + to));
                continue;
            }
            for begin in (0..n_bytes).step_by(PIECE_BYTES) {
                let n_here = PIECE_BYTES.min(n_bytes - begin);
                piece.resize(n_here, 0_u8);
                backstage.receive(&mut piece, part, Tag::Piece.number())?;
                places.take(n_here, |from, to| draft.write(&piece[from], at + to));
            }
        }
        Ok(())
    }

    /// Start of each row's entries, from the lengths that rank 0 has just written.
    fn begins(&self, place: FileRange) -> Vec<u64> {
        let Some(draft) = &self.draft else { return Vec::new() };
        let mut lengths = vec![0_u32; usize::try_from(place.n_bytes / 4).unwrap_or(0)];
        draft.read(bytemuck::cast_slice_mut(&mut lengths), place.at);
        begins(&lengths)
    }
}

/// Iterator over the file positions of a part's bytes.
pub(super) struct FilePositions {
    left: std::vec::IntoIter<(u64, usize)>,
    present: (u64, usize),
}

impl FilePositions {
    pub(super) fn of(stretches: Vec<(u64, usize)>) -> Self {
        Self { left: stretches.into_iter(), present: (0, 0) }
    }

    /// Assigns file positions to the next `n_bytes` bytes, calling `take` for each contiguous range.
    pub(super) fn take(
        &mut self,
        n_bytes: usize,
        mut take: impl FnMut(std::ops::Range<usize>, u64),
    ) {
        let mut done = 0;
        while done < n_bytes {
            if self.present.1 == 0 {
                let Some(next) = self.left.next() else { return };
                self.present = next;
                continue;
            }
            let (at, left) = self.present;
            let n_here = left.min(n_bytes - done);
            take(done..done + n_here, at);
            self.present = (at + n_here as u64, left - n_here);
            done += n_here;
        }
    }
}
