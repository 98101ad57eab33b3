//! Reader of a segment, for the collector: snapshots of statistics, and records in order.
//!
//! # Invariants
//! - The program may write anything anywhere, at any time. The numbers that bound our reads, and the identity of
//!   the process, are read once, checked and kept in our own memory; impossible numbers are rejected
//!   ([`SegmentReader::is_damaged`]).
//! - Numbers that are only reported (counters, times) may have any value.

mod openmp;
mod thread;

pub use thread::ThreadView;

use crate::SegmentError;
use crate::control::{AnswerReader, OrderWriter, Positions};
use crate::futex;
use crate::layout::{
    COMMUNICATORS_BYTES, COMMUNICATORS_OFFSET, CONTROL_BYTES, CONTROL_OFFSET, Capacity, FixedText,
    LAYOUT_VERSION, LifeState, MAGIC, MODULES_BYTES, MODULES_OFFSET, SegmentHeader,
};
use crate::mapping::Mapping;
use events::{Clock, CollectiveCalls, CommunicatorKey, ProcessKey, Usage};
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use thread::BlockState;

/// Upper bound of a world's size, above any real one; larger numbers are damage.
const N_RANKS_MAX: u32 = 1 << 24;

/// Reader of a segment, while its process writes or after the process ended.
#[derive(Debug)]
pub struct SegmentReader {
    mapping: Mapping,
    capacity: Capacity,
    /// Fields that do not change after the segment is published.
    first: ProcessView,
    /// Known state, by thread block.
    threads: Box<[BlockState]>,
    n_threads: AtomicU32,
    /// Positions in the mailboxes, once the process listens.
    positions: OnceLock<Positions>,
    is_damaged: AtomicBool,
    /// Whether the counters of OpenMP regions are backed by memory; set once the process announced them.
    has_openmp: OnceLock<bool>,
    /// Whether the mailboxes are backed by memory; set once the process announced that it listens.
    has_mailboxes: OnceLock<bool>,
}

/// A segment's description of its process.
#[derive(Clone, Debug, PartialEq)]
pub struct ProcessView {
    /// Identity of the process.
    pub key: ProcessKey,
    /// Number of the world.
    pub world: u64,
    /// Rank in the world.
    pub rank: u32,
    /// Number of ranks in the world.
    pub size: u32,
    /// Whether the process was spawned by other MPI processes.
    pub spawned: bool,
    /// Whether the process reached `MPI_Finalize`.
    pub finalizing: bool,
    /// Whether monitoring ended before the program.
    pub is_detached: bool,
    /// Map from ticks to time; its two points are the same until `MPI_Finalize`.
    pub clock: Clock,
    /// Ticks at the end of `MPI_Init`.
    pub init_end_ticks: u64,
    /// Ticks at the start of `MPI_Finalize`; 0 before.
    pub finalize_begin_ticks: u64,
    /// Cost of monitoring one call, in nanoseconds.
    pub cost_ns_per_call: f64,
    /// Threads refused for lack of room.
    pub threads_refused: u32,
    /// Block of the thread that called `MPI_Init`.
    pub main_thread: u32,
    /// Thread blocks in use.
    pub n_threads: u32,
    /// Shared memory reserved, in bytes.
    pub reserved_bytes: u64,
    /// Version text of the MPI library.
    pub library: String,
    /// Path of the program.
    pub program: String,
    /// Name of the node.
    pub node: String,
}

impl SegmentReader {
    /// Opens the segment `path`.
    ///
    /// # Errors
    /// When the file cannot be opened, is not (yet) a segment, or has another version.
    pub fn open(path: &Path) -> Result<Self, SegmentError> {
        let mapping = Mapping::open(path)?;
        let is_marked = || mapping.header().magic.load(Ordering::Acquire) == MAGIC;
        if !mapping.is_readable(0, size_of::<SegmentHeader>()) || !is_marked() {
            return Err(SegmentError::NotASegment(path.into()));
        }
        let found = mapping.header().version.load(Ordering::Relaxed);
        if found != LAYOUT_VERSION {
            return Err(SegmentError::OtherVersion { path: path.into(), found });
        }
        let capacity = mapping.header().capacity.load();
        if !capacity.is_plausible() || mapping.len < capacity.segment_bytes() {
            return Err(SegmentError::NotASegment(path.into()));
        }
        let mut first = view(mapping.header());
        let mut is_damaged = false;
        if let Some(key) = key_of(path) {
            is_damaged = key != first.key;
            first.key = key;
        }
        if N_RANKS_MAX < first.size || N_RANKS_MAX <= first.rank {
            is_damaged = true;
            first.size = first.size.min(N_RANKS_MAX);
            first.rank = first.rank.min(N_RANKS_MAX - 1);
        }
        let reader = Self {
            mapping,
            capacity,
            first,
            threads: (0..capacity.n_threads).map(|_| BlockState::default()).collect(),
            n_threads: AtomicU32::new(0),
            positions: OnceLock::new(),
            is_damaged: AtomicBool::new(is_damaged),
            has_openmp: OnceLock::new(),
            has_mailboxes: OnceLock::new(),
        };
        // Take the previous collector's positions before anything else is written there.
        reader.positions();
        Ok(reader)
    }

