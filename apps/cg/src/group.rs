//! What the program asks of the other ranks, so that its numbers are tested without MPI.

use crate::CgError;
use bytemuck::Pod;
use mpi::{Comm, Op};

/// The ranks that hold the rows of a matrix; all of them call the same functions in the same order.
pub trait Group {
    /// Which of them this one is.
    fn rank(&self) -> usize;

    /// How many there are.
    fn n_ranks(&self) -> usize;

    /// The own numbers of each rank one after the other; `lengths` are how many each has.
    ///
    /// # Errors
    /// When MPI fails.
    fn gather(&self, own: &[f64], lengths: &[usize], all: &mut [f64]) -> Result<(), CgError>;

    /// Each number becomes its sum over the ranks, the same on all of them.
    ///
    /// # Errors
    /// When MPI fails.
    fn sum(&self, numbers: &mut [f64]) -> Result<(), CgError>;

    /// Sends a part to each rank and returns what they sent to this one, in the order of ranks.
    ///
    /// # Errors
    /// When MPI fails.
    fn exchange<T: Pod>(&self, parts: &[Vec<T>]) -> Result<Vec<T>, CgError>;

    /// All ranks are about to end, so that each waits for what the others still say.
    fn end(&self) {}
}

/// One rank only.
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

/// Of messages in which ranks exchange parts.
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
        // In each round a rank sends to one and receives from one.
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
