//! The thread that takes connections; each has to prove the key in a thread of its own.

use std::{
    io,
    net::{TcpListener, TcpStream},
    sync::Arc,
    thread,
    time::Duration,
};

use super::{LinkError, Refusal, link, shaking::Shaker, table::Common};

/// When the system gives no connection, as when too many files are open.
const PAUSE: Duration = Duration::from_millis(50);

pub(super) fn start(listener: Arc<TcpListener>, common: Arc<Common>) -> io::Result<()> {
    thread::Builder::new().name("listens".to_owned()).spawn(move || {
        while !common.is_closed() {
            match listener.accept() {
                Ok((stream, peer)) => take(&common, stream, peer.ip().to_string()),
                Err(_) if common.is_closed() => return,
                Err(_) => thread::sleep(PAUSE),
            }
        }
    })?;
    Ok(())
}

fn take(common: &Arc<Common>, stream: TcpStream, peer: String) {
    if !common.may_shake() {
        let n_max = common.options.n_shaking_max;
        return common.tell_failure(&peer, None, LinkError::Crowded { peer: peer.clone(), n_max });
    }
    let shared = Arc::clone(common);
    let started = thread::Builder::new().name(format!("from {peer}")).spawn(move || {
        if let Err(error) = answer(&shared, &stream, &peer) {
            shared.tell_failure(&peer, None, error);
        }
    });
    if started.is_err() {
        common.has_shaken();
    }
}

fn answer(common: &Arc<Common>, stream: &TcpStream, peer: &str) -> Result<(), LinkError> {
    let shaker = Shaker { me: &common.me, key: &common.key, options: &common.options, peer };
    let shaken = shaker.answer(stream, |hello| common.judge(hello, false));
    common.has_shaken();
    match shaken.and_then(|shaken| link::run(common, stream, shaken, false)) {
        // Ordinary when both dial.
        Err(LinkError::NotTaken { refusal: Refusal::Linked | Refusal::Itself, .. }) => Ok(()),
        outcome => outcome,
    }
}
