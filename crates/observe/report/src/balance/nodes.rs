//! Table of nodes for a terminal.

use crate::terminal::Style;
use crate::terminal::page::Page;
use display::ink::Tone;
use display::table::{Cell, Table};
use display::text::harmless;
use display::units::{count, plural};
use task_api::{Bytes, DurationHistogram, NodeCounters, NodeLoadState, NodeStatus, Presence};

/// Returns a line for each node and a summary line, ending in a line feed.
#[must_use]
pub fn nodes(nodes: &[NodeStatus], style: Style) -> String {
    let mut page = Page::new(style);
    page.table(&table(nodes));
    page.sentence("", &in_short(nodes), Tone::Dim);
    for node in nodes {
        for trouble in troubles(node) {
            page.sentence("! ", &trouble, Tone::Poor);
        }
        if let Some(sentence) = node.kept.sentence(&node.node) {
            page.sentence("", &sentence, Tone::Fair);
        }
    }
    page.into_text()
}

/// Returns a line for each node with what its tasks use of what it has, ending in a line feed.
#[must_use]
pub fn node_resources(nodes: &[NodeStatus], style: Style) -> String {
    let of = |used: u64, all: u64| format!("{used}/{all}");
    let memory = |node: &NodeStatus| {
        let (used, all) = (node.resources.used.memory_bytes, node.resources.capacity.memory_bytes);
        match (used, all) {
            (_, 0) => "-".to_owned(),
            (0, all) => format!("0/{}", Bytes(all)),
            (used, all) => format!("{}/{}", Bytes(used), Bytes(all)),
        }
    };
    let named = |node: &NodeStatus| {
        let used = |name: &str| node.resources.used.named.get(name).copied().unwrap_or(0);
        let all = node.resources.capacity.named.iter();
        let all = all.map(|(name, n)| format!("{name} {}", of(used(name).into(), (*n).into())));
        all.collect::<Vec<_>>().join(", ")
    };
    let mut page = Page::new(style);
    let up = nodes.iter().filter(|node| node.load.is_some()).collect::<Vec<_>>();
    page.table(
        &Table::new(up)
            .name("node", |node| Cell::from(harmless(&node.node)).tone(Tone::Strong))
            .right("cores", |node| {
                let resources = &node.resources;
                of(resources.used.cpus.into(), resources.capacity.cpus.into())
            })
            .right("memory", |node| memory(node))
            .right("GPUs", |node| {
                let resources = &node.resources;
                of(resources.used.gpus.into(), resources.capacity.gpus.into())
            })
            .left("other", |node| named(node)),
    );
    page.into_text()
}

/// Returns the warnings about a node, with its name.
pub(super) fn troubles(node: &NodeStatus) -> impl Iterator<Item = String> {
    node.troubles.iter().map(|sentence| format!("`{}`: {sentence}", node.node))
}

/// Returns a sentence that summarizes the nodes and their tasks.
pub(super) fn in_short(nodes: &[NodeStatus]) -> String {
    let up = nodes.iter().filter(|node| node.presence == Presence::Up);
    let n_cores: u32 = up.clone().map(|node| node.n_cores).sum();
    let n_running: u32 = nodes.iter().map(|node| node.n_running).sum();
    let n_queued: u64 = nodes.iter().map(|node| node.n_queued).sum();
    let n_up = up.count();
    let of = if n_up == nodes.len() { String::new() } else { format!(" of {}", nodes.len()) };
    format!(
        "{}{of} up with {}, {} running, {} queued{}",
        plural(n_up, "node"),
        plural(n_cores, "core"),
        count(n_running.into()),
        count(n_queued),
        ends(nodes)
    )
}

/// Durations in ms that half of the tasks that ended, and nine of ten, did not exceed.
pub(super) fn durations(nodes: &[NodeStatus]) -> Option<[f64; 2]> {
    let mut all = DurationHistogram::default();
    nodes.iter().for_each(|node| all.add_all(&node.durations));
    Some([all.quantile_ms(0.5)?, all.quantile_ms(0.9)?])
}

/// Outcomes of tasks since the daemons started, each with a comma before it.
fn ends(nodes: &[NodeStatus]) -> String {
    let sum = |of: fn(&NodeCounters) -> u64| nodes.iter().map(|node| of(&node.counts)).sum::<u64>();
    let ends = [
        (sum(|counts| counts.n_succeeded), "succeeded"),
        (sum(|counts| counts.n_failed), "failed"),
        (sum(|counts| counts.n_canceled), "canceled"),
    ];
    let ends = ends.into_iter().filter(|(n, _)| 0 < *n);
    ends.map(|(n, word)| format!(", {} {word}", count(n))).collect()
}

/// Columns by importance: the last ones are left out if there is no room.
fn table(nodes: &[NodeStatus]) -> Table<&NodeStatus> {
    let n = |n: u64| Cell::count(n).tone(if n == 0 { Tone::Dim } else { Tone::Plain });
    let bad = |n: u64, tone| Cell::count(n).tone(if n == 0 { Tone::Dim } else { tone });
    let unknown = || "-".to_owned();
    Table::new(nodes)
        .name("node", |node| Cell::from(harmless(&node.node)).tone(Tone::Strong))
        .left("state", |node| {
            Cell::from(node.presence.to_string()).tone(presence_tone(node.presence))
        })
        .left("load", |node| {
            let load = node.load.map_or_else(unknown, |load| load.to_string());
            Cell::from(load).tone(node.load.map_or(Tone::Dim, load_tone))
        })
        .right("running", |node| format!("{}/{}", node.n_running, node.n_cores))
        .right("queued", |node| n(node.n_queued))
        .right("failed", |node| bad(node.counts.n_failed, Tone::Poor))
        .right("elsewhere", |node| n(node.n_leased))
        .right("taken", |node| n(node.counts.n_moved_in))
        .right("given", |node| n(node.counts.n_moved_out))
        .right("ended", |node| n(node.counts.n_ended))
        .right("canceled", |node| bad(node.counts.n_canceled, Tone::Fair))
        .right("retried", |node| bad(node.counts.n_retried, Tone::Fair))
        .right("lost", |node| bad(node.counts.n_lost, Tone::Fair))
        .right("speed", |node| format!("{:.2}", node.speed))
        .name("address", |node| harmless(&node.address))
        .name("policy", |node| node.policy.as_deref().map_or_else(unknown, harmless))
}

fn presence_tone(presence: Presence) -> Tone {
    match presence {
        Presence::Up => Tone::Good,
        Presence::Stopping | Presence::Left => Tone::Fair,
        Presence::Silent => Tone::Poor,
    }
}

fn load_tone(load: NodeLoadState) -> Tone {
    match load {
        NodeLoadState::Receiver => Tone::Good,
        NodeLoadState::Neutral => Tone::Plain,
        NodeLoadState::Sender => Tone::Fair,
    }
}
