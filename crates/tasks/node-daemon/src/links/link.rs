//! Link between two nodes: one thread reads the peer's messages, one writes those in its queue.

use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use super::handshake::{HandshakeResult, ended};
use super::message_stream::{Incoming, MessageStreamError, Outgoing};
use super::table::Common;
use super::{LinkError, LinkEvent, Refusal};

/// Turns a connection into a link, and reads it until it ends.
///
/// # Errors
/// When it does not become one.
pub(super) fn run(
    common: &Arc<Common>,
    stream: &Arc<TcpStream>,
    result: HandshakeResult,
    dialed: bool,
) -> Result<(), LinkError> {
    let HandshakeResult { hello, mut incoming, outgoing } = result;
    let prepared = prepare(stream, &common.options);
    prepared.map_err(|source| ended(&hello.name, Duration::ZERO, source))?;
    let not_taken = |refusal: Refusal| LinkError::NotTaken { peer: hello.name.clone(), refusal };
    let admitted = common.admit(&hello, Arc::clone(stream), dialed).map_err(not_taken)?;
    let writer = Writer {
        outgoing,
        queue: admitted.queue,
        n_queued_bytes: admitted.n_queued_bytes,
        heartbeat: common.options.heartbeat,
    };
    let written = thread::Builder::new().name(format!("to {}", hello.name)).spawn(|| writer.run());
    let error = match written {
        Ok(_) => read(common, &mut incoming, &hello),
        Err(source) => ended(&hello.name, Duration::ZERO, source),
    };
    // The writer ends with the stream, or when its queue is dropped.
    stream.shutdown(Shutdown::Both).ok();
    common.end(&hello, admitted.number, error);
    Ok(())
}

fn prepare(stream: &TcpStream, options: &super::LinkOptions) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(options.silent_after))?;
    stream.set_write_timeout(Some(options.reads_within))
}

fn read(common: &Common, incoming: &mut Incoming, hello: &super::Hello) -> LinkError {
    loop {
        match incoming.read() {
            Ok(bytes) if bytes.is_empty() => {}
            Ok(bytes) => common.tell(LinkEvent::Message { from: hello.id(), bytes }),
            Err(MessageStreamError::Damaged) => {
                return LinkError::Damaged(hello.name.clone());
            }
            Err(MessageStreamError::Io(source)) => {
                return ended(&hello.name, common.options.silent_after, source);
            }
        }
    }
}

struct Writer {
    outgoing: Outgoing,
    queue: Receiver<Vec<u8>>,
    n_queued_bytes: Arc<AtomicUsize>,
    heartbeat: Duration,
}

impl Writer {
    fn run(mut self) {
        loop {
            let message = match self.queue.recv_timeout(self.heartbeat) {
                Ok(message) => message,
                Err(RecvTimeoutError::Timeout) => Vec::new(),
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let written = self.outgoing.write(&message);
            self.n_queued_bytes.fetch_sub(message.len(), Ordering::Relaxed);
            if written.is_err() {
                // The reader notices this, and reports the reason.
                return self.outgoing.shut_down();
            }
        }
    }
}
