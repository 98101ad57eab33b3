//! Ranks on threads.

use cg::{CgError, Group};
use std::sync::{Barrier, Mutex};
use std::thread;

/// State shared by the ranks: a slot for the message of each rank to each.
struct Shared {
    barrier: Barrier,
    messages: Mutex<Vec<Vec<u8>>>,
}

pub(crate) struct Thread<'a> {
    rank: usize,
    n_ranks: usize,
    shared: &'a Shared,
}

/// Runs `body` on each rank, and returns the results.
pub(crate) fn on_ranks<T: Send>(n_ranks: usize, body: impl Fn(&Thread) -> T + Sync) -> Vec<T> {
    let messages = Mutex::new(vec![Vec::new(); n_ranks * n_ranks]);
    let shared = &Shared { barrier: Barrier::new(n_ranks), messages };
    let body = &body;
    thread::scope(|scope| {
        let ranks = (0..n_ranks).map(|rank| {
            thread::Builder::new()
                .spawn_scoped(scope, move || body(&Thread { rank, n_ranks, shared }))
                .unwrap()
        });
        let ranks: Vec<_> = ranks.collect();
        ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
    })
}

impl Thread<'_> {
    fn all_to_all(&self, parts: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let mut messages = self.shared.messages.lock().unwrap();
        for (to, part) in parts.iter().enumerate() {
            messages[to * self.n_ranks + self.rank].clone_from(part);
        }
        drop(messages);
        self.shared.barrier.wait();
        let mut messages = self.shared.messages.lock().unwrap();
        let own = self.rank * self.n_ranks..(self.rank + 1) * self.n_ranks;
        let got = messages[own].iter_mut().map(std::mem::take).collect();
        drop(messages);
        self.shared.barrier.wait();
        got
    }
}

impl Group for Thread<'_> {
    fn rank(&self) -> usize {
        self.rank
    }

    fn n_ranks(&self) -> usize {
        self.n_ranks
    }

    fn gather(&self, own: &[f64], lengths: &[usize], all: &mut [f64]) -> Result<(), CgError> {
        assert_eq!(own.len(), lengths[self.rank]);
        let got = self.exchange(&vec![own.to_vec(); self.n_ranks])?;
        all.copy_from_slice(&got);
        Ok(())
    }

    fn sum(&self, numbers: &mut [f64]) -> Result<(), CgError> {
        let got = self.exchange(&vec![numbers.to_vec(); self.n_ranks])?;
        for (at, number) in numbers.iter_mut().enumerate() {
            *number = got.iter().skip(at).step_by(got.len() / self.n_ranks).sum();
        }
        Ok(())
    }

    fn exchange<T: bytemuck::Pod>(&self, parts: &[Vec<T>]) -> Result<Vec<T>, CgError> {
        let bytes: Vec<Vec<u8>> =
            parts.iter().map(|part| bytemuck::cast_slice(part).to_vec()).collect();
        let got = self.all_to_all(&bytes);
        let got = got.concat();
        let numbers = got.chunks_exact(size_of::<T>());
        Ok(numbers.map(bytemuck::pod_read_unaligned).collect())
    }
}
