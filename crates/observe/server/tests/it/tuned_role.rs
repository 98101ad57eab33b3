//! A rank that iterates and carries out orders, as the probe does.

use crate::roles::ring_doorbell;
use events::{ActionRecord, EventRecord, FunctionKind, Value, ValueType};
use ring::control::{AnswerWriter, OrderReader};
use ring::{ThreadWriter, clock};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use wire::control::Change;
use wire::{Answer, Order};

const KIND: ValueType = ValueType::I32;

/// The only variable, and the actions pending for it.
struct State {
    value: Value,
    n_hits: u32,
    kept: BTreeMap<u64, (Value, Option<u32>)>,
    is_started: bool,
}

/// Iterates until the input ends, once it may start.
pub(crate) fn iterate(
    (mut orders, mut answers): (OrderReader, AnswerWriter),
    thread: &mut ThreadWriter,
    folder: &Path,
) {
    let is_over = Arc::new(AtomicBool::new(false));
    let over = Arc::clone(&is_over);
    std::thread::spawn(move || {
        std::io::stdin().read_to_end(&mut Vec::new()).ok();
        over.store(true, Ordering::SeqCst);
    });
    let kept = BTreeMap::new();
    let mut state = State { value: Value::Int(1), n_hits: 0, kept, is_started: false };
    while !is_over.load(Ordering::SeqCst) {
        let n_rings = orders.bell().n_rings();
        while let Some(order) = orders.pop() {
            let order = wire::decode(&order).expect("an order");
            state.take(order, &mut answers);
            ring_doorbell(folder);
        }
        if state.is_started {
            state.pass(thread);
        }
        // Duration of an iteration.
        orders.bell().wait(n_rings, Duration::from_millis(2));
        if state.is_started {
            push(thread, 1);
        }
    }
}

fn push(thread: &mut ThreadWriter, event: u32) {
    let values = [10, 0, 0, 0];
    let (ticks, kind) = (clock::ticks(), FunctionKind::Event as u16);
    thread.push(&EventRecord { ticks, event, values, kind, ..EventRecord::default() }.into());
}

impl State {
    fn take(&mut self, order: Order, answers: &mut AnswerWriter) {
        let answer = match order {
            Order::Go => {
                self.is_started = true;
                return;
            }
            Order::Install { sites, .. } => {
                assert!(sites.len() == 1 && sites[0].entry.is_some() && sites[0].exit.is_some());
                Answer::Installed { refused: Vec::new(), warnings: Vec::new(), took_ns: 1 }
            }
            Order::Prepare { action, change: Change::Set { value, .. }, .. } => {
                self.kept.insert(action, (value, None));
                let old = KIND.bits(self.value).expect("its own");
                Answer::Ready { action, n_hits: self.n_hits, old }
            }
            Order::Commit { action, at_hit } => {
                if let Some(kept) = self.kept.get_mut(&action) {
                    kept.1 = Some(at_hit);
                }
                return;
            }
            Order::Withdraw { action } => {
                let n_done = u32::from(self.kept.remove(&action).is_none());
                Answer::Withdrawn { action, n_done }
            }
            Order::Read { variables, .. } => {
                let bits = KIND.bits(self.value).expect("its own");
                Answer::Values { values: variables.iter().map(|(id, ..)| (*id, bits)).collect() }
            }
            _ => return,
        };
        answers.push(&wire::to_bytes(&answer).expect("short"));
    }

    /// Passes the sync point at the start of an iteration.
    fn pass(&mut self, thread: &mut ThreadWriter) {
        self.n_hits += 1;
        push(thread, 0);
        let n_hits = self.n_hits;
        let due = self.kept.extract_if(.., |_, (_, at_hit)| at_hit.is_some_and(|at| at <= n_hits));
        for (action, (value, _)) in due.collect::<Vec<_>>() {
            let bits = |value| KIND.bits(value).expect("in range");
            let (old, new) = (bits(self.value), bits(value));
            self.value = value;
            let (ticks, kind) = (clock::ticks(), FunctionKind::Action as u16);
            let done =
                ActionRecord { ticks, action, old, new, hit: n_hits, kind, ..Default::default() };
            thread.push(&done.into());
        }
    }
}
