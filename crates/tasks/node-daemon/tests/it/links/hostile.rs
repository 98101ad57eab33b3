//! Tests of links whose other side is not of the cluster, old, silent or lying.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Instant;

use proptest::prelude::*;

use super::{proxy::Proxy, *};

#[track_caller]
fn assert_says(node: &Node, expected: &str) {
    let said = node.problem();
    assert!(said.contains(expected), "{said}");
}

/// Bytes that a node answers to these until it hangs up.
#[track_caller]
fn answer_to(node: &Node, bytes: &[u8], then: Option<Shutdown>) -> Vec<u8> {
    let mut stream = TcpStream::connect(&node.address).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    // The node may hang up before it has read everything.
    stream.write_all(bytes).ok();
    then.map(|how| stream.shutdown(how).ok());
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        Ok(_) => answer,
        Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => answer,
        Err(error) => panic!("it does not hang up: {error}"),
    }
}

#[test]
fn who_has_another_key_gets_nothing() {
    let (a, b) = (node_with("a", ClusterKey::of([8; 32]), options()), node("b"));
    a.links.dial(&b.address);
    assert_says(&b, "`127.0.0.1` does not have the key of this cluster");
    assert_says(&a, "hung up when it saw this node's key");
    assert_eq!(a.links.send(b.id, vec![1]), Err(node_daemon::links::SendError::NotLinked));
}

#[test]
fn garbage_gets_nothing_but_a_sentence() {
    let a = node("a");
    assert_eq!(answer_to(&a, b"GET / HTTP/1.1\r\n\r\n", None), b"");
    assert_says(&a, "`127.0.0.1` does not speak like a node of a cluster");
    let record = [b"sintonia\x00\x40".as_slice(), &[9; 64]].concat();
    assert_eq!(answer_to(&a, &record, None), b"");
    assert_says(&a, "does not have the key of this cluster");
    assert_eq!(answer_to(&a, &record[..20], Some(Shutdown::Write)), b"");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn no_garbage_hurts(bytes in proptest::collection::vec(any::<u8>(), 0..300), magic: bool) {
        thread_local! { static A: Node = node("a") }
        let bytes = if magic { [b"sintonia".to_vec(), bytes].concat() } else { bytes };
        A.with(|a| assert_eq!(answer_to(a, &bytes, Some(Shutdown::Write)), b""));
    }
}

#[test]
fn another_version_is_told_so_on_both_sides() {
    let old = LinkOptions { version: 0, ..options() };
    let (a, b) = (node_with("a", ClusterKey::of([7; 32]), old), node("b"));
    a.links.dial(&b.address);
    assert_says(&b, "this node refuses `127.0.0.1`: versions 4 and 0 do not understand each other");
    assert_says(&a, "refuses this node: versions 0 and 4 do not understand each other");
}

#[test]
fn who_says_nothing_is_not_waited_for() {
    let a = node("a");
    let silent = TcpStream::connect(&a.address).unwrap();
    assert_says(&a, "`127.0.0.1` sent nothing for 800 ms");
    drop(silent);
    // Single bytes now and then do not extend the deadline.
    let mut slow = TcpStream::connect(&a.address).unwrap();
    slow.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    let deadline = Instant::now() + DEADLINE;
    let hung_up = |slow: &mut TcpStream| match slow.read(&mut [0; 1]) {
        Ok(0) => true,
        Ok(_) => panic!("it answers"),
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
    };
    slow.write_all(b"sintonia\xff\xff").unwrap();
    while !hung_up(&mut slow) {
        assert!(Instant::now() < deadline, "it waits");
        slow.write_all(b"x").ok();
    }
    // An address that accepts connections but is no node does not block the dialing node.
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = nobody.local_addr().unwrap().to_string();
    a.links.dial(&address);
    assert_says(&a, &format!("`{address}` sent nothing for 800 ms"));
}

