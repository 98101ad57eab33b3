//! Interprets a recorded MPI call as what it asks of other ranks: sends, receives, completions,
//! collectives.
//!
//! # Invariants
//! - Only what the trace says: a call whose partners are not recorded has no effect. Left out are
//!   one-sided communication, neighborhood collectives, operations on files and windows, and whatever
//!   crosses the border of a world.

use events::{Event, RecordKind};
use mpi_abi::{Class, CollectiveKind, Mode, Operation, ParameterKind, Rooted};
use std::collections::HashMap;

/// A message as seen from one of its two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageEnd {
    /// World rank of the other end; `None` for a receive from any source.
    pub peer: Option<u32>,
    /// Tag; `None` for a receive of any tag.
    pub tag: Option<u32>,
    /// Communicator.
    pub communicator: u32,
}

/// Direction of waiting among the members of a collective operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Every member waits for all.
    All,
    /// Every member waits for the root (world rank).
    FromRoot(u32),
    /// The root (world rank) waits for every member.
    ToRoot(u32),
}

/// Effect of a call on other ranks: one send, receive, completion or collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallEffect {
    /// A message is sent.
    Send {
        /// The message.
        message: MessageEnd,
        /// Request whose completion frees the send buffer; 0 for none.
        request: u64,
    },
    /// The caller waits for a message.
    Receive(MessageEnd),
    /// A receive is posted; [`CallEffect::Complete`] waits for it.
    StartReceive {
        /// The message.
        message: MessageEnd,
        /// Its request.
        request: u64,
    },
    /// The caller waits for the operation that was started under a request.
    Complete {
        /// The request.
        request: u64,
        /// Source of the message, when the call learned it.
        peer: Option<u32>,
        /// Tag of the message, when the call learned it.
        tag: Option<u32>,
    },
    /// The caller takes part in a collective operation.
    Collective {
        /// Communicator.
        communicator: u32,
        /// Direction of waiting.
        flow: Flow,
        /// Request that completes it; 0 when the caller waits at once.
        request: u64,
    },
}

/// Reads the rows of one thread in order and remembers persistent requests.
#[derive(Clone, Debug, Default)]
pub struct Interpreter {
    persistent: HashMap<u64, CallEffect>,
    request_of_call: u64,
}

impl Interpreter {
    /// Passes to `emit` the effects of the row on other ranks: at most two.
    pub fn read(&mut self, row: &Event, mut emit: impl FnMut(CallEffect)) {
        let Some(operation) = mpi_abi::operation(row.operation) else { return };
        match row.kind {
            RecordKind::Call => {
                self.request_of_call = row.request;
                self.read_call(operation, row, emit);
            }
            RecordKind::ReceiveHalf => {
                let request = if row.request == 0 { self.request_of_call } else { row.request };
                let later = operation.mode != Mode::Blocking;
                receive(row, later.then_some(request)).into_iter().for_each(emit);
            }
            RecordKind::Requests => {
                for request in [row.request, row.more] {
                    self.read_request(operation, row, request, &mut emit);
                }
            }
        }
    }

    fn read_call(&mut self, operation: &Operation, row: &Event, mut emit: impl FnMut(CallEffect)) {
        if operation.completes.is_some() || is_start(operation) {
            return self.read_request(operation, row, row.request, &mut emit);
        }
        let Some(effect) = meaning(operation, row) else { return };
        if matches!(operation.mode, Mode::Persistent | Mode::Partitioned) {
            self.persistent.insert(row.request, effect);
        } else {
            emit(effect);
        }
    }

    fn read_request(
        &self,
        operation: &Operation,
        row: &Event,
        request: u64,
        emit: &mut impl FnMut(CallEffect),
    ) {
        if request == 0 {
            return;
        }
        if is_start(operation) {
            self.persistent.get(&request).copied().into_iter().for_each(emit);
        } else if operation.completes.is_some() {
            let known = u32::try_from(row.peer).ok();
            let tag = u32::try_from(row.tag).ok().filter(|_| known.is_some());
            emit(CallEffect::Complete { request, peer: known, tag });
        }
    }
}

