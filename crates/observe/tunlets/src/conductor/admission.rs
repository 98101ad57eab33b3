//! Conditions under which a decision is carried out.

use app_description::{Application, Past, TuningPoint};
use events::{Rank, Value};
use std::collections::BTreeSet;

/// Returns the ranks of an actor if all of them are present.
pub(super) fn ranks_of(
    (application, actor): (&Application, usize),
    n_ranks: Option<u32>,
    present: &BTreeSet<Rank>,
) -> Result<Vec<Rank>, String> {
    let actor = application.actors.get(actor).ok_or("its actor is not described")?;
    let all = 0..n_ranks.unwrap_or_default();
    let ranks: Vec<Rank> = all.filter(|rank| actor.ranks.contains(*rank)).map(Rank).collect();
    match ranks.iter().find(|rank| !present.contains(rank)) {
        _ if ranks.is_empty() => Err(format!("no rank is a `{}`", actor.name)),
        Some(missing) => Err(format!("rank {} has not started, or has ended", missing.0)),
        None => Ok(ranks),
    }
}

/// Checks that a lever gets the value as it was found, is safe, was learnt, or that its effect could be measured.
pub(super) fn check_lever(
    (point, value): (&TuningPoint, Value),
    why_unmeasurable: Option<&str>,
) -> Result<(), String> {
    match why_unmeasurable {
        Some(why) if needs_trial(point, value) => {
            Err(format!("its effect could not be measured: {why}"))
        }
        _ => Ok(()),
    }
}

/// Returns whether a lever may only have this value if it is measured that it helps.
pub(super) fn needs_trial(point: &TuningPoint, value: Value) -> bool {
    let lever = point.change.lever().filter(|_| point.past != Past::Helped);
    lever.is_some_and(|lever| !lever.is_safe_unmeasured()) && value.as_integer() != Some(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use events::Lever;

    #[track_caller]
    fn check(lever: Lever, value: i64, is_measurable: bool, is_allowed: bool) {
        let mut application = Application::default();
        application.add_levers(&[lever]);
        let wanted = (&application.tuning_points[0], Value::Int(value));
        let why = (!is_measurable).then_some("nothing repeats");
        let checked = check_lever(wanted, why);
        assert_eq!(checked.is_ok(), is_allowed);
    }

    #[test]
    fn what_may_hurt_has_to_be_measurable() {
        check(Lever::Memory, 1, true, true);
        check(Lever::Memory, 1, false, false);
        check(Lever::Memory, 0, false, true);
        check(Lever::Waiting, 2, false, true);
    }

    #[test]
    fn what_was_learnt_is_set_before_it_can_be_measured() {
        let mut application = Application::default();
        application.add_levers(&[Lever::Memory]);
        application.teach_levers(&["memory".to_owned()], &[]);
        let wanted = (&application.tuning_points[0], Value::Int(1));
        assert_eq!(check_lever(wanted, Some("nothing repeats")), Ok(()));
    }
}
