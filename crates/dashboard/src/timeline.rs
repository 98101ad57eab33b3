//! What each rank and thread did when: the calls of a traced run in lanes, ready to be drawn.
//!
//! Calls arrive in any order and are bounded on the way in: when there are more than
//! [`TimelineOptions::n_events_max`], the longest are kept, because those are the ones that a picture of
//! the whole run can show, and the rest are counted.
//!
//! # Invariants
//! - A lane's columns have one length and are sorted by start.
//! - At most a quarter more than `n_events_max` events are in memory at any time.
//!
//! # Not here
//! Reading a trace (`run-record`), and drawing it (`html`).

mod builder;
mod messages;

pub use builder::TimelineBuilder;

/// Bounds of a timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimelineOptions {
    /// Calls kept; a page holds about 8 bytes for each.
    pub n_events_max: usize,
}

impl Default for TimelineOptions {
    fn default() -> Self {
        Self { n_events_max: 2_000_000 }
    }
}

/// Which end of a message a call is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// It moves no message between two ranks.
    #[default]
    Neither,
    /// It sends to its peer.
    Send,
    /// It receives from its peer.
    Receive,
}

impl Role {
    /// The role of a point-to-point operation by its MPI name.
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

/// One MPI call on its way into a timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event<'a> {
    /// Position in [`run_record::Summary::worlds`].
    pub world: usize,
    /// Rank in its world.
    pub rank: u32,
    /// Number of the thread in its rank, 0 for the one that called `MPI_Init`.
    pub thread: u32,
    /// Start, in nanoseconds from any moment common to all events.
    pub start_ns: i64,
    /// End; not before the start.
    pub end_ns: i64,
    /// MPI name of the operation.
    pub operation: &'a str,
    /// Its class (`point-to-point`, `collective`, ...).
    pub class: &'a str,
    /// [`run_record::summary::CallSite::id`].
    pub call_site: Option<usize>,
    /// The other rank, or the root of a collective.
    pub peer: Option<u32>,
    /// Bytes moved.
    pub bytes: u64,
    /// Which end of a message it is.
    pub role: Role,
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
    /// Whose calls they are.
    pub key: LaneKey,
    /// Starts, in nanoseconds after the first event of the timeline; ascending.
    pub start_ns: Vec<u64>,
    /// Ends.
    pub end_ns: Vec<u64>,
    /// Positions in [`Timeline::operations`].
    pub operation: Vec<u32>,
    /// Call sites by id.
    pub call_site: Vec<Option<usize>>,
    /// The other ranks.
    pub peer: Vec<Option<u32>>,
    /// Bytes moved.
    pub bytes: Vec<u64>,
    /// For a send whose message's receiving call is in the timeline too: that call's lane and position.
    pub received_at: Vec<Option<(usize, usize)>>,
}

impl Lane {
    /// Calls in the lane.
    #[must_use]
    pub fn n_events(&self) -> usize {
        self.start_ns.len()
    }
}

/// Lanes of calls, and what is not among them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    /// Lanes by world, rank and thread.
    pub lanes: Vec<Lane>,
    /// Operations named by the lanes.
    pub operations: Vec<OperationName>,
    /// End of the last call, in nanoseconds after the first start.
    pub end_ns: u64,
    /// Calls left out, all shorter than those kept.
    pub n_left_out: u64,
    /// Every call left out is at most this long.
    pub left_out_ns_max: u64,
}

impl Timeline {
    /// The timeline of `events`.
    pub fn from_events<'a>(
        events: impl IntoIterator<Item = Event<'a>>,
        options: TimelineOptions,
    ) -> Self {
        let mut builder = TimelineBuilder::new(options);
        for event in events {
            builder.add(&event);
        }
        builder.finish()
    }

    /// Calls in all lanes.
    #[must_use]
    pub fn n_events(&self) -> usize {
        self.lanes.iter().map(Lane::n_events).sum()
    }
}
