//! Times since when nodes have been idle, from their number alone.

/// Times since when at least one node, two nodes, and so on have been idle without a break.
///
/// ```
/// use resize_plan::queue::IdleNodes;
///
/// let mut idle = IdleNodes::default();
/// idle.note(2, 100.0);
/// idle.note(1, 110.0);
/// idle.note(3, 120.0);
/// assert_eq!(idle.ages_s(150.0), [50.0, 30.0, 30.0]);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IdleNodes {
    since_s: Vec<f64>,
}

impl IdleNodes {
    /// Notes how many nodes are idle at a time.
    pub fn note(&mut self, n_idle: u32, now_s: f64) {
        self.since_s.resize(usize::try_from(n_idle).unwrap_or(usize::MAX), now_s);
    }

    /// For how long nodes have been idle, in seconds, the longest first.
    pub fn ages_s(&self, now_s: f64) -> Vec<f64> {
        self.since_s.iter().map(|since_s| (now_s - since_s).max(0.0)).collect()
    }
}
