//! Communication between ranks, as a trait, so that the solver is tested without MPI.

use crate::CgError;
use bytemuck::Pod;
use mpi::{Comm, Op};

/// Ranks that hold the rows of a matrix; all of them call the same methods in the same order.
pub trait Group {
    /// Rank of the caller.
    fn rank(&self) -> usize;

    /// Number of ranks.
    fn n_ranks(&self) -> usize;

    /// Concatenates the numbers of all ranks; `lengths` are their counts by rank.
    ///
    /// # Errors
    /// If MPI fails.
    fn gather(&self, own: &[f64], lengths: &[usize], all: &mut [f64]) -> Result<(), CgError>;

    /// Replaces each number by its sum over the ranks, the same on all of them.
    ///
    /// # Errors
    /// If MPI fails.
    fn sum(&self, numbers: &mut [f64]) -> Result<(), CgError>;

    /// Sends a part to each rank and returns the parts sent to this one, in the order of ranks.
    ///
    /// # Errors
    /// If MPI fails.
    fn exchange<T: Pod>(&self, parts: &[Vec<T>]) -> Result<Vec<T>, CgError>;

    /// Announces that all ranks are about to end, so that each waits for the others' last messages.
    fn end(&self) {}
}

/// Group of a single rank.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alone;

impl Group for Alone {
    fn rank(&self) -> usize {
        0
    }

    fn n_ranks(&self) -> usize {
        1
    }

    fn gather(&self, own: &[f64], _lengths: &[usize], all: &mut [f64]) -> Result<(), CgError> {
        all.copy_from_slice(own);
        Ok(())
    }

    fn sum(&self, _numbers: &mut [f64]) -> Result<(), CgError> {
        Ok(())
    }

    fn exchange<T: Pod>(&self, parts: &[Vec<T>]) -> Result<Vec<T>, CgError> {
        Ok(parts.concat())
    }
}

/// Tag of messages in which ranks exchange parts.
const PART: u16 = 1;

impl Group for Comm {
    fn rank(&self) -> usize {
        (**self).rank() as usize
    }

    fn n_ranks(&self) -> usize {
        self.size() as usize
    }

    fn gather(&self, own: &[f64], lengths: &[usize], all: &mut [f64]) -> Result<(), CgError> {
        Ok(self.allgather_rows(own, lengths, all)?)
    }

    fn sum(&self, numbers: &mut [f64]) -> Result<(), CgError> {
        Ok(self.allreduce(Op::Sum, numbers)?)
    }

    fn exchange<T: Pod>(&self, parts: &[Vec<T>]) -> Result<Vec<T>, CgError> {
        let (rank, n_ranks) = (Group::rank(self), self.n_ranks());
        let lengths: Vec<usize> =
            (0..n_ranks).map(|to| parts.get(to).map_or(0, Vec::len)).collect();
        let lengths = self.allgather(&lengths)?;
        let coming = lengths.iter().skip(rank).step_by(n_ranks);
        let ends = coming.scan(0, |end, length| {
            *end += *length;
            Some(*end)
        });
        let ends: Vec<usize> = ends.collect();
        let mut all = vec![T::zeroed(); ends.last().copied().unwrap_or_default()];
        // In each round a rank sends to one rank and receives from one.
        for step in 0..n_ranks {
            let (to, from) = ((rank + step) % n_ranks, (rank + n_ranks - step) % n_ranks);
            let part = parts.get(to).map_or(&[][..], Vec::as_slice);
            let room = &mut all[ends[from] - lengths[from * n_ranks + rank]..ends[from]];
            if step == 0 {
                room.copy_from_slice(part);
            } else {
                self.send_receive((part, number(to)), (room, number(from)), PART)?;
            }
        }
        Ok(all)
    }

    fn end(&self) {
        self.mpi().close();
    }
}

fn number(rank: usize) -> u32 {
    u32::try_from(rank).expect("MPI counts ranks in 32 bits")
}

/// Agrees whether to continue: either all ranks do or none. Of the ranks that failed, the one with the first line
/// keeps its error, and the others learn its rank.
///
/// # Errors
/// If one of the ranks or MPI failed.
pub(crate) fn agree<T>(group: &impl Group, own: Result<T, CgError>) -> Result<T, CgError> {
    let line = own.as_ref().err().map_or(f64::INFINITY, |error| error.line() as f64);
    let mut lines = vec![f64::INFINITY; group.n_ranks()];
    group.gather(&[line], &vec![1; group.n_ranks()], &mut lines)?;
    let first = lines.iter().copied().fold(f64::INFINITY, f64::min);
    let Some(rank) = lines.iter().position(|line| line.is_finite() && *line <= first) else {
        return own;
    };
    group.end();
    if rank == group.rank() { own } else { Err(CgError::Elsewhere { rank }) }
}
