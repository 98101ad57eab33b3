//! Target: messages to and from a malleable job: wishes, status, records of resizes, and messages between its ranks.

use malleable::reading::read_again;
use resize_api::{JobStatus, Resize, ResizeRequest};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Reads the bytes as each kind of message.
pub(crate) fn run(bytes: &[u8]) {
    if let Ok(wish) = serde_json::from_slice::<ResizeRequest>(bytes) {
        let again =
            serde_json::to_vec(&wish).ok().and_then(|text| serde_json::from_slice(&text).ok());
        assert_eq!(again, Some(wish), "a wish is read as it was written");
    }
    check::<JobStatus>(bytes);
    check::<Resize>(bytes);
    assert!(read_again(bytes), "a message is read as it was written");
}

/// Checks that what was read can be written and read again; numbers with a point may differ in the last place.
fn check<T: Serialize + DeserializeOwned>(bytes: &[u8]) {
    if let Ok(read) = serde_json::from_slice::<T>(bytes) {
        let text = serde_json::to_vec(&read);
        let again = text.is_ok_and(|text| serde_json::from_slice::<T>(&text).is_ok());
        assert!(again, "what was read can be written");
    }
}
