//! Tests of links among nodes of one cluster.

use node_daemon::links::SendError;

use super::{proxy::Proxy, *};

#[test]
fn messages_of_all_lengths_arrive_in_order() {
    // Long messages take a while on a busy machine; this must not count as silence.
    let patient = LinkOptions { silent_after: DEADLINE, reads_within: DEADLINE, ..options() };
    let a = node_with("a", ClusterKey::of([7; 32]), patient.clone());
    let b = node_with("b", ClusterKey::of([7; 32]), patient);
    a.links.dial(&b.address);
    assert_eq!((a.up(), b.up()), ("b".to_owned(), "a".to_owned()));
    let lengths = [1, 2, 65_514, 65_515, 65_516, 131_034, 1 << 20];
    for (value, length) in (1..).zip(lengths) {
        a.send(&b, &vec![value; length]);
        b.send(&a, &vec![value + 100; length]);
    }
    for (value, length) in (1..).zip(lengths) {
        assert!(b.message() == vec![value; length], "{length} bytes from a");
        assert!(a.message() == vec![value + 100; length], "{length} bytes from b");
    }
    let too_long = vec![0; options().message_bytes_max + 1];
    assert_eq!(a.links.send(b.id, too_long), Err(SendError::TooLong));
    assert_eq!(a.links.send(a.id, vec![1]), Err(SendError::NotLinked));
}

/// Options of links that are let go soon.
fn resting() -> LinkOptions {
    LinkOptions {
        heartbeat: Duration::from_millis(20),
        rest_after: Duration::from_millis(100),
        ..options()
    }
}

#[test]
fn a_link_is_made_when_a_message_needs_it_and_let_go_when_none_does() {
    let key = || ClusterKey::of([7; 32]);
    let (a, b) = (node_with("a", key(), resting()), node_with("b", key(), resting()));
    assert_eq!(a.links.send(b.id, vec![1]), Err(SendError::NotLinked), "where b is, is not known");
    a.knows(&b);
    b.knows(&a);
    for round in 0..5 {
        for part in 0..3 {
            a.links.send(b.id, vec![round, part]).unwrap();
        }
        assert_eq!((a.up(), b.up()), ("b".to_owned(), "a".to_owned()), "round {round}");
        for part in 0..3 {
            assert_eq!(b.message(), [round, part]);
        }
        b.send(&a, &[9, round]);
        assert_eq!(a.message(), [9, round]);
        for node in [&a, &b] {
            let event = node.event();
            assert!(matches!(event, LinkEvent::Rested(_)), "round {round}: {event:?}");
        }
    }
    drop(b);
    a.links.send(node_id("b"), vec![1]).unwrap();
    assert!(matches!(a.event(), LinkEvent::Unreached(id) if id == node_id("b")));
}

/// Both send again and again just when links are let go: nothing is lost, and nothing is told twice.
#[test]
fn what_is_sent_while_a_link_is_let_go_arrives() {
    let key = || ClusterKey::of([7; 32]);
    let brief = || LinkOptions {
        heartbeat: Duration::from_millis(5),
        rest_after: Duration::from_millis(10),
        ..options()
    };
    let (a, b) = (node_with("a", key(), brief()), node_with("b", key(), brief()));
    a.knows(&b);
    b.knows(&a);
    let mut pause = Duration::from_millis(8);
    for number in 0..200_u8 {
        a.links.send(b.id, vec![1, number]).unwrap();
        std::thread::sleep(pause);
        b.links.send(a.id, vec![2, number]).unwrap();
        std::thread::sleep(pause);
        pause = Duration::from_micros(8_000 + 41 * u64::from(number) % 6_000);
    }
    let heard = |node: &Node| {
        let mut heard = Vec::new();
        let all = || {
            let messages = node.events.try_iter().filter_map(|event| match event {
                LinkEvent::Message { bytes, .. } => Some(bytes[1]),
                _ => None,
            });
            heard.extend(messages);
            heard.len() == 200
        };
        until(all, "all messages");
        heard.sort_unstable();
        heard
    };
    let all: Vec<u8> = (0..200).collect();
    assert!(heard(&a) == all && heard(&b) == all);
}

