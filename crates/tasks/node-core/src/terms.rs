//! What a submission asks for beyond its command, and what an attempt is given of its node.

use balancing_policies::NodeId;
use serde::{Deserialize, Serialize};
use task_api::{Demand, DependencyKind, FailureRules, Resources, Schedule, Submission};

/// What a submission asks for beyond its command, with the numbers of its tasks.
///
/// Journals have it as JSON, so that a later version can add to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubmissionTerms {
    /// Number of the first task.
    pub first: u64,
    /// Number of the last task.
    pub last: u64,
    /// Rules for tasks that fail.
    #[serde(default)]
    pub failures: FailureRules,
    /// What each task asks of its node.
    #[serde(default)]
    pub demand: Demand,
    /// When the tasks may run.
    #[serde(default)]
    pub schedule: Schedule,
    /// Texts of the tasks, one each; or none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<String>,
    /// Number of the task with the first of the texts.
    #[serde(default)]
    pub items_first: u64,
}

impl SubmissionTerms {
    /// Terms of a submission whose first task gets the number `first`; `None` where one task asks for nothing special.
    pub fn of(first: u64, submission: &Submission) -> Option<Self> {
        let n_tasks = submission.n_tasks();
        let is_plain = submission.failures.are_plain()
            && submission.demand.is_plain()
            && submission.schedule.is_plain()
            && submission.items.is_empty();
        (n_tasks != 1 || !is_plain).then(|| Self {
            first,
            last: first.saturating_add(n_tasks.saturating_sub(1)),
            failures: submission.failures,
            demand: submission.demand.clone(),
            schedule: submission.schedule.clone(),
            items: submission.items.clone(),
            items_first: first,
        })
    }

    /// Text of a task.
    pub fn item(&self, number: u64) -> Option<&str> {
        let idx = usize::try_from(number.checked_sub(self.items_first)?).ok()?;
        self.items.get(idx).map(String::as_str)
    }

    /// The same terms with just the texts of some tasks.
    pub(crate) fn with_items_of(&self, first: u64, n_tasks: u64) -> Self {
        if self.items.is_empty() {
            return self.clone();
        }
        let numbers = first..first.saturating_add(n_tasks);
        let items =
            numbers.map(|number| self.item(number).unwrap_or_default().to_owned()).collect();
        Self { items, items_first: first, ..self.clone() }
    }

    /// Ranges of numbers that a task waits for, and what has to become of them.
    pub fn after(&self, number: u64) -> impl Iterator<Item = (u64, u64, DependencyKind)> {
        let idx = number.saturating_sub(self.first);
        self.schedule.after.iter().map(move |it| {
            let (first, last) = it.numbers_for(idx);
            (first, last, it.when)
        })
    }
}

/// What an attempt is given of its node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allocation {
    /// Number of cores.
    pub cpus: u32,
    /// Bytes of memory; 0 where none was asked for.
    pub memory_bytes: u64,
    /// Place of the alternative among those that the task had asked for.
    pub variant: u32,
    /// Cores that it is bound to, where it is bound to some.
    pub cores: Vec<u32>,
    /// Numbers of its GPUs, in the order in which the node names them.
    pub gpus: Vec<u32>,
    /// Numbers of its pieces of other resources.
    pub named: Vec<(String, Vec<u32>)>,
    /// The other nodes, where the attempt has room on several.
    pub span: Option<Box<NodeSpan>>,
}

/// Other nodes that an attempt has room on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeSpan {
    /// Number of the search in which the room was found.
    pub round: u64,
    /// Host of the node that starts the attempt.
    pub host: String,
    /// Room on the others.
    pub rooms: Vec<Room>,
}

/// Room on a node for an attempt that another node starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Room {
    /// The node.
    pub node: NodeId,
    /// Its host, by which a launcher reaches it.
    pub host: String,
    /// What it gives.
    pub allocation: Allocation,
}

impl Default for Allocation {
    /// One core, any one.
    fn default() -> Self {
        let (cores, gpus, named) = (Vec::new(), Vec::new(), Vec::new());
        Self { cpus: 1, memory_bytes: 0, variant: 0, cores, gpus, named, span: None }
    }
}

impl Allocation {
    /// Returns whether this is nothing but one of the cores, any one.
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }

    /// Amounts of all resources.
    pub fn resources(&self) -> Resources {
        let n = |ids: &Vec<u32>| u32::try_from(ids.len()).unwrap_or(u32::MAX);
        let named = self.named.iter().map(|(name, ids)| (name.clone(), n(ids))).collect();
        let Self { cpus, memory_bytes, .. } = *self;
        Resources { cpus, cpus_max: 0, memory_bytes, gpus: n(&self.gpus), named }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_go_by_the_numbers_of_their_tasks() {
        let items = ["a", "b", "c"].map(str::to_owned).to_vec();
        let submission = Submission { items, ..Submission::default() };
        let terms = SubmissionTerms::of(7, &submission).unwrap();
        assert_eq!((terms.last, terms.item(6), terms.item(9)), (9, None, Some("c")));
        let part = terms.with_items_of(8, 1);
        assert_eq!((part.items.len(), part.item(8), part.item(9)), (1, Some("b"), None));
        let json = serde_json::to_string(&part).unwrap();
        assert_eq!(serde_json::from_str::<SubmissionTerms>(&json).unwrap(), part);
    }

    #[test]
    fn a_single_task_without_wishes_has_no_terms() {
        assert_eq!(SubmissionTerms::of(1, &Submission::default()), None);
    }
}
