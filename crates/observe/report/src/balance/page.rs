//! Web page served by a daemon: a single file that polls for the state.
//!
//! # Invariants
//! - It loads nothing but `state.json` beside it; its own policy forbids everything else.
//! - Data from tasks are inserted as text, never as markup.

use super::state::PageState;
use maud::{DOCTYPE, PreEscaped, html};

const STYLE: &str = include_str!("../../assets/page.css");
const CLUSTER_STYLE: &str = include_str!("../../assets/cluster.css");
/// Scripts in execution order: each uses only earlier ones.
const SCRIPTS: [&str; 3] = [
    include_str!("../../assets/page.js"),
    include_str!("../../assets/cluster_parts.js"),
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
                    (section("nodes", "Nodes", html! { table { thead #node-titles {} tbody #node-rows {} } }))
                    (section("moves", "Moves", html! { ul #move-rows .plain {} }))
                    (section("tasks", "Tasks submitted here", html! { table { thead #task-titles {} tbody #task-rows {} } }))
                }
                script #state type="application/json" { (PreEscaped(data)) }
                script { (PreEscaped(script)) }
            }
        }
    };
    page.into_string()
}

fn section(id: &str, title: &str, content: maud::Markup) -> maud::Markup {
    html! {
        section id=(id) {
            h2 { (title) " " small {} }
            (content)
        }
    }
}
