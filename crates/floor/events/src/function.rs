//! Records of a function's entry or exit, and of a change made to the program: 64 bytes each, in the
//! same rings as [`CallRecord`]s and distinguished by `kind`.

use crate::CallRecord;
use bytemuck::{Pod, Zeroable};
use serde::{Deserialize, Serialize};

/// Place in a function where something is measured or done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProbePoint {
    /// Before the function's first instruction.
    Entry,
    /// After the function returned, or was left by an exception or a tail call.
    Exit,
}

/// Kinds of records that are not about an MPI call; the numbers continue those of [`crate::RecordKind`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum FunctionKind {
    /// An [`EventRecord`]: a measurement point was passed.
    Event = 3,
    /// An [`EventRecord`] with further attributes of the event recorded just before.
    MoreValues = 4,
    /// An [`ActionRecord`]: the program was changed.
    Action = 5,
    /// A [`WatchedCall`]: an MPI call that the tuner asked for.
    Watched = 16,
}

/// Values in one [`EventRecord`].
pub const N_VALUES: usize = 5;

/// One passage of a measurement point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct EventRecord {
    /// Time-stamp counter.
    pub ticks: u64,
    /// The first four attributes, as the bits of their types.
    pub values: [u64; 4],
    /// Number of the event: its index in the list that requested it.
    pub event: u32,
    /// Passages of the place in this process so far, counted from 1; 0 where they are not counted.
    pub hit: u32,
    /// Way in which an exit came about: [`EXIT_BY_TAIL_CALL`], [`EXIT_BY_EXCEPTION`], or 0 for a return.
    pub exit_kind: u32,
    /// Unused, 0.
    pub spare: u16,
    /// [`FunctionKind::Event`], or [`FunctionKind::MoreValues`] where the record holds further attributes (6
    /// to 10 and so on) of the event recorded just before.
    pub kind: u16,
    /// The fifth attribute.
    pub last_value: u64,
}

/// The function ended with a tail call: another function returns in its place.
pub const EXIT_BY_TAIL_CALL: u32 = 1;
/// The function was left by an exception.
pub const EXIT_BY_EXCEPTION: u32 = 2;

/// An action carried out by a thread of the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct ActionRecord {
    /// Time-stamp counter.
    pub ticks: u64,
    /// Number of the action.
    pub action: u64,
    /// Value before, as the bits of its type; 0 where there is none.
    pub old: u64,
    /// Value after, or the return value of the called function.
    pub new: u64,
    /// Unused, 0.
    pub spare: u64,
    /// 0 on success, otherwise the `errno` that tells why the action failed.
    pub failure: u32,
    /// Passages of the sync point in this process so far, this one included.
    pub hit: u32,
    /// Unused, 0.
    pub spare2: u32,
    /// Unused, 0.
    pub spare3: u16,
    /// [`FunctionKind::Action`].
    pub kind: u16,
    /// Unused, 0.
    pub spare4: u64,
}

/// An MPI call that the tuner asked for, to find or to measure the program's iterations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct WatchedCall {
    /// Time-stamp counter at the entry of the operation.
    pub enter_ticks: u64,
    /// Time-stamp counter at its return.
    pub exit_ticks: u64,
    /// Call site: return address in the program.
    pub address: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Calls of the thread since the watched call before this one, this one included; those that only look whether
    /// something has arrived are not counted.
    pub n_calls: u64,
    /// Unused, 0.
    pub spare: [u32; 3],
    /// Index of the operation in the table of `mpi-abi`.
    pub operation: u16,
    /// [`FunctionKind::Watched`].
    pub kind: u16,
    /// Unused, 0.
    pub spare2: u64,
}

const _: () = assert!(size_of::<WatchedCall>() == size_of::<CallRecord>());
const _: () = assert!(size_of::<EventRecord>() == size_of::<CallRecord>());
const _: () = assert!(size_of::<ActionRecord>() == size_of::<CallRecord>());
const _: () = {
    let kind = std::mem::offset_of!(CallRecord, kind);
    assert!(std::mem::offset_of!(EventRecord, kind) == kind);
    assert!(std::mem::offset_of!(ActionRecord, kind) == kind);
    assert!(std::mem::offset_of!(WatchedCall, kind) == kind);
};

impl EventRecord {
    /// Returns the record as an event, or as the continuation of one; `None` for other kinds.
    pub fn of(record: &CallRecord) -> Option<Self> {
        const KINDS: [u16; 2] = [FunctionKind::Event as u16, FunctionKind::MoreValues as u16];
        KINDS.contains(&record.kind).then(|| bytemuck::cast(*record))
    }

    /// Returns the attributes in order.
    pub fn values(&self) -> [u64; N_VALUES] {
        let [first, second, third, fourth] = self.values;
        [first, second, third, fourth, self.last_value]
    }
}

impl ActionRecord {
    /// Returns the record as an action; `None` for other kinds.
    pub fn of(record: &CallRecord) -> Option<Self> {
        let is_action = record.kind == FunctionKind::Action as u16;
        is_action.then(|| bytemuck::cast(*record))
    }
}

impl WatchedCall {
    /// Returns the record as a watched call; `None` for other kinds.
    pub fn of(record: &CallRecord) -> Option<Self> {
        let is_watched = record.kind == FunctionKind::Watched as u16;
        is_watched.then(|| bytemuck::cast(*record))
    }
}

impl From<WatchedCall> for CallRecord {
    fn from(record: WatchedCall) -> Self {
        bytemuck::cast(record)
    }
}

impl From<EventRecord> for CallRecord {
    fn from(record: EventRecord) -> Self {
        bytemuck::cast(record)
    }
}

impl From<ActionRecord> for CallRecord {
    fn from(record: ActionRecord) -> Self {
        bytemuck::cast(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_a_ring_are_told_apart() {
        let event =
            EventRecord { kind: FunctionKind::Event as u16, event: 7, ..Default::default() };
        let action =
            ActionRecord { kind: FunctionKind::Action as u16, action: 9, ..Default::default() };
        let (event, action) = (CallRecord::from(event), CallRecord::from(action));
        assert_eq!(EventRecord::of(&event).map(|event| event.event), Some(7));
        assert_eq!(EventRecord::of(&action), None);
        assert_eq!(ActionRecord::of(&action).map(|action| action.action), Some(9));
        assert_eq!(ActionRecord::of(&CallRecord::default()), None);
    }
}
