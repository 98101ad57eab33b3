//! Serves pages for browsers and metrics for Prometheus, over HTTP/1.1, and takes orders of the page's buttons.
//!
//! Any user of the machine, or of the network, can connect to a port. So every request needs a key: in the address
//! (`?key=...`) or in the header `Authorization: Bearer ...`. The key is in a file that only the owner can read.
//! Since nothing is answered without it, a page of another site cannot read anything through the owner's browser
//! either.
//!
//! `hyper` reads requests and writes answers. A connection is served in a thread of its own, so that a page may wait
//! for the daemon without holding up another one.
//!
//! # Invariants
//! - Heads, bodies, connections and times are bounded: a client that sends nothing, or too much, is disconnected.
//! - Only `POST` changes anything, with the key in its header and from a page of this server.
//!
//! # Not here
//! The contents of the pages and the meaning of orders: the caller gives a function for them. Encryption: on addresses
//! other than this machine's, users need a tunnel.

mod connection;
mod key;
mod request;

use channel::{Acceptor, StrangerLimits, Unauthenticated};
use connection::WebServer;
pub use key::{WebKey, WebKeyError};
pub use request::{PageRefusal, PageRequest};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

/// Bounds on connections that have not shown the key.
const STRANGERS: StrangerLimits = StrangerLimits { n_max: 64, n_per_address_max: 48 };

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Status code of HTTP.
    pub status: u16,
    /// Media type.
    pub kind: &'static str,
    /// Text of the page.
    pub text: String,
}

impl Page {
    /// Answer to a request that could be met.
    pub fn new(kind: &'static str, text: String) -> Self {
        Self { status: 200, kind, text }
    }

    /// Answer to a request that could not be met: reason and remedy in a sentence.
    pub fn refusal(status: u16, sentence: &str) -> Self {
        Self { status, kind: "text/plain; charset=utf-8", text: format!("{sentence}\n") }
    }
}

/// Function that serves pages and takes orders; returns `None` where there is no such page.
pub type PageServer = dyn Fn(&PageRequest) -> Option<Page> + Send + Sync;

/// Error: the address cannot be listened on.
#[derive(Debug, thiserror::Error)]
#[error(
    "`--web {address}` cannot be listened on; name an address of this machine and a free port, 0 for any"
)]
pub struct WebError {
    address: SocketAddr,
    source: io::Error,
}

/// Serves until the process ends; returns the address, with the port that was chosen.
///
/// # Errors
/// When the address cannot be listened on, or no thread can be started.
pub fn serve(
    address: SocketAddr,
    key: WebKey,
    site: Arc<PageServer>,
) -> Result<SocketAddr, WebError> {
    let failed = |source| WebError { address, source };
    let listener = channel::listen(address).map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    let unauthenticated = Arc::new(Unauthenticated::new(STRANGERS));
    let server = WebServer::new(key, site);
    let receive = move |accepted| {
        // A client that has gone away needs no answer.
        server.serve(accepted).ok();
    };
    Acceptor::open(listener, unauthenticated, "web", receive).map_err(failed)?;
    Ok(bound)
}

#[cfg(test)]
mod tests;
