//! Web pages of a daemon: asks it as any client does, and makes pages of the answers.
//!
//! # Invariants
//! - The daemon is asked for nodes once a second, however many browsers look; for tasks only when a page is asked for.

mod error;
mod site;
mod tasks;

use crate::requests::{now_ms, pasts};
use node_daemon::client_socket::{Client, ClientError};
use node_daemon::web::{self, PageRequest, WebKey};
use report::balance::History;
use site::NodeSite;
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
    let site = NodeSite { nodes_view: Arc::clone(&nodes_view), folder: folder.to_owned() };
    let answer = move |request: &PageRequest| site.answer(request);
    let address = web::serve(address, key, Arc::new(answer))?;
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
    let is_first = client.is_none();
    let mut client = client.map_or_else(|| Client::connect(folder), Ok)?;
    if let DaemonAnswer::Nodes { nodes } = client.ask(&ClientRequest::Nodes)? {
        let pasts = if is_first { pasts(&mut client, &nodes) } else { Vec::new() };
        let mut nodes_view = nodes_view.lock().unwrap_or_else(PoisonError::into_inner);
        nodes_view.history.begin(&pasts);
        nodes_view.history.add(now_ms(), &nodes);
        (nodes_view.node, nodes_view.nodes) = (client.node().to_owned(), nodes);
    }
    Ok(client)
}
