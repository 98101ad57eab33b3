//! Levers that wait until it is known what an iteration is.

use super::simulation::{Script, Scripted};
use crate::conductor::{
    ActionDone, ActionReport, Conductor, Input, IterationSource, Options, Output,
};
use crate::{News, Performance};
use app_description::Application;
use events::tuning::{TuningEvent, TuningMode};
use events::{Lever, Rank, Value};
use std::sync::{Arc, Mutex};

/// Conductor of a lever, and the script of its tunlet.
fn begun(lever: Lever, source: IterationSource) -> (Conductor, Arc<Mutex<Script>>) {
    let mut application = Application::default();
    application.add_levers(&[lever]);
    let script = Arc::new(Mutex::new(Script::default()));
    let scripted = Scripted { name: "memory", points: vec![0], script: Arc::clone(&script) };
    let tunlets: Vec<Box<dyn crate::Tunlet>> = vec![Box::new(scripted)];
    let options = Options::default();
    let mut conductor = Conductor::new(application, tunlets, TuningMode::Tune, options);
    conductor.hear(0.0, Input::Iterations(source));
    conductor.hear(0.0, Input::RankAppeared { rank: Rank(0), n_ranks: 1 });
    (conductor, script)
}

/// Returns what is recorded about a lever that is wanted before iterations are known, and at the end.
fn story(source: IterationSource) -> (Vec<String>, Vec<String>) {
    let (mut conductor, script) = begun(Lever::Memory, source);
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

fn found() -> IterationSource {
    IterationSource::Found { text: "found".to_owned(), duration_s: 0.01, calls: None }
}

/// Effect of a lever on iterations of 10 ms, which take `meanwhile_s` while it is being set, and `after_s` later.
fn effect(meanwhile_s: f64, after_s: f64) -> f64 {
    let (mut conductor, script) = begun(Lever::Memory, found());
    let mut now_s = 1.0;
    let mut said = Vec::new();
    let pass = |conductor: &mut Conductor, now_s: &mut f64, duration_s: f64, n: u32| {
        let mut said = Vec::new();
        for _ in 0..n {
            let start_s = *now_s;
            *now_s += duration_s;
            let ended = Input::IterationEnded { start_s, end_s: *now_s, work: 1.0 };
            said.extend(conductor.hear(*now_s, ended));
        }
        said
    };
    pass(&mut conductor, &mut now_s, 0.01, 200);
    script.lock().unwrap().decisions.push_back((0, Value::Int(1)));
    conductor.hear(now_s, Input::Tick);
    let report = |report| Input::Report { action: 1, rank: Rank(0), report };
    let (old, new) = (Value::Int(0), Value::Int(1));
    let ready = ActionReport::Ready { n_hits: 0, old, note: String::new() };
    conductor.hear(now_s, report(ready));
    pass(&mut conductor, &mut now_s, meanwhile_s, 40);
    let done = ActionDone { rank: Rank(0), time_s: now_s, hit: 0, old, new };
    said.extend(conductor.hear(now_s, report(ActionReport::Done(done))));
    said.extend(pass(&mut conductor, &mut now_s, after_s, 200));
    let change = |output: &Output| match output {
        Output::Record(line) => match &line.what {
            TuningEvent::Effect { effect, .. } => Some(effect.change),
            _ => None,
        },
        _ => None,
    };
    said.iter().find_map(change).expect("the trial was judged")
}

#[test]
fn what_setting_a_lever_costs_is_not_what_it_changes() {
    assert!(effect(0.01, 0.01).abs() < 0.01);
    assert!(effect(0.02, 0.01).abs() < 0.01);
    assert!((effect(0.02, 0.009) + 0.1).abs() < 0.01);
}

/// Conductor that asks ranks at 3.5 s to set a lever, after two seconds with iterations of 10 ms, and the script of its tunlet.
fn asked(lever: Lever) -> (Conductor, Arc<Mutex<Script>>) {
    let (mut conductor, script) = begun(lever, found());
    for number in 0..200 {
        let start_s = 1.0 + 0.01 * f64::from(number);
        let ended = Input::IterationEnded { start_s, end_s: start_s + 0.01, work: 1.0 };
        conductor.hear(start_s + 0.01, ended);
    }
    script.lock().unwrap().decisions.push_back((0, Value::Int(1)));
    conductor.hear(3.5, Input::Tick);
    (conductor, script)
}

/// Returns how many of three reports a tunlet hears of: while its lever is being set, of a span that begins then, and later.
fn n_heard(lever: Lever) -> usize {
    let (mut conductor, script) = asked(lever);
    let report = |span_s| Input::Performance(Performance { span_s, ..Performance::default() });
    conductor.hear(4.0, report((3.4, 3.9)));
    let report_of_rank = ActionReport::Failed("not all is huge yet".to_owned());
    let failed = Input::Report { action: 1, rank: Rank(0), report: report_of_rank };
    conductor.hear(4.5, failed);
    conductor.hear(4.7, report((4.4, 4.6)));
    conductor.hear(5.0, report((4.6, 4.9)));
    let script = script.lock().unwrap();
    script.heard.iter().filter(|news| matches!(news, News::Performance(_))).count()
}

#[test]
fn shortages_while_memory_is_moved_are_none_of_the_program() {
    assert_eq!(n_heard(Lever::Memory), 3);
    assert_eq!(n_heard(Lever::HugePages), 1);
}

/// Returns why a lever is taken back whose trial is under way when iterations become others, if it is.
fn taken_back(lever: Lever) -> Option<String> {
    let (mut conductor, _) = asked(lever);
    let (old, new) = (Value::Int(0), Value::Int(1));
    let report = |action, report| Input::Report { action, rank: Rank(0), report };
    let ready = ActionReport::Ready { n_hits: 0, old, note: String::new() };
    conductor.hear(3.6, report(1, ready));
    let done = ActionDone { rank: Rank(0), time_s: 3.7, hit: 0, old, new };
    conductor.hear(3.7, report(1, ActionReport::Done(done)));
    conductor.hear(3.8, Input::Iterations(found()));
    let ready = ActionReport::Ready { n_hits: 0, old: new, note: String::new() };
    conductor.hear(3.9, report(2, ready));
    let done = ActionDone { rank: Rank(0), time_s: 4.0, hit: 0, old: new, new: old };
    let undone = conductor.hear(4.0, report(2, ActionReport::Done(done)));
    undone.into_iter().find_map(|output| match output {
        Output::Record(line) => match line.what {
            TuningEvent::Undone { reason, .. } => Some(reason),
            _ => None,
        },
        _ => None,
    })
}

#[test]
fn a_lever_whose_trial_cannot_be_ended_is_taken_back_unless_it_is_safe() {
    let why = taken_back(Lever::Memory).expect("nobody knows whether it helps");
    assert!(why.contains("iterations are others than before"), "{why}");
    assert_eq!(taken_back(Lever::Waiting), None);
}
