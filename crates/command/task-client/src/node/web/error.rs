//! Reasons why a page of a daemon has no data.

use node_daemon::client_socket::ClientError;

/// Reasons why a page has no data.
pub(super) enum SiteError {
    /// A value in the address or in an order cannot be used.
    Value(&'static str),
    /// The daemon refuses or cannot be reached.
    Daemon(ClientError),
}

impl From<ClientError> for SiteError {
    fn from(error: ClientError) -> Self {
        Self::Daemon(error)
    }
}
