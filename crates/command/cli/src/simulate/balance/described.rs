//! Scenario given by options, or by a file with the same keys.
#![allow(rustdoc::broken_intra_doc_links, reason = "help texts have optional parts in brackets")]

use ::balancing_policies::{Domain, Policy};
use anyhow::Context;
use clap::{Args, CommandFactory, FromArgMatches, Parser};
use simulator::balance::{
    Arrivals, Detection, Durations, Entries, NodeNetwork, NodeOutage, Scenario, ScenarioError,
};
use std::path::Path;
use user_io::bounded_read;
use user_io::exit::bad_option;
use user_io::option_value::one_of;

/// The cluster and the tasks. What is not given is as in the source's first scenario.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct Described {
    #[command(flatten)]
    nodes: Nodes,
    #[command(flatten)]
    tasks: Tasks,
    /// RULE or RULE@DOMAIN; `--policies` lists them [default: subscription]
    #[arg(long, value_name = "POLICY")]
    policy: Option<Policy>,
    /// Nodes that balance with each other: global, overlapping:SIZE[:OVERLAP] or random:SIZE [default: global]
    #[arg(long, value_name = "DOMAIN")]
    pub(super) domain: Option<Domain>,
    /// Time of a message or a task from node to node [default: 0.1]
    #[arg(long, value_name = "MS", allow_negative_numbers = true)]
    latency_ms: Option<f64>,
    /// Time that a message costs its receiver [default: 0]
    #[arg(long, value_name = "MS", allow_negative_numbers = true)]
    service_ms: Option<f64>,
    /// Share of messages that are lost [default: 0]
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
    loss: Option<f64>,
    /// Time between two measurements of a node's load [default: 1]
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    measure_s: Option<f64>,
    /// Knowledge of a node between two measurements: every end of a task, or nothing [default: at-once]
    #[arg(long, value_name = "HOW", value_parser = one_of(&DETECTIONS))]
    detection: Option<Detection>,
    /// Share of measurements that count a passing process as a task [default: 0]
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
    stray: Option<f64>,
    /// Node that fails, and when it is back; may be given several times
    #[arg(long, value_name = "NODE@S[:S]")]
    fail: Vec<NodeOutage>,
    /// Time after which tasks of a failed node begin again [default: 15]
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    lease_s: Option<f64>,
    /// Seed of all random numbers [default: 1]
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
}

/// Nodes of the cluster.
#[derive(Args, Clone, Debug, Default)]
struct Nodes {
    /// Number of nodes [default: 8]
    #[arg(long, value_name = "N")]
    nodes: Option<u32>,
    /// Cores of the nodes, in turn [default: 1]
    #[arg(long, value_name = "N,..", value_delimiter = ',')]
    cores: Option<Vec<u32>>,
    /// Speeds of the nodes' cores, in turn [default: 1]
    #[arg(long, value_name = "S,..", value_delimiter = ',', allow_negative_numbers = true)]
    speeds: Option<Vec<f64>>,
}

/// Tasks and their arrival.
#[derive(Args, Clone, Debug, Default)]
struct Tasks {
    /// Number of tasks [default: 160]
    #[arg(long, value_name = "N")]
    tasks: Option<u64>,
    /// Time from one task to the next; 0: all arrive at once [default: 1]
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    arrival_s: Option<f64>,
    /// Let tasks arrive at random, that far apart on average
    #[arg(long)]
    arrival_random: bool,
    /// Time of a task on a core of speed 1, or exponential:MEAN, lognormal:MEDIAN,SIGMA or
    /// uniform:LOW,HIGH [default: 19.8]
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    task_s: Option<Durations>,
    /// Nodes at which tasks arrive, in turn: 0, 0,4 or every:K [default: 0]
    #[arg(long, value_name = "NODES")]
    entry: Option<Entries>,
}

const DETECTIONS: [(&str, &str, Detection); 2] =
    [("at-once", "", Detection::AtOnce), ("measured", "", Detection::Measured)];

impl Described {
    /// Takes from `other` what is not given here.
    pub(super) fn or(self, other: Self) -> Self {
        let (nodes, tasks) = (self.nodes, self.tasks);
        Self {
            nodes: Nodes {
                nodes: nodes.nodes.or(other.nodes.nodes),
                cores: nodes.cores.or(other.nodes.cores),
                speeds: nodes.speeds.or(other.nodes.speeds),
            },
            tasks: Tasks {
                tasks: tasks.tasks.or(other.tasks.tasks),
                arrival_s: tasks.arrival_s.or(other.tasks.arrival_s),
                arrival_random: tasks.arrival_random || other.tasks.arrival_random,
                task_s: tasks.task_s.or(other.tasks.task_s),
                entry: tasks.entry.or(other.tasks.entry),
            },
            policy: self.policy.or(other.policy),
            domain: self.domain.or(other.domain),
            latency_ms: self.latency_ms.or(other.latency_ms),
            service_ms: self.service_ms.or(other.service_ms),
            loss: self.loss.or(other.loss),
            measure_s: self.measure_s.or(other.measure_s),
            detection: self.detection.or(other.detection),
            stray: self.stray.or(other.stray),
            fail: if self.fail.is_empty() { other.fail } else { self.fail },
            lease_s: self.lease_s.or(other.lease_s),
            seed: self.seed.or(other.seed),
        }
    }

    /// Returns whether a number of tasks was given.
    pub(super) const fn has_number_of_tasks(&self) -> bool {
        self.tasks.tasks.is_some()
    }

