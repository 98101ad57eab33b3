//! Builder of a timeline: collects events, keeps the longest, and sorts them into lanes.

use super::{Lane, LaneKey, MessageRole, OperationName, Timeline, TimelineCall, TimelineOptions};
use std::collections::{BTreeMap, HashMap};

/// Timeline under construction. Events may be added in any order, except that those of one thread must be in
/// chronological order, or message lines will be wrong.
#[derive(Debug, Default)]
pub struct TimelineBuilder {
    options: TimelineOptions,
    kept: Vec<Kept>,
    operations: Vec<OperationName>,
    operation_idx: HashMap<String, u32>,
    /// Last number used for sends (true) and for receives in each direction; numbers start at 1.
    ///
    /// The n-th message from one rank to another is taken by the n-th receive. MPI keeps the order of messages between
    /// two ranks only within a tag and communicator, which a timeline does not contain; so a line between two calls is
    /// likely, but not proven.
    last_numbers: HashMap<(Direction, bool), u32>,
    n_left_out: u64,
    left_out_ns_max: u64,
}

/// Compact event in memory, because there may be millions.
#[derive(Clone, Debug)]
struct Kept {
    start_ns: i64,
    end_ns: i64,
    bytes: u64,
    world: u32,
    rank: u32,
    thread: u32,
    operation: u32,
    /// [`NONE`] if unknown.
    call_site: u32,
    /// [`NONE`] if there is no peer.
    peer: u32,
    /// Number of the message in its direction; 0 if there is none.
    message: u32,
    role: MessageRole,
}

const NONE: u32 = u32::MAX;
/// Divisor of the bound: kept events may exceed it by a quarter before the shortest are dropped.
const SLACK: usize = 4;

impl Kept {
    fn length_ns(&self) -> u64 {
        u64::try_from(self.end_ns.saturating_sub(self.start_ns)).unwrap_or(0)
    }

    fn lane(&self) -> LaneKey {
        LaneKey { world: self.world as usize, rank: self.rank, thread: self.thread }
    }

    fn message(&self) -> Option<MessageKey> {
        let direction = Direction::of(self.world, self.rank, self.peer, self.role)?;
        (self.message != 0).then_some(MessageKey { direction, number: self.message })
    }
}

fn small(number: Option<usize>) -> u32 {
    number.and_then(|number| u32::try_from(number).ok()).unwrap_or(NONE)
}

fn known(number: u32) -> Option<u32> {
    (number != NONE).then_some(number)
}

impl TimelineBuilder {
    /// Creates a timeline without events.
    #[must_use]
    pub fn new(options: TimelineOptions) -> Self {
        Self { options, ..Self::default() }
    }

    /// Adds a call.
    pub fn add(&mut self, event: &TimelineCall<'_>) {
        let world = small(Some(event.world));
        let direction =
            event.peer.and_then(|peer| Direction::of(world, event.rank, peer, event.role));
        let kept = Kept {
            start_ns: event.start_ns,
            end_ns: event.end_ns.max(event.start_ns),
            bytes: event.bytes,
            world,
            rank: event.rank,
            thread: event.thread,
            operation: self.operation(event.operation, event.class),
            call_site: small(event.call_site),
            peer: event.peer.unwrap_or(NONE),
            message: direction.map_or(0, |direction| self.next_number(direction, event.role)),
            role: event.role,
        };
        self.kept.push(kept);
        let n_max = self.options.n_events_max;
        if n_max + n_max / SLACK + 1 < self.kept.len() {
            self.thin();
        }
    }

    /// Returns the timeline of the added calls.
    #[must_use]
    pub fn finish(mut self) -> Timeline {
        self.thin();
        let first_ns = self.kept.iter().map(|event| event.start_ns).min().unwrap_or(0);
        let last_ns = self.kept.iter().map(|event| event.end_ns).max().unwrap_or(0);
        let (n_left_out, left_out_ns_max) = (self.n_left_out, self.left_out_ns_max);
        let operations = std::mem::take(&mut self.operations);
        let lanes = lanes(self.kept, first_ns);
        Timeline {
            lanes,
            operations,
            end_ns: since(last_ns, first_ns),
            n_left_out,
            left_out_ns_max,
        }
    }

    fn operation(&mut self, name: &str, class: &str) -> u32 {
        if let Some(idx) = self.operation_idx.get(name) {
            return *idx;
        }
        let idx = u32::try_from(self.operations.len()).unwrap_or(u32::MAX);
        self.operations.push(OperationName { name: name.to_owned(), class: class.to_owned() });
        self.operation_idx.insert(name.to_owned(), idx);
        idx
    }

    /// Returns the number of the next message sent (or received) in this direction.
    fn next_number(&mut self, direction: Direction, role: MessageRole) -> u32 {
        let number = self.last_numbers.entry((direction, role == MessageRole::Send)).or_default();
        *number = number.wrapping_add(1);
        *number
    }

    fn thin(&mut self) {
        let n_max = self.options.n_events_max;
        if self.kept.len() <= n_max {
            return;
        }
        self.kept.select_nth_unstable_by_key(n_max, |event| std::cmp::Reverse(event.length_ns()));
        self.left_out_ns_max = self.left_out_ns_max.max(self.kept[n_max].length_ns());
        self.n_left_out += (self.kept.len() - n_max) as u64;
        self.kept.truncate(n_max);
    }
}

