//! Feeds a node any messages in any order, some from strangers, with a clock that jumps.

use crate::messages::messages;
use balancing_policies::{
    Balance, DriverAction, Members, Moment, NodeId, NodeLoad, Peer, Policy, PolicyMessage, Timer,
};
use proptest::prelude::*;
use std::sync::Arc;

const ME: NodeId = NodeId(3);
const POLICIES: [&str; 14] = [
    "periodic:1",
    "periodic:1@random:3",
    "event",
    "event@overlapping:4",
    "on-demand",
    "on-demand@random:3",
    "subscription",
    "subscription@overlapping:3:1",
    "forwarding:3",
    "forwarding:2@overlapping:2",
    "adaptive",
    "power-of-two:3",
    "stealing",
    "stealing@random:4",
];

#[derive(Clone, Debug)]
enum Happening {
    Wait { ms: u64 },
    Load { n_running: u32, n_queued: u32 },
    Message { from: u32, message: PolicyMessage },
    Doubled { from: u32, message: PolicyMessage },
    Timer { k: usize },
    Peers { n: u32, incarnation: u32 },
    Reached(u32),
    Lost(u32),
    Received(u32),
    CameBack(u32),
}

fn happenings() -> impl Strategy<Value = Happening> {
    let node = 0..12_u32;
    prop_oneof![
        2 => (0..4000_u64).prop_map(|ms| Happening::Wait { ms }),
        4 => (0..6_u32, 0..9_u32)
            .prop_map(|(n_running, n_queued)| Happening::Load { n_running, n_queued }),
        8 => (node.clone(), messages())
            .prop_map(|(from, message)| Happening::Message { from, message }),
        2 => (node.clone(), messages())
            .prop_map(|(from, message)| Happening::Doubled { from, message }),
        4 => (0..64_usize).prop_map(|k| Happening::Timer { k }),
        1 => (0..12_u32, 0..3_u32).prop_map(|(n, incarnation)| Happening::Peers { n, incarnation }),
        1 => node.clone().prop_map(Happening::Reached),
        1 => node.clone().prop_map(Happening::Lost),
        1 => node.clone().prop_map(Happening::Received),
        1 => node.prop_map(Happening::CameBack),
    ]
}

/// Driver's side: waiting tasks, members, and the timers that were asked for.
struct World {
    balance: Balance,
    members: Arc<Members>,
    load: NodeLoad,
    now: Moment,
    timers: Vec<(Timer, Moment)>,
    out: Vec<DriverAction>,
}

fn members(n: u32, incarnation: u32) -> Arc<Members> {
    let peer = |id| Peer { id: NodeId(id), incarnation, n_cores: 2, speed: 1.0 };
    Arc::new(Members::new((0..n).map(peer)))
}

impl World {
    fn new(policy: &str) -> Self {
        let balance = Balance::new(ME, policy.parse().expect("a policy"), 7);
        let (load, now) = (NodeLoad::idle(2, 1.0), Moment(0));
        let mut world = Self {
            balance,
            members: members(8, 0),
            load,
            now,
            timers: Vec::new(),
            out: Vec::new(),
        };
        world.balance.on_peers(now, &Arc::clone(&world.members), &mut world.out);
        world.check().expect("nobody is told before anything is measured");
        world
    }

    fn after(policy: &str, happenings: &[Happening]) -> Result<Self, TestCaseError> {
        let mut world = Self::new(policy);
        for happening in happenings {
            world.happen(happening);
            world.check()?;
        }
        Ok(world)
    }

