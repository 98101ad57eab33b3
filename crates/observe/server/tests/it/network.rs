//! A network whose connections can be cut, overheard and altered.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::spawn;

/// Forwards bytes to a server and back.
#[derive(Debug)]
pub(crate) struct Network {
    address: SocketAddr,
    open: Arc<Mutex<Vec<TcpStream>>>,
    way: Arc<Way>,
}

/// State of the traffic.
#[derive(Debug, Default)]
struct Way {
    overheard: Mutex<Vec<u8>>,
    /// Bytes sent to the collectors.
    overheard_back: Mutex<Vec<u8>>,
    lies: AtomicBool,
}

impl Network {
    pub(crate) fn before(server: SocketAddr) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("an address");
        let address = listener.local_addr().expect("an address");
        let (open, way) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Way::default()));
        let (streams, on_way) = (Arc::clone(&open), Arc::clone(&way));
        spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                let Ok(far) = TcpStream::connect(server) else { return };
                let copies = [near.try_clone(), far.try_clone()].map(|copy| copy.expect("a copy"));
                streams.lock().expect("no panic").extend(copies);
                let back = [far.try_clone(), near.try_clone()].map(|copy| copy.expect("a copy"));
                let (there_way, back_way) = (Arc::clone(&on_way), Arc::clone(&on_way));
                spawn(move || carry([near, far], &there_way, &there_way.overheard));
                spawn(move || carry(back, &back_way, &back_way.overheard_back));
            }
        });
        Self { address, open, way }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Breaks all connections, losing data in transit.
    pub(crate) fn cut(&mut self) {
        for stream in self.open.lock().expect("no panic").drain(..) {
            stream.shutdown(Shutdown::Both).ok();
        }
    }

    /// Flips a bit of the next data in either direction.
    pub(crate) fn lie_once(&self) {
        self.way.lies.store(true, Ordering::SeqCst);
    }

    /// Returns whether the bit has been flipped.
    pub(crate) fn has_lied(&self) -> bool {
        !self.way.lies.load(Ordering::SeqCst)
    }

    /// Returns all bytes sent by collectors so far.
    pub(crate) fn overheard(&self) -> Vec<u8> {
        self.way.overheard.lock().expect("no panic").clone()
    }

    /// Returns all bytes sent to collectors so far.
    pub(crate) fn overheard_back(&self) -> Vec<u8> {
        self.way.overheard_back.lock().expect("no panic").clone()
    }
}

fn carry([mut from, mut to]: [TcpStream; 2], way: &Way, overheard: &Mutex<Vec<u8>>) {
    let mut bytes = [0; 4096];
    while let Ok(n_bytes @ 1..) = from.read(&mut bytes) {
        if way.lies.swap(false, Ordering::SeqCst) {
            bytes[n_bytes - 1] ^= 1;
        }
        overheard.lock().expect("no panic").extend(&bytes[..n_bytes]);
        if to.write_all(&bytes[..n_bytes]).is_err() {
            break;
        }
    }
    to.shutdown(Shutdown::Both).ok();
}
