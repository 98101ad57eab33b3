//! Orders and answers, also with a broken other side.

use crate::{pair, ring_crate};
use proptest::prelude::*;
use ring_crate::control::{ANSWER_BYTES_MAX, ORDER_BYTES_MAX};
use ring_crate::layout::{CONTROL_OFFSET, ORDERS_OFFSET};
use std::os::unix::fs::FileExt;
use std::time::Duration;

/// Offsets in the control area (`layout::ControlHeader`): orders written, and taken.
const WRITTEN: u64 = 64;
const TAKEN: u64 = 128;

#[test]
fn a_process_that_does_not_listen_has_no_mailboxes() {
    let pair = pair(1, 8, 0);
    assert!(pair.reader.orders().is_none() && pair.reader.answers().is_none());
    let _mailboxes = pair.writer.open_control().expect("room for the mailboxes");
    assert!(pair.reader.orders().is_some() && pair.reader.answers().is_some());
}

#[test]
fn orders_and_answers_arrive_in_order() {
    let pair = pair(1, 8, 0);
    let (mut orders, mut answers) = pair.writer.open_control().expect("room for the mailboxes");
    let mut down = pair.reader.orders().expect("the process listens");
    let mut up = pair.reader.answers().expect("the process listens");
    assert_eq!((orders.pop(), up.pop()), (None, None));
    assert!(down.push(b"first") && down.push(b"") && down.push(b"third"));
    assert!(answers.push(b"yes"));
    assert!(!down.is_empty());
    assert_eq!(orders.pop().as_deref(), Some(&b"first"[..]));
    // A collector that replaces another one continues where that one stopped.
    assert!(pair.reader.orders().expect("the process listens").push(b"fourth"));
    let rest: Vec<_> = std::iter::from_fn(|| orders.pop()).collect();
    assert_eq!(rest, [b"".to_vec(), b"third".to_vec(), b"fourth".to_vec()]);
    assert_eq!((up.pop().as_deref(), up.pop()), (Some(&b"yes"[..]), None));
    assert!(down.is_empty());
}

#[test]
fn a_full_mailbox_refuses_and_loses_nothing_that_is_in_it() {
    let pair = pair(1, 8, 0);
    let (mut orders, mut answers) = pair.writer.open_control().expect("room for the mailboxes");
    let mut down = pair.reader.orders().expect("the process listens");
    assert!(!down.push(&vec![1; ORDER_BYTES_MAX + 1]));
    assert!(down.push(&vec![2; ORDER_BYTES_MAX]));
    assert!(!down.push(b""), "a length needs room, too");
    assert_eq!(orders.pop(), Some(vec![2; ORDER_BYTES_MAX]));
    assert!(down.push(b"again"));
    assert_eq!(orders.pop().as_deref(), Some(&b"again"[..]));

    let mut up = pair.reader.answers().expect("the process listens");
    assert!(answers.push(&vec![3; ANSWER_BYTES_MAX]));
    assert!(!answers.push(b"no room"));
    assert_eq!(up.n_lost(), 1);
    assert_eq!(up.pop(), Some(vec![3; ANSWER_BYTES_MAX]));
}

#[test]
fn a_bell_wakes_who_sleeps() {
    let pair = pair(1, 8, 0);
    let (mut orders, _answers) = pair.writer.open_control().expect("room for the mailboxes");
    let sleeper = std::thread::spawn(move || {
        loop {
            let n_rings = orders.bell().n_rings();
            if let Some(order) = orders.pop() {
                return order;
            }
            orders.bell().wait(n_rings, Duration::from_secs(60));
        }
    });
    assert!(pair.reader.orders().expect("the process listens").push(b"wake"));
    assert_eq!(sleeper.join().expect("it ends"), b"wake");
}

/// Sends three orders and overwrites the mailbox with `bytes` at `offset` of the control area while it holds the
/// middle one: the last order arrives, and no order arrives that was not sent.
#[track_caller]
fn check_overwritten(offset: u64, bytes: &[u8], expected: &[&[u8]]) {
    let pair = pair(1, 8, 0);
    let (mut orders, _answers) = pair.writer.open_control().expect("room for the mailboxes");
    let mut down = pair.reader.orders().expect("the process listens");
    assert!(down.push(b"first"));
    let mut heard: Vec<_> = orders.pop().into_iter().collect();
    assert!(down.push(b"middle"));
    let file = std::fs::File::options().write(true).open(pair.writer.path()).expect("our segment");
    file.write_all_at(bytes, CONTROL_OFFSET as u64 + offset).expect("inside");
    heard.extend(orders.pop());
    for order in [&b"next"[..], b"last"] {
        assert!(down.push(order), "{offset}: the mailbox is open again");
        heard.extend(std::iter::from_fn(|| orders.pop()));
    }
    assert_eq!(heard, expected, "{bytes:?} at {offset}");
    assert!(down.is_empty());
    let n_lost = pair.reader.answers().expect("the process listens").n_lost();
    assert!(expected.len() == 4 || n_lost == 1, "what is lost is counted: {n_lost}");
}

/// Regression: a flipped bit turned an order into another one, with another value or another variable.
#[test]
fn an_order_that_was_overwritten_is_not_heard() {
    let frame = (ORDERS_OFFSET - CONTROL_OFFSET) as u64 + 12 + 5;
    for at in 0..12 + 6 {
        check_overwritten(frame + at, &[0xa5], &[b"first", b"next", b"last"]);
    }
    // A second copy of the first order's bytes.
    let pair = pair(1, 8, 0);
    let _mailboxes = pair.writer.open_control().expect("room for the mailboxes");
    assert!(pair.reader.orders().expect("the process listens").push(b"first"));
    let mut first = [0; 12 + 5];
    let file = std::fs::File::open(pair.writer.path()).expect("our segment");
    file.read_exact_at(&mut first, ORDERS_OFFSET as u64).expect("inside");
    check_overwritten(frame, &first, &[b"first", b"next", b"last"]);
}

/// Regression: a position that was set back made the process carry out earlier orders again.
#[test]
fn a_position_that_was_overwritten_loses_no_order_and_repeats_none() {
    let all: &[&[u8]] = &[b"first", b"middle", b"next", b"last"];
    for value in [0, 3, 17, 18, 1 << 12, 1 << 18, 1 << 60, u64::MAX] {
        check_overwritten(WRITTEN, &value.to_le_bytes(), all);
        check_overwritten(TAKEN, &value.to_le_bytes(), all);
    }
}

proptest! {
    #[test]
    fn what_goes_in_comes_out(lengths in prop::collection::vec(0_usize..100_000, 1..40)) {
        let pair = pair(1, 8, 0);
        let (mut orders, _answers) = pair.writer.open_control().expect("room for the mailboxes");
        let mut down = pair.reader.orders().expect("the process listens");
        let mut waiting = std::collections::VecDeque::new();
        for (number, length) in lengths.into_iter().enumerate() {
            let first = u8::try_from(number).expect("few orders");
            let order: Vec<u8> = (first..=u8::MAX).cycle().take(length).collect();
            while !down.push(&order) {
                prop_assert_eq!(orders.pop(), waiting.pop_front());
            }
            waiting.push_back(order);
        }
        for order in waiting {
            prop_assert_eq!(orders.pop(), Some(order));
        }
        prop_assert_eq!(orders.pop(), None);
    }
}