    fn happen(&mut self, happening: &Happening) {
        let (now, out) = (self.now, &mut self.out);
        match happening {
            Happening::Wait { ms } => self.now = now.plus_ms(*ms),
            Happening::Load { n_running, n_queued } => {
                self.load = NodeLoad { n_running: *n_running, n_queued: *n_queued, ..self.load };
                self.balance.on_measurement(now, self.load, out);
            }
            Happening::Message { from, message } => {
                self.balance.on_message(now, NodeId(*from), *message, out);
            }
            Happening::Doubled { from, message } => {
                self.balance.on_message(now, NodeId(*from), *message, out);
                self.balance.on_message(now, NodeId(*from), *message, out);
            }
            Happening::Timer { k } if !self.timers.is_empty() => {
                let (timer, at) = self.timers.remove(k % self.timers.len());
                self.now = now.max(at);
                self.balance.on_timer(self.now, timer, out);
            }
            Happening::Timer { .. } => {}
            Happening::Peers { n, incarnation } => {
                self.members = members(*n, *incarnation);
                self.balance.on_peers(now, &self.members, out);
            }
            Happening::Reached(peer) => self.balance.on_reached(now, NodeId(*peer), out),
            Happening::Lost(peer) => self.balance.on_lost(NodeId(*peer)),
            Happening::Received(from) => self.balance.on_received(NodeId(*from)),
            Happening::CameBack(from) => {
                self.balance.on_moved(now, NodeId(*from), (1, 0), out);
            }
        }
    }

    /// Checks the actions against what the rules may ask for.
    fn check(&mut self) -> Result<(), TestCaseError> {
        for action in std::mem::take(&mut self.out) {
            match action {
                DriverAction::Send { to, .. } => self.is_other(to)?,
                DriverAction::Move { to, n_tasks } => {
                    self.is_other(to)?;
                    prop_assert!(0 < n_tasks && n_tasks <= self.load.n_queued);
                    self.load.n_queued -= n_tasks;
                }
                DriverAction::Timer { timer, at } => {
                    prop_assert!(self.now <= at);
                    self.timers.push((timer, at));
                }
            }
        }
        prop_assert_eq!(self.balance.snapshot(self.now).n_queued, self.load.n_queued);
        Ok(())
    }

    fn is_other(&self, to: NodeId) -> Result<(), TestCaseError> {
        prop_assert!(to != ME && self.members.position(to).is_some(), "to {}", to);
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_storm_moves_more_than_there_is_or_to_strangers(
        happenings in prop::collection::vec(happenings(), 0..200)
    ) {
        for policy in POLICIES {
            World::after(policy, &happenings)?;
        }
    }

    #[test]
    fn no_operation_stays_open(happenings in prop::collection::vec(happenings(), 0..200)) {
        for policy in POLICIES {
            let mut world = World::after(policy, &happenings)?;
            // No node answers any more, no task waits, and there is no room.
            let full = Happening::Load { n_running: 9, n_queued: 0 };
            world.happen(&full);
            world.check()?;
            for _ in 0..6 {
                let Some(since) = world.balance.snapshot(world.now).operation.map(|it| it.since)
                else { break };
                world.now = world.now.max(since.plus_ms(1_001));
                let due: Vec<_> = world.timers.extract_if(.., |(_, at)| *at <= world.now).collect();
                for (timer, _) in due {
                    world.balance.on_timer(world.now, timer, &mut world.out);
                }
                world.check()?;
            }
            prop_assert_eq!(world.balance.snapshot(world.now).operation, None, "{}", policy);
        }
    }

    #[test]
    fn the_same_calls_give_the_same_actions(
        happenings in prop::collection::vec(happenings(), 0..60)
    ) {
        for policy in POLICIES {
            let (mut some, mut other) = (World::new(policy), World::new(policy));
            for happening in &happenings {
                some.happen(happening);
                other.happen(happening);
                prop_assert_eq!(&some.out, &other.out);
                some.check()?;
                other.check()?;
            }
        }
    }
}

#[test]
fn every_rule_is_stormed() {
    for spec in balancing_policies::Rule::ALL {
        let name = spec.name;
        assert!(POLICIES.iter().any(|policy| policy.starts_with(name)), "{name}");
        let policy = Policy {
            rule: spec.example.parse().expect("a rule"),
            domain: balancing_policies::Domain::Global,
        };
        assert_eq!(policy.to_string().parse(), Ok(policy));
    }
}
