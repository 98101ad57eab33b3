//! Error of an encrypted connection.

/// Reasons why bytes are no record of this connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChannelError {
    /// The authentication tag is wrong: the record was made with another key, changed, repeated or reordered.
    #[error(
        "a record was made with another key or changed on the way; the connection is of no more use"
    )]
    Unproved,
    /// The message does not fit into a record.
    #[error("a message of the handshake is longer than a record may be")]
    TooLong,
}
