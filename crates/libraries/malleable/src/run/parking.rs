//! A rank that sleeps while it is not wanted, since its library cannot start processes.

use super::arrival::Arrival;
use super::saving::Resume;
use super::{Malleable, Stage, Step, is_open_mpi};
use crate::data::State;
use crate::error::Error;
use crate::head::Head;
use crate::options::Options;
use crate::parked::Parking;
use crate::world::{Member, World};
use mpi::{Comm, Mpi};
use std::sync::Arc;

impl Malleable {
    /// Begins a program of which all possible ranks were launched; those beyond the first size
    /// sleep.
    pub(super) fn begin_parked(
        mpi: Arc<Mpi>,
        options: Options,
        all: Comm,
        obstacle: Option<String>,
    ) -> Result<Self, Error> {
        let (rank, n_launched) = (all.rank(), all.size());
        let n_first = options.preferred.unwrap_or(n_launched).clamp(1, n_launched);
        let present = all.split((rank < n_first).then_some(0), 0)?;
        let parking = Arc::new(Parking { all });
        let mut run = if let Some(comm) = present {
            let members = comm.allgather(&[Member::own(Parking::world_of(rank))])?;
            let world = World::of(comm, members)?;
            let stage = Resume::stage(&options, &world)?;
            let is_first = world.is_first();
            let is_open_mpi = is_open_mpi(&mpi);
            let head = is_first.then(|| Head::new(&options, &world, is_open_mpi)).transpose()?;
            Self::of(mpi, options, world, stage, (head, obstacle))
        } else {
            let world = World::alone(&mpi)?;
            let mut run = Self::of(mpi, options, world, Stage::Gone, (None, obstacle));
            if !run.is_woken(&parking)? {
                run.mpi.close();
            }
            run
        };
        run.parking = Some(parking);
        Ok(run)
    }

    /// Sleeps; when woken, it takes its place like a new rank.
    pub(super) fn sleep<S: State>(
        &mut self,
        parking: &Arc<Parking>,
        state: &mut S,
    ) -> Result<Step, Error> {
        let alone = World::alone(&self.mpi)?;
        std::mem::replace(&mut self.world, alone).free()?;
        if self.is_woken(parking)?
            && let Stage::Arriving(arrival) = std::mem::replace(&mut self.stage, Stage::Calm)
        {
            return self.take_place(*arrival, state);
        }
        self.stage = Stage::Gone;
        self.mpi.close();
        Ok(Step::Left)
    }

    /// Sleeps until this rank is wanted; `false` when the program is done.
    fn is_woken(&mut self, parking: &Parking) -> Result<bool, Error> {
        let woken = parking.sleep().map_err(|error| Error::Join { why: error.to_string() })?;
        let Some(mut prepared) = woken else { return Ok(false) };
        if let Some(world) = prepared.world.take() {
            self.world = world;
        }
        self.stage = Stage::Arriving(Box::new(Arrival::of(prepared)));
        Ok(true)
    }
}
