//! Takes connections, each into a thread of its own.

use super::{Shared, connection};
use rustix::event::{PollFd, PollFlags, poll};
use std::io::PipeReader;
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Connections served at the same time, proved or not.
const N_CONNECTIONS_MAX: usize = 4096;

/// Takes connections until the server is closed, which closes the pipe.
pub(super) fn accept(listener: &TcpListener, closing: &PipeReader, shared: &Arc<Shared>) {
    while !shared.is_closed() {
        let waiting = [listener.as_fd(), closing.as_fd()];
        // Interrupted or not: it is looked at.
        poll(&mut waiting.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)), None).ok();
        let Ok((stream, _)) = listener.accept() else { continue };
        if N_CONNECTIONS_MAX <= shared.n_connections.load(Ordering::SeqCst)
            || stream.set_nonblocking(false).is_err()
        {
            continue;
        }
        shared.n_connections.fetch_add(1, Ordering::SeqCst);
        let shared = Arc::clone(shared);
        std::thread::spawn(move || {
            if let Err(error) = connection::serve(stream, &shared)
                && error.is_news()
            {
                shared.with_intake(|intake| intake.warn(error.to_string()));
            }
            shared.n_connections.fetch_sub(1, Ordering::SeqCst);
        });
    }
}
