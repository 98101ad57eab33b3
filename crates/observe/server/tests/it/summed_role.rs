//! A rank that passes a function many times.

use crate::roles::ring_doorbell;
use events::{CallRecord, EventRecord, FunctionKind};
use ring::control::{AnswerWriter, OrderReader};
use ring::{ThreadWriter, clock};
use std::path::Path;
use std::time::Duration;
use wire::{Answer, Order};

/// Passes the function `n_calls` times once it may start: entry and exit, each with the number of the call, and
/// an occasional MPI call in between.
pub(crate) fn pass(
    (mut orders, mut answers): (OrderReader, AnswerWriter),
    folder: &Path,
    thread: &mut ThreadWriter,
    n_calls: u64,
) {
    loop {
        let n_rings = orders.bell().n_rings();
        match orders.pop().map(|order| wire::decode(&order).expect("an order")) {
            Some(Order::Go) => break,
            Some(Order::Install { .. }) => {
                let (refused, warnings) = (Vec::new(), Vec::new());
                let answer = Answer::Installed { refused, warnings, took_ns: 1 };
                answers.push(&wire::to_bytes(&answer).expect("short"));
                ring_doorbell(folder);
            }
            Some(_) => {}
            None => orders.bell().wait(n_rings, Duration::from_millis(100)),
        }
    }
    let mut push = |record: CallRecord| {
        while !thread.append(&record) {
            std::thread::yield_now();
        }
    };
    for number in 0..n_calls {
        push(passage(0, number));
        if number % 10 == 3 {
            push(CallRecord { bytes: number, operation: 7, ..CallRecord::default() });
        }
        push(passage(1, number));
        if number % 10 == 9 {
            // The duration of ten calls: a ring lasts longer than a reconnection takes.
            orders.bell().wait(orders.bell().n_rings(), Duration::from_millis(2));
        }
    }
}

fn passage(event: u32, number: u64) -> CallRecord {
    let (ticks, kind) = (clock::ticks(), FunctionKind::Event as u16);
    let values = [number, 0, 0, 0];
    EventRecord { ticks, event, values, kind, ..EventRecord::default() }.into()
}
