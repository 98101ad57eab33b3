//! Writing of orders to the process of a tunlet, in batches: the next one is written when the last is answered.

use super::shared::Shared;
use crate::message::{ORDERS, Order};
use std::process::ChildStdin;
use std::sync::mpsc::Receiver;
use tunlets::News;

/// Maximum number of news in a batch.
const N_NEWS_MAX: usize = 256;

/// Writes until the queue or the tunlet ends; the process's input is closed when this function returns.
pub(super) fn write(shared: &Shared, orders: &Receiver<Order>, mut to: ChildStdin) {
    let mut next = None;
    while let Some(order) = next.take().or_else(|| orders.recv().ok()) {
        let batch = match order {
            Order::Hear(first) => Order::Hear(gather(orders, first, &mut next)),
            other => other,
        };
        if !shared.wait_for_answer() {
            return;
        }
        shared.owe();
        // The supervisor notices that the process is gone.
        if ORDERS.write(&batch, &mut to).is_err() || !shared.wait_for_answer() {
            return;
        }
    }
}

/// Collects waiting news, up to an order of another kind.
fn gather(orders: &Receiver<Order>, mut all: Vec<News>, next: &mut Option<Order>) -> Vec<News> {
    while all.len() < N_NEWS_MAX {
        match orders.try_recv() {
            Ok(Order::Hear(mut more)) => all.append(&mut more),
            Ok(other) => {
                *next = Some(other);
                break;
            }
            Err(_) => break,
        }
    }
    all
}
