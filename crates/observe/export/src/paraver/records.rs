//! States, events and communications in chronological order.
//!
//! The calls of all threads are sorted by start once; a min-heap with at most one call per thread
//! yields the next call to end.

use super::layout::Layout;
use super::operations::{Encoded, encode};
use crate::error::ExportError;
use crate::lanes::{Lanes, Trace, is_call, operation, starts_ns};
use crate::messages::{Delivered, MessageEnds};
use mpi_abi::{Class, Mode, Operation};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::io::{self, Write};

/// Event type of the call site, which is our own.
pub(super) const CALL_SITE: u32 = 9_000_001;

/// Operation of an empty call, which marks where the first computation of a rank starts.
const NO_OPERATION: u16 = u16::MAX;

/// States of a thread.
pub(super) struct States;

impl States {
    const RUNNING: u8 = 1;
    /// Number, name and color of every state that is written.
    pub(super) const ALL: [(u8, &str, [u8; 3]); 13] = [
        (0, "Idle", [117, 195, 255]),
        (1, "Running", [0, 0, 255]),
        (3, "Waiting a message", [255, 0, 0]),
        (4, "Blocking Send", [255, 0, 174]),
        (5, "Synchronization", [179, 0, 0]),
        (6, "Test/Probe", [0, 255, 0]),
        (8, "Wait/WaitAll", [235, 0, 0]),
        (10, "Immediate Send", [255, 0, 255]),
        (11, "Immediate Receive", [100, 100, 177]),
        (12, "I/O", [172, 174, 41]),
        (13, "Group Communication", [255, 144, 26]),
        (15, "Others", [192, 224, 0]),
        (16, "Send Receive", [66, 66, 66]),
    ];

    /// Returns the state of a thread inside a call.
    fn inside(operation: &Operation) -> u8 {
        let blocking = operation.mode == Mode::Blocking;
        let stem = operation.stem.as_str();
        match operation.class {
            Class::PointToPoint if stem.contains("Sendrecv") || stem.contains("sendrecv") => 16,
            Class::PointToPoint if stem.ends_with("robe") => 6,
            Class::PointToPoint => match (operation.movements.first().map(|m| m.flow), blocking) {
                (Some(mpi_abi::Flow::Receive), true) => 3,
                (Some(mpi_abi::Flow::Receive), false) => 11,
                (Some(mpi_abi::Flow::Send), true) => 4,
                (Some(mpi_abi::Flow::Send), false) => 10,
                _ => 15,
            },
            Class::Completion if stem.starts_with("Wait") => 8,
            Class::Completion if stem.starts_with("Test") => 6,
            Class::Collective if stem == "Barrier" => 5,
            Class::Collective | Class::Neighborhood => 13,
            Class::Io => 12,
            _ => 15,
        }
    }
}

/// Call of one thread.
#[derive(Clone, Copy)]
struct Span {
    start_ns: u64,
    end_ns: u64,
    /// Start of the thread's next call; for its last call, its own end.
    next_ns: u64,
    lane: u32,
    operation: u16,
    /// Number of the call site, from 1; 0 if unknown.
    call_site: u32,
}

/// The calls of a trace.
pub(super) struct Records {
    spans: Vec<Span>,
    /// Numbers, state and name of each operation, by its number in the table.
    encoded: BTreeMap<u16, (Encoded, u8, &'static str)>,
}

impl Records {
    pub(super) fn of(trace: &Trace, lanes: &Lanes) -> Result<Self, ExportError> {
        let mut spans = leads(trace, lanes)?;
        let mut encoded = BTreeMap::new();
        trace.each(|event| {
            let Some(operation) = operation(event).filter(|_| is_call(event)) else { return };
            encoded.entry(event.operation.0).or_insert_with(|| {
                let name = operation.name.trim_end_matches("_c");
                (encode(operation), States::inside(operation), name)
            });
            spans.push(Span {
                start_ns: event.start_ns,
                end_ns: event.end_ns.max(event.start_ns),
                next_ns: event.end_ns,
                lane: u32::try_from(lanes.position(event)).unwrap_or(u32::MAX),
                operation: event.operation.0,
                call_site: event.call_site.map_or(0, |site| site + 1),
            });
        })?;
        // The sort is stable: calls of a thread that start together keep their order.
        spans.sort_by_key(|span| span.start_ns);
        let mut next_ns: BTreeMap<u32, u64> = BTreeMap::new();
        for span in spans.iter_mut().rev() {
            span.next_ns = next_ns.insert(span.lane, span.start_ns).unwrap_or(span.end_ns);
        }
        Ok(Self { spans, encoded })
    }

