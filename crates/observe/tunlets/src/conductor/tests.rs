//! Conductor with simulated ranks.

mod awaited;
mod laws;
mod simulation;
mod stories;
mod switched;

use app_description::Application;

/// Positions of the events at the start and at the end of an iteration.
pub(super) const START: usize = 0;
pub(super) const END: usize = 1;
/// Tuning points: two of the master, one of the workers.
pub(super) const F0: usize = 0;
pub(super) const F1: usize = 1;
pub(super) const NW: usize = 2;

const DESCRIPTION: &str = "
format = 1
program = 'program'
actors = { master = '0', worker = '1-' }
iteration = { start = 'iteration_start', end = 'iteration_end', work = 'work' }
event = [
  { name = 'iteration_start', actor = 'master', function = 'iterate', at = 'entry', attributes = ['work'] },
  { name = 'iteration_end', actor = 'master', function = 'iterate', at = 'exit', attributes = ['work'] },
]
tuning_point = [
  { name = 'F0', actor = 'master', range = [0, 100], at = 'iteration_start' },
  { name = 'F1', actor = 'master', range = [0, 100], at = 'iteration_start' },
  { name = 'NW', actor = 'worker', range = [0, 100], at = 'iteration_start' },
]
";

pub(super) fn application() -> Application {
    let (application, problems) = app_description::read(DESCRIPTION);
    assert_eq!(problems, []);
    application.unwrap()
}
