//! Timeline of every rank and thread: the calls of a traced run in lanes, ready to be drawn.
//!
//! Calls arrive in any order, and their number is bounded on input: of more than
//! [`TimelineOptions::n_events_max`], the longest are kept, because a picture of the whole run can show only
//! those, and the rest are counted.
//!
//! # Invariants
//! - The columns of a lane have equal length and are sorted by start.
//! - At most a quarter more than `n_events_max` events are in memory at any time.

mod builder;

pub use builder::TimelineBuilder;

/// Bounds of a timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimelineOptions {
    /// Maximum number of calls kept; a page needs about 8 bytes for each.
    pub n_events_max: usize,
}

impl Default for TimelineOptions {
    fn default() -> Self {
        Self { n_events_max: 2_000_000 }
    }
}

/// End of a message that a call represents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MessageRole {
    /// The call moves no message between two ranks.
    #[default]
    Neither,
    /// The call sends to its peer.
    Send,
    /// The call receives from its peer.
    Receive,
}

impl MessageRole {
    /// Returns the role of a point-to-point operation, given its MPI name.
    #[must_use]
    pub fn of(operation: &str) -> Self {
        let name = operation.trim_start_matches("MPI_").trim_end_matches("_c").to_ascii_lowercase();
        match name.as_str() {
            "send" | "bsend" | "ssend" | "rsend" | "isend" | "ibsend" | "issend" | "irsend"
            | "sendrecv" | "sendrecv_replace" | "isendrecv" | "isendrecv_replace" => Self::Send,
            "recv" | "irecv" | "mrecv" | "imrecv" => Self::Receive,
            _ => Self::Neither,
        }
    }
}

/// MPI call to be added to a timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimelineCall<'a> {
    /// Position in [`run_record::Summary::worlds`].
    pub world: usize,
    /// Rank in its world.
    pub rank: u32,
    /// Number of the thread in its rank, 0 for the one that called `MPI_Init`.
    pub thread: u32,
    /// Start in ns, relative to any moment common to all events.
    pub start_ns: i64,
    /// End in ns; not before the start.
    pub end_ns: i64,
    /// MPI name of the operation.
    pub operation: &'a str,
    /// Class of the operation (`point-to-point`, `collective`, ...).
    pub class: &'a str,
    /// [`run_record::summary::CallSite::id`].
    pub call_site: Option<usize>,
    /// The other rank, or the root of a collective.
    pub peer: Option<u32>,
    /// Bytes moved.
    pub bytes: u64,
    /// End of a message that the call represents.
    pub role: MessageRole,
}

/// A thread of a rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LaneKey {
    /// Position in [`run_record::Summary::worlds`].
    pub world: usize,
    /// Rank in its world.
    pub rank: u32,
    /// Number of the thread in its rank.
    pub thread: u32,
}

/// An operation that occurs in a timeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperationName {
    /// MPI name.
    pub name: String,
    /// Class, as in [`run_record::summary::OperationTotals::class`].
    pub class: String,
}

/// The calls of one thread, in columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lane {
    /// Thread that made the calls.
    pub key: LaneKey,
    /// Starts in ns after the first event of the timeline; ascending.
    pub start_ns: Vec<u64>,
    /// Ends in ns after the first event of the timeline.
    pub end_ns: Vec<u64>,
    /// Operations, as positions in [`Timeline::operations`].
    pub operation: Vec<u32>,
    /// Ids of the call sites.
    pub call_site: Vec<Option<usize>>,
    /// Peer ranks.
    pub peer: Vec<Option<u32>>,
    /// Bytes moved.
    pub bytes: Vec<u64>,
    /// For a send whose receiving call is in the timeline: lane and position of that call.
    pub received_at: Vec<Option<(usize, usize)>>,
}

impl Lane {
    /// Returns the number of calls in the lane.
    #[must_use]
    pub fn n_events(&self) -> usize {
        self.start_ns.len()
    }
}

/// Lanes of calls, and the extent of those left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    /// Lanes by world, rank and thread.
    pub lanes: Vec<Lane>,
    /// Operations to which the lanes refer.
    pub operations: Vec<OperationName>,
    /// End of the last call, in ns after the first start.
    pub end_ns: u64,
    /// Number of calls left out, none longer than those kept.
    pub n_left_out: u64,
    /// Duration in ns of the longest call left out.
    pub left_out_ns_max: u64,
}

impl Timeline {
    /// Creates the timeline of `events`.
    pub fn from_events<'a>(
        events: impl IntoIterator<Item = TimelineCall<'a>>,
        options: TimelineOptions,
    ) -> Self {
        let mut builder = TimelineBuilder::new(options);
        for event in events {
            builder.add(&event);
        }
        builder.finish()
    }

    /// Returns the number of calls in all lanes.
    #[must_use]
    pub fn n_events(&self) -> usize {
        self.lanes.iter().map(Lane::n_events).sum()
    }
}