fn since(at_ns: i64, first_ns: i64) -> u64 {
    u64::try_from(at_ns.saturating_sub(first_ns)).unwrap_or(0)
}

fn lanes(mut kept: Vec<Kept>, first_ns: i64) -> Vec<Lane> {
    kept.sort_unstable_by_key(|event| (event.lane(), event.start_ns, event.end_ns));
    let mut lanes: Vec<Lane> = Vec::new();
    let mut receives: HashMap<MessageKey, (usize, usize)> = HashMap::new();
    let mut sends: BTreeMap<(usize, usize), MessageKey> = BTreeMap::new();
    for event in &kept {
        if lanes.last().is_none_or(|lane| lane.key != event.lane()) {
            lanes.push(Lane { key: event.lane(), ..Lane::default() });
        }
        let lane_idx = lanes.len() - 1;
        let lane = &mut lanes[lane_idx];
        let at = (lane_idx, lane.n_events());
        match (event.role, event.message()) {
            (MessageRole::Send, Some(message)) => drop(sends.insert(at, message)),
            (MessageRole::Receive, Some(message)) => drop(receives.insert(message, at)),
            _ => {}
        }
        push(lane, event, first_ns);
    }
    for ((lane_idx, event_idx), message) in sends {
        lanes[lane_idx].received_at[event_idx] = receives.get(&message).copied();
    }
    lanes
}

fn push(lane: &mut Lane, event: &Kept, first_ns: i64) {
    lane.start_ns.push(since(event.start_ns, first_ns));
    lane.end_ns.push(since(event.end_ns, first_ns));
    lane.operation.push(event.operation);
    lane.call_site.push(known(event.call_site).map(|site| site as usize));
    lane.peer.push(known(event.peer));
    lane.bytes.push(event.bytes);
    lane.received_at.push(None);
}

/// Direction of messages between two ranks of a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Direction {
    world: u32,
    from: u32,
    to: u32,
}

impl Direction {
    /// Returns the direction of a message that `rank` sends to or receives from `peer`.
    fn of(world: u32, rank: u32, peer: u32, role: MessageRole) -> Option<Self> {
        match role {
            MessageRole::Neither => None,
            MessageRole::Send => Some(Self { world, from: rank, to: peer }),
            MessageRole::Receive => Some(Self { world, from: peer, to: rank }),
        }
    }
}

/// Message, identified by its direction and its number in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct MessageKey {
    direction: Direction,
    number: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(rank: u32, start_ns: i64, end_ns: i64, role: MessageRole) -> TimelineCall<'static> {
        let (operation, peer) = match role {
            MessageRole::Neither => ("MPI_Barrier", None),
            MessageRole::Send => ("MPI_Send", Some(1 - rank)),
            MessageRole::Receive => ("MPI_Recv", Some(1 - rank)),
        };
        let class = "point-to-point";
        TimelineCall {
            world: 0,
            rank,
            thread: 0,
            start_ns,
            end_ns,
            operation,
            class,
            call_site: None,
            peer,
            bytes: 8,
            role,
        }
    }

    #[track_caller]
    fn check(
        lengths_ns: &[i64],
        n_events_max: usize,
        expected_ns: &[u64],
        expected_left_out: (u64, u64),
    ) {
        let events = lengths_ns.iter().enumerate().map(|(idx, length_ns)| {
            let start_ns = 100 * i64::try_from(idx).unwrap();
            event(0, start_ns, start_ns + length_ns, MessageRole::Neither)
        });
        let timeline = Timeline::from_events(events, TimelineOptions { n_events_max });
        let lanes = timeline.lanes.iter();
        let lengths: Vec<u64> = lanes
            .flat_map(|lane| lane.start_ns.iter().zip(&lane.end_ns).map(|(start, end)| end - start))
            .collect();
        assert_eq!(lengths, expected_ns);
        assert_eq!((timeline.n_left_out, timeline.left_out_ns_max), expected_left_out);
    }

    #[test]
    fn the_longest_calls_are_kept() {
        check(&[], 2, &[], (0, 0));
        check(&[5, 9], 2, &[5, 9], (0, 0));
        check(&[5, 9, 7, 1, 8], 2, &[9, 8], (3, 7));
        check(&[5, 9, 7, 1, 8], 0, &[], (5, 9));
        check(&[-5], 2, &[0], (0, 0));
    }

    #[test]
    fn the_first_start_is_zero() {
        let events =
            [event(1, -40, -30, MessageRole::Neither), event(0, 10, 20, MessageRole::Neither)];
        let timeline = Timeline::from_events(events, TimelineOptions::default());
        assert_eq!(timeline.lanes[1].start_ns, [0]);
        assert_eq!(timeline.lanes[0].start_ns, [50]);
        assert_eq!(timeline.end_ns, 60);
    }

    #[test]
    fn a_message_goes_to_the_receive_of_its_number() {
        let events = [
            event(0, 0, 5, MessageRole::Send),
            event(0, 10, 15, MessageRole::Send),
            event(1, 0, 7, MessageRole::Receive),
            event(1, 8, 17, MessageRole::Receive),
            event(0, 20, 25, MessageRole::Send),
        ];
        let timeline = Timeline::from_events(events, TimelineOptions::default());
        assert_eq!(timeline.lanes[0].received_at, [Some((1, 0)), Some((1, 1)), None]);
        assert_eq!(timeline.lanes[1].received_at, [None, None]);
    }
}
