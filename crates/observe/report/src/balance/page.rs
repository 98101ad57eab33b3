//! Web page served by a daemon: a single file that polls for the state and for tasks, which are JSON, and sends orders.
//!
//! # Invariants
//! - It loads nothing but data beside it; its own policy forbids everything else.
//! - It sends an order only after the user has confirmed it.
//! - Data from tasks are inserted as text, never as markup.

use super::history::{ClusterSample, History, Move};
use super::nodes::durations;
use maud::{DOCTYPE, PreEscaped, html};
use serde::{Deserialize, Serialize};
use task_api::{NodeStatus, TaskStatus};

const STYLE: &str = include_str!("../../assets/page.css");
const CLUSTER_STYLE: &str = include_str!("../../assets/cluster.css");
/// Scripts in execution order: each uses only earlier ones.
const SCRIPTS: [&str; 6] = [
    include_str!("../../assets/page.js"),
    include_str!("../../assets/cluster_parts.js"),
    include_str!("../../assets/cluster_orders.js"),
    include_str!("../../assets/cluster_tasks.js"),
    include_str!("../../assets/cluster_gantt.js"),
    include_str!("../../assets/cluster.js"),
];
/// Content security policy, for the page's head and the HTTP header.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
                      img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'";

/// Returns the page, which shows `state` until it receives an update.
#[must_use]
pub fn page(state: &PageState) -> String {
    // `<` is escaped, so that no name can end the element.
    let data = serde_json::to_string(state).unwrap_or_default().replace('<', "\\u003c");
    let script = format!("(() => {{\n'use strict';\n{}\n}})();", SCRIPTS.join("\n"));
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="referrer" content="no-referrer";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                title { "Sintonia: nodes" }
                style { (PreEscaped(STYLE)) (PreEscaped(CLUSTER_STYLE)) }
            }
            body {
                main {
                    p.eyebrow { "sintonia, as " code #node {} " sees it" span #trouble .poor role="status" {} }
                    dl.facts #facts {}
                    ul #note-rows .plain role="status" {}
                    (section("course", "Running and waiting", html! { div #chart {} }))
                    p #notice role="status" {}
                    p.controls #homes hidden {
                        label { "Tasks submitted to " select #home { option value="" {} } }
                    }
                    (section("jobs", "Jobs", html! { div.jobs { (table("job")) } }))
                    (section("gantt", "Tasks over time", gantt()))
                    (section("nodes", "Nodes", table("node")))
                    (section("moves", "Moves from node to node", html! {
                        div #move-matrix {}
                        ul #move-rows .plain {}
                    }))
                    (section("tasks", "Tasks", html! { (filter()) (table("task")) }))
                }
                (dialogs())
                script #state type="application/json" { (PreEscaped(data)) }
                script { (PreEscaped(script)) }
            }
        }
    };
    page.into_string()
}

fn table(id: &str) -> maud::Markup {
    html! {
        table { thead id={ (id) "-titles" } {} tbody id={ (id) "-rows" } {} }
    }
}

fn gantt() -> maud::Markup {
    let button = |id: &str, sign: &str, title: &str| {
        html! { button type="button" id={ "gantt-" (id) } title=(title) aria-label=(title) { (sign) } }
    };
    html! {
        p.controls {
            select #gantt-window aria-label="time" {
                option value="5" { "5 minutes" }
                option value="30" selected { "30 minutes" }
                option value="240" { "4 hours" }
                option value="1440" { "a day" }
            }
            (button("in", "+", "closer"))
            (button("out", "−", "further"))
            (button("back", "‹", "earlier"))
            (button("forth", "›", "later"))
            (button("now", "now", "the whole time until now"))
        }
        p.legend {
            @for kind in ["succeeded", "failed", "canceled", "running"] {
                span.key.(kind) {} (kind)
            }
        }
        div #gantt-frame {}
    }
}

/// States and outcomes by which tasks are listed.
const STATES: [&str; 9] =
    ["queued", "offered", "leased", "running", "ended", "succeeded", "failed", "canceled", "lost"];

fn filter() -> maud::Markup {
    html! {
        form.controls #filter autocomplete="off" {
            input name="tasks" placeholder="alpha.1-100" size="14" aria-label="names of tasks";
            input name="title" placeholder="what" size="10" aria-label="title";
            select name="state" aria-label="state" {
                option value="open" selected { "not ended" }
                option value="" { "all" }
                @for state in STATES { option value=(state) { (state) } }
            }
            input name="node" placeholder="node" size="10" aria-label="node";
            button type="button" #filter-clear { "clear" }
            button type="button" #list-first disabled { "first" }
            button type="button" #list-next disabled { "next" }
            button type="button" #list-last { "last" }
        }
    }
}

fn dialogs() -> maud::Markup {
    html! {
        dialog #task aria-labelledby="task-name" {
            h2 { span #task-name {} button type="button" #task-close { "close" } }
            div #task-body {}
        }
        dialog #confirm {
            p #confirm-question {}
            p.controls {
                button type="button" #confirm-yes { "yes" }
                button type="button" #confirm-no autofocus { "no" }
            }
        }
    }
}

fn section(id: &str, title: &str, content: maud::Markup) -> maud::Markup {
    html! {
        section id=(id) {
            h2 { (title) " " small {} }
            (content)
        }
    }
}

/// Cluster as seen by one of its nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PageState {
    /// Time of the state, in ms since 1970.
    pub at_ms: u64,
    /// Name of the node that reports.
    pub node: String,
    /// All nodes, sorted by name.
    pub nodes: Vec<NodeStatus>,
    /// New samples of the history, oldest first.
    pub history: Vec<ClusterSample>,
    /// Recent moves, newest first.
    pub moves: Vec<Move>,
    /// Unfinished tasks of the node.
    pub queues: Queues,
    /// Time until all tasks have ended, in ms, as far as it can be foretold.
    #[serde(default)]
    pub left_ms: Option<u64>,
    /// Durations in ms that half of the ended tasks, and nine of ten, did not exceed.
    #[serde(default)]
    pub durations_ms: Option<[f64; 2]>,
}

/// Unfinished tasks of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queues {
    /// Tasks running on the node.
    pub running: Vec<TaskStatus>,
    /// Tasks held by other nodes.
    pub leased: Vec<TaskStatus>,
    /// Waiting tasks.
    pub queued: Vec<TaskStatus>,
}

impl PageState {
    /// Creates the latest state from `history`, with its samples after `after_ms`.
    #[must_use]
    pub fn new(node: &str, nodes: Vec<NodeStatus>, history: &History, after_ms: u64) -> Self {
        Self {
            at_ms: history.samples_after(0).last().map_or(0, |sample| sample.at_ms),
            node: node.to_owned(),
            left_ms: history.left_ms(),
            durations_ms: durations(&nodes),
            nodes,
            history: history.samples_after(after_ms).cloned().collect(),
            moves: history.moves().cloned().collect(),
            queues: Queues::default(),
        }
    }

    /// Adds tasks, as many as are shown.
    #[must_use]
    pub fn with_queues(self, mut queues: Queues) -> Self {
        for tasks in [&mut queues.running, &mut queues.leased, &mut queues.queued] {
            tasks.truncate(Queues::N_MAX);
        }
        Self { queues, ..self }
    }
}

impl Queues {
    /// Maximum number of tasks shown of each kind.
    pub const N_MAX: usize = 100;
}
