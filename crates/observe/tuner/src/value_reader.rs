//! Values of tuning points in the program: read before tunlets begin, and periodically while they run.
//!
//! A variable is read on the lowest rank of its actor. Ranks that appear wait in `MPI_Init` until all variables
//! have been read, but only for a bounded time.

use super::directory::Key;
use super::plan::{PlannedChange, TuningPlan};
use events::{Rank, Value};
use wire::Order;
use wire::control::Location;

/// Time in s for which ranks wait for values of others.
const PATIENCE_S: f64 = 0.5;
/// Time between readings, in s.
const READ_EVERY_S: f64 = 2.0;

/// Reader of the tuning points' values; see the module documentation.
#[derive(Debug)]
pub(super) struct ValueReader {
    /// Variables: position of the tuning point, and the rank on which it is read.
    readers: Vec<(usize, Rank)>,
    is_read: Vec<bool>,
    waiting: Vec<(Rank, u32, Key)>,
    deadline_s: Option<f64>,
    is_open: bool,
    next_s: Option<f64>,
}

impl ValueReader {
    /// Returns the values known before the program runs: nothing is replaced or loaded.
    pub(super) fn known(plan: &TuningPlan) -> Vec<(usize, Value)> {
        let points = plan.points.iter().enumerate();
        let is_switch = |change: &PlannedChange| {
            matches!(
                change,
                PlannedChange::Replace { .. }
                    | PlannedChange::Load { .. }
                    | PlannedChange::Lever(_)
            )
        };
        let off = points.filter(|(_, point)| is_switch(&point.change));
        off.map(|(idx, _)| (idx, Value::Int(0))).collect()
    }

    pub(super) fn new(plan: &TuningPlan) -> Self {
        let points = plan.points.iter().enumerate();
        let readers = points.filter_map(|(idx, point)| {
            let is_variable = matches!(point.change, PlannedChange::Set { .. });
            let first = point.ranks.spans.iter().map(|(first, _)| *first).min()?;
            is_variable.then_some((idx, Rank(first)))
        });
        Self {
            readers: readers.collect(),
            is_read: vec![false; plan.points.len()],
            waiting: Vec::new(),
            deadline_s: None,
            is_open: false,
            next_s: None,
        }
    }

    /// Notes that a rank appeared; returns the order to send to it.
    pub(super) fn appear(
        &mut self,
        (rank, n_ranks, key): (Rank, u32, Key),
        plan: &TuningPlan,
        now_s: f64,
    ) -> Option<Order> {
        self.deadline_s.get_or_insert(now_s + PATIENCE_S);
        self.waiting.push((rank, n_ranks, key));
        self.question(rank, plan)
    }

    /// Returns the order to read the variables of a rank.
    fn question(&self, rank: Rank, plan: &TuningPlan) -> Option<Order> {
        let own = self.readers.iter().filter(|(_, reader)| *reader == rank);
        let variables: Vec<(u32, Location, _)> = own
            .filter_map(|(point, _)| {
                let planned = &plan.points[*point];
                let PlannedChange::Set { at } = planned.change else { return None };
                Some((u32::try_from(*point).ok()?, at, planned.kind))
            })
            .collect();
        let modules = || plan.modules.clone();
        (!variables.is_empty()).then(|| Order::Read { modules: modules(), variables })
    }

    /// Processes an answer; returns the values by the positions of their tuning points.
    pub(super) fn hear(&mut self, values: &[(u32, u64)], plan: &TuningPlan) -> Vec<(usize, Value)> {
        let known = values.iter().filter_map(|(number, bits)| {
            let point = usize::try_from(*number).ok()?;
            *self.is_read.get_mut(point)? = true;
            Some((point, plan.points.get(point)?.kind.value(*bits)))
        });
        known.collect()
    }

