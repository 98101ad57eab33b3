//! Tasks of a node: those that wait, and those that share its cores.
//!
//! All running tasks of a node progress at the same rate, so that one clock, which advances at that rate, gives the
//! times of their ends.

use std::collections::VecDeque;

/// Task on its way through the cluster.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SimulatedTask {
    /// Time on a core of speed 1, in s.
    pub(super) work_s: f64,
    /// Time of its arrival, in ns.
    pub(super) arrival_ns: u64,
    /// Node that it arrived at.
    pub(super) home: u32,
}

#[derive(Clone, Debug)]
pub(super) struct ProcessorSharingNode {
    pub(super) n_cores: u32,
    pub(super) speed: f64,
    pub(super) queue: VecDeque<SimulatedTask>,
    running: Vec<Running>,
    /// Work done so far on a task that has run from the beginning, in s.
    clock_s: f64,
    updated_ns: u64,
    /// Number of the present schedule: ends that were predicted before the last change are void.
    pub(super) version: u32,
}

#[derive(Clone, Copy, Debug)]
struct Running {
    task: SimulatedTask,
    ends_s: f64,
}

impl ProcessorSharingNode {
    pub(super) fn new(n_cores: u32, speed: f64) -> Self {
        let (queue, running) = (VecDeque::new(), Vec::new());
        Self { n_cores, speed, queue, running, clock_s: 0.0, updated_ns: 0, version: 0 }
    }

    pub(super) fn n_running(&self) -> u32 {
        u32::try_from(self.running.len()).unwrap_or(u32::MAX)
    }

    pub(super) fn n_queued(&self) -> u32 {
        u32::try_from(self.queue.len()).unwrap_or(u32::MAX)
    }

    /// Removes the next task to start, unless it is this node's own and one of the last that it keeps in the queue.
    pub(super) fn pop_queued(&mut self, me: u32, n_kept: u32) -> Option<SimulatedTask> {
        let may_start = self.queue.front()?.home != me || n_kept < self.n_queued();
        may_start.then(|| self.queue.pop_front()).flatten()
    }

    /// Work done on one task per second.
    fn rate(&self) -> f64 {
        let (n_running, n_cores) = (f64::from(self.n_running()), f64::from(self.n_cores));
        self.speed * (n_cores / n_running).min(1.0)
    }

    fn update(&mut self, now_ns: u64) {
        if !self.running.is_empty() {
            self.clock_s += (now_ns - self.updated_ns) as f64 * 1e-9 * self.rate();
        }
        self.updated_ns = now_ns;
    }

    pub(super) fn start(&mut self, now_ns: u64, task: SimulatedTask) {
        self.update(now_ns);
        self.running.push(Running { task, ends_s: self.clock_s + task.work_s });
        self.version = self.version.wrapping_add(1);
    }

    /// Time at which the next task ends if nothing changes.
    #[expect(clippy::cast_possible_truncation, reason = "times are far below 2^53 ns")]
    #[expect(clippy::cast_sign_loss, reason = "no task ends before it begins")]
    pub(super) fn next_end_ns(&self) -> Option<u64> {
        let ends_s = self.running.iter().map(|running| running.ends_s).reduce(f64::min)?;
        let left_s = (ends_s - self.clock_s).max(0.0) / self.rate();
        Some(self.updated_ns + (left_s * 1e9).ceil() as u64)
    }

    /// Ends the task with the earliest end.
    pub(super) fn end(&mut self, now_ns: u64) -> Option<SimulatedTask> {
        self.update(now_ns);
        let by_end = |some: &(usize, &Running), other: &(usize, &Running)| {
            some.1.ends_s.total_cmp(&other.1.ends_s)
        };
        let (first, _) = self.running.iter().enumerate().min_by(by_end)?;
        self.version = self.version.wrapping_add(1);
        Some(self.running.remove(first).task)
    }

    /// Stops the node, which fails; returns all tasks that it held.
    pub(super) fn stop(&mut self, now_ns: u64) -> Vec<SimulatedTask> {
        self.update(now_ns);
        self.version = self.version.wrapping_add(1);
        let running = self.running.drain(..).map(|running| running.task);
        running.chain(self.queue.drain(..)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn task(work_s: f64) -> SimulatedTask {
        SimulatedTask { work_s, arrival_ns: 0, home: 0 }
    }

    #[test]
    fn two_tasks_share_a_core() {
        let mut machine = ProcessorSharingNode::new(1, 1.0);
        machine.start(0, task(10.0));
        assert_eq!(machine.next_end_ns(), Some(10 * SECOND));
        machine.start(4 * SECOND, task(10.0));
        // The first task has 6 s of work left, at half the speed.
        assert_eq!(machine.next_end_ns(), Some(16 * SECOND));
        assert_eq!(machine.end(16 * SECOND), Some(task(10.0)));
        assert_eq!(machine.next_end_ns(), Some(20 * SECOND));
    }

    #[test]
    fn each_task_has_a_core_where_there_are_enough() {
        let mut machine = ProcessorSharingNode::new(2, 2.0);
        machine.start(0, task(10.0));
        machine.start(SECOND, task(4.0));
        assert_eq!(machine.next_end_ns(), Some(3 * SECOND));
        assert_eq!(machine.end(3 * SECOND), Some(task(4.0)));
        assert_eq!(machine.next_end_ns(), Some(5 * SECOND));
        assert_eq!(machine.stop(4 * SECOND), [task(10.0)]);
        assert_eq!(machine.next_end_ns(), None);
    }
}
