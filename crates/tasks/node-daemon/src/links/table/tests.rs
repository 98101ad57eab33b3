//! Which connections may become links.

use super::*;

fn hello(name: &str, address: &str, incarnation: u64) -> Hello {
    Hello { name: name.to_owned(), address: address.to_owned(), incarnation }
}

/// Checks the answer of node `b` to a connection, with or without an existing link (and whether `b` dialed
/// that).
#[track_caller]
fn check(linked: Option<(Hello, bool)>, new: (Hello, bool), expected: Result<(), Refusal>) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut state = State::default();
    if let Some((hello, dialed)) = linked {
        let stream = Arc::new(TcpStream::connect(listener.local_addr().unwrap()).unwrap());
        let queue = sync_channel(1).0;
        let n_queued_bytes = Arc::default();
        let entry =
            Entry { hello: hello.clone(), number: 1, dialed, queue, n_queued_bytes, stream };
        state.links.insert(hello.id(), entry);
    }
    assert_eq!(state.judge(&hello("b", "b:1", 5), &new.0, new.1), expected);
}

#[test]
fn one_connection_stays_and_both_sides_choose_the_same() {
    let (a, c) = (|| hello("a", "a:1", 7), || hello("c", "c:1", 7));
    let (by_me, by_peer) = (true, false);
    check(None, (a(), by_peer), Ok(()));
    check(None, (c(), by_me), Ok(()));
    // `a` is smaller than `b`: its dial stays. `c` is greater: that of `b` stays.
    check(Some((a(), by_me)), (a(), by_peer), Ok(()));
    check(Some((a(), by_peer)), (a(), by_me), Err(Refusal::Linked));
    check(Some((c(), by_me)), (c(), by_peer), Err(Refusal::Linked));
    check(Some((c(), by_peer)), (c(), by_me), Ok(()));
    check(Some((a(), by_peer)), (a(), by_peer), Ok(()));
}

#[test]
fn a_name_belongs_to_one_daemon() {
    let taken = |name: &str, by: &str, since| {
        Err(Refusal::NameTaken { name: name.to_owned(), by: by.to_owned(), since })
    };
    let linked = || Some((hello("a", "a:1", 7), true));
    check(None, (hello("b", "b:1", 5), true), Err(Refusal::Itself));
    check(None, (hello("b", "x:1", 6), false), taken("b", "b:1", 5));
    check(linked(), (hello("a", "x:1", 8), false), taken("a", "a:1", 7));
    check(linked(), (hello("a", "a:1", 6), false), taken("a", "a:1", 7));
    check(linked(), (hello("a", "a:1", 8), false), Ok(()));
}