    /// Removes and returns the ranks that no longer need to wait.
    pub(super) fn take_ready(&mut self, now_s: f64) -> Vec<(Rank, u32, Key)> {
        let Some((_, n_ranks, _)) = self.waiting.first() else { return Vec::new() };
        let n_ranks = *n_ranks;
        let is_missing =
            |(point, reader): &(usize, Rank)| reader.0 < n_ranks && !self.is_read[*point];
        let is_late = self.deadline_s.is_some_and(|deadline_s| deadline_s <= now_s);
        self.is_open |= is_late || !self.readers.iter().any(is_missing);
        if self.is_open { std::mem::take(&mut self.waiting) } else { Vec::new() }
    }

    /// Starts periodic reading once the program is at work, at once for the values it has set until now.
    pub(super) fn start_reading(&mut self, now_s: f64) {
        self.next_s.get_or_insert(now_s);
    }

    /// Returns the orders to read that are due, with their ranks.
    pub(super) fn questions(&mut self, now_s: f64, plan: &TuningPlan) -> Vec<(Rank, Order)> {
        if self.next_s.is_none_or(|next_s| now_s < next_s) {
            return Vec::new();
        }
        self.next_s = Some(now_s + READ_EVERY_S);
        let mut ranks: Vec<Rank> = self.readers.iter().map(|(_, rank)| *rank).collect();
        ranks.sort_unstable();
        ranks.dedup();
        ranks.into_iter().filter_map(|rank| Some((rank, self.question(rank, plan)?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::PlannedPoint;
    use app_description::RankSet;
    use events::{ProbePoint, ProcessKey, ValueType};

    fn plan() -> TuningPlan {
        let point = |first, change| PlannedPoint {
            sync: (1, ProbePoint::Entry),
            kind: ValueType::I32,
            change,
            ranks: RankSet { spans: vec![(first, None)] },
        };
        let set = PlannedChange::Set { at: Location { module: 0, address: 64 } };
        let load = PlannedChange::Load { path: "/lib.so".into() };
        let points = vec![point(0, load), point(1, set.clone()), point(9, set)];
        TuningPlan { points, ..TuningPlan::default() }
    }

    fn rank(rank: u32) -> (Rank, u32, Key) {
        (Rank(rank), 2, ("n".to_owned(), ProcessKey { pid: rank, started: 0 }))
    }

    #[test]
    fn ranks_wait_until_variables_were_read() {
        let (plan, now) = (plan(), 3.0);
        let mut value_reader = ValueReader::new(&plan);
        assert_eq!(value_reader.take_ready(now), [], "nobody is there");
        assert_eq!(value_reader.appear(rank(0), &plan, now), None, "nothing is read there");
        assert_eq!(value_reader.take_ready(now), []);
        assert!(matches!(value_reader.appear(rank(1), &plan, now), Some(Order::Read { .. })));
        assert_eq!(value_reader.take_ready(now), []);
        assert_eq!(value_reader.hear(&[(1, 7), (99, 0)], &plan), [(1, Value::Int(7))]);
        // The third variable is read on a rank that does not exist.
        assert_eq!(value_reader.take_ready(now), [rank(0), rank(1)]);
        assert_eq!(value_reader.take_ready(now), []);
    }

    #[test]
    fn who_does_not_answer_is_not_waited_for() {
        let (plan, now) = (plan(), 3.0);
        let mut value_reader = ValueReader::new(&plan);
        value_reader.appear(rank(1), &plan, now);
        assert_eq!(value_reader.take_ready(now), []);
        assert_eq!(value_reader.take_ready(now + PATIENCE_S), [rank(1)]);
    }

    #[test]
    fn a_program_at_work_is_asked_now_and_then() {
        let (plan, now) = (plan(), 3.0);
        let mut value_reader = ValueReader::new(&plan);
        assert_eq!(value_reader.questions(now, &plan), []);
        value_reader.start_reading(now);
        let asked: Vec<Rank> =
            value_reader.questions(now, &plan).into_iter().map(|(rank, _)| rank).collect();
        assert_eq!(asked, [Rank(1), Rank(9)]);
        assert_eq!(value_reader.questions(now, &plan), []);
        assert_eq!(value_reader.questions(now + READ_EVERY_S, &plan).len(), 2);
    }
}
