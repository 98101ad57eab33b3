//! First messages on a connection: the collector introduces itself, and the analyzer accepts or refuses it.
//!
//! Both travel in the handshake records that prove the key, behind the version of the messages that follow.

use frame::FrameError;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Version of the messages; the two sides refuse other versions and name them.
pub const PROTOCOL: u16 = 7;

/// Introduction of a collector.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// The collector's name of its node, unique in the run.
    pub node: String,
}

/// The analyzer's answer to a [`Hello`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// The collector is accepted and may send.
    Welcome {
        /// Interval in ms between reports of a running process.
        report_every_ms: u32,
    },
    /// The collector is refused.
    Refused {
        /// Reason, as a sentence that tells the user what to do.
        reason: String,
    },
}

/// Reason why a first message cannot be read.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum WireError {
    /// The bytes are no such message.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// The other side uses another version.
    #[error(
        "the other side uses protocol version {theirs}, this side version {PROTOCOL}; use one version of Sintonia on all nodes"
    )]
    Version {
        /// Version of the other side.
        theirs: u16,
    },
}

/// Encodes a [`Hello`] or [`Verdict`] with the version in front, the one part that all versions read alike.
///
/// # Errors
/// When the message is too long.
pub fn versioned<M: Serialize>(message: &M) -> Result<Vec<u8>, WireError> {
    Ok(crate::to_bytes(&(PROTOCOL, message))?)
}

/// Decodes bytes encoded by [`versioned`].
///
/// # Errors
/// [`WireError::Version`] when another version encoded the bytes, other errors when they are no such message.
pub fn unversioned<M: DeserializeOwned>(bytes: &[u8]) -> Result<M, WireError> {
    let (theirs, rest) =
        postcard::take_from_bytes::<u16>(bytes).map_err(|_| FrameError::Unknown)?;
    if theirs != PROTOCOL {
        return Err(WireError::Version { theirs });
    }
    Ok(crate::decode(rest)?)
}

/// Returns the version of a collector from before version 5, given the first bytes it sent: up to version 4 those
/// were an unencrypted frame with `SINTONIA` and the version in front.
pub fn earlier_version(beginning: &[u8]) -> Option<u16> {
    const MAGIC: &[u8] = b"SINTONIA";
    // Length of the frame (4 bytes), number of the message, magic number.
    let version = beginning.get(4..)?.strip_prefix(&[0])?.strip_prefix(MAGIC)?;
    let (version, _) = postcard::take_from_bytes::<u16>(version).ok()?;
    (version < PROTOCOL).then_some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_version_is_refused_by_name() {
        let hello = Hello { node: "n".to_owned() };
        let bytes = versioned(&hello).unwrap();
        assert_eq!(unversioned::<Hello>(&bytes), Ok(hello));
        let later = crate::to_bytes(&(PROTOCOL + 1, "whatever")).unwrap();
        let error = unversioned::<Hello>(&later).unwrap_err();
        assert_eq!(error, WireError::Version { theirs: PROTOCOL + 1 });
        let expected = "the other side uses protocol version 8, this side version 7; use one version of \
                        Sintonia on all nodes";
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn bytes_that_were_not_versioned_are_an_error() {
        let bytes = versioned(&Hello { node: "n".to_owned() }).unwrap();
        for end in 0..bytes.len() {
            assert!(unversioned::<Hello>(&bytes[..end]).is_err(), "{end}");
            assert_eq!(earlier_version(&bytes[..end]), None);
        }
    }
}
