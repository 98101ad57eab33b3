//! Web pages of a daemon: asks it as any client does, and makes pages of the answers.
//!
//! # Invariants
//! - The daemon is asked for nodes once a second, however many browsers look; for tasks only when a page is asked for.

use crate::requests::now_ms;
use crate::requests::queues;
use node_daemon::client_socket::{Client, ClientError};
use node_daemon::web::{self, Page, WebKey};
use report::balance::{self, History, PageState, Queues};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use task_api::{ClientRequest, DaemonAnswer, NodeStatus};

/// Time between two requests for the nodes.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// File in the daemon's folder that holds the address of its pages.
const FILE: &str = "web";

/// Nodes as they were last, and their history.
#[derive(Default)]
struct NodesView {
    node: String,
    nodes: Vec<NodeStatus>,
    history: History,
}

/// Serves the pages of the daemon that has this folder; returns their address without the key.
pub(super) fn serve(address: SocketAddr, folder: &Path) -> anyhow::Result<String> {
    let key = WebKey::in_folder(folder)?;
    let nodes_view = Arc::new(Mutex::new(NodesView::default()));
    let site = {
        let (nodes_view, folder) = (Arc::clone(&nodes_view), folder.to_owned());
        move |path: &str, value: &dyn Fn(&str) -> Option<String>| {
            page(&nodes_view, &folder, path, value)
        }
    };
    let address = web::serve(address, key, Arc::new(site))?;
    let looked_at = folder.to_owned();
    std::thread::Builder::new()
        .name("web-look".to_owned())
        .spawn(move || poll(&looked_at, &nodes_view))?;
    let address = format!("http://{address}/");
    let mut file = OpenOptions::new();
    let file = file.create(true).write(true).truncate(true).mode(0o600).open(folder.join(FILE));
    file?.write_all(address.as_bytes())?;
    Ok(address)
}

/// Removes the address of a page that an earlier daemon of this folder served.
pub(super) fn remove_address(folder: &Path) {
    // Mostly there is no such file.
    fs::remove_file(folder.join(FILE)).ok();
}

/// Address of a daemon's page with its key.
pub(crate) fn address(folder: &Path) -> Option<String> {
    let address = fs::read_to_string(folder.join(FILE)).ok()?;
    let key = fs::read_to_string(WebKey::path(folder)).ok()?;
    Some(format!("{}?key={}", address.trim(), key.trim()))
}

fn poll(folder: &Path, nodes_view: &Mutex<NodesView>) {
    let mut client = None;
    loop {
        // After an error, as when the daemon starts or ends, the next turn connects again.
        client = ask(client, folder, nodes_view).ok();
        std::thread::sleep(POLL_INTERVAL);
    }
}

fn ask(
    client: Option<Client>,
    folder: &Path,
    nodes_view: &Mutex<NodesView>,
) -> Result<Client, ClientError> {
    let mut client = client.map_or_else(|| Client::connect(folder), Ok)?;
    if let DaemonAnswer::Nodes { nodes } = client.ask(&ClientRequest::Nodes)? {
        let mut nodes_view = nodes_view.lock().unwrap_or_else(PoisonError::into_inner);
        nodes_view.history.add(now_ms(), &nodes);
        (nodes_view.node, nodes_view.nodes) = (client.node().to_owned(), nodes);
    }
    Ok(client)
}

fn page(
    nodes_view: &Mutex<NodesView>,
    folder: &Path,
    path: &str,
    value: &dyn Fn(&str) -> Option<String>,
) -> Option<Page> {
    let state = |after_ms| {
        // Asked before the lock is taken, so that other pages are not held up.
        let tasks = Client::connect(folder).and_then(|mut client| queues(&mut client));
        let nodes_view = nodes_view.lock().unwrap_or_else(PoisonError::into_inner);
        let state = PageState::new(
            &nodes_view.node,
            nodes_view.nodes.clone(),
            &nodes_view.history,
            after_ms,
        );
        state.with_queues(tasks.unwrap_or_else(|_| Queues::default()))
    };
    match path {
        "/" => Some(Page { kind: "text/html; charset=utf-8", text: balance::page(&state(0)) }),
        "/state.json" => {
            let after_ms = value("after").and_then(|text| text.parse().ok()).unwrap_or(0);
            let text = serde_json::to_string(&state(after_ms)).ok()?;
            Some(Page { kind: "application/json", text })
        }
        "/metrics" => {
            let nodes_view = nodes_view.lock().unwrap_or_else(PoisonError::into_inner);
            let own = nodes_view.nodes.iter().find(|node| node.node == nodes_view.node)?;
            let kind = "text/plain; version=0.0.4; charset=utf-8";
            Some(Page { kind, text: balance::metrics(own, &nodes_view.nodes) })
        }
        _ => None,
    }
}
