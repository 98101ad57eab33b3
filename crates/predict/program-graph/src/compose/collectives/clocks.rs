//! Clocks of ranks inside a collective operation.

use crate::compose::network::MessageCost;

/// Clocks of all ranks, and the waits between them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Clocks {
    /// Clock of each rank, in s.
    pub at_s: Vec<f64>,
    /// Time that each rank waited for another one to arrive, in s.
    pub waited_s: Vec<f64>,
    /// Ranks that were delayed by another one, with the cause, in order.
    pub dependencies: Vec<(usize, Dependency)>,
}

/// Dependency: a rank could continue only because of another one's action.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dependency {
    /// Time at which the rank continued, in s.
    pub at_s: f64,
    /// Rank that it depended on.
    pub on: u32,
    /// Time of the other rank's action, in s.
    pub since_s: f64,
}

impl Clocks {
    /// Restarts with these entry times, in s.
    pub fn enter(&mut self, at_s: &[f64]) {
        self.at_s.clear();
        self.at_s.extend_from_slice(at_s);
        self.waited_s.clear();
        self.waited_s.resize(at_s.len(), 0.0);
        self.dependencies.clear();
    }

    /// Returns the number of ranks.
    #[must_use]
    pub fn n_ranks(&self) -> usize {
        self.at_s.len()
    }

    /// Passes a message between two ranks, from their current clocks.
    pub fn message(&mut self, from: usize, to: usize, cost: MessageCost) {
        let (sent_s, posted_s) = (self.at_s[from], self.at_s[to]);
        let latest_s = sent_s.max(posted_s);
        self.waited_s[to] += latest_s - posted_s;
        let head_s = sent_s + cost.overhead_s + cost.flight_s;
        if cost.is_eager {
            self.at_s[from] = sent_s + cost.sender_s();
            self.at_s[to] = posted_s.max(head_s) + cost.data_s + cost.overhead_s;
        } else {
            self.waited_s[from] += latest_s - sent_s;
            self.at_s[from] = latest_s + cost.one_way_s();
            self.at_s[to] = self.at_s[from];
        }
        if posted_s < if cost.is_eager { head_s } else { sent_s } {
            self.bind(to, from, sent_s);
        } else if !cost.is_eager && sent_s < posted_s {
            self.bind(from, to, posted_s);
        }
    }

    /// Advances all ranks through rounds after which every rank depends on every other.
    pub fn together(&mut self, rounds_s: f64) {
        self.together_of(rounds_s, |_| true);
    }

    /// Does the same among some of the ranks.
    pub fn together_of(&mut self, rounds_s: f64, takes_part: impl Fn(usize) -> bool) {
        let members: Vec<usize> = (0..self.at_s.len()).filter(|rank| takes_part(*rank)).collect();
        let last = members.iter().max_by(|a, b| self.at_s[**a].total_cmp(&self.at_s[**b]));
        let Some(&last) = last else { return };
        let latest_s = self.at_s[last];
        for rank in members {
            let waits_s = latest_s - self.at_s[rank];
            self.waited_s[rank] += waits_s;
            self.at_s[rank] = latest_s + rounds_s;
            if 0.0 < waits_s {
                self.bind(rank, last, latest_s);
            }
        }
    }

    /// Makes every rank send to the rank `distance` above it and receive from the one `distance` below,
    /// where these exist.
    pub fn shift(&mut self, distance: usize, cost: MessageCost) {
        let before_s = self.at_s.clone();
        for (rank, posted_s) in before_s.iter().copied().enumerate() {
            let below = rank.checked_sub(distance);
            let goes_on = rank + distance < before_s.len();
            match below {
                Some(below) => {
                    let latest_s = posted_s.max(before_s[below]);
                    self.waited_s[rank] += latest_s - posted_s;
                    self.at_s[rank] = latest_s + cost.one_way_s();
                    if posted_s < before_s[below] {
                        self.bind(rank, below, before_s[below]);
                    }
                }
                None if goes_on => self.at_s[rank] = posted_s + cost.sender_s(),
                None => (),
            }
        }
    }

    fn bind(&mut self, rank: usize, on: usize, since_s: f64) {
        let on = u32::try_from(on).unwrap_or(u32::MAX);
        self.dependencies.push((rank, Dependency { at_s: self.at_s[rank], on, since_s }));
    }
}
