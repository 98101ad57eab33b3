//! Delivery of orders to collectors, with orders kept while a collector is away.
//!
//! A collector may die with undelivered orders, or with answers to them. Unanswered orders are sent again to its
//! successor; processes ignore the repetition.
//!
//! # Invariants
//! - Orders do not overtake each other: an order is sent after all earlier ones to the same process.
//! - Only the last order of each action is repeated: a rank that is told to commit has already answered that it
//!   can, and a rank that is told to withdraw need not know the action.

use super::Outlet;
use super::directory::Key;
use events::ProcessKey;
use std::collections::{BTreeMap, HashMap, VecDeque};
use wire::{Order, OrderAnswer, ToCollector};

/// Maximum number of orders kept for a node while its collector is away.
const N_KEPT_MAX: usize = 4096;
/// Maximum number of actions per process whose orders are repeated.
const N_ACTIONS_MAX: usize = 1024;

/// Orders to all processes.
#[derive(Debug, Default)]
pub(super) struct OrderQueue {
    kept: HashMap<String, VecDeque<(ProcessKey, Order)>>,
    /// Unanswered orders for the start, which a dead collector may have lost.
    starting: HashMap<Key, Vec<Order>>,
    /// The last order of each action that its process has not answered.
    acting: HashMap<Key, BTreeMap<u64, Order>>,
    n_lost: u64,
}

impl OrderQueue {
    /// Sends an order, now or when the collector is back.
    pub(super) fn send(&mut self, outlet: &impl Outlet, key: &Key, order: Order) {
        let (node, process) = key;
        let action = action_of(&order);
        let is_said = !self.kept.contains_key(node) && say(outlet, node, *process, &order);
        if let Some(action) = action {
            self.remember(key, action, order);
            if !is_said {
                // Even an empty list holds later orders back behind this one.
                self.kept.entry(node.clone()).or_default();
            }
        } else if !is_said {
            let kept = self.kept.entry(node.clone()).or_default();
            if kept.len() < N_KEPT_MAX {
                kept.push_back((*process, order));
            } else {
                self.n_lost += 1;
            }
        }
    }

    fn remember(&mut self, key: &Key, action: u64, order: Order) {
        let orders = self.acting.entry(key.clone()).or_default();
        orders.insert(action, order);
        if N_ACTIONS_MAX < orders.len() {
            orders.pop_first();
            self.n_lost += 1;
        }
    }

    /// Sends the orders that a process needs before it may go on.
    pub(super) fn start(&mut self, outlet: &impl Outlet, key: &Key, orders: Vec<Order>) {
        for order in &orders {
            self.send(outlet, key, order.clone());
        }
        if orders.iter().any(|order| matches!(order, Order::Install { .. })) {
            self.starting.insert(key.clone(), orders);
        }
    }

    /// Notes an answer of a process, so that the answered order is not repeated.
    pub(super) fn hear(&mut self, key: &Key, answer: &OrderAnswer) {
        match answer {
            OrderAnswer::Installed { .. } => self.installed(key),
            OrderAnswer::Ready { action, .. } => {
                self.settle(key, *action, |order| matches!(order, Order::Prepare { .. }));
            }
            OrderAnswer::Refused { action, .. } => {
                self.settle(key, *action, |order| !matches!(order, Order::Withdraw { .. }));
            }
            OrderAnswer::Withdrawn { action, .. } => self.settle(key, *action, |_| true),
            OrderAnswer::Detached { .. } => self.forget(key),
            OrderAnswer::Values { .. } => {}
        }
    }

    /// Notes that a process has carried out an action.
    pub(super) fn done(&mut self, key: &Key, action: u64) {
        self.settle(key, action, |order| matches!(order, Order::Commit { .. }));
    }

    /// Forgets a process that takes no more orders.
    pub(super) fn forget(&mut self, key: &Key) {
        self.acting.remove(key);
    }

    fn settle(&mut self, key: &Key, action: u64, is_answered: impl Fn(&Order) -> bool) {
        if let Some(orders) = self.acting.get_mut(key)
            && orders.get(&action).is_some_and(is_answered)
        {
            orders.remove(&action);
        }
    }

    /// Notes that a process has installed the next order's sites.
    fn installed(&mut self, key: &Key) {
        if let Some(orders) = self.starting.get_mut(key) {
            // Never empty: an empty list is removed.
            orders.drain(..1);
            if orders.iter().all(|order| matches!(order, Order::Go)) {
                self.starting.remove(key);
            }
        }
    }

