//! Brings orders to the process of a tunlet, batch by batch: the next one when the last is answered.

use super::shared::Shared;
use crate::frame::{self, ORDER_BYTES_MAX, Order};
use std::process::ChildStdin;
use std::sync::mpsc::Receiver;
use tunlets::News;

/// News in a batch.
const N_NEWS_MAX: usize = 256;

/// Writes until the queue ends or the tunlet does; its input ends with this function.
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
        // A process that has gone is the keeper's to see.
        if frame::write(&mut to, &batch, ORDER_BYTES_MAX).is_err() || !shared.wait_for_answer() {
            return;
        }
    }
}

/// The news that wait, up to an order of another kind.
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