    /// Returns whether a number was found that the process cannot have written through this crate: the program
    /// overwrote a part of the segment, and other numbers may be wrong, too.
    pub fn is_damaged(&self) -> bool {
        self.is_damaged.load(Ordering::Relaxed)
    }

    fn note_damage(&self) {
        self.is_damaged.store(true, Ordering::Relaxed);
    }

    fn header(&self) -> &SegmentHeader {
        self.mapping.header()
    }

    /// Capacity of the segment.
    pub fn capacity(&self) -> Capacity {
        self.capacity
    }

    /// Returns the current state of the process. Its identity stays as it was when the segment was opened.
    pub fn process(&self) -> ProcessView {
        let header = self.header();
        let state = self.state();
        let now = ProcessView { n_threads: self.n_threads(), ..view(header) };
        let is_same = now.key == self.first.key && now.rank == self.first.rank;
        if !(is_same && now.world == self.first.world && now.size == self.first.size) {
            self.note_damage();
        }
        ProcessView {
            finalizing: matches!(state, LifeState::Finalizing | LifeState::Detached),
            is_detached: state == LifeState::Detached,
            clock: Clock {
                last_ticks: now.clock.last_ticks,
                last_ns: now.clock.last_ns,
                ..self.first.clock
            },
            init_end_ticks: now.init_end_ticks,
            finalize_begin_ticks: now.finalize_begin_ticks,
            threads_refused: now.threads_refused,
            main_thread: now.main_thread,
            n_threads: now.n_threads,
            reserved_bytes: now.reserved_bytes.min(self.capacity.segment_bytes() as u64),
            ..self.first.clone()
        }
    }

    fn state(&self) -> LifeState {
        LifeState::from_number(self.header().state.load(Ordering::Acquire))
    }

    /// Returns whether the process reached `MPI_Finalize`, or monitoring ended.
    pub fn is_finalizing(&self) -> bool {
        matches!(self.state(), LifeState::Finalizing | LifeState::Detached)
    }

    /// Returns whether monitoring ended before the process.
    pub fn is_detached(&self) -> bool {
        self.state() == LifeState::Detached
    }

    /// Executable mappings of the process, lines of `/proc/PID/maps`.
    pub fn modules(&self) -> String {
        let len = self.header().modules_len.load(Ordering::Acquire) as usize;
        let len = len.min(MODULES_BYTES);
        String::from_utf8_lossy(&self.text_bytes(MODULES_OFFSET, len)).into_owned()
    }

    /// Communicators defined so far: number and world ranks.
    pub fn communicators(&self) -> Vec<(u32, Vec<u32>)> {
        let len = self.header().communicators_len.load(Ordering::Acquire) as usize;
        let len = len.min(COMMUNICATORS_BYTES);
        let bytes = self.text_bytes(COMMUNICATORS_OFFSET, len);
        let (words, _rest) = bytes.as_chunks::<4>();
        let mut words = words.iter().map(|word| u32::from_le_bytes(*word));
        let mut communicators = Vec::new();
        while let (Some(id), Some(n_ranks)) = (words.next(), words.next()) {
            communicators.push((id, words.by_ref().take(n_ranks as usize).collect()));
        }
        communicators
    }

    /// Collective calls of the process, by communicator.
    pub fn collectives(&self) -> Vec<CollectiveCalls> {
        let relaxed = Ordering::Relaxed;
        let slots = self.header().collectives.iter().filter(|slot| slot.n_calls.load(relaxed) != 0);
        let calls = slots.map(|slot| CollectiveCalls {
            communicator: CommunicatorKey {
                id: slot.communicator.load(relaxed),
                ordinal: slot.ordinal.load(relaxed),
            },
            n_calls: slot.n_calls.load(relaxed),
            operation: u16::try_from(slot.operation.load(relaxed)).unwrap_or(u16::MAX),
            address: slot.address.load(relaxed),
        });
        calls.collect()
    }

