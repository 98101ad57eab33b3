//! Table of nodes for a terminal.

use crate::terminal::Style;
use crate::terminal::ink::Tone;
use crate::terminal::page::Page;
use crate::terminal::table::{Align, Cell, Column, Table};
use crate::text::harmless;
use crate::units::{count, plural};
use task_api::{NodeLoadState, NodeStatus, Presence};

/// Columns by importance: the last ones are left out if there is no room.
const COLUMNS: [Column; 12] = [
    ("node", Align::Name),
    ("state", Align::Left),
    ("load", Align::Left),
    ("running", Align::Right),
    ("queued", Align::Right),
    ("elsewhere", Align::Right),
    ("taken", Align::Right),
    ("given", Align::Right),
    ("ended", Align::Right),
    ("speed", Align::Right),
    ("address", Align::Name),
    ("policy", Align::Name),
];

/// Returns a line for each node and a summary line, ending in a line feed.
#[must_use]
pub fn nodes(nodes: &[NodeStatus], style: Style) -> String {
    let mut page = Page::new(style);
    let mut table = Table::new(&COLUMNS);
    nodes.iter().for_each(|node| table.row(row(node)));
    table.write(&mut page);
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
        "{}{of} up with {}, {} running, {} queued",
        plural(n_up, "node"),
        plural(n_cores as usize, "core"),
        count(n_running.into()),
        count(n_queued)
    )
}

fn row(node: &NodeStatus) -> Vec<Cell> {
    let unknown = || "-".to_owned();
    let load = node.load.map_or_else(unknown, |load| load.to_string());
    let counts = &node.counts;
    let plain = |text: String| (text, Tone::Plain);
    let n = |n: u64| (count(n), if n == 0 { Tone::Dim } else { Tone::Plain });
    vec![
        (harmless(&node.node), Tone::Strong),
        (node.presence.to_string(), presence_tone(node.presence)),
        (load, node.load.map_or(Tone::Dim, load_tone)),
        plain(format!("{}/{}", node.n_running, node.n_cores)),
        n(node.n_queued),
        n(node.n_leased),
        n(counts.n_moved_in),
        n(counts.n_moved_out),
        n(counts.n_ended),
        plain(format!("{:.2}", node.speed)),
        plain(harmless(&node.address)),
        plain(node.policy.as_deref().map_or_else(unknown, harmless)),
    ]
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
