//! Decoding of ring records into events with all their attributes.

use crate::{ActionRecord, CallRecord, EventRecord, FunctionKind, Value, ValueType};
use std::collections::HashMap;
use std::hash::Hash;

/// Maximum number of events waiting for the rest of their attributes.
const N_OPEN_MAX: usize = 100_000;

/// An event with its attributes.
#[derive(Clone, Debug, PartialEq)]
pub struct Passage {
    /// Number of the event in the plan.
    pub event: usize,
    /// Time of the passage.
    pub ticks: u64,
    /// Number of passages of the point, this one included.
    pub hit: u32,
    /// Values of the attributes.
    pub values: Vec<Value>,
}

/// Decoded content of a record.
#[derive(Clone, Debug, PartialEq)]
pub enum DecodedRecord {
    /// An event was passed.
    Passed(Passage),
    /// An action was carried out.
    Did(ActionRecord),
}

/// Assembles events that span several records; `T` identifies a thread.
#[derive(Debug)]
pub struct Decoder<T> {
    /// Types of each event's attributes.
    kinds: Vec<Vec<ValueType>>,
    open: HashMap<T, (EventRecord, Vec<u64>)>,
    /// Number of records that belong to no known event.
    pub n_unknown: u64,
}

impl<T: Hash + Eq + Clone> Decoder<T> {
    /// Creates a decoder of events whose attributes have these types.
    pub fn new(kinds: Vec<Vec<ValueType>>) -> Self {
        Self { kinds, open: HashMap::new(), n_unknown: 0 }
    }

    /// Processes the next record of a thread; returns the event or action that it completes.
    pub fn read(&mut self, thread: &T, record: &CallRecord) -> Option<DecodedRecord> {
        if let Some(action) = ActionRecord::of(record) {
            return Some(DecodedRecord::Did(action));
        }
        let event = EventRecord::of(record)?;
        let is_first = event.kind == FunctionKind::Event as u16;
        let open = if is_first { Some((event, Vec::new())) } else { self.open.remove(thread) };
        let Some((first, mut values)) = open else {
            self.n_unknown += 1;
            return None;
        };
        values.extend(event.values());
        let Some(kinds) = self.kinds.get(first.event as usize) else {
            self.n_unknown += 1;
            return None;
        };
        if values.len() < kinds.len() {
            if self.open.len() < N_OPEN_MAX {
                self.open.insert(thread.clone(), (first, values));
            }
            return None;
        }
        self.open.remove(thread);
        let values = kinds.iter().zip(values).map(|(kind, bits)| kind.value(bits)).collect();
        let (event, ticks, hit) = (first.event as usize, first.ticks, first.hit);
        Some(DecodedRecord::Passed(Passage { event, ticks, hit, values }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: FunctionKind, first: u64) -> CallRecord {
        let values = [first, first + 1, first + 2, first + 3];
        let last_value = first + 4;
        EventRecord { kind: kind as u16, values, last_value, ticks: 9, ..EventRecord::default() }
            .into()
    }

    /// Checks the values of each event decoded from records of several threads.
    #[track_caller]
    fn check(n_attributes: usize, records: &[(u32, CallRecord)], expected: &[&[i128]]) {
        let mut decoder = Decoder::new(vec![vec![ValueType::I32; n_attributes]]);
        let decoded = records.iter().filter_map(|(thread, record)| decoder.read(thread, record));
        let found: Vec<Vec<i128>> = decoded
            .map(|decoded| match decoded {
                DecodedRecord::Passed(passage) => passage.values,
                DecodedRecord::Did(_) => Vec::new(),
            })
            .map(|values| values.iter().filter_map(|value| value.as_integer()).collect())
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn attributes_may_take_several_records() {
        use FunctionKind::{Action, Event, MoreValues};
        check(0, &[(0, record(Event, 1))], &[&[]]);
        check(2, &[(0, record(Event, 1))], &[&[1, 2]]);
        check(
            5,
            &[(0, record(Event, 1)), (0, record(Event, 7))],
            &[&[1, 2, 3, 4, 5], &[7, 8, 9, 10, 11]],
        );
        let seven = [(0, record(Event, 1)), (1, record(Event, 21)), (0, record(MoreValues, 6))];
        check(7, &seven, &[&[1, 2, 3, 4, 5, 6, 7]]);
        check(7, &[(0, record(MoreValues, 6)), (0, record(Event, 1))], &[]);
        check(2, &[(0, record(Action, 1))], &[&[]]);
    }

    #[test]
    fn events_that_nobody_asked_for_are_counted() {
        let mut decoder = Decoder::new(Vec::new());
        assert_eq!(decoder.read(&0, &record(FunctionKind::Event, 1)), None);
        assert_eq!(decoder.n_unknown, 1);
    }
}
