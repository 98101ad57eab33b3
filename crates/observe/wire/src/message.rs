//! Messages between collector and analyzer.
//!
//! ```text
//! collector                      analyzer
//! Hello         ->                             with the first record, which proves the collector
//!               <-               Verdict       proves the analyzer
//!               <-               Events, Summarize ..., Resume
//! Process, Records, Summaries, Samples, Answer ...  ->
//!               <-               Acknowledge, Summed, Kept, ClockProbe, Order ...
//!               <-               Finish        the command ended
//! Finished      ->                             everything is sent
//! ```

use crate::{
    EventShape, Order, OrderAnswer, ProcessReport, ProcessSamples, SummaryBatch, ThreadRange,
};
use events::{CallRecord, ProcessKey};
use serde::{Deserialize, Serialize};

/// Call records of one thread, in order and without a gap.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Records {
    /// Process on the sender's node.
    pub process: ProcessKey,
    /// Index of the thread in the process's segment.
    pub thread: u32,
    /// Number of the first record, counted from the thread's start.
    pub first: u64,
    /// The records.
    #[serde(with = "raw_records")]
    pub records: Vec<CallRecord>,
}

impl Records {
    /// Number of the record after the last one.
    pub fn end(&self) -> u64 {
        self.first.saturating_add(self.records.len() as u64)
    }
}

/// Message from a node's collector.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ToAnalyzer {
    /// Answer to [`ToCollector::ClockProbe`].
    ClockReply {
        /// Number of the clock probe.
        probe: u32,
        /// Nanoseconds since 1970 on the node when the clock probe arrived.
        node_ns: u64,
    },
    /// Current state of a process.
    Process(Box<ProcessReport>),
    /// More call records.
    Records(Records),
    /// Summed function events.
    Summaries(SummaryBatch),
    /// Answer of a process to an order.
    Answer {
        /// Process on the sender's node.
        process: ProcessKey,
        /// The answer.
        answer: OrderAnswer,
    },
    /// Last message: no process is left and everything was sent.
    Finished {
        /// Records that could neither be sent nor spilled.
        n_lost: u64,
        /// Sentences about failures in the collector.
        warnings: Vec<String>,
    },
    /// Samples of a process; sent before its last report.
    Samples(Box<ProcessSamples>),
}

/// Message from the analyzer of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ToCollector {
    /// Asks for the node's time.
    ClockProbe {
        /// Number of the clock probe.
        probe: u32,
    },
    /// Acknowledges records: all records of the thread before `up_to` are on disk.
    Acknowledge {
        /// The process.
        process: ProcessKey,
        /// Index of the thread in the process's segment.
        thread: u32,
        /// Number of the first record that is not on disk yet.
        up_to: u64,
    },
    /// Defines the events, by their numbers, and how soon they are needed.
    Events {
        /// Shape of each event; replaces the shapes sent before.
        shapes: Vec<EventShape>,
        /// Interval in ms between two batches of sums.
        flush_every_ms: u32,
        /// Longest time in ms that single records may wait on their node.
        read_every_ms: u32,
    },
    /// Selects events that are summed on the node instead of being sent one by one.
    Summarize {
        /// Process; `None` for all processes without a message of their own.
        process: Option<ProcessKey>,
        /// Numbers of the events; replaces those sent before.
        events: Vec<u32>,
    },
    /// Tells how far the sums known to the analyzer reach: the collector may continue reading from there.
    /// Sent once, after the messages that reading depends on.
    Resume {
        /// Ranges by thread; their `first` is ignored.
        ranges: Vec<ThreadRange>,
    },
    /// Acknowledges a batch: the batch of this number is on disk.
    Summed {
        /// See [`SummaryBatch::number`].
        number: u64,
    },
    /// Acknowledges the report of a process that ends (`finalizing` or `gone`): the report is on disk.
    Kept {
        /// The process.
        process: ProcessKey,
        /// Whether the report said that the process is gone.
        gone: bool,
    },
    /// Passes an order to a process.
    Order {
        /// The process on the collector's node.
        process: ProcessKey,
        /// The order.
        order: Box<Order>,
    },
    /// Tells that the command ended: the collector sends the rest, then `Finished`, and ends when no process is left.
    Finish,
    /// Tells that the record is closed: the collector ends now, whatever is left.
    Leave,
}

/// Serializes records as their bytes in memory (little-endian on all supported machines).
mod raw_records {
    use events::CallRecord;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(
        records: &[CallRecord],
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.serialize_bytes(bytemuck::cast_slice(records))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<CallRecord>, D::Error> {
        let bytes = <&[u8]>::deserialize(from)?;
        let records = bytes.chunks_exact(size_of::<CallRecord>());
        if !records.remainder().is_empty() {
            return Err(D::Error::invalid_length(bytes.len(), &"the bytes of whole call records"));
        }
        Ok(records.map(bytemuck::pod_read_unaligned).collect())
    }
}