/// Fault: eighty silent connections kept new nodes out of a cluster.
#[test]
fn strangers_that_say_nothing_keep_no_node_out() {
    let narrow = LinkOptions { n_handshakes_max: 4, handshake_timeout: 10 * DEADLINE, ..options() };
    let a = node_with("a", ClusterKey::of([7; 32]), narrow);
    let strangers: Vec<_> = (0..80).map(|_| TcpStream::connect(&a.address).unwrap()).collect();
    let b = node("b");
    b.links.dial(&a.address);
    until(|| matches!(a.event(), LinkEvent::Up(_)), "room for a node");
    drop(strangers);
}

/// Many nodes behind one address are let in, even when all of them connect at once.
#[test]
fn many_nodes_of_one_machine_are_linked_at_once() {
    const N_NODES: usize = 24;
    let narrow = LinkOptions { n_handshakes_max: 8, n_handshakes_per_address_max: 6, ..options() };
    let a = node_with("a", ClusterKey::of([7; 32]), narrow);
    let others: Vec<_> = (0..N_NODES).map(|number| node(&format!("n{number}"))).collect();
    others.iter().for_each(|other| other.links.dial(&a.address));
    let mut n_up = 0;
    let one_more = || {
        n_up += usize::from(matches!(a.event(), LinkEvent::Up(_)));
        n_up == N_NODES
    };
    until(one_more, "links to all nodes");
}

/// Fault: any client could fill the log, when each connection from one address sent something else.
#[test]
fn a_flood_of_strangers_is_told_in_few_sentences() {
    let a = node("a");
    for number in 0..200_u16 {
        let record = [b"sintonia\x00\x40".as_slice(), &[9; 64]].concat();
        let said = if number % 2 == 0 { b"GET / HTTP/1.1\r\n".to_vec() } else { record };
        assert_eq!(answer_to(&a, &said, Some(Shutdown::Write)), b"");
    }
    let b = node("b");
    b.links.dial(&a.address);
    let mut n_told = 0;
    let is_linked = || match a.event() {
        LinkEvent::Up(_) => true,
        LinkEvent::Failed { .. } => {
            n_told += 1;
            false
        }
        other => panic!("{other:?}"),
    };
    until(is_linked, "a link");
    assert_eq!(n_told, 2, "each sentence once");
}

#[test]
fn a_changed_byte_ends_the_link_and_another_is_made() {
    let (a, b) = (node("a"), node("b"));
    let network = Proxy::to(&b.address);
    a.links.dial(&network.address);
    assert_eq!((a.up(), b.up()), ("b".to_owned(), "a".to_owned()));
    network.lie_once();
    a.send(&b, b"changed on the way");
    assert_says(&b, "`a` sent an invalid message");
    a.reaches(&b, b"again");
}

#[test]
fn who_repeats_what_was_said_is_not_let_in() {
    let (a, b) = (node("a"), node("b"));
    let network = Proxy::to(&b.address);
    a.links.dial(&network.address);
    assert_eq!((a.up(), b.up()), ("b".to_owned(), "a".to_owned()));
    a.send(&b, b"secret");
    assert_eq!(b.message(), b"secret");
    let overheard = network.overheard();
    drop((a, network));
    assert_says(&b, "`a` ended the connection");
    let answer = answer_to(&b, &overheard, None);
    assert!(!contains(&answer, b"127.0.0.1"), "{answer:?}");
    assert_says(&b, "`127.0.0.1` sent an invalid message");
}

fn contains(bytes: &[u8], text: &[u8]) -> bool {
    bytes.windows(text.len()).any(|window| window == text)
}

#[test]
fn a_name_that_is_taken_is_refused() {
    let (first, second, b) = (node("a"), node("a"), node("b"));
    first.links.dial(&b.address);
    assert_eq!(b.up(), "a");
    second.links.dial(&b.address);
    let expected = format!("the name `a` is taken by the node at `{}`", first.address);
    assert_says(&second, &expected);
    assert_says(&b, &expected);
    second.links.dial(&first.address);
    assert_says(&second, &expected);
}
