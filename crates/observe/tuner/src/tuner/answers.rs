//! Answers of processes to orders, and their reports of actions.

use super::Tuner;
use crate::Outlet;
use crate::directory::Key;
use events::{ActionRecord, Rank};
use tunlets::conductor::{ActionReport, Input};
use wire::{Order, OrderAnswer};

impl<O: Outlet> Tuner<O> {
    /// Processes an answer of a process to an order.
    pub(super) fn take_answer(&mut self, key: &Key, answer: OrderAnswer) {
        self.order_queue.hear(key, &answer);
        let rank = self.directory.rank(key);
        match (answer, rank) {
            (OrderAnswer::Installed { refused, warnings, .. }, _) => {
                for (site, reason) in refused.iter().chain(&warnings) {
                    self.hear_of_site(key, *site, reason);
                }
                if let Some(rank) = rank {
                    self.actions.fail(rank, refused);
                }
            }
            (OrderAnswer::Values { values }, _) => {
                let values = self.value_reader.hear(&values, &self.plan);
                self.feed(Input::Values(values));
                self.open();
            }
            (OrderAnswer::Detached { refused }, _) => {
                refused.iter().for_each(|(site, reason)| self.hear_of_site(key, *site, reason));
            }
            (OrderAnswer::Ready { action, n_hits, old, note }, Some(rank)) => {
                if let Some(old) = self.actions.value(&self.plan, action, rank, old) {
                    let report = ActionReport::Ready { n_hits, old, note };
                    self.feed(Input::Report { action, rank, report });
                }
            }
            (OrderAnswer::Refused { action, reason }, Some(rank)) => {
                self.feed(Input::Report { action, rank, report: ActionReport::Failed(reason) });
            }
            (OrderAnswer::Withdrawn { action, n_done }, Some(rank)) => {
                let report = ActionReport::Withdrawn { n_done };
                self.feed(Input::Report { action, rank, report });
            }
            (
                OrderAnswer::Ready { .. }
                | OrderAnswer::Refused { .. }
                | OrderAnswer::Withdrawn { .. },
                None,
            ) => {}
        }
    }

    /// Processes the record of an action that a rank has carried out.
    pub(super) fn acknowledge(&mut self, rank: Rank, key: &Key, done: &ActionRecord) {
        self.order_queue.done(key, done.action);
        let at = (rank, self.time_s(key, done.ticks));
        let Some((report, replaced)) = self.actions.acknowledge(&self.plan, at, done) else {
            return;
        };
        if let Some(action) = replaced {
            self.order(&[rank], &Order::Withdraw { action });
        }
        self.feed(Input::Report { action: done.action, rank, report });
    }
}
