//! Messages of a trace, with both ends paired.

use crate::error::ExportError;
use crate::lanes::{Lanes, Trace, is_call, operation};
use models::matching::Matcher;
use models::{CallEffect, Interpreter, MessageEnd};
use mpi_abi::Mode;
use run_record::Event;
use std::collections::{BTreeMap, HashMap};

/// One end of a message, in the order of its thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End {
    pub(crate) is_send: bool,
    pub(crate) message: MessageEnd,
    pub(crate) bytes: u64,
    /// Time at which the call that sent, or posted the receive, was entered.
    pub(crate) start_ns: u64,
    /// Time at which the call that sent, or completed the receive, was entered.
    pub(crate) last_start_ns: u64,
    /// Time at which that call returned.
    pub(crate) last_end_ns: u64,
    /// Other end: position of the thread, and of the end within it.
    pub(crate) partner: Option<(u32, u32)>,
}

impl End {
    /// Returns whether this is a receive from `MPI_PROC_NULL`, which gets nothing.
    ///
    /// It differs from a receive from any rank only by the declared bytes, which are 0.
    pub(crate) fn is_nothing(&self) -> bool {
        !self.is_send && self.message.peer.is_none() && self.bytes == 0
    }

    /// Returns whether the trace lacks the other end.
    pub(crate) fn is_alone(&self) -> bool {
        self.partner.is_none() && !self.is_nothing()
    }
}

/// The ends of all messages, by thread.
pub(crate) struct MessageEnds {
    pub(crate) ends: Vec<Vec<End>>,
}

/// Message with both ends.
pub(crate) struct Delivered<'a> {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) send: &'a End,
    pub(crate) receive: &'a End,
}

impl MessageEnds {
    pub(crate) fn of(trace: &Trace, lanes: &Lanes) -> Result<Self, ExportError> {
        let mut readers: Vec<Reader> = lanes.keys.iter().map(|_| Reader::default()).collect();
        trace.each(|event| {
            if let Some(reader) = readers.get_mut(lanes.position(event)) {
                reader.read(event);
            }
        })?;
        let mut ends: Vec<Vec<End>> = readers.into_iter().map(|reader| reader.ends).collect();
        pair(&mut ends, lanes);
        Ok(Self { ends })
    }

    /// Returns every message with both ends.
    pub(crate) fn delivered(&self) -> impl Iterator<Item = Delivered<'_>> {
        let receives = self.ends.iter().enumerate().flat_map(|(to, ends)| {
            ends.iter().filter(|end| !end.is_send).map(move |receive| (to, receive))
        });
        receives.filter_map(|(to, receive)| {
            let (from, send) = receive.partner?;
            let from = from as usize;
            Some(Delivered { from, to, send: self.ends.get(from)?.get(send as usize)?, receive })
        })
    }

    /// Returns the sentence about messages of which the trace has only one end.
    pub(crate) fn unmatched_note(&self) -> Option<String> {
        let alone = |is_send| {
            let ends = self.ends.iter().flatten();
            ends.filter(|end| end.is_send == is_send && end.is_alone()).count()
        };
        let (n_sends, n_receives) = (alone(true), alone(false));
        (0 < n_sends + n_receives).then(|| {
            format!("{n_sends} sends and {n_receives} receives have no matching end in the trace and are not drawn as messages")
        })
    }
}

/// Collects the ends of one thread.
#[derive(Default)]
struct Reader {
    interpreter: Interpreter,
    ends: Vec<End>,
    /// Receives waiting for completion, by request.
    open: HashMap<u64, usize>,
    /// Bytes declared by persistent requests.
    declared_bytes: HashMap<u64, u64>,
}

impl Reader {
    fn read(&mut self, event: &Event) {
        let persistent = operation(event)
            .is_some_and(|o| matches!(o.mode, Mode::Persistent | Mode::Partitioned));
        if persistent && 0 < event.bytes && is_call(event) {
            self.declared_bytes.insert(event.request, event.bytes);
        }
        let Self { interpreter, ends, open, declared_bytes } = self;
        interpreter.read(event, |action| {
            let end = |is_send, message| End {
                is_send,
                message,
                bytes: event.bytes,
                start_ns: event.start_ns,
                last_start_ns: event.start_ns,
                last_end_ns: event.end_ns,
                partner: None,
            };
            match action {
                CallEffect::Send { message, request } => {
                    let declared = declared_bytes.get(&request).filter(|_| persistent);
                    let bytes = declared.copied().unwrap_or(event.bytes);
                    ends.push(End { bytes, ..end(true, message) });
                }
                CallEffect::Receive(message) => ends.push(end(false, message)),
                CallEffect::StartReceive { message, request } => {
                    open.insert(request, ends.len());
                    ends.push(end(false, message));
                }
                CallEffect::Complete { request, peer, tag } => {
                    let Some(at) = open.remove(&request) else { return };
                    let Some(end) = ends.get_mut(at) else { return };
                    end.message.peer = end.message.peer.or(peer);
                    end.message.tag = end.message.tag.or(tag);
                    (end.last_start_ns, end.last_end_ns) = (event.start_ns, event.end_ns);
                }
                CallEffect::Collective { .. } => (),
            }
        });
    }
}

/// Finds the partner of each end, world by world.
fn pair(ends: &mut [Vec<End>], lanes: &Lanes) {
    let mut worlds: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (position, key) in lanes.keys.iter().enumerate() {
        worlds.entry(key.world).or_default().push(position);
    }
    for positions in worlds.into_values() {
        let mut matcher = Matcher::default();
        let (mut sends, mut receives) = (Vec::new(), Vec::new());
        for lane in positions {
            for (at, end) in ends[lane].iter().enumerate() {
                let place = (index(lane), index(at));
                let rank = lanes.keys[lane].rank;
                if end.is_send {
                    matcher.send(rank, end.message);
                    sends.push(place);
                } else {
                    matcher.receive(rank, end.message);
                    receives.push(place);
                }
            }
        }
        for (receive, send) in matcher.finish().send_of_receive.into_iter().enumerate() {
            let Some(send) = send else { continue };
            let (send, receive) = (sends[send as usize], receives[receive]);
            ends[send.0 as usize][send.1 as usize].partner = Some(receive);
            ends[receive.0 as usize][receive.1 as usize].partner = Some(send);
        }
    }
}

fn index(position: usize) -> u32 {
    u32::try_from(position).unwrap_or(u32::MAX)
}
