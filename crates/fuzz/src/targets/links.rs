//! What one daemon says to another, which has the key and may be of a damaged or changed program.

use balancer::core::words::PeerMessage;

/// Reads the bytes as a message; what is understood is said again in the same way.
pub(crate) fn run(bytes: &[u8]) {
    let Ok(message) = PeerMessage::decode(bytes) else { return };
    let Ok(again) = message.encode() else { return };
    let same = PeerMessage::decode(&again).expect("a message that was just made");
    // Not a number is no number, also not itself: bytes are compared.
    assert_eq!(same.encode().ok(), Some(again));
}
