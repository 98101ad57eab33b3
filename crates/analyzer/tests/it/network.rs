//! A network that can be cut: connections through it break, later ones are made again.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread::spawn;

/// Carries bytes to a server and back.
#[derive(Debug)]
pub(crate) struct Network {
    address: SocketAddr,
    open: Arc<Mutex<Vec<TcpStream>>>,
}

impl Network {
    pub(crate) fn before(server: SocketAddr) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("an address");
        let address = listener.local_addr().expect("an address");
        let open = Arc::new(Mutex::new(Vec::new()));
        let streams = Arc::clone(&open);
        spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                let Ok(far) = TcpStream::connect(server) else { return };
                let copies = [near.try_clone(), far.try_clone()].map(|copy| copy.expect("a copy"));
                streams.lock().expect("no panic").extend(copies);
                let back = [far.try_clone(), near.try_clone()].map(|copy| copy.expect("a copy"));
                spawn(move || carry([near, far]));
                spawn(move || carry(back));
            }
        });
        Self { address, open }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Breaks all connections, with what is on its way.
    pub(crate) fn cut(&mut self) {
        for stream in self.open.lock().expect("no panic").drain(..) {
            stream.shutdown(Shutdown::Both).ok();
        }
    }
}

fn carry([mut from, mut to]: [TcpStream; 2]) {
    let mut bytes = [0; 4096];
    while let Ok(n_bytes @ 1..) = from.read(&mut bytes) {
        if to.write_all(&bytes[..n_bytes]).is_err() {
            break;
        }
    }
    to.shutdown(Shutdown::Both).ok();
}
