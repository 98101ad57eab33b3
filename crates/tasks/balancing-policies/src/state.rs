//! Load of a node: the source's index, its three states, and how many tasks a node takes.
//!
//! `index = (speed of the node / mean speed of the nodes) * (cores / running tasks)`; thresholds and
//! hysteresis as in tables 4.1 and 4.2 of the source (J. thesis 2012, chapter 4.3).
//!
//! The source leaves open the state of a node whose index says "receiver" while it can take 0 tasks, such as one
//! with a single core and a task. Here it is neutral: the source's tables show that such nodes announced that they
//! had ceased to be receivers (242 changes for 139 tasks that moved).

use crate::NodeLoad;
use crate::members::is_speed;
use serde::{Deserialize, Serialize};

/// Index below which a receiver becomes neutral.
const RECEIVER_ENDS: f64 = 0.800;
/// Index above which any node becomes a receiver.
const RECEIVER_BEGINS: f64 = 1.000;
/// Index above which a sender becomes neutral.
const SENDER_ENDS: f64 = 0.727;
/// Index below which any node becomes a sender.
const SENDER_BEGINS: f64 = 0.667;
/// Middle between the two thresholds at which nodes become neutral: the source's `neutral_middle`.
const NEUTRAL_MIDDLE: f64 = 0.5 * (RECEIVER_ENDS + SENDER_ENDS);
/// Tasks per core that a node with free cores will take.
const TASKS_PER_CORE: f64 = 1.33;

/// Load state of a node, as other nodes see it; messages carry its number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LoadState {
    /// Takes local and remote tasks.
    Receiver = 0,
    /// Takes local tasks only.
    #[default]
    Neutral = 1,
    /// Asks other nodes to take tasks.
    Sender = 2,
}

impl std::fmt::Display for LoadState {
    /// Writes the word that JSON has.
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.serialize(to)
    }
}

/// Load of a node relative to the speed of the others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RelativeLoad {
    pub(crate) n_tasks: u32,
    pub(crate) n_cores: u32,
    /// Speed of the node divided by the mean speed of all.
    pub(crate) relative_speed: f64,
}

impl RelativeLoad {
    pub(crate) fn new(load: NodeLoad, mean_speed: f64) -> Self {
        let relative = load.speed / mean_speed;
        let relative_speed = if is_speed(relative) { relative } else { 1.0 };
        Self { n_tasks: load.n_running, n_cores: load.n_cores, relative_speed }
    }

    /// Load index of the source: above 1, the node has capacity left. Infinite without tasks.
    pub(crate) fn index(self) -> f64 {
        self.relative_speed * f64::from(self.n_cores) / f64::from(self.n_tasks)
    }

    /// Number of tasks that the node would still take, at least 0.
    #[expect(clippy::cast_possible_truncation, reason = "floats are cut off at the bounds of u32")]
    #[expect(clippy::cast_sign_loss, reason = "what is negative becomes 0, as the rule wants")]
    pub(crate) fn n_tasks_max(self) -> u32 {
        let (tasks, cores) = (f64::from(self.n_tasks), f64::from(self.n_cores));
        let limit = if tasks <= cores {
            TASKS_PER_CORE * cores
        } else {
            self.relative_speed * cores / NEUTRAL_MIDDLE
        };
        (limit - tasks) as u32
    }

    /// Number of tasks that a node runs before it is a sender: the source starts all it has until then.
    pub(crate) fn n_slots(self) -> u32 {
        let with = |n_tasks| Self { n_tasks, ..self };
        let is_sender = |n: u32| self.n_cores <= n && with(n).index() < SENDER_BEGINS;
        (self.n_cores.max(1)..=self.n_cores.saturating_mul(64)).find(|n| is_sender(*n)).unwrap_or(1)
    }
}

impl LoadState {
    /// Returns the state after a measurement.
    ///
    /// Entering and leaving a state have different thresholds, so that a node near a threshold does not flood the
    /// network with changes.
    pub(crate) fn after(self, measured: RelativeLoad) -> Self {
        match self.by_index(measured) {
            Self::Receiver if measured.n_tasks_max() == 0 => Self::Neutral,
            state => state,
        }
    }

    fn by_index(self, measured: RelativeLoad) -> Self {
        if measured.n_tasks < measured.n_cores {
            return Self::Receiver;
        }
        let index = measured.index();
        match self {
            _ if RECEIVER_BEGINS < index => Self::Receiver,
            _ if index < SENDER_BEGINS => Self::Sender,
            Self::Receiver if index < RECEIVER_ENDS => Self::Neutral,
            Self::Sender if SENDER_ENDS < index => Self::Neutral,
            unchanged => unchanged,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use LoadState::{Neutral, Receiver, Sender};

    fn measured(n_tasks: u32, n_cores: u32) -> RelativeLoad {
        RelativeLoad { n_tasks, n_cores, relative_speed: 1.0 }
    }

    #[track_caller]
    fn check(before: LoadState, n_tasks: u32, n_cores: u32, expected: LoadState) {
        assert_eq!(before.after(measured(n_tasks, n_cores)), expected);
    }

    #[test]
    fn a_state_is_left_later_than_it_is_entered() {
        // 100 cores: the index is 100 / tasks.
        check(Receiver, 111, 100, Receiver); // 0.901
        check(Receiver, 127, 100, Neutral); // 0.787
        check(Sender, 143, 100, Sender); // 0.699
        check(Sender, 137, 100, Neutral); // 0.730
        check(Neutral, 101, 100, Neutral); // 0.990
        check(Neutral, 151, 100, Sender); // 0.662
        check(Receiver, 151, 100, Sender);
    }

    #[test]
    fn a_free_core_makes_a_receiver_at_once() {
        check(Sender, 3, 4, Receiver);
        check(Neutral, 0, 1, Receiver);
    }

    #[test]
    fn who_takes_nothing_is_no_receiver() {
        check(Receiver, 1, 1, Neutral);
        check(Receiver, 4, 4, Receiver);
        check(Receiver, 5, 4, Neutral);
    }

    #[track_caller]
    fn takes(n_tasks: u32, n_cores: u32, relative_speed: f64, expected: u32) {
        assert_eq!(RelativeLoad { n_tasks, n_cores, relative_speed }.n_tasks_max(), expected);
    }

    #[test]
    fn a_node_takes_a_third_more_than_it_has_cores() {
        takes(0, 1, 1.0, 1);
        takes(1, 1, 1.0, 0);
        takes(0, 4, 1.0, 5);
        takes(4, 4, 1.0, 1);
        takes(5, 4, 1.0, 0); // 4 / 0.7635 - 5
        takes(5, 4, 2.0, 5); // 8 / 0.7635 - 5
        takes(9, 4, 1.0, 0);
    }

    #[track_caller]
    fn slots(n_cores: u32, relative_speed: f64, expected: u32) {
        assert_eq!(RelativeLoad { n_tasks: 0, n_cores, relative_speed }.n_slots(), expected);
    }

    #[test]
    fn a_node_starts_tasks_until_it_is_a_sender() {
        slots(1, 1.0, 2);
        slots(4, 1.0, 6);
        slots(4, 2.0, 12);
        slots(4, 0.1, 4);
        slots(0, 1.0, 1);
    }

    #[test]
    fn a_speed_that_is_none_is_taken_for_the_mean() {
        let load = NodeLoad { speed: f64::NAN, ..NodeLoad::idle(4, 1.0) };
        assert_eq!(RelativeLoad::new(load, 2.0), measured(0, 4));
        assert_eq!(RelativeLoad::new(NodeLoad::idle(4, 1.0), 0.0), measured(0, 4));
    }
}
