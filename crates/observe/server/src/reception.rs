//! Acceptance of connections: those that prove the run's secret are served, all others only counted.

use super::{Shared, connection};
use channel::{AcceptedConnection, Acceptor, Limits};
use collector::handshake::HandshakeError;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;

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
