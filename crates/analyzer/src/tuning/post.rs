//! Orders on their way to collectors, kept while a collector is away.

use super::directory::Key;
use events::ProcessKey;
use std::collections::{HashMap, VecDeque};
use wire::{Order, ToCollector};

/// Orders kept for a node while its collector is away, at most.
const N_KEPT_MAX: usize = 4096;

/// Says something to the collector of a node; false when none listens.
pub(crate) trait Collectors {
    fn say(&self, node: &str, message: &ToCollector) -> bool;
}

/// Orders for all processes.
#[derive(Debug, Default)]
pub(super) struct Post {
    kept: HashMap<String, VecDeque<(ProcessKey, Order)>>,
    /// Orders for the start that were not answered: a collector may have died with them.
    starting: HashMap<Key, Vec<Order>>,
    n_lost: u64,
}

impl Post {
    /// Sends an order, now or when the collector is back.
    pub(super) fn send(&mut self, collectors: &impl Collectors, key: &Key, order: Order) {
        let (node, process) = key;
        if !self.kept.contains_key(node) && say(collectors, node, *process, &order) {
            return;
        }
        let kept = self.kept.entry(node.clone()).or_default();
        if kept.len() < N_KEPT_MAX {
            kept.push_back((*process, order));
        } else {
            self.n_lost += 1;
        }
    }

    /// Sends what a process needs before it may go on.
    pub(super) fn start(&mut self, collectors: &impl Collectors, key: &Key, orders: Vec<Order>) {
        for order in &orders {
            self.send(collectors, key, order.clone());
        }
        if orders.iter().any(|order| matches!(order, Order::Install { .. })) {
            self.starting.insert(key.clone(), orders);
        }
    }

    /// A process has put in what the next order says.
    pub(super) fn installed(&mut self, key: &Key) {
        if let Some(orders) = self.starting.get_mut(key) {
            // Never empty: then it would not be here.
            orders.drain(..1);
            if orders.iter().all(|order| matches!(order, Order::Go)) {
                self.starting.remove(key);
            }
        }
    }

    /// The collector of a node is there.
    pub(super) fn come_back(&mut self, collectors: &impl Collectors, node: &str) {
        let mut waiting: VecDeque<(ProcessKey, Order)> = VecDeque::new();
        for ((_, process), orders) in self.starting.iter().filter(|((at, _), _)| at == node) {
            waiting.extend(orders.iter().map(|order| (*process, order.clone())));
        }
        let is_starting = |process: &ProcessKey, order: &Order| {
            matches!(order, Order::Install { .. } | Order::Go)
                && self.starting.contains_key(&(node.to_owned(), *process))
        };
        let kept = self.kept.remove(node).unwrap_or_default();
        waiting.extend(kept.into_iter().filter(|(process, order)| !is_starting(process, order)));
        while let Some((process, order)) = waiting.pop_front() {
            if !say(collectors, node, process, &order) {
                waiting.push_front((process, order));
                waiting.truncate(N_KEPT_MAX);
                self.kept.insert(node.to_owned(), waiting);
                return;
            }
        }
    }

    /// Orders that found no room.
    pub(super) fn n_lost(&self) -> u64 {
        self.n_lost
    }
}

fn say(collectors: &impl Collectors, node: &str, process: ProcessKey, order: &Order) -> bool {
    collectors.say(node, &ToCollector::Order { process, order: Box::new(order.clone()) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::{Cell, RefCell};

    #[derive(Default)]
    struct Fake {
        is_there: Cell<bool>,
        heard: RefCell<Vec<String>>,
    }

    impl Collectors for Fake {
        fn say(&self, _: &str, message: &ToCollector) -> bool {
            if let (true, ToCollector::Order { order, .. }) = (self.is_there.get(), message) {
                let text = match order.as_ref() {
                    Order::Install { .. } => "install".to_owned(),
                    Order::Go => "go".to_owned(),
                    Order::Withdraw { action } => format!("withdraw {action}"),
                    _ => "other".to_owned(),
                };
                self.heard.borrow_mut().push(text);
            }
            self.is_there.get()
        }
    }

    fn key() -> Key {
        ("n".to_owned(), ProcessKey { pid: 1, started: 2 })
    }

    fn install() -> Order {
        Order::Install { modules: Vec::new(), sites: Vec::new() }
    }

    #[test]
    fn orders_wait_for_the_collector_and_keep_their_order() {
        let (fake, mut post) = (Fake::default(), Post::default());
        post.start(&fake, &key(), vec![install(), Order::Go]);
        post.send(&fake, &key(), Order::Withdraw { action: 1 });
        fake.is_there.set(true);
        post.send(&fake, &key(), Order::Withdraw { action: 2 });
        assert!(fake.heard.borrow().is_empty(), "nothing overtakes");
        post.come_back(&fake, "n");
        assert_eq!(*fake.heard.borrow(), ["install", "go", "withdraw 1", "withdraw 2"]);
    }

    #[test]
    fn what_was_not_answered_is_said_again() {
        let (fake, mut post) = (Fake::default(), Post::default());
        fake.is_there.set(true);
        post.start(&fake, &key(), vec![install(), install(), Order::Go]);
        post.installed(&key());
        fake.heard.borrow_mut().clear();
        post.come_back(&fake, "n");
        assert_eq!(*fake.heard.borrow(), ["install", "go"]);
        post.installed(&key());
        post.come_back(&fake, "n");
        assert_eq!(fake.heard.borrow().len(), 2);
    }
}
