//! Laws that hold whatever is late, lost or dies: one trial at a time, all ranks or none, an end to every decision.

use super::simulation::{FIRST, Simulation};
use super::{F0, F1, NW};
use crate::conductor::Input;
use events::Rank;
use events::tuning::{TuningEvent, TuningMode, TuningValue};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const N_RANKS: u32 = 4;

/// Step of a random scenario; numbers are taken modulo the number of choices.
#[derive(Clone, Debug)]
enum Move {
    Decide(usize, i64),
    Iterate(f64),
    TakeOrder(u32),
    LoseOrder(u32),
    Answer(u32),
    LoseAnswer(u32),
    Record(u32),
    Die(u32),
    Wait(f64),
}

fn some_move() -> impl Strategy<Value = Move> {
    let rank = 0..N_RANKS;
    prop_oneof![
        3 => (0..3_usize, 0..5_i64).prop_map(|(point, value)| Move::Decide(point, value)),
        4 => (0.1..2.0_f64).prop_map(Move::Iterate),
        8 => rank.clone().prop_map(Move::TakeOrder),
        1 => rank.clone().prop_map(Move::LoseOrder),
        8 => rank.clone().prop_map(Move::Answer),
        1 => rank.clone().prop_map(Move::LoseAnswer),
        8 => rank.clone().prop_map(Move::Record),
        1 => rank.prop_map(Move::Die),
        2 => (0.0..12.0_f64).prop_map(Move::Wait),
    ]
}

fn make(simulation: &mut Simulation, step: &Move) {
    match *step {
        Move::Decide(point, value) => simulation.decide(usize::from(point == NW), point, value),
        Move::Iterate(duration_s) => simulation.round(duration_s, 1),
        Move::Wait(seconds) => {
            simulation.now_s += seconds;
            simulation.hear(Input::Tick);
        }
        Move::Die(rank) => {
            simulation.processes.remove(&Rank(rank));
            simulation.hear(Input::RankGone(Rank(rank)));
        }
        Move::TakeOrder(rank)
        | Move::LoseOrder(rank)
        | Move::Answer(rank)
        | Move::LoseAnswer(rank)
        | Move::Record(rank) => {
            let rank = Rank(rank);
            let Some(process) = simulation.processes.get_mut(&rank) else { return };
            let input = match step {
                Move::TakeOrder(_) => {
                    process.take_order(rank);
                    None
                }
                Move::LoseOrder(_) => {
                    process.orders.pop_front();
                    None
                }
                Move::Answer(_) => process.answers.pop_front(),
                Move::Record(_) => process.records.pop_front(),
                _ => {
                    process.answers.pop_front();
                    None
                }
            };
            input.into_iter().for_each(|input| simulation.hear(input));
        }
    }
}

/// Facts about the decisions, from the recorded lines.
#[derive(Default)]
struct Stories {
    tunlet_of: BTreeMap<u64, String>,
    point_of: BTreeMap<u64, String>,
    applied: BTreeSet<u64>,
    ended: BTreeSet<u64>,
    expected: BTreeMap<String, TuningValue>,
    before: BTreeMap<u64, TuningValue>,
    lost: BTreeSet<String>,
}

impl Stories {
    fn read(&mut self, entry: &TuningEvent) {
        match entry {
            TuningEvent::Decision { decision, tunlet, point, .. } => {
                self.tunlet_of.insert(*decision, tunlet.clone());
                self.point_of.insert(*decision, point.clone());
            }
            TuningEvent::Applied { decision, old, new, .. } => {
                assert!(self.applied.insert(*decision), "carried out twice");
                let point = &self.point_of[decision];
                self.expected.insert(point.clone(), *new);
                self.before.insert(*decision, *old);
                let open = self.applied.difference(&self.ended);
                let tunlets: BTreeSet<_> = open.map(|decision| &self.tunlet_of[decision]).collect();
                assert_eq!(tunlets.len(), 1, "two tunlets on trial");
            }
            TuningEvent::Declined { decision, .. } => {
                assert!(!self.applied.contains(decision));
                assert!(self.ended.insert(*decision));
            }
            TuningEvent::Kept { decision, .. } => {
                assert!(self.applied.contains(decision));
                assert!(self.ended.insert(*decision));
            }
            TuningEvent::Undone { decision, .. } => {
                assert!(self.applied.contains(decision));
                assert!(self.ended.insert(*decision));
                let point = self.point_of[decision].clone();
                self.expected.insert(point, self.before[decision]);
            }
            TuningEvent::Lost { decision, .. } => {
                assert!(self.ended.insert(*decision));
                self.lost.insert(self.point_of[decision].clone());
            }
            _ => {}
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn all_or_none_and_every_story_ends(moves in prop::collection::vec(some_move(), 0..120)) {
        let tunlets: [(&'static str, &[usize]); 2] = [("first", &[F0, F1]), ("second", &[NW])];
        let mut simulation = Simulation::new(N_RANKS, TuningMode::Tune, &tunlets);
        moves.iter().for_each(|step| make(&mut simulation, step));
        for _time in 0..40 {
            simulation.wait(3.0);
            simulation.iterate(1.0, 1);
        }
        simulation.finish();
        let mut stories = Stories::default();
        simulation.lines.iter().for_each(|line| stories.read(&line.what));
        let decided: BTreeSet<u64> = stories.tunlet_of.keys().copied().collect();
        prop_assert_eq!(&decided, &stories.ended);
        for (name, point, ranks) in [("F0", F0, 0..1), ("F1", F1, 0..1), ("NW", NW, 1..N_RANKS)] {
            if stories.lost.contains(name) {
                continue;
            }
            let expected = stories.expected.get(name).copied().unwrap_or(FIRST.into());
            for rank in ranks.map(Rank) {
                if let Some(process) = simulation.processes.get(&rank) {
                    prop_assert_eq!(TuningValue::from(process.value(point)), expected, "{} on {:?}", name, rank);
                }
            }
        }
    }
}
