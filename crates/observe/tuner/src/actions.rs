//! Actions on tuning points: values that ranks were told to set, and which action replaces which.

use crate::plan::{PlannedChange, TuningPlan};
use events::{ActionRecord, ProbePoint, Rank, Value};
use std::collections::{BTreeMap, HashMap};
use tunlets::conductor::{ActionDone, ActionReport};
use wire::control::ActionEffect;

/// Maximum number of actions remembered.
const N_ACTIONS_MAX: usize = 4096;

/// Actions sent to ranks.
#[derive(Debug, Default)]
pub(crate) struct Actions {
    wanted: BTreeMap<u64, Wanted>,
    /// Last value given to tuning points that are not variables, by point and rank.
    given: HashMap<(usize, Rank), Value>,
    /// Actions carried out at every passage, by point and rank.
    repeating: HashMap<(usize, Rank), u64>,
    /// Sites that a rank could not install, with the reason.
    failed: HashMap<(u32, Rank), String>,
}

/// Tuning point and wanted values of an action.
#[derive(Debug)]
struct Wanted {
    point: usize,
    values: HashMap<Rank, Value>,
    repeats: bool,
}

impl Actions {
    /// Remembers an action that ranks are told to prepare.
    pub(crate) fn prepare(
        &mut self,
        (action, point, repeats): (u64, usize, bool),
        values: &[(Rank, Value)],
    ) {
        if N_ACTIONS_MAX <= self.wanted.len() {
            self.wanted.pop_first();
        }
        let wanted = Wanted { point, values: values.iter().copied().collect(), repeats };
        self.wanted.insert(action, wanted);
    }

    /// Notes sites that a rank could not install, with the reasons.
    pub(crate) fn fail(&mut self, rank: Rank, refused: Vec<(u32, String)>) {
        self.failed.extend(refused.into_iter().map(|(site, reason)| ((site, rank), reason)));
    }

    /// Returns how a tuning point gets a value on a rank, or why it cannot.
    pub(crate) fn change(
        &self,
        plan: &TuningPlan,
        point: usize,
        rank: Rank,
        value: Value,
    ) -> Result<((u32, ProbePoint), ActionEffect), String> {
        let impossible = || "it cannot be set to this value".to_owned();
        let planned = plan.points.get(point).ok_or_else(impossible)?;
        if let Some(site) = planned.sites().find(|site| self.failed.contains_key(&(*site, rank))) {
            return Err(format!("`{}`: {}", plan.function_of(site), self.failed[&(site, rank)]));
        }
        Ok((planned.sync, planned.change(value).ok_or_else(impossible)?))
    }

    /// Returns the value that `bits` represent for the tuning point of `action`; one that is no variable has
    /// the value given last.
    pub(crate) fn value(
        &self,
        plan: &TuningPlan,
        action: u64,
        rank: Rank,
        bits: u64,
    ) -> Option<Value> {
        let point = self.wanted.get(&action)?.point;
        let planned = plan.points.get(point)?;
        let given = || self.given.get(&(point, rank)).copied();
        Some(match planned.change {
            PlannedChange::Set { .. }
            | PlannedChange::SetReached { .. }
            | PlannedChange::Lever(_) => planned.kind.value(bits),
            PlannedChange::Replace { .. } | PlannedChange::Load { .. } => {
                given().unwrap_or(Value::Int(0))
            }
            PlannedChange::Call { .. } => given().unwrap_or(Value::Float(f64::NAN)),
        })
    }

    /// Notes that a rank has carried out an action at `time_s`, or failed to; returns the report for the conductor, and
    /// the repeated action of the same point that the rank has to forget.
    ///
    /// A repeated action ends the one before only after it has been carried out for the first time.
    pub(crate) fn acknowledge(
        &mut self,
        plan: &TuningPlan,
        (rank, time_s): (Rank, f64),
        done: &ActionRecord,
    ) -> Option<(ActionReport, Option<u64>)> {
        let action = done.action;
        let old = self.value(plan, action, rank, done.old)?;
        let Wanted { point, values, repeats } = self.wanted.get(&action)?;
        let (point, asked, repeats) = (*point, values.get(&rank).copied(), *repeats);
        let is_later = self.repeating.get(&(point, rank)).is_none_or(|last| *last < action);
        let replaced =
            if repeats && is_later { self.repeating.insert((point, rank), action) } else { None };
        let planned = plan.points.get(point)?;
        let new = match planned.change {
            PlannedChange::Set { .. }
            | PlannedChange::SetReached { .. }
            | PlannedChange::Lever(_) => Some(planned.kind.value(done.new)),
            _ => asked,
        };
        let failure = i32::try_from(done.failure).ok().filter(|errno| *errno != 0);
        let failure = failure.map(|errno| std::io::Error::from_raw_os_error(errno).to_string());
        if let (None, Some(new)) = (&failure, new) {
            self.given.insert((point, rank), new);
        }
        let (hit, new) = (done.hit, new.unwrap_or(old));
        let done = ActionReport::Done(ActionDone { rank, time_s, hit, old, new });
        Some((failure.map_or(done, ActionReport::Failed), replaced))
    }

    /// Removes and returns the repeated actions, by rank, that a one-time action ends: they would overwrite it.
    pub(crate) fn end_repeated(&mut self, action: u64, ranks: &[Rank]) -> Vec<(Rank, u64)> {
        let Some(Wanted { point, repeats: false, .. }) = self.wanted.get(&action) else {
            return Vec::new();
        };
        let ended = ranks.iter();
        ended.filter_map(|rank| Some((*rank, self.repeating.remove(&(*point, *rank))?))).collect()
    }
}