#[test]
fn two_that_dial_at_once_get_one_link() {
    for round in 0..20_u8 {
        let (a, b) = (node("a"), node("b"));
        a.links.dial(&b.address);
        b.links.dial(&a.address);
        a.reaches(&b, &[round, 1]);
        b.reaches(&a, &[round, 2]);
        let quiet = || {
            // A connection that loses against the other ends soon; then both sides agree for good.
            let events: Vec<_> = a.events.try_iter().chain(b.events.try_iter()).collect();
            !events.iter().any(|event| matches!(event, LinkEvent::Failed { .. }))
        };
        assert!(quiet(), "round {round}");
    }
}

#[test]
fn who_dials_itself_stays_alone() {
    let (a, b) = (node("a"), node("b"));
    a.links.dial(&a.address);
    a.links.dial(&b.address);
    assert_eq!(a.up(), "b", "and nothing was told before");
}

#[test]
fn a_link_that_was_cut_is_made_again() {
    let (a, b) = (node("a"), node("b"));
    let port = b.address.clone();
    a.links.dial(&port);
    assert_eq!((a.up(), b.up()), ("b".to_owned(), "a".to_owned()));
    drop(b);
    let said = a.problem();
    assert!(said.starts_with("`b` ended the connection"), "{said}");
    let (tell, events) = mpsc::channel();
    let me = Hello { name: "b".to_owned(), address: port.clone(), incarnation: 2 };
    let on_event = Arc::new(move |event| drop(tell.send(event)));
    let key = ClusterKey::of([7; 32]);
    let again = Links::open(port.parse().unwrap(), me, key, options(), on_event).unwrap();
    until(|| matches!(a.event(), LinkEvent::Up(hello) if hello.incarnation == 2), "another b");
    drop((again, events));
}

#[test]
fn a_partition_is_noticed_on_both_sides_and_heals() {
    let (a, b) = (node("a"), node("b"));
    let network = Proxy::to(&b.address);
    a.links.dial(&network.address);
    assert_eq!((a.up(), b.up()), ("b".to_owned(), "a".to_owned()));
    network.freeze(true);
    for (here, there) in [(&a, "`b`"), (&b, "`a`")] {
        let said = here.problem();
        assert!(said.starts_with(there) && said.contains("sent nothing for 800 ms"), "{said}");
    }
    network.freeze(false);
    a.reaches(&b, b"healed");
    b.reaches(&a, b"healed");
}

#[test]
fn what_a_frozen_peer_does_not_read_is_bounded() {
    let patient = LinkOptions { silent_after: DEADLINE, reads_within: DEADLINE, ..options() };
    let a = node_with("a", ClusterKey::of([7; 32]), patient.clone());
    let b = node_with("b", ClusterKey::of([7; 32]), patient);
    let network = Proxy::to(&b.address);
    a.links.dial(&network.address);
    assert_eq!(a.up(), "b");
    network.freeze(true);
    let megabyte = vec![1; 1 << 20];
    let mut n_sent = 0;
    until(
        || {
            let sent = a.links.send(b.id, megabyte.clone());
            n_sent += usize::from(sent.is_ok());
            sent == Err(SendError::Full)
        },
        "a full queue",
    );
    // Sixteen wait, one is being written, and the system holds some.
    assert!((16..64).contains(&n_sent), "{n_sent}");
}

/// An IPv6 address is in brackets where a port follows; one listener takes both kinds.
#[test]
fn nodes_are_linked_over_ipv6() {
    let (a, b) = (node_at("[::1]:0", "a", ClusterKey::of([7; 32]), options()), node("b"));
    assert!(a.address.starts_with("[::1]:"), "{}", a.address);
    b.links.dial(&a.address);
    assert_eq!((a.up(), b.up()), ("b".to_owned(), "a".to_owned()));
    b.send(&a, b"over there");
    assert_eq!(a.message(), b"over there");
    let both = node_at("[::]:0", "c", ClusterKey::of([7; 32]), options());
    b.links.dial(&both.address.replace("[::]", "127.0.0.1"));
    assert_eq!((both.up(), b.up()), ("b".to_owned(), "c".to_owned()));
}
