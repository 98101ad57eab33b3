//! Levers that wait until it is known what an iteration is.

use super::simulation::{Script, Scripted};
use crate::conductor::{Conductor, Input, IterationSource, Options, Output};
use app_description::Application;
use events::tuning::{TuningEvent, TuningMode};
use events::{Lever, Rank, Value};
use std::sync::{Arc, Mutex};

/// Returns what is recorded about a lever that is wanted before iterations are known, and at the end.
fn story(source: IterationSource) -> (Vec<String>, Vec<String>) {
    let mut application = Application::default();
    application.add_levers(&[Lever::Memory]);
    let script = Arc::new(Mutex::new(Script::default()));
    let scripted = Scripted { name: "memory", points: vec![0], script: Arc::clone(&script) };
    let tunlets: Vec<Box<dyn crate::Tunlet>> = vec![Box::new(scripted)];
    let options = Options::default();
    let mut conductor = Conductor::new(application, tunlets, TuningMode::Tune, options);
    conductor.hear(0.0, Input::Iterations(source));
    conductor.hear(0.0, Input::RankAppeared { rank: Rank(0), n_ranks: 1 });
    script.lock().unwrap().decisions.push_back((0, Value::Int(1)));
    let told = told(&conductor.hear(1.0, Input::Tick));
    (told, self::told(&conductor.finish(2.0)))
}

fn told(outputs: &[Output]) -> Vec<String> {
    let reason = |output: &Output| match output {
        Output::Record(line) => match &line.what {
            TuningEvent::Declined { reason, .. } => Some(reason.clone()),
            _ => None,
        },
        _ => None,
    };
    outputs.iter().filter_map(reason).collect()
}

#[test]
fn a_lever_waits_for_iterations_and_is_declined_at_the_end() {
    let why = "its effect could not be measured: no iteration was found yet".to_owned();
    assert_eq!(story(IterationSource::Sought), (Vec::new(), vec![why]));
    let why = "its effect could not be measured: nothing repeats".to_owned();
    let unknown = IterationSource::Unknown("nothing repeats".to_owned());
    assert_eq!(story(unknown), (vec![why], Vec::new()));
}
