//! Positions of the events of `factoring` in the description, and its options.

use crate::lookup::Lookup;
use crate::tunlet::{EventNeed, Guide, PointNeed, TunletError};

/// Guide for users of [`super::Factoring`].
pub(crate) const GUIDE: Guide = Guide {
    remedy: "deals the tasks of an iteration in batches, large chunks first, as far as the measured cost \
             of the tasks says that this pays",
    iteration: "one dealing of tasks; with `work`, their number",
    events: &[
        EventNeed::required("compute_start", "a worker begins with a chunk of tasks", &[]),
        EventNeed::required(
            "compute_end",
            "a worker is done with a chunk: number of its batch, from 0, and of its tasks",
            &["batchId", "NTareas"],
        ),
        EventNeed {
            is_needed: false,
            ..EventNeed::required(
                "new_batch",
                "the master has cut a batch into chunks: its number, and that of its chunks",
                &["batchId", "numChunks"],
            )
        },
    ],
    points: &[
        PointNeed { name: "F0", meaning: "share of all tasks that goes into batch 0" },
        PointNeed { name: "F1", meaning: "share of the tasks left that goes into batch 1" },
        PointNeed {
            name: "F2",
            meaning: "share of the tasks left that goes into each later batch",
        },
    ],
};

/// Positions of events and attributes in the description.
#[derive(Debug, Default)]
pub(super) struct EventPositions {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) tasks: usize,
    pub(super) batch: usize,
    pub(super) new_batch: Option<(usize, usize, usize)>,
    pub(super) is_work_known: bool,
}

#[derive(Debug, Default)]
pub(super) struct Options {
    pub(super) window: usize,
    pub(super) step: f64,
    pub(super) gain: f64,
    pub(super) n_tasks_min: u64,
}

impl EventPositions {
    pub(super) fn new(look: &Lookup<'_>) -> Result<Self, TunletError> {
        let end = look.event("compute_end")?;
        let new_batch = look.maybe_event("new_batch").and_then(|event| {
            let count = ["numChunk", "numChunks"];
            let count = count.iter().find_map(|name| look.maybe_attribute(event, name))?;
            Some((event, look.maybe_attribute(event, "batchId")?, count))
        });
        Ok(Self {
            start: look.event("compute_start")?,
            end,
            tasks: look.attribute(end, "NTareas")?,
            batch: look.attribute(end, "batchId")?,
            new_batch,
            is_work_known: look.application.iteration.as_ref().is_some_and(|i| i.work.is_some()),
        })
    }
}

impl Options {
    pub(super) fn new(look: &Lookup<'_>) -> Result<Self, TunletError> {
        Ok(Self {
            window: look.count("window", 5, 1..=100)?,
            step: look.number("step", 0.05, 0.0..=1.0)?,
            gain: look.number("gain", 3.0, 0.0..=50.0)? / 100.0,
            n_tasks_min: look.count("min_chunk", 32, 1..=1_000_000_000)? as u64,
        })
    }
}