    /// Copies bytes whose length the program may have overwritten; empty if no memory backs them.
    fn text_bytes(&self, offset: usize, len: usize) -> Vec<u8> {
        if self.mapping.is_readable(offset, len) {
            return self.mapping.copy_bytes(offset, len);
        }
        self.note_damage();
        Vec::new()
    }

    /// Returns what the process had used when `MPI_Init` returned, and when `MPI_Finalize` was called.
    pub fn usage(&self) -> (Usage, Usage) {
        (self.header().usage_start.load(), self.header().usage_end.load())
    }

    /// Tells the process that everything up to `MPI_Finalize` has been taken; the rank may wait for it for a moment.
    pub fn set_final_taken(&self) {
        self.header().final_taken.store(1, Ordering::Release);
        futex::wake_all(&self.header().final_taken);
    }

    /// Returns the writer of orders for the process; `None` if the process does not listen.
    ///
    /// Use one at a time: the collector is the only writer.
    pub fn orders(&self) -> Option<OrderWriter<'_>> {
        Some(OrderWriter::new(&self.mapping, self.positions()?))
    }

    /// Returns the reader of the process's answers; `None` if the process does not listen.
    pub fn answers(&self) -> Option<AnswerReader<'_>> {
        Some(AnswerReader::new(&self.mapping, self.positions()?))
    }

    /// `None` if the process does not listen, or claims to although no memory backs the mailboxes.
    fn positions(&self) -> Option<&Positions> {
        self.has_control().then(|| self.positions.get_or_init(|| Positions::of(&self.mapping)))
    }

    /// System error number that keeps the process from listening although it was asked to.
    pub fn control_refused(&self) -> Option<i32> {
        let errno = self.header().control_refused.load(Ordering::Relaxed);
        i32::try_from(errno).ok().filter(|errno| *errno != 0)
    }

    fn has_control(&self) -> bool {
        if self.header().has_control.load(Ordering::Acquire) != 1 {
            return false;
        }
        // Checked once: reserved pages stay.
        let is_there = self.has_mailboxes.get_or_init(|| {
            let is_there = self.mapping.is_readable(CONTROL_OFFSET, CONTROL_BYTES);
            if !is_there {
                self.note_damage();
            }
            is_there
        });
        *is_there
    }

    /// The thread blocks in use.
    pub fn threads(&self) -> impl Iterator<Item = ThreadView<'_>> {
        (0..self.n_threads()).map(|idx| ThreadView::new(self, idx))
    }
}

/// Reads a header without checking it.
fn view(header: &SegmentHeader) -> ProcessView {
    let relaxed = Ordering::Relaxed;
    ProcessView {
        key: ProcessKey {
            pid: header.pid.load(relaxed),
            started: header.started_ticks.load(relaxed),
        },
        world: header.world.load(relaxed),
        rank: header.rank.load(relaxed),
        size: header.size.load(relaxed),
        spawned: header.spawned.load(relaxed) == 1,
        finalizing: false,
        is_detached: false,
        clock: Clock {
            first_ticks: header.first_ticks.load(relaxed),
            first_ns: header.first_ns.load(relaxed),
            last_ticks: header.last_ticks.load(relaxed),
            last_ns: header.last_ns.load(relaxed),
        },
        init_end_ticks: header.init_end_ticks.load(relaxed),
        finalize_begin_ticks: header.finalize_begin_ticks.load(relaxed),
        cost_ns_per_call: header.cost_ps_per_call.load(relaxed) as f64 * 1e-3,
        threads_refused: header.threads_refused.load(relaxed),
        main_thread: header.main_thread.load(relaxed),
        n_threads: 0,
        reserved_bytes: header.reserved_bytes.load(relaxed),
        library: text(&header.library),
        program: text(&header.program),
        node: text(&header.node),
    }
}

/// Returns the process of a segment by its file name, `PID-STARTED.segment`, which the program cannot overwrite.
fn key_of(path: &Path) -> Option<ProcessKey> {
    let (pid, started) = path.file_stem()?.to_str()?.split_once('-')?;
    Some(ProcessKey { pid: pid.parse().ok()?, started: u64::from_str_radix(started, 16).ok()? })
}

fn text<const N: usize>(text: &FixedText<N>) -> String {
    let len = (text.len.load(Ordering::Acquire) as usize).min(N);
    let bytes: Vec<u8> =
        text.bytes[..len].iter().map(|byte| byte.load(Ordering::Relaxed)).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}
