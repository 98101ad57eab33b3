//! Costs of messages from the master to the workers.
//!
//! # Invariants
//! - Bounded: one message in transit per worker, and the costs of those that arrived.

use crate::chunks::Costs;
use events::Rank;
use models::master_worker::transfer::TransferLine;
use models::master_worker::{Data, IterationModel};
use std::collections::HashMap;

/// Assumed latency before a message was seen.
const USUAL_LATENCY_S: f64 = 50e-6;
const MEDIAN: f64 = 0.5;

/// Messages in transit, and the costs of those that arrived.
#[derive(Debug)]
pub(super) struct MessagesInTransit {
    sent: HashMap<Rank, (f64, f64)>,
    arrived: HashMap<Rank, f64>,
    costs: Costs,
}

impl Default for MessagesInTransit {
    fn default() -> Self {
        let costs = Costs::new(USUAL_LATENCY_S, MEDIAN);
        Self { sent: HashMap::new(), arrived: HashMap::new(), costs }
    }
}

impl MessagesInTransit {
    /// Records that the master begins to send `bytes` bytes to a worker.
    pub(super) fn sent(&mut self, worker: Rank, time_s: f64, bytes: f64) {
        self.sent.insert(worker, (time_s, bytes));
        self.meet(worker);
    }

    /// Records that the message has arrived, which may be heard before the master's send.
    pub(super) fn arrived(&mut self, worker: Rank, time_s: f64) {
        self.arrived.insert(worker, time_s);
        self.meet(worker);
    }

    fn meet(&mut self, worker: Rank) {
        let (Some((sent_s, bytes)), Some(arrived_s)) =
            (self.sent.get(&worker).copied(), self.arrived.get(&worker).copied())
        else {
            return;
        };
        self.arrived.remove(&worker);
        if sent_s <= arrived_s {
            self.sent.remove(&worker);
            self.costs.add(bytes, arrived_s - sent_s);
        }
    }

    /// Returns the line of time over bytes; `None` before a message was seen.
    pub(super) fn fit(&self) -> Option<TransferLine> {
        (!self.costs.is_empty()).then(|| self.costs.fit())
    }
}

/// Returns the model in which the time of messages to `n_workers` is latency alone.
pub(super) fn all_latency(model: &IterationModel, n_workers: f64) -> IterationModel {
    let bytes = match model.data {
        Data::Split { total_bytes, share_sent } => total_bytes * share_sent / n_workers,
        Data::Same { each_bytes, .. } => each_bytes,
    };
    IterationModel { latency_s: model.latency_s + model.byte_s * bytes, byte_s: 0.0, ..*model }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(sent_s: f64, arrived_s: f64, is_arrival_first: bool, is_empty: bool) {
        let mut messages = MessagesInTransit::default();
        if is_arrival_first {
            messages.arrived(Rank(1), arrived_s);
        }
        messages.sent(Rank(1), sent_s, 100.0);
        if !is_arrival_first {
            messages.arrived(Rank(1), arrived_s);
        }
        assert_eq!(messages.costs.is_empty(), is_empty);
    }

    #[test]
    fn a_send_meets_the_arrival_after_it_in_whatever_order_they_are_heard() {
        check(1.0, 1.5, false, false);
        check(1.0, 1.5, true, false);
        check(1.0, 0.5, true, true);
        check(1.0, 0.5, false, true);
    }
}
