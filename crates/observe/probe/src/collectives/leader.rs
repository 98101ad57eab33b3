//! Decisions of a communicator's first rank: when shadows are made, which algorithm is tried, and when choices are used.

use ring::board::{Change, Next, RankTable, Trials};

/// Calls, once all ranks have their seats, in which their counts are compared before anything is changed.
const N_WATCHED: u64 = 32;
/// Values of the lever.
const TRY: u8 = 1;
const USE: u8 = 2;

/// State of a communicator, kept by its first rank.
#[derive(Debug)]
pub(super) struct Leader {
    stage: Stage,
    /// Change that was decided last, and its call.
    last: Option<(Change, u64)>,
}

#[derive(Debug)]
enum Stage {
    /// Counts are compared, up to this call once all ranks have their seats.
    Watching(Option<u64>),
    /// Shadows are being made.
    Making,
    /// Algorithms are tried, in a block with this algorithm and this many calls.
    Trying(Box<Trials>, (u8, u64)),
    /// The choice is made; whether it is worth using.
    Chosen(bool),
}

impl Leader {
    pub(super) const fn new() -> Self {
        Self { stage: Stage::Watching(None), last: None }
    }

    /// Decides at a call of the leader.
    pub(super) fn decide(&mut self, table: &RankTable, n_ranks: usize, count: u64) {
        let Some(standing) = table.standing(n_ranks) else { return };
        let is_on = TRY <= standing.level && standing.is_able;
        match &mut self.stage {
            Stage::Watching(end) if is_on => {
                let end = *end.get_or_insert(count + N_WATCHED);
                if end <= count && self.change(table, n_ranks, Change::Make) {
                    self.stage = Stage::Making;
                }
            }
            Stage::Watching(end) => *end = None,
            Stage::Making => {
                if self.is_made(table, n_ranks) && is_on {
                    let Next::Block(arm, n_calls) = Trials::first() else { return };
                    self.stage = Stage::Trying(Box::default(), (arm, n_calls));
                    self.last = None;
                }
            }
            Stage::Trying(..) if !is_on => self.set(table, n_ranks, Change::Rest),
            Stage::Trying(..) => self.go_on(table, n_ranks, count),
            Stage::Chosen(is_worth) => {
                let is_used = *is_worth && USE <= standing.level;
                self.set(table, n_ranks, if is_used { Change::Use } else { Change::Rest });
            }
        }
    }

    /// Goes on with the trials.
    fn go_on(&mut self, table: &RankTable, n_ranks: usize, count: u64) {
        let Stage::Trying(trials, (arm, n_calls)) = &mut self.stage else { return };
        let change = Change::Try(*arm);
        match self.last {
            Some((last, begin)) if last == change => {
                if count <= begin + *n_calls {
                    return;
                }
                match trials.next(&table.times(n_ranks)) {
                    Next::Block(next_arm, next_n_calls) => {
                        (*arm, *n_calls) = (next_arm, next_n_calls);
                    }
                    Next::Over(choices) => {
                        table.choose(&choices);
                        self.stage = Stage::Chosen(!choices.is_empty());
                    }
                }
            }
            _ => {
                self.change(table, n_ranks, change);
            }
        }
    }

    fn is_made(&self, table: &RankTable, n_ranks: usize) -> bool {
        self.last.is_some_and(|(_, call)| table.is_made(n_ranks, call))
    }

    fn set(&mut self, table: &RankTable, n_ranks: usize, change: Change) {
        if self.last.is_none_or(|(last, _)| last != change) {
            self.change(table, n_ranks, change);
        }
    }

    fn change(&mut self, table: &RankTable, n_ranks: usize, change: Change) -> bool {
        let decided = table.decide(n_ranks, change);
        self.last = decided.map(|call| (change, call)).or(self.last);
        decided.is_some()
    }
}
