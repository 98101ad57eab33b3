//! Tests of a node's client socket, with real clients.

use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use crate::{DEADLINE, until};
use node_core::interface::CoreEvent;
use node_daemon::client_socket::{
    Client, ClientError, ClientSocket, ClientSocketError, ClientSocketOptions, REQUEST_BYTES_MAX,
    SOCKET,
};
use node_daemon::links::{ClusterKey, Hello, LinkOptions, Links};
use task_api::{ClientRequest, DaemonAnswer, PROTOCOL_VERSION};

/// A daemon that greets, and answers each [`ClientRequest::Nodes`] with no nodes.
struct Daemon {
    client_socket: Arc<ClientSocket>,
    gone: mpsc::Receiver<()>,
}

fn daemon(state: &Path, options: ClientSocketOptions) -> Result<Daemon, ClientSocketError> {
    let (ask, asked) = mpsc::channel();
    let (tell, gone) = mpsc::channel();
    let on_event = Arc::new(move |event| drop(ask.send(event)));
    let client_socket = Arc::new(ClientSocket::open(state, "alpha", options, on_event)?);
    let answering = Arc::downgrade(&client_socket);
    std::thread::spawn(move || {
        for event in asked {
            let Some(client_socket) = answering.upgrade() else { return };
            match event {
                CoreEvent::FromClient { client, request: ClientRequest::Hello { .. } } => {
                    let node = "alpha".to_owned();
                    client_socket
                        .answer(client, DaemonAnswer::Hello { version: PROTOCOL_VERSION, node });
                }
                CoreEvent::FromClient { client, .. } => {
                    client_socket.answer(client, DaemonAnswer::Nodes { nodes: Vec::new() });
                }
                _ => drop(tell.send(())),
            }
        }
    });
    Ok(Daemon { client_socket, gone })
}

fn state() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn frame(bytes: &[u8]) -> Vec<u8> {
    [u32::try_from(bytes.len()).unwrap().to_le_bytes().as_slice(), bytes].concat()
}

fn answer(stream: &mut UnixStream) -> DaemonAnswer {
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    let mut length = [0; 4];
    stream.read_exact(&mut length).unwrap();
    let mut json = vec![0; u32::from_le_bytes(length) as usize];
    stream.read_exact(&mut json).unwrap();
    serde_json::from_slice(&json).unwrap()
}

#[track_caller]
fn assert_refused(answer: &DaemonAnswer, expected: &str) {
    let DaemonAnswer::Refused { sentence } = answer else { panic!("{answer:?}") };
    assert!(sentence.contains(expected), "{sentence}");
}

#[test]
fn many_clients_are_answered_and_their_end_is_heard() {
    let state = state();
    let daemon = daemon(state.path(), ClientSocketOptions::default()).unwrap();
    let mut clients: Vec<_> = (0..50).map(|_| Client::connect(state.path()).unwrap()).collect();
    for client in &mut clients {
        assert_eq!(client.node(), "alpha");
        assert_eq!(
            client.ask(&ClientRequest::Nodes).unwrap(),
            DaemonAnswer::Nodes { nodes: Vec::new() }
        );
    }
    assert_eq!(daemon.client_socket.n_clients(), 50);
    drop(clients);
    for _ in 0..50 {
        daemon.gone.recv_timeout(DEADLINE).unwrap();
    }
    assert_eq!(daemon.client_socket.n_clients(), 0);
}

#[test]
fn a_live_daemon_is_named_and_a_dead_one_is_replaced() {
    let state = state();
    std::os::unix::net::UnixListener::bind(state.path().join("node.sock")).unwrap();
    let first = daemon(state.path(), ClientSocketOptions::default()).unwrap();
    let error = daemon(state.path(), ClientSocketOptions::default()).err().unwrap().to_string();
    let expected = format!("the node `alpha`, process {} already serves", std::process::id());
    assert!(error.starts_with(&expected), "{error}");
    Client::connect(state.path()).unwrap();
    drop(first);
    until(|| !state.path().join("node.sock").exists(), "the end of the door");
    let error = Client::connect(state.path()).unwrap_err().to_string();
    assert!(error.contains("no daemon listens at `") && error.contains("node start"), "{error}");
    until(|| daemon(state.path(), ClientSocketOptions::default()).is_ok(), "another door");
}

