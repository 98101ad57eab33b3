//! Changes sent to ranks and their acknowledgments: values, orders, and which action replaces which.

use super::{N_ACTIONS_MAX, Runtime};
use crate::directory::Key;
use crate::order_queue::Collectors;
use crate::plan::PlannedChange;
use events::{ActionRecord, ProbePoint, Rank, Value};
use std::collections::{HashMap, VecDeque};
use tunlets::conductor::{Acknowledged, Input};
use wire::Order;
use wire::control::Change;

#[derive(Debug)]
pub(super) struct Wanted {
    point: usize,
    values: HashMap<Rank, Value>,
    repeats: bool,
}

impl<C: Collectors> Runtime<C> {
    pub(super) fn acknowledge(&mut self, rank: Rank, key: &Key, done: &ActionRecord) {
        let action = done.action;
        self.order_queue.done(key, action);
        let Some(old) = self.value(action, rank, done.old) else { return };
        let Some(wanted) = self.actions.get(&action) else { return };
        let (point, asked) = (wanted.point, wanted.values.get(&rank).copied());
        let repeats = wanted.repeats;
        if repeats && self.repeating.get(&(point, rank)).is_none_or(|last| *last < action) {
            self.end_repeated(point, rank);
            self.repeating.insert((point, rank), action);
        }
        let is_variable = self.is_variable(point);
        let new = if is_variable { self.value(action, rank, done.new) } else { asked };
        let failure = i32::try_from(done.failure).ok().filter(|errno| *errno != 0);
        let failure = failure.map(|errno| std::io::Error::from_raw_os_error(errno).to_string());
        if let (None, Some(new)) = (&failure, new) {
            self.given.insert((point, rank), new);
        }
        let (time_s, hit, new) = (self.time_s(key, done.ticks), done.hit, new.unwrap_or(old));
        let done = Acknowledged { action, rank, time_s, hit, old, new, failure };
        self.feed(Input::Acknowledged(done));
    }

    fn is_variable(&self, point: usize) -> bool {
        let planned = self.plan.points.get(point);
        planned.is_some_and(|point| matches!(point.change, PlannedChange::Set { .. }))
    }

    /// Returns the value that `bits` represent for the tuning point of `action`. A tuning point that is no
    /// variable has the value that it was given last.
    pub(super) fn value(&self, action: u64, rank: Rank, bits: u64) -> Option<Value> {
        let point = self.actions.get(&action)?.point;
        let planned = self.plan.points.get(point)?;
        let given = || self.given.get(&(point, rank)).copied();
        Some(match planned.change {
            PlannedChange::Set { .. } => planned.kind.value(bits),
            PlannedChange::Replace { .. } | PlannedChange::Load { .. } => {
                given().unwrap_or(Value::Int(0))
            }
            PlannedChange::Call { .. } => given().unwrap_or(Value::Float(f64::NAN)),
        })
    }

    pub(super) fn prepare(
        &mut self,
        (action, point, repeats): (u64, usize, bool),
        values: &[(Rank, Value)],
        inputs: &mut VecDeque<Input>,
    ) {
        if N_ACTIONS_MAX <= self.actions.len() {
            self.actions.pop_first();
        }
        let wanted = Wanted { point, values: values.iter().copied().collect(), repeats };
        self.actions.insert(action, wanted);
        for (rank, value) in values {
            match self.change(point, *rank, *value) {
                Ok((sync, change)) => {
                    let modules = self.plan.modules.clone();
                    let order = Order::Prepare { action, modules, sync, change, repeats };
                    self.order(&[*rank], &order);
                }
                Err(reason) => {
                    let rank = *rank;
                    inputs.push_back(Input::Refused { action, rank, reason });
                }
            }
        }
    }

    /// Returns how a tuning point gets a value on a rank, or why it cannot.
    fn change(
        &self,
        point: usize,
        rank: Rank,
        value: Value,
    ) -> Result<((u32, ProbePoint), Change), String> {
        let impossible = || "it cannot be set to this value".to_owned();
        let planned = self.plan.points.get(point).ok_or_else(impossible)?;
        if let Some(site) = planned.sites().find(|site| self.failed.contains_key(&(*site, rank))) {
            let (name, why) = (self.plan.function_of(site), &self.failed[&(site, rank)]);
            return Err(format!("`{name}`: {why}"));
        }
        Ok((planned.sync, planned.change(value).ok_or_else(impossible)?))
    }

    /// Withdraws the repeated action of a point before a one-time action, which it would otherwise overwrite. A
    /// new repeated action ends the old one only after it has been carried out for the first time.
    pub(super) fn take_turns(&mut self, action: u64, ranks: &[Rank]) {
        let Some(Wanted { point, repeats: false, .. }) = self.actions.get(&action) else { return };
        let point = *point;
        for rank in ranks {
            self.end_repeated(point, *rank);
        }
    }

    fn end_repeated(&mut self, point: usize, rank: Rank) {
        if let Some(action) = self.repeating.remove(&(point, rank)) {
            self.order(&[rank], &Order::Withdraw { action });
        }
    }
}
