//! Target: a message between daemons, from a peer that has the key and may run a damaged or changed program.

use node_core::interface::PeerMessage;

/// Reads the bytes as a message; what is understood is encoded and decoded to the same.
pub(crate) fn run(bytes: &[u8]) {
    let Ok(message) = PeerMessage::decode(bytes) else { return };
    let Ok(again) = message.encode() else { return };
    let same = PeerMessage::decode(&again).expect("a message that was just made");
    // NaN does not equal itself, so bytes are compared.
    assert_eq!(same.encode().ok(), Some(again));
}
