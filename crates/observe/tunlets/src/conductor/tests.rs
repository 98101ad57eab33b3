//! Conductor with simulated ranks.

mod laws;
mod simulation;
mod stories;

use app_description::{
    Actor, Application, AttributeSource, ChangeKind, EventAttribute, EventPoint, IterationMark,
    Range, RankSet, TuningPoint,
};
use events::ProbePoint;

/// Positions of the events at the start and at the end of an iteration.
pub(super) const START: usize = 0;
pub(super) const END: usize = 1;
/// Tuning points: two of the master, one of the workers.
pub(super) const F0: usize = 0;
pub(super) const F1: usize = 1;
pub(super) const NW: usize = 2;
const MASTER: usize = 0;
const WORKER: usize = 1;

pub(super) fn point(name: &str, actor: usize) -> TuningPoint {
    TuningPoint {
        name: name.to_owned(),
        actor,
        change: ChangeKind::Variable(name.to_owned()),
        kind: None,
        range: Some(Range { low: 0.0, high: 100.0, step: None }),
        sync_function: "iterate".to_owned(),
        sync_place: ProbePoint::Entry,
        limit: 0.05,
        is_repeated: false,
        is_forced: false,
        line: 1,
    }
}

fn event(name: &str, place: ProbePoint) -> EventPoint {
    let work = EventAttribute {
        name: "work".to_owned(),
        source: AttributeSource::Variable("work".to_owned()),
        kind: None,
        line: 1,
    };
    let (name, function) = (name.to_owned(), "iterate".to_owned());
    EventPoint { name, actor: MASTER, function, place, attributes: vec![work], line: 1 }
}

fn actor(name: &str, first: u32, last: Option<u32>) -> Actor {
    Actor { name: name.to_owned(), ranks: RankSet { spans: vec![(first, last)] }, line: 1 }
}

pub(super) fn application() -> Application {
    Application {
        program: "program".to_owned(),
        actors: vec![actor("master", 0, Some(0)), actor("worker", 1, None)],
        iteration: Some(IterationMark { start: START, end: END, work: Some(0) }),
        events: vec![
            event("iteration_start", ProbePoint::Entry),
            event("iteration_end", ProbePoint::Exit),
        ],
        tuning_points: vec![point("F0", MASTER), point("F1", MASTER), point("NW", WORKER)],
        ..Application::default()
    }
}
