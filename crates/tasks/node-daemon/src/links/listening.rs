//! Accepts connections; each has to prove the key in a thread of its own.

use std::{
    io,
    net::{IpAddr, TcpListener},
    sync::Arc,
};

use channel::{AcceptedConnection, Acceptor, Limits, Unauthenticated};

use super::{LinkError, Refusal, handshake::HandshakeSide, link, table::Common};

pub(super) fn start(listener: TcpListener, common: Arc<Common>) -> io::Result<Acceptor> {
    let limits = Limits {
        n_max: common.options.n_handshakes_max,
        n_per_address_max: common.options.n_handshakes_per_address_max,
    };
    let unauthenticated = Arc::new(Unauthenticated::new(limits));
    Acceptor::open(listener, unauthenticated, "from another node", move |accepted| {
        let peer = name(accepted.from);
        if let Err(error) = answer(&common, accepted, &peer) {
            common.tell_stranger(error);
        }
    })
}

/// Address as users write it: the listener may be one for IPv6 that takes both kinds.
fn name(address: IpAddr) -> String {
    address.to_canonical().to_string()
}

fn answer(common: &Arc<Common>, accepted: AcceptedConnection, peer: &str) -> Result<(), LinkError> {
    let side = HandshakeSide { me: &common.me, key: &common.key, options: &common.options, peer };
    let result = side.answer(&accepted.stream, accepted.slot, |hello| common.judge(hello, false));
    match result.and_then(|result| link::run(common, &accepted.stream, result, false)) {
        // Usual when both nodes dial.
        Err(LinkError::NotTaken { refusal: Refusal::Linked | Refusal::Itself, .. }) => Ok(()),
        outcome => outcome,
    }
}