fn is_start(operation: &Operation) -> bool {
    matches!(operation.stem.as_str(), "Start" | "Startall")
}

/// Returns the effect of an operation that neither starts nor completes requests.
fn meaning(operation: &Operation, row: &Event) -> Option<CallEffect> {
    let flow = operation.movements.first().map(|movement| movement.flow);
    match operation.class {
        Class::PointToPoint => match flow? {
            mpi_abi::Flow::Send => send(row),
            mpi_abi::Flow::Receive => {
                let later = operation.mode != Mode::Blocking;
                receive(row, later.then_some(row.request))
            }
            _ => None,
        },
        Class::Collective | Class::Communicator | Class::OneSided | Class::Io | Class::Process => {
            collective(operation, row)
        }
        _ => None,
    }
}

fn send(row: &Event) -> Option<CallEffect> {
    let message = message(row);
    message.peer.map(|_| CallEffect::Send { message, request: row.request })
}

fn message(row: &Event) -> MessageEnd {
    let (peer, tag) = (u32::try_from(row.peer).ok(), u32::try_from(row.tag).ok());
    MessageEnd { peer, tag, communicator: row.communicator }
}

/// Returns a receive that waits at once (`request` is `None`) or when its request completes.
fn receive(row: &Event, request: Option<u64>) -> Option<CallEffect> {
    let message = message(row);
    match request {
        None => message.peer.map(|_| CallEffect::Receive(message)),
        // No request: a message from another world, or no message at all.
        Some(0) => None,
        Some(_) if row.peer == events::call::OUTSIDE_WORLD => None,
        Some(request) => Some(CallEffect::StartReceive { message, request }),
    }
}

