//! The clocks of ranks inside a collective operation.

use crate::compose::network::Parts;

/// The clocks of all ranks, and what they waited for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Clocks {
    /// By rank.
    pub at_s: Vec<f64>,
    /// Time in which a rank waited for another one to come, by rank.
    pub waited_s: Vec<f64>,
    /// Who decided when a rank went on, in the order in which it did.
    pub bonds: Vec<(usize, Bond)>,
}

/// A moment in which a rank could go on because of another one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bond {
    /// The moment.
    pub at_s: f64,
    /// The other rank.
    pub on: u32,
    /// What it did it at this moment of its own.
    pub since_s: f64,
}

impl Clocks {
    /// Ranks that enter at these times.
    #[must_use]
    pub fn of(at_s: Vec<f64>) -> Self {
        let waited_s = vec![0.0; at_s.len()];
        Self { at_s, waited_s, bonds: Vec::new() }
    }

    /// Starts again with these entries.
    pub fn enter(&mut self, at_s: &[f64]) {
        self.at_s.clear();
        self.at_s.extend_from_slice(at_s);
        self.waited_s.clear();
        self.waited_s.resize(at_s.len(), 0.0);
        self.bonds.clear();
    }

    /// Ranks.
    #[must_use]
    pub fn n_ranks(&self) -> usize {
        self.at_s.len()
    }

    /// A message that is sent and received at once, as the clocks of the two stand.
    pub fn message(&mut self, from: usize, to: usize, parts: Parts) {
        let (sent_s, posted_s) = (self.at_s[from], self.at_s[to]);
        let latest_s = sent_s.max(posted_s);
        self.waited_s[to] += latest_s - posted_s;
        let head_s = sent_s + parts.overhead_s + parts.flight_s;
        if parts.is_eager {
            self.at_s[from] = sent_s + parts.sender_s();
            self.at_s[to] = posted_s.max(head_s) + parts.data_s + parts.overhead_s;
        } else {
            self.waited_s[from] += latest_s - sent_s;
            self.at_s[from] = latest_s + parts.one_way_s();
            self.at_s[to] = self.at_s[from];
        }
        if posted_s < if parts.is_eager { head_s } else { sent_s } {
            self.bind(to, from, sent_s);
        } else if !parts.is_eager && sent_s < posted_s {
            self.bind(from, to, posted_s);
        }
    }

    /// Rounds after which every rank depends on every other.
    pub fn together(&mut self, rounds_s: f64) {
        self.together_of(rounds_s, |_| true);
    }

    /// The same among some of the ranks.
    pub fn together_of(&mut self, rounds_s: f64, takes_part: impl Fn(usize) -> bool) {
        let members = || (0..self.at_s.len()).filter(|rank| takes_part(*rank));
        let last = members().max_by(|a, b| self.at_s[*a].total_cmp(&self.at_s[*b]));
        let Some(last) = last else { return };
        let latest_s = self.at_s[last];
        for rank in (0..self.at_s.len()).filter(|rank| takes_part(*rank)) {
            let waits_s = latest_s - self.at_s[rank];
            self.waited_s[rank] += waits_s;
            self.at_s[rank] = latest_s + rounds_s;
            if 0.0 < waits_s {
                self.bind(rank, last, latest_s);
            }
        }
    }

    /// Every rank sends to the one `distance` above it and receives from the one below, where there is one.
    pub fn shift(&mut self, distance: usize, parts: Parts) {
        let before_s = self.at_s.clone();
        for (rank, posted_s) in before_s.iter().copied().enumerate() {
            let below = rank.checked_sub(distance);
            let goes_on = rank + distance < before_s.len();
            match below {
                Some(below) => {
                    let latest_s = posted_s.max(before_s[below]);
                    self.waited_s[rank] += latest_s - posted_s;
                    self.at_s[rank] = latest_s + parts.one_way_s();
                    if posted_s < before_s[below] {
                        self.bind(rank, below, before_s[below]);
                    }
                }
                None if goes_on => self.at_s[rank] = posted_s + parts.sender_s(),
                None => (),
            }
        }
    }

    fn bind(&mut self, rank: usize, on: usize, since_s: f64) {
        let on = u32::try_from(on).unwrap_or(u32::MAX);
        self.bonds.push((rank, Bond { at_s: self.at_s[rank], on, since_s }));
    }
}