    pub(super) fn end_ns(&self) -> u64 {
        self.spans.iter().map(|span| span.end_ns).max().unwrap_or_default()
    }

    /// Returns the operations that occur, each once, in order of their numbers.
    pub(super) fn operations(&self) -> impl Iterator<Item = (Encoded, &'static str)> {
        let all: BTreeMap<Encoded, &str> =
            self.encoded.values().map(|(encoded, _, name)| (*encoded, *name)).collect();
        all.into_iter()
    }

    pub(super) fn write(
        &self,
        messages: &MessageEnds,
        layout: &Layout,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let mut sent: Vec<Delivered<'_>> = messages.delivered().collect();
        sent.sort_by_key(|message| message.send.start_ns);
        let mut sent = sent.into_iter().peekable();
        let mut ends: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
        let mut started = self.spans.iter().enumerate().peekable();
        loop {
            let end_ns = ends.peek().map(|Reverse((at_ns, _))| *at_ns);
            let start_ns = started.peek().map(|(_, span)| span.start_ns);
            let sent_ns = sent.peek().map(|message| message.send.start_ns);
            let Some(now_ns) = [end_ns, start_ns, sent_ns].into_iter().flatten().min() else {
                return Ok(());
            };
            // At equal times: ends first, then starts, then the messages that are sent.
            if end_ns == Some(now_ns) {
                let Some(Reverse((_, at))) = ends.pop() else { continue };
                self.write_end(&self.spans[at], layout, out)?;
            } else if start_ns == Some(now_ns) {
                let Some((at, span)) = started.next() else { continue };
                self.write_start(span, layout, out)?;
                ends.push(Reverse((span.end_ns, at)));
            } else if let Some(message) = sent.next() {
                write_message(&message, layout, out)?;
            }
        }
    }

    fn write_start(&self, span: &Span, layout: &Layout, out: &mut impl Write) -> io::Result<()> {
        let Some((encoded, state, _)) = self.encoded.get(&span.operation) else { return Ok(()) };
        let object = layout.object(span.lane as usize);
        let Span { start_ns, end_ns, call_site, .. } = span;
        if start_ns < end_ns {
            writeln!(out, "1:{object}:{start_ns}:{end_ns}:{state}")?;
        }
        let Encoded { kind, value } = encoded;
        writeln!(out, "2:{object}:{start_ns}:{kind}:{value}:{CALL_SITE}:{call_site}")
    }

    fn write_end(&self, span: &Span, layout: &Layout, out: &mut impl Write) -> io::Result<()> {
        let object = layout.object(span.lane as usize);
        let Span { end_ns, next_ns, .. } = span;
        if end_ns < next_ns {
            writeln!(out, "1:{object}:{end_ns}:{next_ns}:{}", States::RUNNING)?;
        }
        let Some((encoded, ..)) = self.encoded.get(&span.operation) else { return Ok(()) };
        writeln!(out, "2:{object}:{end_ns}:{}:0:{CALL_SITE}:0", encoded.kind)
    }
}

/// Returns, for the first thread of every rank, an empty call at the start of its world.
fn leads(trace: &Trace, lanes: &Lanes) -> Result<Vec<Span>, ExportError> {
    let starts_ns = starts_ns(trace)?;
    let first_threads = (0..).zip(&lanes.keys).filter(|(_, key)| key.thread == 0);
    let lead = first_threads.filter_map(|(lane, key)| {
        let at_ns = *starts_ns.get(&key.world)?;
        let operation = NO_OPERATION;
        Some(Span { start_ns: at_ns, end_ns: at_ns, next_ns: at_ns, lane, operation, call_site: 0 })
    });
    Ok(lead.collect())
}

fn write_message(message: &Delivered<'_>, layout: &Layout, out: &mut impl Write) -> io::Result<()> {
    let (send, receive) = (message.send, message.receive);
    writeln!(
        out,
        "3:{}:{}:{}:{}:{}:{}:{}:{}",
        layout.object(message.from),
        send.start_ns,
        send.start_ns,
        layout.object(message.to),
        receive.start_ns,
        receive.last_end_ns,
        send.bytes,
        send.message.tag.unwrap_or(0),
    )
}
