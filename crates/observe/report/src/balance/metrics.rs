//! Metrics of a node in Prometheus' text format, version 0.0.4.
//!
//! A daemon reports only itself, and how many other nodes it sees. Each daemon is scraped separately, so sums
//! over a cluster count nothing twice.
//!
//! # Invariants
//! - Names, units and label values follow <https://prometheus.io/docs/instrumenting/exposition_formats>.

use std::fmt::Write;
use task_api::{NodeLoadState, NodeStatus, Presence};

/// Returns the metrics of `node`, which sees `all` nodes, including itself.
#[must_use]
pub fn metrics(node: &NodeStatus, all: &[NodeStatus]) -> String {
    let mut text = Text { node: escaped(&node.node), lines: String::new() };
    text.write_state(node);
    text.write_counts(node);
    let n_of = |presence| all.iter().filter(|node| node.presence == presence).count();
    let presences = [Presence::Up, Presence::Silent, Presence::Stopping, Presence::Left];
    let values = presences.map(|presence| (presence.to_string(), n_of(presence) as f64));
    text.family("nodes", "Nodes that this one knows, itself among them, by presence.");
    values.iter().for_each(|(presence, n)| text.labeled("nodes", ("presence", presence), *n));
    text.lines
}

struct Text {
    node: String,
    lines: String,
}

impl Text {
    fn write_state(&mut self, node: &NodeStatus) {
        self.one("node_cores", "Cores that tasks run on.", f64::from(node.n_cores));
        self.one("node_speed", "Speed of a core relative to an ordinary core.", node.speed);
        self.one(
            "node_uptime_seconds",
            "Time since the daemon started.",
            node.uptime_ms as f64 / 1e3,
        );
        self.one("tasks_running", "Tasks that run here.", f64::from(node.n_running));
        self.one("tasks_queued", "Tasks that wait here.", node.n_queued as f64);
        let leased = "Tasks submitted here that other nodes hold.";
        self.one("tasks_leased", leased, node.n_leased as f64);
        let troubles = "Things that people should know of this node, such as a damaged journal: `sintonia nodes` says them.";
        self.one("troubles", troubles, node.troubles.len() as f64);
        let brief = "Ended tasks of which only how they ended is kept.";
        self.one("tasks_kept_in_brief", brief, node.kept.n_brief as f64);
        self.one(
            "output_kept_bytes",
            "Output of ended tasks that is kept.",
            node.kept.output_bytes as f64,
        );
        if let Some(index) = node.index {
            self.one("load_index", "Relative speed times cores for each task.", index);
        }
        if let Some(load) = node.load {
            self.family("load_state", "1 for the node's current load state, 0 for the others.");
            for word in [NodeLoadState::Receiver, NodeLoadState::Neutral, NodeLoadState::Sender] {
                let value = if word == load { 1.0 } else { 0.0 };
                self.labeled("load_state", ("state", &word.to_string()), value);
            }
        }
    }

    fn write_counts(&mut self, node: &NodeStatus) {
        let counts = &node.counts;
        let families = [
            ("tasks_submitted_total", "Tasks submitted here.", counts.n_submitted),
            (
                "tasks_ended_total",
                "Attempts that ended here, wherever their tasks came from.",
                counts.n_ended,
            ),
            (
                "tasks_succeeded_total",
                "Tasks submitted here that ended with code 0.",
                counts.n_succeeded,
            ),
            ("tasks_failed_total", "Tasks submitted here that failed for good.", counts.n_failed),
            ("tasks_canceled_total", "Tasks submitted here that were canceled.", counts.n_canceled),
            (
                "tasks_retried_total",
                "Attempts at tasks submitted here that failed and were tried again.",
                counts.n_retried,
            ),
            ("tasks_moved_out_total", "Tasks that other nodes took from here.", counts.n_moved_out),
            ("tasks_moved_in_total", "Tasks taken from other nodes.", counts.n_moved_in),
            ("tasks_lost_total", "Tasks queued again because their node was lost.", counts.n_lost),
            ("messages_total", "Messages of information sent.", counts.n_messages),
            (
                "requests_accepted_total",
                "Requests to take tasks that were accepted.",
                counts.n_accepted,
            ),
            (
                "requests_not_accepted_total",
                "Requests to take tasks that were not accepted.",
                counts.n_not_accepted,
            ),
            (
                "messages_dropped_total",
                "Messages dropped because a queue was full.",
                counts.n_dropped,
            ),
            (
                "outputs_dropped_total",
                "Tasks whose output is no longer kept.",
                node.kept.n_outputs_dropped,
            ),
            ("output_dropped_bytes_total", "Bytes of that output.", node.kept.output_bytes_dropped),
        ];
        for (name, help, n) in families {
            self.one(name, help, n as f64);
        }
    }

