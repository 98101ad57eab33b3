//! Network between two nodes that can be cut, frozen and made to change bytes.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// Proxy that passes connections on to another address.
pub(crate) struct Proxy {
    pub(crate) address: String,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    frozen: AtomicBool,
    /// Number of the next pieces towards the listening node that are changed.
    n_lies: AtomicUsize,
    /// Bytes that were sent to the listening node.
    overheard: Mutex<Vec<u8>>,
    ended: AtomicBool,
    streams: Mutex<Vec<TcpStream>>,
}

impl Proxy {
    pub(crate) fn to(address: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let shared = Arc::new(Shared::default());
        let own = listener.local_addr().unwrap().to_string();
        let (target, passing) = (address.to_owned(), Arc::clone(&shared));
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if passing.ended.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(server) = TcpStream::connect(&target) else { continue };
                passing.streams.lock().unwrap().push(client.try_clone().unwrap());
                pass(client.try_clone().unwrap(), server.try_clone().unwrap(), &passing, true);
                pass(server, client, &passing, false);
            }
        });
        Self { address: own, shared }
    }

    pub(crate) fn freeze(&self, frozen: bool) {
        self.shared.frozen.store(frozen, Ordering::Relaxed);
    }

    /// Ends all connections.
    pub(crate) fn cut(&self) {
        for stream in self.shared.streams.lock().unwrap().drain(..) {
            // The connection may have ended already.
            stream.shutdown(Shutdown::Both).ok();
        }
    }

    pub(crate) fn lie_once(&self) {
        self.shared.n_lies.store(1, Ordering::Relaxed);
    }

    pub(crate) fn overheard(&self) -> Vec<u8> {
        self.shared.overheard.lock().unwrap().clone()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Relaxed);
        self.freeze(false);
        // Wakes the thread that waits for connections.
        TcpStream::connect(&self.address).ok();
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, shared: &Arc<Shared>, forth: bool) {
    let shared = Arc::clone(shared);
    thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(n_bytes @ 1..) = from.read(&mut buffer) {
            while shared.frozen.load(Ordering::Relaxed) {
                thread::park_timeout(Duration::from_millis(5));
            }
            let bytes = &mut buffer[..n_bytes];
            if forth && shared.n_lies.swap(0, Ordering::Relaxed) == 1 {
                bytes[n_bytes - 1] ^= 1;
            }
            if forth {
                shared.overheard.lock().unwrap().extend_from_slice(bytes);
            }
            if to.write_all(bytes).is_err() {
                break;
            }
        }
        // Either side may have ended already.
        from.shutdown(Shutdown::Both).ok();
        to.shutdown(Shutdown::Both).ok();
    });
}
