//! Tuning points of levers, which a run has without a description, or beside one.

use crate::description::{Actor, Application, ChangeKind, Past, Range, RankSet, TuningPoint};
use events::{Lever, ProbePoint, Value, ValueType};

/// Name of the actor of levers.
const ALL_RANKS: &str = "all ranks";

impl Application {
    /// Adds a tuning point for each of these levers, on all ranks; one whose name the description uses itself is left
    /// out and returned.
    pub fn add_levers(&mut self, levers: &[Lever]) -> Vec<Lever> {
        let actor = self.actors.len();
        let ranks = RankSet { spans: vec![(0, None)] };
        self.actors.push(Actor { name: ALL_RANKS.to_owned(), ranks, line: 0 });
        let mut taken = Vec::new();
        for lever in levers {
            if self.tuning_points.iter().any(|point| point.name == lever.name()) {
                taken.push(*lever);
            } else {
                self.tuning_points.push(point(*lever, actor));
            }
        }
        taken
    }

    /// Says what earlier runs taught: tunlets set the levers `first` at once, and try those of `late` only later.
    pub fn teach_levers(&mut self, first: &[String], late: &[String]) {
        for point in &mut self.tuning_points {
            point.past = match point.change.lever() {
                Some(_) if first.contains(&point.name) => Past::Helped,
                Some(_) if late.contains(&point.name) => Past::Failed,
                _ => Past::Unknown,
            };
        }
    }
}

impl TuningPoint {
    /// Slowdown above which this value is taken back.
    pub fn limit_at(&self, value: Option<Value>) -> f64 {
        let lever = self.change.lever().zip(value.and_then(Value::as_integer));
        lever.map_or(self.limit, |(lever, value)| lever.limit_at(value))
    }
}

fn point(lever: Lever, actor: usize) -> TuningPoint {
    TuningPoint {
        name: lever.name().to_owned(),
        actor,
        change: ChangeKind::Lever(lever),
        kind: Some(ValueType::I64),
        range: Some(Range { low: 0.0, high: lever.highest() as f64, step: Some(1.0) }),
        sync_function: String::new(),
        sync_place: ProbePoint::Entry,
        is_repeated: false,
        is_forced: false,
        limit: lever.limit(),
        past: Past::Unknown,
        line: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lever_is_a_tuning_point_of_all_ranks() {
        let mut application = Application::default();
        assert_eq!(application.add_levers(&[Lever::Waiting, Lever::Memory]), []);
        let memory = &application.tuning_points[1];
        assert_eq!(memory.change.lever(), Some(Lever::Memory));
        assert!(application.actors[memory.actor].ranks.contains(7));
        assert_eq!(memory.admit(Value::Int(1)), Ok(Value::Int(1)));
        assert!(memory.admit(Value::Int(9)).is_err());
        assert_eq!(application.add_levers(&[Lever::Memory]), [Lever::Memory], "the name is taken");
    }

    #[test]
    fn what_only_tries_need_not_help_yet() {
        let mut application = Application::default();
        application.add_levers(&[Lever::Collectives]);
        let limit = |value| application.tuning_points[0].limit_at(Some(Value::Int(value)));
        assert!(0.0 < limit(1) && limit(2) < 0.0);
    }

    #[test]
    fn levers_are_taught_by_name() {
        let mut application = Application::default();
        application.add_levers(&[Lever::Waiting, Lever::Memory]);
        application.teach_levers(&["memory".to_owned()], &["waiting".to_owned()]);
        let taught = application.tuning_points.iter().map(|point| point.past);
        assert_eq!(taught.collect::<Vec<_>>(), [Past::Failed, Past::Helped]);
    }
}
