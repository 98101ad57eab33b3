//! What collector and analyzer say to each other.
//!
//! ```text
//! collector                      analyzer
//! Hello         ->                             with the first record, which proves the collector
//!               <-               Verdict       proves the analyzer
//!               <-               Events, Summarize ..., Resume
//! Process, Records, Summaries, Answer ...  ->
//!               <-               Acknowledge, Summed, Kept, ClockProbe, Order ...
//!               <-               Finish        the command ended
//! Finished      ->                             everything is sent
//! ```

use crate::{Answer, EventShape, Order, ProcessReport, SummaryBatch, ThreadRange};
use events::{CallRecord, ProcessKey};
use serde::{Deserialize, Serialize};

/// Call records of one thread, in order and without a gap.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Records {
    /// The process on the sender's node.
    pub process: ProcessKey,
    /// Position of the thread in the process's segment.
    pub thread: u32,
    /// Number of the first record since the thread's start.
    pub first: u64,
    /// The records.
    #[serde(with = "raw_records")]
    pub records: Vec<CallRecord>,
}

impl Records {
    /// Number of the record after the last.
    pub fn end(&self) -> u64 {
        self.first.saturating_add(self.records.len() as u64)
    }
}

/// From a node's collector.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ToAnalyzer {
    /// Answer to [`ToCollector::ClockProbe`].
    ClockReply {
        /// Number of the probe.
        probe: u32,
        /// Nanoseconds since 1970 on the node when the probe arrived.
        node_ns: u64,
    },
    /// What is known of a process now.
    Process(Box<ProcessReport>),
    /// More call records.
    Records(Records),
    /// Function events added up.
    Summaries(SummaryBatch),
    /// What a process says to an order.
    Answer {
        /// The process on the sender's node.
        process: ProcessKey,
        /// What it says.
        answer: Answer,
    },
    /// No process is left and everything was sent.
    Finished {
        /// Records that could neither be sent nor spilled.
        n_lost: u64,
        /// Sentences about what the collector could not do.
        warnings: Vec<String>,
    },
}

/// From the analyzer of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ToCollector {
    /// Asks for the node's time.
    ClockProbe {
        /// Number of the probe.
        probe: u32,
    },
    /// All records of the thread before `up_to` are on disk.
    Acknowledge {
        /// The process.
        process: ProcessKey,
        /// Position of the thread in the process's segment.
        thread: u32,
        /// Number of the first record that is not.
        up_to: u64,
    },
    /// What events are, by their numbers, and how soon somebody wants to hear of them.
    Events {
        /// Replaces what was said before.
        shapes: Vec<EventShape>,
        /// Time from one batch of sums to the next.
        flush_every_ms: u32,
        /// Time that what goes one by one may wait on its node.
        read_every_ms: u32,
    },
    /// Events that are added up on the node instead of being sent one by one.
    Summarize {
        /// The process; none for all that nothing was said about.
        process: Option<ProcessKey>,
        /// Their numbers; replaces what was said before.
        events: Vec<u32>,
    },
    /// How far the sums that the analyzer has go: the collector may read on from there. Said once, after what
    /// it has to know for that.
    Resume {
        /// By thread; their `first` does not matter.
        ranges: Vec<ThreadRange>,
    },
    /// The batch of this number is on disk.
    Summed {
        /// See [`SummaryBatch::number`].
        number: u64,
    },
    /// The report of a process that ends (`finalizing` or `gone`) is on disk.
    Kept {
        /// The process.
        process: ProcessKey,
        /// The report said that the process is gone.
        gone: bool,
    },
    /// Something for a process to do.
    Order {
        /// The process on the collector's node.
        process: ProcessKey,
        /// What to do.
        order: Box<Order>,
    },
    /// The command ended: send what is left, say `Finished`, and end when no process is left.
    Finish,
    /// The record is closed: end now, whatever is left.
    Leave,
}

/// Records as their bytes in memory (little-endian on every machine we build for).
mod raw_records {
    use events::CallRecord;
    use serde::de::{Error, Visitor};
    use serde::{Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(
        records: &[CallRecord],
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.serialize_bytes(bytemuck::cast_slice(records))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<CallRecord>, D::Error> {
        from.deserialize_bytes(Bytes)
    }

    struct Bytes;

    impl Visitor<'_> for Bytes {
        type Value = Vec<CallRecord>;

        fn expecting(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            to.write_str("the bytes of whole call records")
        }

        fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Self::Value, E> {
            let records = bytes.chunks_exact(size_of::<CallRecord>());
            if !records.remainder().is_empty() {
                return Err(E::invalid_length(bytes.len(), &self));
            }
            Ok(records.map(bytemuck::pod_read_unaligned).collect())
        }
    }
}