    pub(super) fn scenario(&self) -> Result<Scenario, ScenarioError> {
        let (it, nodes, tasks) = (Scenario::default(), &self.nodes, &self.tasks);
        let gap_s = tasks.arrival_s.unwrap_or(1.0);
        let random = Arrivals::Random { gap_s };
        let network = NodeNetwork {
            latency_s: self.latency_ms.map_or(it.network.latency_s, |ms| ms * 1e-3),
            service_s: self.service_ms.map_or(it.network.service_s, |ms| ms * 1e-3),
            loss: self.loss.unwrap_or(it.network.loss),
        };
        Ok(Scenario {
            policy: self.policy.unwrap_or(it.policy),
            n_nodes: nodes.nodes.unwrap_or(it.n_nodes),
            cores: nodes.cores.clone().unwrap_or(it.cores),
            speeds: nodes.speeds.clone().unwrap_or(it.speeds),
            n_tasks: tasks.tasks.unwrap_or(it.n_tasks),
            arrivals: if tasks.arrival_random { random } else { Arrivals::Every { gap_s } },
            entries: tasks.entry.clone().unwrap_or(it.entries),
            durations: tasks.task_s.unwrap_or(it.durations),
            trace: it.trace,
            network,
            measure_s: self.measure_s.unwrap_or(it.measure_s),
            detection: self.detection.unwrap_or(Detection::AtOnce),
            stray: self.stray.unwrap_or(it.stray),
            failures: self.fail.clone(),
            lease_s: self.lease_s.unwrap_or(it.lease_s),
            seed: self.seed.unwrap_or(it.seed),
        })
    }
}

/// Keys of a file, which are parsed by the code for options.
#[derive(Debug, Parser)]
struct File {
    #[command(flatten)]
    described: Described,
}

/// Reads a scenario file.
pub(super) fn from_file(path: &Path) -> anyhow::Result<Described> {
    let name = || format!("`{}`", path.display());
    let text = bounded_read::read_text(path, bounded_read::WRITTEN_BYTES_MAX).with_context(name)?;
    read(&text).map_err(|why| bad_option(format!("{}: {why}", name())))
}

fn read(text: &str) -> Result<Described, String> {
    let keys: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        let line = error.span().map_or(1, |span| text[..span.start].lines().count().max(1));
        format!("line {line}: {}", error.message())
    })?;
    let command = File::command();
    let known =
        |key: &str| command.get_arguments().any(|argument| argument.get_long() == Some(key));
    let mut words = vec!["scenario".to_owned()];
    for (key, value) in &keys {
        if !known(key) {
            return Err(format!("there is no key `{key}`; keys are options without their dashes"));
        }
        words.extend(options(key, value)?);
    }
    let matches = command.try_get_matches_from(words).map_err(|error| {
        let message = error.to_string();
        let line = message.lines().next().unwrap_or_default();
        line.trim_start_matches("error: ").to_owned()
    })?;
    let file = File::from_arg_matches(&matches).map_err(|error| error.to_string())?;
    Ok(file.described)
}

fn options(key: &str, value: &toml::Value) -> Result<Vec<String>, String> {
    let word = |value: &toml::Value| match value {
        toml::Value::String(text) => Ok(text.clone()),
        toml::Value::Integer(number) => Ok(number.to_string()),
        toml::Value::Float(number) => Ok(number.to_string()),
        _ => Err(format!("`{key}` is neither number nor text nor a list of these")),
    };
    match value {
        toml::Value::Boolean(is_set) if key == "arrival-random" => {
            Ok(if *is_set { vec![format!("--{key}")] } else { Vec::new() })
        }
        toml::Value::Array(values) => {
            let words: Vec<String> = values.iter().map(word).collect::<Result<_, _>>()?;
            Ok(if key == "fail" {
                words.iter().map(|word| format!("--{key}={word}")).collect()
            } else {
                vec![format!("--{key}={}", words.join(","))]
            })
        }
        value => Ok(vec![format!("--{key}={}", word(value)?)]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_options_as_keys() {
        let text = "nodes = 3\ncores = [1, 2]\ntask-s = \"exponential:4\"\nentry = \"0,2\"\n\
                    fail = [\"1@5:9\"]\narrival-random = true\npolicy = \"event@random:2\"\nseed = 3\n";
        let scenario = read(text).unwrap().scenario().unwrap();
        assert_eq!((scenario.n_nodes, scenario.cores.as_slice()), (3, &[1, 2][..]));
        assert_eq!(scenario.durations, Durations::Exponential { mean_s: 4.0 });
        assert_eq!(scenario.entries, Entries::Nodes(vec![0, 2]));
        assert_eq!(scenario.failures.len(), 1);
        assert_eq!(scenario.arrivals, Arrivals::Random { gap_s: 1.0 });
        assert_eq!(scenario.policy.to_string(), "event@random:2");
    }

    #[test]
    fn the_command_line_counts_more() {
        let nodes = Nodes { nodes: Some(5), ..Nodes::default() };
        let asked = Described { nodes, ..Described::default() };
        let scenario = asked.or(read("nodes = 3\ntasks = 7\n").unwrap()).scenario().unwrap();
        assert_eq!((scenario.n_nodes, scenario.n_tasks), (5, 7));
    }

    #[track_caller]
    fn check(text: &str, part: &str) {
        let said = read(text).unwrap_err();
        assert!(said.contains(part) && !said.contains('\n'), "{said}");
    }

    #[test]
    fn what_is_wrong_in_a_file_is_named() {
        check("nodes = 3\nnodes 4\n", "line 2");
        check("noodles = 3\n", "there is no key `noodles`");
        check("nodes = \"many\"\n", "'many' for '--nodes");
        check("policy = \"evnt\"\n", "there is no rule `evnt`");
        check("cores = [[1]]\n", "`cores` is neither number nor text");
    }
}
