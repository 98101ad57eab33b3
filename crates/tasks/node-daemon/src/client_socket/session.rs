//! Connected client: checks its user, reads its requests and writes its answers.

use crate::lock;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::{io, thread};

use rustix::{net::sockopt::socket_peercred, process::geteuid};
use task_api::{ClientRequest, DaemonAnswer};

use super::message::{ANSWERS, MessageError, REQUESTS, read, write};
use super::{N_ANSWERS_MAX, Present, Shared};
use node_core::interface::{ClientId, CoreEvent};

/// Admits a client, or tells it why not.
pub(super) fn receive(shared: &Arc<Shared>, stream: UnixStream) {
    let welcomed = welcome(shared, &stream).and_then(|()| enter(shared, &stream));
    if let Err(sentence) = welcomed {
        // The client is refused, whether it reads the reason or not.
        write(&mut &stream, &DaemonAnswer::Refused { sentence }, ANSWERS).ok();
    }
}

fn welcome(shared: &Shared, stream: &UnixStream) -> Result<(), String> {
    stream
        .set_write_timeout(Some(shared.options.reads_within))
        .map_err(|error| error.to_string())?;
    let ours = geteuid();
    let peer = socket_peercred(stream).map_err(|errno| errno.to_string())?;
    if peer.uid != ours {
        return Err(format!(
            "this node belongs to user {}: start one of your own with `sintonia node start`",
            ours.as_raw()
        ));
    }
    let n_max = shared.options.n_clients_max;
    if n_max <= lock(&shared.clients).present.len() {
        return Err(format!("{n_max} clients are served already: try again when some have ended"));
    }
    Ok(())
}

fn enter(shared: &Arc<Shared>, stream: &UnixStream) -> Result<(), String> {
    let no_room = |error: io::Error| format!("the daemon has no room for a client: {error}");
    let own = || stream.try_clone().map_err(no_room);
    let (answers, waiting) = sync_channel(N_ANSWERS_MAX);
    let (mut reader, writer) = (own()?, own()?);
    let present = Present { answers, stream: own()? };
    let mut clients = lock(&shared.clients);
    clients.n_ever += 1;
    let client = ClientId(clients.n_ever);
    clients.present.insert(client, present);
    drop(clients);
    let leave = |error| {
        lock(&shared.clients).present.remove(&client);
        no_room(error)
    };
    thread::Builder::new()
        .name(format!("to client {}", client.0))
        .spawn(move || tell(&writer, &waiting))
        .map_err(leave)?;
    let owned = Arc::clone(shared);
    let heard = thread::Builder::new().name(format!("client {}", client.0)).spawn(move || {
        hear(&owned, client, &mut reader);
        // This ends its answers, and with them the thread that writes them.
        lock(&owned.clients).present.remove(&client);
        (owned.on_event)(CoreEvent::ClientGone(client));
    });
    heard.map(drop).map_err(leave)
}

/// Reads requests until the client goes.
fn hear(shared: &Shared, client: ClientId, stream: &mut UnixStream) {
    loop {
        let (sentence, is_over) = match read::<ClientRequest>(stream, REQUESTS) {
            Ok(request) => {
                (shared.on_event)(CoreEvent::FromClient { client, request });
                continue;
            }
            Err(MessageError::Io(_)) => return,
            Err(MessageError::TooLong(n_bytes)) => {
                (format!("a request of {n_bytes} bytes is too long: submit less at once"), true)
            }
            Err(MessageError::Json(error)) => (format!("this is no request: {error}"), false),
        };
        refuse(shared, client, sentence);
        if is_over {
            return;
        }
    }
}

fn refuse(shared: &Shared, client: ClientId, sentence: String) {
    if let Some(present) = lock(&shared.clients).present.get(&client) {
        // A client with unread answers waiting is disconnected by those.
        present.answers.try_send(DaemonAnswer::Refused { sentence }).ok();
    }
}

/// Writes answers until there are no more.
fn tell(stream: &UnixStream, answers: &Receiver<DaemonAnswer>) {
    for answer in answers {
        match write(&mut &*stream, &answer, ANSWERS) {
            Ok(()) => {}
            Err(MessageError::TooLong(n_bytes)) => {
                let sentence = format!("the answer has {n_bytes} bytes: ask for less at once");
                if write(&mut &*stream, &DaemonAnswer::Refused { sentence }, ANSWERS).is_err() {
                    break;
                }
            }
            Err(MessageError::Io(_) | MessageError::Json(_)) => break,
        }
    }
    // This ends the reading thread. The client may have gone before.
    stream.shutdown(Shutdown::Both).ok();
}
