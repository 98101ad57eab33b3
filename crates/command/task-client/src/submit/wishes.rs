//! Options for what tasks ask of their nodes, and for when they may run.

use std::collections::BTreeMap;

use clap::Args;
use task_api::{
    Demand, Dependency, DependencyKind, Resources, Schedule, TaskRange, is_resource_name,
};
use user_io::option_value::{bytes, time_ms};

/// What `after`, `after_ok`, `after_any`, `after_failed` and `after_each` wait for, and whether each task waits for its own.
pub(crate) const WAITS: [(DependencyKind, bool); 5] = [
    (DependencyKind::Started, false),
    (DependencyKind::Succeeded, false),
    (DependencyKind::Ended, false),
    (DependencyKind::Failed, false),
    (DependencyKind::Succeeded, true),
];

/// Cores, memory, GPUs and other resources of a task.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Resources of each task")]
pub(super) struct ResourceOptions {
    /// Cores, to which the task is bound; with a range, as many of them as are free
    #[arg(long, value_name = "N[-MAX]", value_parser = cores)]
    cpus: Option<(u32, u32)>,
    /// Nodes that the task runs on at once, with all of the following on each: the command starts on one of them, and finds
    /// all in host files for Open MPI and MPICH, which these read by themselves, and in `SINTONIA_HOSTS`
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    nodes: Option<u32>,
    /// Memory; a task that uses more is ended, and has failed
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    memory: Option<u64>,
    /// GPUs, whose numbers are in `CUDA_VISIBLE_DEVICES` and `ROCR_VISIBLE_DEVICES`
    #[arg(long, value_name = "N")]
    gpus: Option<u32>,
    /// Other resource that nodes were started with (`node start --resource`); may be given several times
    #[arg(long, value_name = "NAME=N", value_parser = resource)]
    resource: Vec<(String, u32)>,
    /// Alternative to all of these where they are not free, such as `gpus=1,cpus=2,memory=4G,fpga=1`; may be given
    /// several times, the preferred one first
    #[arg(long, value_name = "LIST", value_parser = variant)]
    variant: Vec<Resources>,
    /// Do not bind the task to its cores
    #[arg(long)]
    no_pin: bool,
}

/// Times of a task.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Time of each task")]
pub(super) struct TimeOptions {
    /// End a task that runs longer than this; it has failed then. Not counted over several attempts
    #[arg(long, value_name = "TIME", value_parser = time_ms)]
    time_limit: Option<u64>,
    /// Do not start the task on a node that ends sooner than this, as with its Slurm job or by `node start --ends-in`
    #[arg(long, value_name = "TIME", value_parser = time_ms)]
    time_request: Option<u64>,
    /// Time that the task is expected to run, by default learnt from those of its array that have ended: longer ones of a job go first, and short ones fill gaps
    #[arg(long, value_name = "TIME", value_parser = time_ms)]
    expect: Option<u64>,
}

/// Order of the tasks.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Order")]
pub(super) struct OrderOptions {
    /// Tasks with a higher number go before all others that wait at their home
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    priority: Option<i32>,
    /// Wait until `sintonia release`
    #[arg(long)]
    hold: bool,
    /// Most tasks of the array that run at once
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    at_once: Option<u64>,
    /// Name of a job that the tasks belong to; several submissions may be of one job
    #[arg(long, value_name = "NAME")]
    job: Option<String>,
    /// Wait until these tasks have started
    #[arg(long, value_name = "TASK", value_delimiter = ',')]
    after: Vec<TaskRange>,
    /// Wait until these tasks have ended with code 0; canceled when one does not
    #[arg(long, value_name = "TASK", value_delimiter = ',')]
    after_ok: Vec<TaskRange>,
    /// Wait until these tasks have ended, however
    #[arg(long, value_name = "TASK", value_delimiter = ',')]
    after_any: Vec<TaskRange>,
    /// Wait until these tasks have failed; canceled when one does not
    #[arg(long, value_name = "TASK", value_delimiter = ',')]
    after_failed: Vec<TaskRange>,
    /// Each task of the array waits for the one at the same place of this array to end with code 0
    #[arg(long, value_name = "TASKS", value_delimiter = ',')]
    after_each: Vec<TaskRange>,
}

