//! Bounds of a central queue: one that costs no time, and one that hears and answers with the latency of the network.

use super::scenario::Scenario;
use super::tasks::{Tasks, nanoseconds};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Returns when the last task would end if one queue without any delay fed all cores, in s. Of several free cores,
/// the fastest takes the task. Failures of nodes are ignored.
pub fn central_s(scenario: &Scenario) -> f64 {
    through_queue_s(scenario, 0)
}

/// Returns when the last task would end if one queue fed all cores over the network of the scenario, in s: a core that
/// is free asks for a task, which takes the latency, and the task comes back after as long again. Messages are not lost.
pub fn central_asked_s(scenario: &Scenario) -> f64 {
    through_queue_s(scenario, nanoseconds(scenario.network.latency_s))
}

/// The same with this latency; all cores have asked before the first task arrives.
fn through_queue_s(scenario: &Scenario, latency_ns: u64) -> f64 {
    let mut tasks = Tasks::new(scenario);
    let mut busy: BinaryHeap<Reverse<(u64, u64)>> = BinaryHeap::new();
    let mut free: BinaryHeap<u64> = BinaryHeap::new();
    for node in 0..scenario.n_nodes {
        free.extend((0..scenario.n_cores(node)).map(|_| scenario.speed(node).to_bits()));
    }
    let (mut now_ns, mut last_ns) = (0, 0);
    while let Some((arrival_ns, task)) = tasks.next(scenario) {
        // Tasks start in the order of their arrival.
        now_ns = arrival_ns.max(now_ns);
        while let Some(Reverse((asked_ns, speed))) = busy.peek().copied() {
            if now_ns < asked_ns && !free.is_empty() {
                break;
            }
            now_ns = now_ns.max(asked_ns);
            busy.pop();
            free.push(speed);
        }
        let Some(speed) = free.pop() else { break };
        let end_ns = now_ns + latency_ns + nanoseconds(task.work_s / f64::from_bits(speed));
        busy.push(Reverse((end_ns + latency_ns, speed)));
        last_ns = last_ns.max(end_ns);
    }
    last_ns as f64 * 1e-9
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::balance::{Arrivals, NodeNetwork};

    #[track_caller]
    fn check(scenario: &Scenario, expected_s: f64) {
        assert!((central_s(scenario) - expected_s).abs() < 1e-6, "{}", central_s(scenario));
    }

    #[test]
    fn a_central_queue_leaves_no_core_idle() {
        // Tasks arrive 1 s apart, so seven nodes start 1 to 7 s late; the last of 20 rounds ends 7 s after the
        // first could.
        check(&Scenario::default(), 20.0 * 19.8 + 7.0);
        let speeds = vec![1.0, 2.0];
        check(&Scenario { speeds, n_nodes: 2, n_tasks: 3, ..Scenario::default() }, 1.0 + 19.8);
        let arrivals = Arrivals::Every { gap_s: 0.0 };
        check(&Scenario { arrivals, ..Scenario::default() }, 20.0 * 19.8);
    }

    #[test]
    fn a_queue_that_is_asked_costs_two_messages_for_each_task() {
        let network = NodeNetwork { latency_s: 0.5, ..NodeNetwork::default() };
        let arrivals = Arrivals::Every { gap_s: 0.0 };
        let scenario = Scenario { network, arrivals, ..Scenario::default() };
        // The first of twenty tasks of a core was asked for before.
        let expected_s = 20.0 * 19.8 + 19.0 * 1.0 + 0.5;
        assert!((central_asked_s(&scenario) - expected_s).abs() < 1e-6);
    }
}
