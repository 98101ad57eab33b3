//! Dials an address in a thread of its own until it is linked, and again when the link has ended.

use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{io, thread};

use super::handshake::{HandshakeResult, HandshakeSide};
use super::{LinkError, Refusal, link, table::Common};
use node_core::interface::NodeId;

pub(super) fn start(common: &Arc<Common>, address: &str) {
    let Some(number) = common.add_target(address) else { return };
    let dialer = Dialer { common: Arc::clone(common), address: address.to_owned(), number };
    let started = thread::Builder::new().name(format!("dials {address}")).spawn(|| dialer.run());
    if let Err(source) = started {
        common.forget_target(address);
        let error = LinkError::Unreachable { peer: address.to_owned(), source };
        common.tell_failure(address, None, error);
    }
}

struct Dialer {
    common: Arc<Common>,
    address: String,
    /// Number of the wish that it dials for.
    number: u64,
}

/// Connection whose peer has proved the key.
pub(super) type Proved = (Arc<TcpStream>, HandshakeResult);

impl Dialer {
    fn run(self) {
        let mut pauses = Pauses::new(&self.common.options, &self.address);
        let mut met = None;
        while self.common.wait_for_need(&self.address, self.number, met) {
            match self.dial(&mut met) {
                Ok(()) => pauses.reset(),
                Err(error) => match refusal(&error) {
                    Some(Refusal::Itself) => {
                        self.common.met(&self.address, self.common.me.id());
                        return self.common.forget_target(&self.address);
                    }
                    // The other connection is about to become the link, or has just ended.
                    Some(Refusal::Linked) => {}
                    _ => self.common.tell_failure(&self.address, met, error),
                },
            }
            if !self.common.pause(&self.address, self.number, pauses.next()) {
                return;
            }
        }
    }

    /// Runs one link, from dialing to its end.
    fn dial(&self, met: &mut Option<NodeId>) -> Result<(), LinkError> {
        let (stream, result) = prove(&self.common, &self.address)?;
        *met = Some(result.hello.id());
        self.common.met(&self.address, result.hello.id());
        link::run(&self.common, &stream, result, true)
    }
}

/// Connects, and proves the key on both sides.
pub(super) fn prove(common: &Common, address: &str) -> Result<Proved, LinkError> {
    let unreachable = |source| LinkError::Unreachable { peer: address.to_owned(), source };
    let stream = connect(address, common.options.handshake_timeout).map_err(unreachable)?;
    let stream = Arc::new(stream);
    let side =
        HandshakeSide { me: &common.me, key: &common.key, options: &common.options, peer: address };
    let result = side.dial(&stream)?;
    Ok((stream, result))
}

pub(super) fn refusal(error: &LinkError) -> Option<&Refusal> {
    match error {
        LinkError::Refused { refusal, .. } | LinkError::NotTaken { refusal, .. } => Some(refusal),
        _ => None,
    }
}

/// Tries all addresses of the name, together within the time.
pub(super) fn connect(address: &str, within: Duration) -> io::Result<TcpStream> {
    let deadline = Instant::now() + within;
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in address.to_socket_addrs()? {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        match TcpStream::connect_timeout(&address, left) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Pauses that double, with a random part: nodes that were cut off together do not dial together.
struct Pauses {
    min: Duration,
    max: Duration,
    next: Duration,
    dice: u32,
}

impl Pauses {
    fn new(options: &super::LinkOptions, address: &str) -> Self {
        let seed = crc32fast::hash(address.as_bytes()) ^ std::process::id();
        Self { min: options.pause_min, max: options.pause_max, next: options.pause_min, dice: seed }
    }

    fn reset(&mut self) {
        self.next = self.min;
    }

    /// Returns a pause between half of the current one and all of it, and doubles the current one.
    fn next(&mut self) -> Duration {
        self.dice = crc32fast::hash(&self.dice.to_le_bytes());
        let share = 0.5 + f64::from(self.dice) / f64::from(u32::MAX) / 2.0;
        let pause = self.next.mul_f64(share);
        self.next = (2 * self.next).min(self.max);
        pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_their_bound_and_begin_anew() {
        let options = super::super::LinkOptions::default();
        let mut pauses = Pauses::new(&options, "a:1");
        let mut longest = options.pause_min;
        for _ in 0..12 {
            let pause = pauses.next();
            assert!(longest / 2 <= pause && pause <= longest, "{pause:?} of {longest:?}");
            longest = (2 * longest).min(options.pause_max);
        }
        assert_eq!(longest, options.pause_max);
        pauses.reset();
        assert!(pauses.next() <= options.pause_min);
    }
}
