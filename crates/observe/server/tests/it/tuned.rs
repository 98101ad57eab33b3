//! A rank that takes orders: its events reach a tunlet, the tunlet's decision reaches the rank, and both are
//! recorded, even if a collector is killed in between.

use crate::stage::{PLACES, Rank, Stage, event_facts, event_point, eventually, tunlet_spec};
use app_description::{
    Actor, Application, ChangeKind, IterationMark, Past, Range, RankSet, TuningPoint,
};
use assemble::assemble;
use events::{ProbePoint, Value, ValueType};
use run_record::measured::RunFacts;
use run_record::tuning::{DecisionOutcome, TuningMode, TuningSummary, TuningValue};
use server::Server;
use tuner::{PlannedChange, PlannedPoint, TuningOptions, TuningPlan};
use tunlets::{Decision, Detail, News, Requests, Tunlet, TunletError, TunletSpec, World};
use wire::control::{Attribute, Location, Site, SitePoint, ValueOrigin};

const TUNED: Rank = Rank { rank: 0, n_records: 1, ending: "tuned" };

/// Sets `NW` to 3 after the third iteration.
struct Once {
    n_iterations: u64,
}

impl Tunlet for Once {
    fn spec(&self) -> TunletSpec {
        tunlet_spec("once")
    }

    fn begin(&mut self, _: &Application, world: &World) -> Result<Requests, TunletError> {
        assert_eq!(world.n_ranks, 4);
        Ok(Requests { events: vec![Detail::Every; 2], performance: false, points: vec![0] })
    }

    fn hear(&mut self, news: &News, decisions: &mut Vec<Decision>) {
        if let News::Iteration(_) = news {
            self.n_iterations += 1;
            if self.n_iterations == 3 {
                let reason = "three iterations are over".to_owned();
                decisions.push(Decision { point: 0, value: Value::Int(3), reason });
            }
        }
    }
}

fn ranks() -> RankSet {
    RankSet { spans: vec![(0, Some(0))] }
}

fn application() -> Application {
    let point = TuningPoint {
        name: "NW".to_owned(),
        actor: 0,
        change: ChangeKind::Variable("NW".to_owned()),
        kind: Some(ValueType::I32),
        range: Some(Range { low: 1.0, high: 8.0, step: None }),
        sync_function: "iterate".to_owned(),
        sync_place: ProbePoint::Entry,
        is_repeated: false,
        is_forced: false,
        // Iterations of a test take arbitrary times.
        limit: 1e9,
        past: Past::Unknown,
        line: 1,
    };
    Application {
        program: "test".to_owned(),
        actors: vec![Actor { name: "master".to_owned(), ranks: ranks(), line: 1 }],
        iteration: Some(IterationMark { start: 0, end: 1, work: Some(0) }),
        events: PLACES.map(|place| event_point(place, "iterate", "work")).to_vec(),
        tuning_points: vec![point],
        ..Application::default()
    }
}

fn plan() -> TuningPlan {
    let at = Location { module: 0, address: 64 };
    let attribute = Attribute { source: ValueOrigin::Global(at), kind: ValueType::I32 };
    let point = |event| Some(SitePoint { event, attributes: vec![attribute], is_on: true });
    let site = Site { function: at, entry: point(0), exit: point(1), ..Site::default() };
    let change = PlannedChange::Set { at };
    let sync = (0, ProbePoint::Entry);
    TuningPlan {
        sites: vec![site],
        events: PLACES.map(|place| event_facts(place, "iterate", "work")).to_vec(),
        points: vec![PlannedPoint { sync, kind: ValueType::I32, change, ranks: ranks() }],
        ..TuningPlan::default()
    }
}

fn so_far(stage: &Stage) -> TuningSummary {
    let lines = stage.record.read_tuning().expect("readable").unwrap_or_default();
    assert_eq!(lines.problems, Vec::<String>::new());
    TuningSummary::of(&lines)
}

