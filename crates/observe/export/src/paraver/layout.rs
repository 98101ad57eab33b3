//! Applications, tasks, threads, nodes and processors, as listed in the header of a trace.

use crate::lanes::{LaneKey, Lanes, Trace, n_ranks};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Assignment of tasks and threads to nodes and processors.
pub(super) struct Layout {
    nodes: Vec<Node>,
    /// Tasks by application and rank.
    tasks: Vec<Vec<Task>>,
    /// Object of each lane, in order.
    objects: Vec<LaneObject>,
}

struct Node {
    name: String,
    n_processors: usize,
}

#[derive(Clone, Copy)]
struct Task {
    node: usize,
    n_threads: u32,
}

/// `processor:application:task:thread` of a lane, numbered from 1.
#[derive(Clone, Copy)]
pub(super) struct LaneObject {
    processor: usize,
    application: u32,
    task: u32,
    thread: u32,
}

impl std::fmt::Display for LaneObject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}:{}:{}", self.processor, self.application, self.task, self.thread)
    }
}

impl Layout {
    pub(super) fn of(trace: &Trace, lanes: &Lanes) -> Self {
        let mut nodes = Vec::new();
        let mut tasks: Vec<Vec<Task>> = Vec::new();
        for (world, n_tasks) in n_ranks(trace, lanes) {
            // Application numbers have no gaps, even if a world left no events.
            tasks.resize_with(world as usize + 1, Vec::new);
            tasks[world as usize] = (0..n_tasks)
                .map(|rank| Task { node: node(&mut nodes, trace.node(world, rank)), n_threads: 1 })
                .collect();
        }
        for key in &lanes.keys {
            let task = &mut tasks[key.world as usize][key.rank as usize];
            task.n_threads = task.n_threads.max(key.thread + 1);
        }
        for task in tasks.iter().flatten() {
            nodes[task.node].n_processors += task.n_threads as usize;
        }
        let objects = objects(&nodes, &tasks, lanes);
        Self { nodes, tasks, objects }
    }

    pub(super) fn object(&self, lane: usize) -> LaneObject {
        self.objects[lane]
    }

    /// Returns the first line of the trace.
    pub(super) fn header(&self, started_s: f64, end_ns: u64) -> String {
        let processors: Vec<String> =
            self.nodes.iter().map(|node| node.n_processors.to_string()).collect();
        let application = |tasks: &Vec<Task>| {
            let tasks: Vec<String> =
                tasks.iter().map(|task| format!("{}:{}", task.n_threads, task.node + 1)).collect();
            format!(":{}({})", tasks.len(), tasks.join(","))
        };
        format!(
            "#Paraver ({}):{end_ns}_ns:{}({}):{}{}",
            date(started_s),
            self.nodes.len(),
            processors.join(","),
            self.tasks.len(),
            self.tasks.iter().map(application).collect::<String>(),
        )
    }

    /// Writes the labels of processors, nodes and threads.
    pub(super) fn write_labels(&self, out: &mut impl Write) -> io::Result<()> {
        let n_processors: usize = self.nodes.iter().map(|node| node.n_processors).sum();
        writeln!(out, "LEVEL CPU SIZE {n_processors}")?;
        for (at, node) in self.nodes.iter().enumerate() {
            for processor in 1..=node.n_processors {
                writeln!(out, "{}.{}", at + 1, processor)?;
            }
        }
        writeln!(out, "\nLEVEL NODE SIZE {}", self.nodes.len())?;
        for node in &self.nodes {
            writeln!(out, "{}", node.name)?;
        }
        writeln!(out, "\nLEVEL THREAD SIZE {n_processors}")?;
        for (world, tasks) in self.tasks.iter().enumerate() {
            for (rank, task) in tasks.iter().enumerate() {
                for thread in 1..=task.n_threads {
                    writeln!(out, "THREAD {}.{}.{thread}", world + 1, rank + 1)?;
                }
            }
        }
        Ok(())
    }
}

fn node(nodes: &mut Vec<Node>, name: &str) -> usize {
    let name = if name.is_empty() { "unknown" } else { name };
    nodes.iter().position(|node| node.name == name).unwrap_or_else(|| {
        nodes.push(Node { name: name.to_owned(), n_processors: 0 });
        nodes.len() - 1
    })
}

/// Assigns a processor of its own to every thread, node by node.
fn objects(nodes: &[Node], tasks: &[Vec<Task>], lanes: &Lanes) -> Vec<LaneObject> {
    let mut next: Vec<usize> = Vec::new();
    let mut n_before = 1;
    for node in nodes {
        next.push(n_before);
        n_before += node.n_processors;
    }
    let mut first = BTreeMap::new();
    for (world, tasks) in (0_u32..).zip(tasks) {
        for (rank, task) in (0_u32..).zip(tasks) {
            first.insert((world, rank), next[task.node]);
            next[task.node] += task.n_threads as usize;
        }
    }
    let object = |key: &LaneKey| LaneObject {
        processor: first.get(&(key.world, key.rank)).map_or(1, |first| first + key.thread as usize),
        application: key.world + 1,
        task: key.rank + 1,
        thread: key.thread + 1,
    };
    lanes.keys.iter().map(object).collect()
}

/// Formats a time since 1970 as `dd/mm/yyyy at hh:mm` in UTC.
fn date(since_1970_s: f64) -> String {
    let [year, month, day, hour, minute, _] = display::units::calendar(since_1970_s);
    format!("{day:02}/{month:02}/{year:04} at {hour:02}:{minute:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(since_1970_s: f64, expected: &str) {
        assert_eq!(date(since_1970_s), expected);
    }

    #[test]
    fn dates() {
        check(0.0, "01/01/1970 at 00:00");
        check(951_782_399.9, "28/02/2000 at 23:59");
    }
}