    fn one(&mut self, name: &str, help: &str, value: f64) {
        self.family(name, help);
        self.sample(name, "", value);
    }

    fn family(&mut self, name: &str, help: &str) {
        let kind = if name.ends_with("_total") { "counter" } else { "gauge" };
        self.line(format_args!("# HELP sintonia_{name} {help}"));
        self.line(format_args!("# TYPE sintonia_{name} {kind}"));
    }

    fn labeled(&mut self, name: &str, (label, text): (&str, &str), value: f64) {
        self.sample(name, &format!(",{label}=\"{}\"", escaped(text)), value);
    }

    fn sample(&mut self, name: &str, labels: &str, value: f64) {
        let node = self.node.clone();
        self.line(format_args!("sintonia_{name}{{node=\"{node}\"{labels}}} {value}"));
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        writeln!(self.lines, "{line}").unwrap_or_default();
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use std::collections::BTreeMap;

    /// Parses families with their kind and samples; fails if the format is violated.
    fn read(text: &str) -> BTreeMap<String, (String, Vec<(String, f64)>)> {
        assert!(text.ends_with('\n'));
        let mut families: BTreeMap<String, (String, Vec<(String, f64)>)> = BTreeMap::new();
        let mut open = String::new();
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("# HELP ") {
                let (name, help) = rest.split_once(' ').expect("a help has words");
                assert!(!help.is_empty() && !families.contains_key(name), "{name} comes twice");
                open = name.to_owned();
            } else if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, kind) = rest.split_once(' ').expect("a type has a kind");
                assert_eq!(name, open);
                families.insert(open.clone(), (kind.to_owned(), Vec::new()));
            } else {
                let (name, rest) = line.split_once('{').expect("all samples have labels");
                let (labels, value) = rest.rsplit_once("} ").expect("labels end");
                assert_eq!(name, open, "the samples of a family stand together");
                assert!(
                    name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'),
                    "{name}"
                );
                let (_, samples) = families.get_mut(name).expect("its type was said before");
                assert!(samples.iter().all(|(other, _)| other != labels), "{labels} comes twice");
                samples.push((labels.to_owned(), value.parse().expect("a number")));
            }
        }
        families
    }

    #[test]
    fn the_format_is_kept() {
        let (_, nodes) = sample::nodes();
        let families = read(&metrics(&nodes[0], &nodes));
        let of = |name: &str| families[name].1.clone();
        assert_eq!(of("sintonia_tasks_queued"), [("node=\"alpha\"".to_owned(), 12_345.0)]);
        assert_eq!(of("sintonia_tasks_moved_out_total"), [("node=\"alpha\"".to_owned(), 45.0)]);
        assert_eq!(of("sintonia_tasks_failed_total"), [("node=\"alpha\"".to_owned(), 17.0)]);
        assert!(of("sintonia_nodes").contains(&("node=\"alpha\",presence=\"up\"".to_owned(), 3.0)));
        assert!(
            of("sintonia_load_state")
                .contains(&("node=\"alpha\",state=\"sender\"".to_owned(), 1.0))
        );
        assert_eq!(families.len(), 27);
        assert_eq!(families.values().filter(|(kind, _)| kind == "counter").count(), 15);
    }

    /// Damage and dropped output used to have no metric.
    #[test]
    fn what_is_damaged_or_dropped_has_a_figure() {
        let (_, mut nodes) = sample::nodes();
        nodes[0].troubles = vec!["the journal was damaged".to_owned()];
        nodes[0].kept.n_brief = 4;
        nodes[0].kept.output_bytes = 30;
        nodes[0].kept.n_outputs_dropped = 2;
        nodes[0].kept.output_bytes_dropped = 512;
        let families = read(&metrics(&nodes[0], &nodes));
        let check = |name: &str, value: f64| {
            assert_eq!(families[name].1, [("node=\"alpha\"".to_owned(), value)], "{name}");
        };
        check("sintonia_troubles", 1.0);
        check("sintonia_tasks_kept_in_brief", 4.0);
        check("sintonia_output_kept_bytes", 30.0);
        check("sintonia_outputs_dropped_total", 2.0);
        check("sintonia_output_dropped_bytes_total", 512.0);
    }

    #[test]
    fn a_name_is_a_value_and_no_syntax() {
        assert_eq!(escaped("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
    }
}
