//! Tuning that the user switches off and on.

use super::F0;
use super::simulation::Simulation;
use crate::conductor::Input;
use events::tuning::TuningMode;

fn switch(simulation: &mut Simulation, is_on: bool) {
    simulation.hear(Input::Switch { is_on });
    (0..2).for_each(|_| simulation.iterate(1.0, 1));
}

#[test]
fn off_takes_back_what_was_kept_and_lets_nothing_happen() {
    let mut simulation = Simulation::new(2, TuningMode::Tune, &[("first", &[F0])]);
    (0..3).for_each(|_| simulation.iterate(1.0, 1));
    for value in [7, 8] {
        simulation.decide(0, F0, value);
        (0..5).for_each(|_| simulation.iterate(1.0, 1));
    }
    assert_eq!(simulation.values(F0), [8, 50]);
    switch(&mut simulation, false);
    assert_eq!(simulation.values(F0), [50, 50], "the value before the first change");
    assert_eq!(simulation.outcomes().last().map(String::as_str), Some("2 undone"));
    simulation.decide(0, F0, 9);
    switch(&mut simulation, false);
    assert_eq!(simulation.values(F0), [50, 50]);
    switch(&mut simulation, true);
    simulation.decide(0, F0, 9);
    (0..2).for_each(|_| simulation.iterate(1.0, 1));
    assert_eq!(simulation.values(F0), [9, 50]);
}

#[test]
fn off_ends_a_trial() {
    let mut simulation = Simulation::new(2, TuningMode::Tune, &[("first", &[F0])]);
    (0..3).for_each(|_| simulation.iterate(1.0, 1));
    simulation.decide(0, F0, 7);
    simulation.iterate(1.0, 1);
    assert_eq!(simulation.values(F0), [7, 50]);
    switch(&mut simulation, false);
    assert_eq!(simulation.values(F0), [50, 50]);
}