impl ResourceOptions {
    /// What each task asks for, with these times.
    pub(super) fn demand(&self, times: &TimeOptions) -> Demand {
        let (cpus, cpus_max) = self.cpus.unwrap_or((1, 0));
        let first = Resources {
            cpus,
            cpus_max,
            memory_bytes: self.memory.unwrap_or(0),
            gpus: self.gpus.unwrap_or(0),
            named: self.resource.iter().cloned().collect(),
        };
        let is_named = self.cpus.is_some() || first != Resources::default();
        let variants = is_named.then_some(first).into_iter().chain(self.variant.iter().cloned());
        Demand {
            variants: variants.collect(),
            nodes: self.nodes.filter(|nodes| 1 < *nodes).unwrap_or(0),
            is_unpinned: self.no_pin,
            time_limit_ms: times.time_limit,
            time_request_ms: times.time_request,
            expect_ms: times.expect,
        }
    }
}

impl OrderOptions {
    /// When the tasks may run.
    pub(super) fn schedule(&self) -> Schedule {
        let Self { after, after_ok, after_any, after_failed, after_each, .. } = self;
        let lists = [after, after_ok, after_any, after_failed, after_each];
        let after = lists.into_iter().zip(WAITS).flat_map(|(tasks, (when, is_each))| {
            tasks.iter().map(move |tasks| Dependency { tasks: tasks.clone(), when, is_each })
        });
        Schedule {
            priority: self.priority.unwrap_or(0),
            is_held: self.hold,
            n_at_once_max: self.at_once,
            job: self.job.clone(),
            after: after.collect(),
        }
    }
}

/// Cores: `4`, or from 2 to 8: `2-8`. The second number is 0 where there is none.
pub(crate) fn cores(text: &str) -> Result<(u32, u32), String> {
    let (first, last) = text.split_once('-').unwrap_or((text, "0"));
    let found = first.parse().ok().zip(last.parse().ok());
    let found = found.filter(|&(first, last)| 0 < first && (last == 0 || first <= last));
    found.ok_or_else(|| "write a number of cores, or the least and the most: 4, 2-8".to_owned())
}

/// Pieces of a resource: `fpga=2`.
pub(crate) fn resource(text: &str) -> Result<(String, u32), String> {
    let found = text.split_once('=').and_then(|(name, n)| {
        let n = n.parse().ok()?;
        is_resource_name(name).then(|| (name.to_owned(), n))
    });
    found.ok_or_else(|| {
        "write NAME=N, such as fpga=2; a name has letters, digits, `-` and `_`".to_owned()
    })
}

/// Amounts: `gpus=1,cpus=2-4,memory=4G,fpga=1`.
pub(super) fn variant(text: &str) -> Result<Resources, String> {
    let pair = |part: &str| {
        let pair = part.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
        pair.ok_or_else(|| format!("`{part}` is not NAME=N"))
    };
    let pairs = text.split(',').map(pair).collect::<Result<Vec<_>, _>>()?;
    variant_of(pairs.iter().map(|(name, value)| (name.as_str(), value.clone())))
}

/// The same from names and values.
pub(crate) fn variant_of<'a>(
    pairs: impl Iterator<Item = (&'a str, String)>,
) -> Result<Resources, String> {
    let mut one = Resources::default();
    let mut named = BTreeMap::new();
    for (name, value) in pairs {
        match name {
            "cpus" => (one.cpus, one.cpus_max) = cores(&value)?,
            "memory" => one.memory_bytes = bytes(&value)?,
            "gpus" => {
                one.gpus = value.parse().map_err(|_| format!("`{value}` is no number of GPUs"))?;
            }
            _ => named.extend([resource(&format!("{name}={value}"))?]),
        }
    }
    Ok(Resources { named, ..one })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alternatives_are_lists_of_amounts() {
        let found = variant("gpus=1,cpus=2-4,memory=4G,fpga=2").unwrap();
        assert_eq!(found.to_string(), "2 to 4 cores, 4 GiB, 1 GPU, 2 fpga");
        for wrong in ["", "gpus", "gpus=x", "cpus=0", "cpus=4-2", "1x=3"] {
            assert!(variant(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn without_wishes_nothing_is_asked_for() {
        let (resources, times) = (ResourceOptions::default(), TimeOptions::default());
        assert!(resources.demand(&times).is_plain());
        assert!(OrderOptions::default().schedule().is_plain());
        let gpu = ResourceOptions { gpus: Some(1), ..ResourceOptions::default() };
        let cpu = ResourceOptions { variant: vec![variant("cpus=8").unwrap()], ..gpu };
        assert_eq!(cpu.demand(&times).to_string(), "1 core, 1 GPU or 8 cores");
    }
}
