//! Results of a simulation of jobs.

use super::bounds::bounds;
use super::{JobScenario, node_name};

/// Outcome of a scenario.
#[derive(Clone, Debug)]
pub struct JobResults {
    /// Number of tasks.
    pub n_tasks: u64,
    /// Number of tasks that have not ended: what they wait for never comes.
    pub n_left: u64,
    /// Number of attempts that were ended at their time limit.
    pub n_cut_off: u64,
    /// Time of the last end, in s.
    pub makespan_s: f64,
    /// Longest chain of tasks that wait for each other, in s: it cannot be faster on any number of such nodes.
    pub path_s: f64,
    /// All work, shared by all cores without a gap, in s: it cannot be faster on these nodes.
    pub area_s: f64,
    /// Number of messages between nodes.
    pub n_messages: u64,
    /// What became of the entries, in their order.
    pub entries: Vec<EntryResults>,
    /// What the nodes did.
    pub nodes: Vec<NodeResults>,
    /// All runs, in the order of their ends.
    pub runs: Vec<TaskRun>,
}

/// Outcome of an entry.
#[derive(Clone, Debug)]
pub struct EntryResults {
    /// Name for users.
    pub name: String,
    /// What a task asks for.
    pub asks: String,
    /// Number of tasks.
    pub n_tasks: u64,
    /// First start and last end, in s; `None` where nothing was started.
    pub span_s: Option<[f64; 2]>,
}

/// What a node did.
#[derive(Clone, Debug)]
pub struct NodeResults {
    /// Name of the node.
    pub name: String,
    /// Number of tasks that it started.
    pub n_tasks: u64,
    /// Seconds of its cores that tasks had, and share of all until the last end.
    pub busy_core_s: f64,
    /// The same as a share of its cores until the last end.
    pub busy_share: f64,
}

/// Run of a task.
#[derive(Clone, Debug)]
pub struct TaskRun {
    /// Place of the entry, and of the task in it.
    pub entry: usize,
    /// Place of the task in the entry.
    pub task: u64,
    /// Nodes, the one that started it first, with the cores that it had there.
    pub nodes: Vec<(usize, u32)>,
    /// Start, in s.
    pub started_s: f64,
    /// End, in s.
    pub ended_s: f64,
    /// False if it was ended by force.
    pub succeeded: bool,
}

impl JobResults {
    pub(super) fn new(
        scenario: &JobScenario,
        runs: Vec<TaskRun>,
        n_left: u64,
        n_messages: u64,
    ) -> Self {
        let makespan_s = runs.iter().map(|run| run.ended_s).fold(0.0, f64::max);
        let node = |(idx, node): (usize, &super::JobNode)| {
            let on = runs.iter().flat_map(|run| {
                let here = run.nodes.iter().filter(move |(at, _)| *at == idx);
                here.map(move |(_, n_cores)| (run.ended_s - run.started_s) * f64::from(*n_cores))
            });
            let busy_core_s = on.sum::<f64>();
            let all_s = f64::from(node.capacity.cpus) * makespan_s;
            NodeResults {
                name: node_name(idx),
                n_tasks: runs.iter().filter(|run| run.nodes[0].0 == idx).count() as u64,
                busy_core_s,
                busy_share: if 0.0 < all_s { busy_core_s / all_s } else { 0.0 },
            }
        };
        let nodes = scenario.nodes.iter().enumerate().map(node).collect();
        let mut spans = vec![None::<[f64; 2]>; scenario.entries.len()];
        for run in &runs {
            let [first, last] = spans[run.entry].unwrap_or([run.started_s, run.ended_s]);
            spans[run.entry] = Some([first.min(run.started_s), last.max(run.ended_s)]);
        }
        let entries = scenario.entries.iter().zip(spans).map(|(entry, span_s)| EntryResults {
            name: entry.name.clone(),
            asks: entry.submission.demand.to_string(),
            n_tasks: entry.submission.n_tasks(),
            span_s,
        });
        let [path_s, area_s] = bounds(scenario);
        Self {
            n_tasks: scenario.n_tasks(),
            n_left,
            n_cut_off: runs.iter().filter(|run| !run.succeeded).count() as u64,
            makespan_s,
            path_s,
            area_s,
            n_messages,
            entries: entries.collect(),
            nodes,
            runs,
        }
    }

    /// Longer one of the two bounds over the time taken; 1 is the best that can be.
    pub fn ratio(&self) -> f64 {
        if 0.0 < self.makespan_s { self.path_s.max(self.area_s) / self.makespan_s } else { 1.0 }
    }
}