fn outcome(stage: &Stage) -> Option<DecisionOutcome> {
    so_far(stage).decisions.first().map(|decision| decision.outcome)
}

fn tuned(mode: TuningMode) -> (Stage, Server) {
    Stage::tuned(TuningOptions {
        application: application(),
        plan: plan(),
        tunlets: vec![Box::new(Once { n_iterations: 0 })],
        mode,
        ..TuningOptions::default()
    })
}

#[test]
fn a_decision_reaches_the_program_and_the_record() {
    let (stage, server) = tuned(TuningMode::Tune);
    let collector = stage.collector();
    let mut rank = stage.rank(TUNED);
    assert!(eventually(|| outcome(&stage) == Some(DecisionOutcome::Kept)), "{:?}", so_far(&stage));
    rank.close_input();
    assert!(rank.ends());
    let measured = stage.end(server, collector);
    let facts = RunFacts { functions: plan().events, ..stage.facts() };
    let summary = assemble(&measured, &facts, &stage.record).summary;
    let tuning = summary.tuning.unwrap();
    assert_eq!((tuning.mode, tuning.n_events_unheard), (TuningMode::Tune, 0));
    assert_eq!(tuning.warnings, Vec::<String>::new());
    let [decision] = &tuning.decisions[..] else { panic!("{:?}", tuning.decisions) };
    assert_eq!((decision.old, decision.new), (Some(TuningValue::Int(1)), TuningValue::Int(3)));
    assert_eq!((&*decision.tunlet, &*decision.point, decision.n_ranks), ("once", "NW", 1));
    assert!(decision.effect.is_some());
    assert!(tuning.iterations.len() >= 7, "{}", tuning.iterations.len());
    assert!(tuning.iterations.iter().all(|iteration| (iteration.work - 10.0).abs() < 1e-9));
    let table = stage.record.function_events().unwrap().unwrap();
    let rows: Vec<_> = table.batches().flat_map(Result::unwrap).collect();
    let n_starts = rows.iter().filter(|row| &*row.event == "start").count();
    assert!(tuning.iterations.len() <= n_starts, "{n_starts}");
    assert_eq!(rows.iter().filter(|row| &*row.event == "(action)").count(), 1);
}

#[test]
fn a_dry_run_changes_nothing() {
    let (stage, server) = tuned(TuningMode::DryRun);
    let collector = stage.collector();
    let mut rank = stage.rank(TUNED);
    assert!(eventually(|| outcome(&stage) == Some(DecisionOutcome::Would)));
    rank.close_input();
    assert!(rank.ends());
    stage.end(server, collector);
    assert_eq!(so_far(&stage).decisions[0].applied_s, None);
}

#[test]
fn a_collector_that_is_killed_is_replaced_and_the_decision_still_arrives() {
    let (stage, server) = tuned(TuningMode::Tune);
    let mut first = stage.collector();
    let mut rank = stage.rank(TUNED);
    assert!(eventually(|| !so_far(&stage).iterations.is_empty()));
    first.kill();
    let second = stage.collector();
    assert!(eventually(|| outcome(&stage).is_some_and(|o| o != DecisionOutcome::Open)));
    rank.close_input();
    assert!(rank.ends());
    stage.end(server, second);
    let numbers: Vec<u64> = so_far(&stage).iterations.iter().map(|it| it.number).collect();
    assert_eq!(numbers, (0..numbers.len() as u64).collect::<Vec<_>>());
}

#[test]
fn an_analyzer_that_is_killed_leaves_whole_lines() {
    let (stage, server) = tuned(TuningMode::Tune);
    let mut collector = stage.collector();
    let mut rank = stage.rank(TUNED);
    assert!(eventually(|| so_far(&stage).iterations.len() >= 2));
    drop(server);
    rank.close_input();
    assert!(rank.ends());
    assert!(collector.ends(), "it gives the analyzer up");
    assert!(!so_far(&stage).iterations.is_empty());
}
