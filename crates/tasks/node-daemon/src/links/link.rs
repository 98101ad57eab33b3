//! Link between two nodes: one thread reads the peer's messages, one writes those in its queue.
//!
//! A link that nothing has used for a while is let go by the side that dialed it. Its last message is [`REST`]; each side
//! first sends what is in its queue, so that nothing is lost.

use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use super::handshake::{HandshakeResult, ended};
use super::message_stream::{Incoming, MessageStreamError, Outgoing};
use super::table::Common;
use super::{Hello, LinkError, LinkEvent, Refusal};
use crate::lock;
use std::sync::Mutex;

/// Last message of a link that is let go.
pub(super) const REST: &[u8] = &[0xff];

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
    let used = Arc::new(Mutex::new(Instant::now()));
    let writer = Writer {
        common: Arc::clone(common),
        hello: hello.clone(),
        number: admitted.number,
        rests: dialed,
        used: Arc::clone(&used),
        outgoing,
        queue: admitted.queue,
        n_queued_bytes: admitted.n_queued_bytes,
    };
    let written = thread::Builder::new().name(format!("to {}", hello.name)).spawn(|| writer.run());
    let end = match &written {
        Ok(_) => read(common, &mut incoming, &hello, &used),
        Err(source) => LinkEnd::Failed(ended(&hello.name, Duration::ZERO, source.kind().into())),
    };
    match (end, written) {
        (LinkEnd::Rest, Ok(writer)) => {
            common.rest(&hello, admitted.number);
            // It sends what is in the queue; no write takes forever.
            writer.join().ok();
            stream.shutdown(Shutdown::Both).ok();
        }
        (LinkEnd::Rest, Err(_)) => {}
        (LinkEnd::Failed(error), _) => {
            // The writer ends with the stream, or when its queue is dropped.
            stream.shutdown(Shutdown::Both).ok();
            common.end(&hello, admitted.number, error);
        }
    }
    Ok(())
}

/// Reason why a link is not read any more.
enum LinkEnd {
    /// The peer lets it go.
    Rest,
    Failed(LinkError),
}

fn prepare(stream: &TcpStream, options: &super::LinkOptions) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(options.silent_after))?;
    stream.set_write_timeout(Some(options.reads_within))
}

fn read(common: &Common, incoming: &mut Incoming, hello: &Hello, used: &Mutex<Instant>) -> LinkEnd {
    loop {
        match incoming.read() {
            Ok(bytes) if bytes.is_empty() => {}
            Ok(bytes) if bytes == REST => return LinkEnd::Rest,
            Ok(bytes) => {
                *lock(used) = Instant::now();
                common.tell(LinkEvent::Message { from: hello.id(), bytes });
            }
            Err(MessageStreamError::Damaged) => {
                return LinkEnd::Failed(LinkError::Damaged(hello.name.clone()));
            }
            Err(MessageStreamError::Io(source)) => {
                let error = ended(&hello.name, common.options.silent_after, source);
                return LinkEnd::Failed(error);
            }
        }
    }
}

struct Writer {
    common: Arc<Common>,
    hello: Hello,
    number: u64,
    /// True if this side lets the link go when it is not used.
    rests: bool,
    /// Time of the last message, in either direction.
    used: Arc<Mutex<Instant>>,
    outgoing: Outgoing,
    queue: Receiver<Vec<u8>>,
    n_queued_bytes: Arc<AtomicUsize>,
}

impl Writer {
    fn run(mut self) {
        let options = self.common.options.clone();
        loop {
            let message = match self.queue.recv_timeout(options.heartbeat) {
                Ok(message) => {
                    *lock(&self.used) = Instant::now();
                    message
                }
                Err(RecvTimeoutError::Timeout) => {
                    if self.rests && options.rest_after <= lock(&self.used).elapsed() {
                        // This drops the sender of the queue.
                        self.common.rest(&self.hello, self.number);
                        self.rests = false;
                    }
                    Vec::new()
                }
                Err(RecvTimeoutError::Disconnected) => {
                    // Where the link has ended already, nobody reads this.
                    self.outgoing.write(REST).ok();
                    return self.outgoing.finish();
                }
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
