//! Messages survive encoding, and no bytes do harm.

use proptest::{collection::vec, prelude::*};
use task_api::{OutputText, TaskFilter};

use super::*;

fn share() -> impl Strategy<Value = InstanceId> {
    (any::<u64>(), any::<u32>()).prop_map(|(number, instance)| InstanceId { number, instance })
}

fn end() -> impl Strategy<Value = SharedEnd> {
    (share(), any::<i32>(), vec(any::<u8>(), 0..40)).prop_map(|(share, code, bytes)| SharedEnd {
        share,
        outcome: TaskOutcome::Exit(code),
        started_ms: 1,
        ended_ms: 2,
        output: Output { stdout: OutputText(bytes), ..Output::default() },
        usage: Usage { cpu_ms: 7, ..Usage::default() },
    })
}

fn offer() -> impl Strategy<Value = PeerMessage> {
    let task = (share(), 0..3_u32, any::<Option<u64>>(), any::<Option<String>>());
    let task = task.prop_map(|(share, work_idx, array_index, item)| OfferedTask {
        share,
        work_idx,
        input: TaskInput { array_index, item },
        span: None,
    });
    let demand = Demand { time_limit_ms: Some(9), ..Demand::default() };
    let work = ("[a-z]{0,5}", any::<Option<String>>(), any::<bool>());
    let work = work.prop_map(move |(words, title, is_plain)| OfferedWork {
        work: SharedWork { title, words, around_idx: 0 },
        demand: (!is_plain).then(|| demand.clone()),
    });
    (any::<u64>(), vec(work, 0..4), vec(task, 0..4)).prop_map(|(offer, works, tasks)| {
        PeerMessage::Offer {
            offer,
            incarnation: 3,
            arounds: vec![ExecContext::default()],
            works,
            tasks,
        }
    })
}

fn room() -> impl Strategy<Value = (RoomId, Allocation)> {
    (share(), any::<u64>(), any::<bool>()).prop_map(|(share, round, has_span)| {
        let given = Allocation { cpus: 2, ..Allocation::default() };
        let room = Room { node: NodeId(3), host: "b".to_owned(), allocation: given.clone() };
        let span = NodeSpan { round, host: "a".to_owned(), rooms: vec![room] };
        let span = has_span.then(|| Box::new(span));
        (RoomId { attempt: share.of_home(NodeId(2)), round }, Allocation { span, ..given })
    })
}

fn message() -> impl Strategy<Value = PeerMessage> {
    prop_oneof![
        offer(),
        (any::<u64>(), vec(share(), 0..9), any::<bool>()).prop_map(|(number, shares, whole)| {
            PeerMessage::Renew { number, incarnation: 1, whole, shares }
        }),
        vec(end(), 0..4).prop_map(PeerMessage::Ended),
        room().prop_map(|(room, allocation)| PeerMessage::AskRoom {
            room,
            demand: Demand { nodes: allocation.cpus, ..Demand::default() },
            waits: true,
        }),
        vec(room(), 0..4).prop_map(|rooms| PeerMessage::KeepRooms { number: 7, rooms }),
        any::<u64>().prop_map(|ask| PeerMessage::Ask {
            ask,
            request: ClientRequest::Tasks {
                filter: TaskFilter::default(),
                after: None,
                n_max: 9,
                is_backward: false
            },
        }),
        ".{0,40}".prop_map(|sentence| PeerMessage::Answer {
            ask: 1,
            answer: DaemonAnswer::Refused { sentence },
        }),
    ]
}

proptest! {
    #[test]
    fn what_is_encoded_is_decoded(message in message()) {
        let bytes = message.encode().unwrap();
        prop_assert_eq!(PeerMessage::decode(&bytes).unwrap(), message);
    }

    #[test]
    fn no_bytes_make_decoding_panic(bytes in vec(any::<u8>(), 0..200)) {
        if let Ok(message) = PeerMessage::decode(&bytes) {
            prop_assert!(message.encode().is_ok());
        }
    }

    #[test]
    fn a_message_that_is_cut_is_none(message in message(), cut in any::<prop::sample::Index>()) {
        let bytes = message.encode().unwrap();
        prop_assert!(PeerMessage::decode(&bytes[..cut.index(bytes.len())]).is_err());
    }
}

#[test]
fn a_message_has_a_bound() {
    let words = "x".repeat(FRAME_BYTES_MAX);
    let message = PeerMessage::Answer { ask: 1, answer: DaemonAnswer::Refused { sentence: words } };
    assert!(matches!(message.encode(), Err(PeerError::TooLong(_))));
}