    /// Sends all kept and unanswered orders when the collector of a node is back.
    pub(super) fn come_back(&mut self, outlet: &impl Outlet, node: &str) {
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
            if !say(outlet, node, process, &order) {
                waiting.push_front((process, order));
                waiting.truncate(N_KEPT_MAX);
                self.kept.insert(node.to_owned(), waiting);
                return;
            }
        }
        for ((_, process), orders) in self.acting.iter().filter(|((at, _), _)| at == node) {
            if !orders.values().all(|order| say(outlet, node, *process, order)) {
                self.kept.insert(node.to_owned(), VecDeque::new());
                return;
            }
        }
    }

    /// Returns the number of orders that found no room.
    pub(super) fn n_lost(&self) -> u64 {
        self.n_lost
    }
}

fn action_of(order: &Order) -> Option<u64> {
    match order {
        Order::Prepare { action, .. }
        | Order::Commit { action, .. }
        | Order::Withdraw { action } => Some(*action),
        _ => None,
    }
}

fn say(outlet: &impl Outlet, node: &str, process: ProcessKey, order: &Order) -> bool {
    outlet.say(node, &ToCollector::Order { process, order: Box::new(order.clone()) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use events::tuning::TuningLine;
    use events::{CodeAddress, ProbePoint};
    use std::cell::{Cell, RefCell};
    use wire::control::ActionEffect;

    #[derive(Default)]
    struct Fake {
        is_there: Cell<bool>,
        heard: RefCell<Vec<String>>,
    }

    impl Outlet for Fake {
        fn say(&self, _: &str, message: &ToCollector) -> bool {
            if let (true, ToCollector::Order { order, .. }) = (self.is_there.get(), message) {
                let text = match order.as_ref() {
                    Order::Install { .. } => "install".to_owned(),
                    Order::Go => "go".to_owned(),
                    Order::Prepare { action, .. } => format!("prepare {action}"),
                    Order::Commit { action, .. } => format!("commit {action}"),
                    Order::Withdraw { action } => format!("withdraw {action}"),
                    _ => "other".to_owned(),
                };
                self.heard.borrow_mut().push(text);
            }
            self.is_there.get()
        }

        fn record(&mut self, _: TuningLine) {}

        fn name(&mut self, _: &CodeAddress<'_>) -> String {
            String::new()
        }
    }

    fn key() -> Key {
        ("n".to_owned(), ProcessKey { pid: 1, started: 2 })
    }

    fn install() -> Order {
        Order::Install { modules: Vec::new(), sites: Vec::new() }
    }

    fn put_in() -> OrderAnswer {
        OrderAnswer::Installed { refused: Vec::new(), warnings: Vec::new(), took_ns: 0 }
    }

    #[test]
    fn orders_wait_for_the_collector_and_keep_their_order() {
        let (fake, mut queue) = (Fake::default(), OrderQueue::default());
        queue.start(&fake, &key(), vec![install(), Order::Go]);
        queue.send(&fake, &key(), Order::Withdraw { action: 1 });
        fake.is_there.set(true);
        queue.send(&fake, &key(), Order::Withdraw { action: 2 });
        assert!(fake.heard.borrow().is_empty(), "nothing overtakes");
        queue.come_back(&fake, "n");
        assert_eq!(*fake.heard.borrow(), ["install", "go", "withdraw 1", "withdraw 2"]);
    }

    #[test]
    fn what_was_not_answered_is_said_again() {
        let (fake, mut queue) = (Fake::default(), OrderQueue::default());
        fake.is_there.set(true);
        queue.start(&fake, &key(), vec![install(), install(), Order::Go]);
        queue.hear(&key(), &put_in());
        fake.heard.borrow_mut().clear();
        queue.come_back(&fake, "n");
        assert_eq!(*fake.heard.borrow(), ["install", "go"]);
        queue.hear(&key(), &put_in());
        queue.come_back(&fake, "n");
        assert_eq!(fake.heard.borrow().len(), 2);
    }

    fn prepare(action: u64) -> Order {
        let path = "/lib.so".to_owned();
        let (sync, change) = ((1, ProbePoint::Entry), ActionEffect::Load { path });
        Order::Prepare { action, modules: Vec::new(), sync, change, repeats: false }
    }

    fn commit(action: u64) -> Order {
        Order::Commit { action, at_hit: 0 }
    }

    fn ready(action: u64) -> OrderAnswer {
        OrderAnswer::Ready { action, n_hits: 0, old: 0, note: String::new() }
    }

    fn refused(action: u64) -> OrderAnswer {
        OrderAnswer::Refused { action, reason: String::new() }
    }

    fn withdrawn(action: u64) -> OrderAnswer {
        OrderAnswer::Withdrawn { action, n_done: 0 }
    }

    enum Step {
        Said(Order),
        Heard(OrderAnswer),
        Done(u64),
    }

    /// Checks the messages sent to the next collector.
    #[track_caller]
    fn check_again(steps: Vec<Step>, expected: &[&str]) {
        let (fake, mut queue) = (Fake::default(), OrderQueue::default());
        fake.is_there.set(true);
        for step in steps {
            match step {
                Step::Said(order) => queue.send(&fake, &key(), order),
                Step::Heard(answer) => queue.hear(&key(), &answer),
                Step::Done(action) => queue.done(&key(), action),
            }
        }
        fake.heard.borrow_mut().clear();
        queue.come_back(&fake, "another");
        assert!(fake.heard.borrow().is_empty(), "only what is there is told");
        queue.come_back(&fake, "n");
        assert_eq!(*fake.heard.borrow(), expected);
    }

    #[test]
    fn the_last_order_of_an_action_is_said_again_until_it_is_answered() {
        use Step::{Done, Heard, Said};
        check_again(vec![Said(prepare(1))], &["prepare 1"]);
        check_again(vec![Said(prepare(1)), Heard(ready(2))], &["prepare 1"]);
        check_again(vec![Said(prepare(1)), Heard(ready(1))], &[]);
        check_again(vec![Said(prepare(1)), Heard(refused(1))], &[]);
        let committed = || vec![Said(prepare(1)), Heard(ready(1)), Said(commit(1))];
        let then = |step| committed().into_iter().chain([step]).collect::<Vec<_>>();
        check_again(committed(), &["commit 1"]);
        check_again(then(Heard(ready(1))), &["commit 1"]);
        check_again(then(Heard(refused(1))), &[]);
        check_again(then(Done(1)), &[]);
        let withdraw = || Order::Withdraw { action: 1 };
        check_again(then(Said(withdraw())), &["withdraw 1"]);
        check_again(vec![Said(prepare(1)), Said(withdraw()), Heard(refused(1))], &["withdraw 1"]);
        check_again(vec![Said(prepare(1)), Said(withdraw()), Done(1)], &["withdraw 1"]);
        check_again(vec![Said(withdraw()), Heard(withdrawn(1))], &[]);
        let three = vec![Said(withdraw()), Said(prepare(3)), Said(prepare(2)), Heard(ready(2))];
        check_again(three, &["withdraw 1", "prepare 3"]);
    }

    #[test]
    fn what_a_collector_is_not_there_for_is_said_once_when_it_comes() {
        let (fake, mut queue) = (Fake::default(), OrderQueue::default());
        queue.send(&fake, &key(), prepare(1));
        fake.is_there.set(true);
        queue.send(&fake, &key(), Order::Go);
        assert!(fake.heard.borrow().is_empty(), "nothing overtakes");
        queue.come_back(&fake, "n");
        assert_eq!(*fake.heard.borrow(), ["go", "prepare 1"]);
    }

    #[test]
    fn a_process_that_is_gone_is_told_nothing() {
        let (fake, mut queue) = (Fake::default(), OrderQueue::default());
        queue.send(&fake, &key(), prepare(1));
        queue.forget(&key());
        fake.is_there.set(true);
        queue.come_back(&fake, "n");
        assert!(fake.heard.borrow().is_empty());
    }

    #[test]
    fn what_is_said_again_has_a_bound() {
        let (fake, mut queue) = (Fake::default(), OrderQueue::default());
        (0..=N_ACTIONS_MAX as u64).for_each(|action| queue.send(&fake, &key(), prepare(action)));
        fake.is_there.set(true);
        queue.come_back(&fake, "n");
        assert_eq!((fake.heard.borrow().len(), queue.n_lost()), (N_ACTIONS_MAX, 1));
    }
}
