//! Reader of the counters of OpenMP regions.

use super::SegmentReader;
use crate::layout::{N_OPENMP_REGIONS, OPENMP_BYTES, OPENMP_OFFSET, OpenMpSlot};
use events::OpenMpCounters;
use std::sync::atomic::{AtomicU64, Ordering};

impl SegmentReader {
    /// Counters of the OpenMP regions met so far.
    pub fn openmp(&self) -> Vec<OpenMpCounters> {
        if self.header().has_openmp.load(Ordering::Acquire) != 1 {
            return Vec::new();
        }
        // Checked once: reserved pages stay.
        let is_there = *self.has_openmp.get_or_init(|| {
            let is_there = self.mapping.is_readable(OPENMP_OFFSET, OPENMP_BYTES);
            if !is_there {
                self.note_damage();
            }
            is_there
        });
        if !is_there {
            return Vec::new();
        }
        let slots = self.mapping.shared_slice::<OpenMpSlot>(OPENMP_OFFSET, N_OPENMP_REGIONS);
        slots.iter().map(counters).filter(|region| region.n_executions != 0).collect()
    }

    /// Executions of OpenMP regions that were not counted for lack of room.
    pub fn openmp_uncounted(&self) -> u32 {
        self.header().openmp_uncounted.load(Ordering::Relaxed)
    }
}

fn counters(slot: &OpenMpSlot) -> OpenMpCounters {
    let word = |word: &AtomicU64| word.load(Ordering::Relaxed);
    OpenMpCounters {
        address: word(&slot.address),
        n_executions: word(&slot.n_executions),
        elapsed_ticks: word(&slot.elapsed_ticks),
        team_ticks: word(&slot.team_ticks),
        busy_ticks: word(&slot.busy_ticks),
        busy_max_ticks: word(&slot.busy_max_ticks),
        late_ticks: word(&slot.late_ticks),
        mpi_ticks: word(&slot.mpi_ticks),
        mpi_first_ticks: word(&slot.mpi_first_ticks),
        n_threads_max: word(&slot.n_threads_max),
        n_with_tasks: word(&slot.n_with_tasks),
    }
}
