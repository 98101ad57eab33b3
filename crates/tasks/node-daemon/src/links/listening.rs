//! Accepts connections; each has to prove the key in a thread of its own.

use std::{
    io,
    net::{IpAddr, TcpListener},
    sync::Arc,
};

use channel::{Guest, Limits, Reception, Strangers};

use super::{LinkError, Refusal, link, shaking::Shaker, table::Common};

pub(super) fn start(listener: TcpListener, common: Arc<Common>) -> io::Result<Reception> {
    let limits = Limits {
        n_max: common.options.n_shaking_max,
        n_per_address_max: common.options.n_shaking_per_address_max,
    };
    let strangers = Arc::new(Strangers::new(limits));
    Reception::open(listener, strangers, "from another node", move |guest| {
        let peer = name(guest.from);
        if let Err(error) = answer(&common, guest, &peer) {
            common.tell_stranger(error);
        }
    })
}

/// Address as users write it: the listener may be one for IPv6 that takes both kinds.
fn name(address: IpAddr) -> String {
    address.to_canonical().to_string()
}

fn answer(common: &Arc<Common>, guest: Guest, peer: &str) -> Result<(), LinkError> {
    let shaker = Shaker { me: &common.me, key: &common.key, options: &common.options, peer };
    let shaken = shaker.answer(&guest.stream, guest.seat, |hello| common.judge(hello, false));
    match shaken.and_then(|shaken| link::run(common, &guest.stream, shaken, false)) {
        // Usual when both nodes dial.
        Err(LinkError::NotTaken { refusal: Refusal::Linked | Refusal::Itself, .. }) => Ok(()),
        outcome => outcome,
    }
}
