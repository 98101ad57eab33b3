//! Encoding and decoding of messages.

use balancing_policies::{LoadState, MessageError, NodeId, PolicyMessage};
use proptest::prelude::*;

fn states() -> impl Strategy<Value = LoadState> {
    prop_oneof![Just(LoadState::Receiver), Just(LoadState::Neutral), Just(LoadState::Sender)]
}

/// Generates any message.
pub(crate) fn messages() -> impl Strategy<Value = PolicyMessage> {
    let (u32s, u16s) = (any::<u32>, any::<u16>);
    prop_oneof![
        (states(), states()).prop_map(|(new, old)| PolicyMessage::State { new, old }),
        u32s().prop_map(|operation| PolicyMessage::AskState { operation }),
        (u32s(), states())
            .prop_map(|(operation, state)| PolicyMessage::StateIs { operation, state }),
        (u32s(), u16s(), 0..12_u32, 0..8_u8).prop_map(|(operation, n_tasks, origin, n_hops)| {
            PolicyMessage::Request { operation, n_tasks, origin: NodeId(origin), n_hops }
        }),
        (u32s(), u16s(), u32s()).prop_map(|(operation, n_tasks_max, load_permille)| {
            PolicyMessage::Accept { operation, n_tasks_max, load_permille }
        }),
        u32s().prop_map(|operation| PolicyMessage::Reject { operation }),
        u32s().prop_map(|operation| PolicyMessage::Release { operation }),
        u32s().prop_map(|n_queued| PolicyMessage::Subscribe { n_queued }),
        Just(PolicyMessage::Probe),
        (u32s(), u16s())
            .prop_map(|(operation, n_tasks_max)| PolicyMessage::Pull { operation, n_tasks_max }),
        (u32s(), u16s(), u32s()).prop_map(|(operation, n_tasks, n_left)| {
            PolicyMessage::Grant { operation, n_tasks, n_left }
        }),
        u32s().prop_map(|operation| PolicyMessage::Nothing { operation }),
        (u32s(), u32s(), u32s()).prop_map(|(operation, node, n_queued)| {
            PolicyMessage::Elsewhere { operation, node: NodeId(node), n_queued }
        }),
    ]
}

proptest! {
    #[test]
    fn what_is_encoded_is_decoded(message in messages()) {
        let mut bytes = Vec::new();
        message.encode(&mut bytes);
        prop_assert!(bytes.len() <= PolicyMessage::LENGTH_MAX);
        prop_assert_eq!(PolicyMessage::decode(&bytes), Ok(message));
        for length in 0..bytes.len() {
            prop_assert_eq!(PolicyMessage::decode(&bytes[..length]), Err(MessageError::Length(length)));
        }
        bytes.push(0);
        prop_assert_eq!(PolicyMessage::decode(&bytes), Err(MessageError::Length(bytes.len())));
    }

    #[test]
    fn any_bytes_are_read_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..24)) {
        if let Ok(message) = PolicyMessage::decode(&bytes) {
            let mut again = Vec::new();
            message.encode(&mut again);
            prop_assert_eq!(again, bytes);
        }
    }
}

#[test]
fn what_is_no_message_is_named() {
    let said = |bytes: &[u8]| PolicyMessage::decode(bytes).unwrap_err().to_string();
    assert_eq!(
        said(&[99]),
        "unknown kind `99` of balancing message; run one version of Sintonia on all nodes"
    );
    assert_eq!(said(&[0, 3, 0]), "`3` is no state of a node");
    assert_eq!(said(&[]), "a balancing message of 0 bytes has the wrong length for its kind");
}