#[test]
fn what_is_no_request_is_refused_and_the_next_is_heard() {
    let state = state();
    let _daemon = daemon(state.path(), ClientSocketOptions::default()).unwrap();
    let mut stream = UnixStream::connect(state.path().join("node.sock")).unwrap();
    for garbage in [b"".as_slice(), b"{", b"[]", b"\xff\xfe", br#"{"request":"unheard-of"}"#] {
        stream.write_all(&frame(garbage)).unwrap();
        assert_refused(&answer(&mut stream), "this is no request");
    }
    stream.write_all(&frame(br#"{"request":"nodes"}"#)).unwrap();
    assert_eq!(answer(&mut stream), DaemonAnswer::Nodes { nodes: Vec::new() });
    let length = u32::try_from(REQUEST_BYTES_MAX + 1).unwrap();
    stream.write_all(&length.to_le_bytes()).unwrap();
    assert_refused(&answer(&mut stream), "is too long");
    assert_eq!(stream.read(&mut [0; 1]).unwrap(), 0, "and is let go");
}

#[test]
fn so_many_clients_and_no_more() {
    let state = state();
    let options = ClientSocketOptions { n_clients_max: 2, ..ClientSocketOptions::default() };
    let daemon = daemon(state.path(), options).unwrap();
    let clients: Vec<_> = (0..2).map(|_| Client::connect(state.path()).unwrap()).collect();
    let error = Client::connect(state.path()).unwrap_err();
    assert!(
        matches!(&error, ClientError::Refused(sentence) if sentence.contains("2 clients")),
        "{error:?}"
    );
    drop(clients);
    until(|| daemon.client_socket.n_clients() == 0, "room");
    Client::connect(state.path()).unwrap();
}

#[test]
fn who_asks_and_does_not_read_is_let_go() {
    let state = state();
    let options = ClientSocketOptions {
        reads_within: Duration::from_millis(200),
        ..ClientSocketOptions::default()
    };
    let daemon = daemon(state.path(), options).unwrap();
    let stream = UnixStream::connect(state.path().join("node.sock")).unwrap();
    stream.set_write_timeout(Some(DEADLINE)).unwrap();
    let request = frame(br#"{"request":"nodes"}"#);
    until(|| (&stream).write_all(&request.repeat(100)).is_err(), "the end of its patience");
    daemon.gone.recv_timeout(DEADLINE).unwrap();
    assert_eq!(daemon.client_socket.n_clients(), 0);
    Client::connect(state.path()).unwrap();
}

/// Connects as another user, and prints what it receives.
const STRANGER: &str = "use Socket; socket(S, PF_UNIX, SOCK_STREAM, 0) or die; \
    connect(S, sockaddr_un($ARGV[0])) or die \"closed: $!\"; local $/; print <S>;";

#[test]
fn another_user_is_sent_away_although_the_folder_is_open() {
    use std::os::unix::fs::PermissionsExt;

    // Only the superuser can act as another user.
    if std::fs::metadata("/proc/self").unwrap().uid() != 0 {
        return;
    }
    let state = state();
    let daemon = daemon(state.path(), ClientSocketOptions::default()).unwrap();
    let socket = state.path().join("node.sock");
    let stranger = || {
        let mut command = std::process::Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "perl", "-e", STRANGER]);
        command.arg(&socket).output().unwrap()
    };
    let kept_out = stranger();
    assert!(
        String::from_utf8_lossy(&kept_out.stderr).contains("Permission denied"),
        "{kept_out:?}"
    );
    for path in [state.path(), &socket] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777)).unwrap();
    }
    let sent_away = stranger();
    let said = String::from_utf8_lossy(&sent_away.stdout).into_owned();
    assert!(said.contains("this node belongs to user 0"), "{sent_away:?}");
    assert_eq!(daemon.client_socket.n_clients(), 0);
}

/// Links of a daemon with this state folder.
fn links(state: &Path, key: &ClusterKey) -> Links {
    let clients_at = Some(state.join(SOCKET));
    let options = LinkOptions { clients_at, ..LinkOptions::default() };
    let (name, address) = ("alpha".to_owned(), "alpha:1".to_owned());
    let me = Hello { name, address, incarnation: 1 };
    let place = "127.0.0.1:0".parse().unwrap();
    Links::open(place, me, key.clone(), options, Arc::new(|_| ())).unwrap()
}

#[test]
fn a_client_on_another_host_needs_the_key_and_is_served_as_others() {
    let state = state();
    let served = daemon(state.path(), ClientSocketOptions::default()).unwrap();
    let key = ClusterKey::of([7; 32]);
    let links = links(state.path(), &key);
    let address = links.listens_on().unwrap().to_string();
    let mut client = Client::connect_to(&address, &key).unwrap();
    assert_eq!(client.node(), "alpha");
    for _ in 0..3 {
        let answer = client.ask(&ClientRequest::Nodes).unwrap();
        assert!(matches!(answer, DaemonAnswer::Nodes { .. }), "{answer:?}");
    }
    let why = Client::connect_to(&address, &ClusterKey::of([8; 32])).unwrap_err().to_string();
    assert!(why.contains("hung up when it saw this node's key"), "{why}");
    drop(client);
    served.gone.recv_timeout(DEADLINE).expect("the daemon knows that the client has gone");
    let mut client = Client::connect_to(&address, &key).unwrap();
    drop(served);
    assert!(matches!(client.next_answer(), Err(ClientError::Ended(_))));
}