/// Returns the effect of a collective operation on the communicator that is passed to it.
fn collective(operation: &Operation, row: &Event) -> Option<CallEffect> {
    let scope = operation.params.get(operation.scope()?)?;
    let local = ["Comm_free", "Comm_set_info", "Comm_create_group", "Intercomm_create"];
    if scope.kind != ParameterKind::Comm || local.contains(&operation.stem.as_str()) {
        return None;
    }
    if operation.mode == Mode::Nonblocking && !operation.stem.starts_with('I') {
        return None;
    }
    let root = || u32::try_from(row.peer).ok();
    let flow = match operation.collective().and_then(CollectiveKind::rooted) {
        Some(Rooted::FromRoot) => Flow::FromRoot(root()?),
        Some(Rooted::ToRoot) => Flow::ToRoot(root()?),
        None => Flow::All,
    };
    let later = operation.mode != Mode::Blocking;
    if later && row.request == 0 {
        return None;
    }
    let request = if later { row.request } else { 0 };
    Some(CallEffect::Collective { communicator: row.communicator, flow, request })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Returns a call of this function, with rank 3, tag 7 and communicator 5.
    pub(crate) fn row(name: &str) -> Event {
        Event {
            world: 0,
            rank: 0,
            thread: 0,
            start_ns: 0,
            end_ns: 1,
            operation: mpi_abi::find(name).unwrap(),
            kind: RecordKind::Call,
            peer: 3,
            tag: 7,
            call_site: None,
            communicator: 5,
            bytes: 0,
            request: 0,
            more: 0,
        }
    }

    #[track_caller]
    fn check(rows: &[Event], expected: &[CallEffect]) {
        let mut interpreter = Interpreter::default();
        let mut found = Vec::new();
        rows.iter().for_each(|row| interpreter.read(row, |action| found.push(action)));
        assert_eq!(found, expected);
    }

    const MESSAGE: MessageEnd = MessageEnd { peer: Some(3), tag: Some(7), communicator: 5 };
    const SEND: CallEffect = CallEffect::Send { message: MESSAGE, request: 0 };
    const ANY: MessageEnd = MessageEnd { peer: None, tag: None, communicator: 5 };

    #[test]
    fn point_to_point() {
        check(&[row("MPI_Send")], &[SEND]);
        check(&[row("MPI_Issend_c")], &[SEND]);
        check(&[row("MPI_Recv")], &[CallEffect::Receive(MESSAGE)]);
        check(&[row("MPI_Mrecv")], &[CallEffect::Receive(MESSAGE)]);
        let started = CallEffect::StartReceive { message: MESSAGE, request: 9 };
        check(&[Event { request: 9, ..row("MPI_Irecv") }], &[started]);
        let started = CallEffect::StartReceive { message: ANY, request: 9 };
        check(&[Event { request: 9, peer: -1, tag: -1, ..row("MPI_Irecv") }], &[started]);
        let half = Event { kind: RecordKind::ReceiveHalf, ..row("MPI_Sendrecv") };
        check(&[row("MPI_Sendrecv"), half], &[SEND, CallEffect::Receive(MESSAGE)]);
    }

    #[test]
    fn what_has_no_partner_is_no_action() {
        check(&[Event { peer: -1, ..row("MPI_Send") }], &[]);
        check(&[Event { peer: -2, ..row("MPI_Recv") }], &[]);
        check(&[Event { peer: -2, request: 9, ..row("MPI_Irecv") }], &[]);
        check(&[row("MPI_Probe"), row("MPI_Put"), row("MPI_Win_fence"), row("MPI_Comm_free")], &[]);
        check(&[row("MPI_Finalize"), row("MPI_File_write_all"), row("MPI_Neighbor_alltoall")], &[]);
        check(&[row("MPI_Test"), row("MPI_Irecv"), row("MPI_Ibarrier")], &[]);
    }

    #[test]
    fn completions() {
        let done = |request| CallEffect::Complete { request, peer: None, tag: None };
        let wait = Event { peer: -1, tag: -1, ..row("MPI_Waitall") };
        let requests = Event { kind: RecordKind::Requests, request: 8, more: 9, ..wait };
        check(&[wait, requests, Event { more: 0, ..requests }], &[done(8), done(9), done(8)]);
        let learned = CallEffect::Complete { request: 4, peer: Some(3), tag: Some(7) };
        check(&[Event { request: 4, ..row("MPI_Wait") }], &[learned]);
    }

    #[test]
    fn persistent_requests_act_when_started() {
        let init = Event { request: 9, ..row("MPI_Recv_init") };
        let start = Event { request: 9, peer: -1, tag: -1, ..row("MPI_Start") };
        let started = CallEffect::StartReceive { message: MESSAGE, request: 9 };
        check(&[init, start, start], &[started, started]);
        let init = Event { request: 2, ..row("MPI_Send_init") };
        let all = Event { kind: RecordKind::Requests, request: 2, ..row("MPI_Startall") };
        check(
            &[init, row("MPI_Startall"), all],
            &[CallEffect::Send { message: MESSAGE, request: 2 }],
        );
    }

    #[test]
    fn collectives() {
        let part = |flow, request| CallEffect::Collective { communicator: 5, flow, request };
        check(&[row("MPI_Barrier")], &[part(Flow::All, 0)]);
        check(&[row("MPI_Bcast")], &[part(Flow::FromRoot(3), 0)]);
        check(&[row("MPI_Gatherv_c")], &[part(Flow::ToRoot(3), 0)]);
        check(&[row("MPI_Comm_split")], &[part(Flow::All, 0)]);
        check(&[row("MPI_Win_create")], &[part(Flow::All, 0)]);
        check(&[Event { request: 6, ..row("MPI_Ireduce") }], &[part(Flow::ToRoot(3), 6)]);
        check(&[Event { request: 6, ..row("MPI_Iallreduce") }], &[part(Flow::All, 6)]);
        let init = Event { request: 6, ..row("MPI_Bcast_init") };
        let start = Event { request: 6, ..row("MPI_Start") };
        check(&[init, start], &[part(Flow::FromRoot(3), 6)]);
    }
}
