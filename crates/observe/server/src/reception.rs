//! Acceptance of connections: those that prove the run's secret are served, all others only counted.

use super::{Shared, connection};
use channel::{AcceptedConnection, Acceptor, Limits};
use collector::handshake::HandshakeError;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Maximum number of collectors served at the same time.
const N_CONNECTIONS_MAX: usize = 4096;
/// Limits on connections that have not proved the secret.
pub(super) const STRANGERS: Limits = Limits { n_max: 128, n_per_address_max: 96 };

/// Starts to accept connections.
pub(super) fn open(listener: TcpListener, shared: &Arc<Shared>) -> io::Result<Acceptor> {
    let (strangers, shared) = (Arc::clone(&shared.strangers), Arc::clone(shared));
    Acceptor::open(listener, strangers, "collectors", move |accepted| receive(accepted, &shared))
}

fn receive(accepted: AcceptedConnection, shared: &Shared) {
    // Keeps the connection open until the outcome is recorded, before the rejected peer notices its end.
    let _open = Arc::clone(&accepted.stream);
    let outcome = connection::serve(accepted, shared);
    shared.with_intake(|intake| match outcome {
        Err(HandshakeError::Earlier { version }) => intake.earlier = Some(version),
        Err(error) if error.is_news() => intake.warn(error.to_string()),
        _ => {}
    });
}

/// Slot of a connection that is being served.
pub(super) struct Served<'a>(&'a Shared);

impl<'a> Served<'a> {
    /// Takes a slot; returns `None` if there are too many connections.
    pub(super) fn one_more(shared: &'a Shared) -> Option<Self> {
        let served = Self(shared);
        (shared.n_connections.fetch_add(1, Ordering::SeqCst) < N_CONNECTIONS_MAX).then_some(served)
    }
}

impl Drop for Served<'_> {
    fn drop(&mut self) {
        self.0.n_connections.fetch_sub(1, Ordering::SeqCst);
    }
}
