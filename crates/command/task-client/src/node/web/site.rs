//! What there is on a daemon's pages: paths of pages and data, and the orders of buttons.

use super::error::SiteError;
use super::{NodesView, tasks};
use crate::requests::{other, queues};
use node_daemon::client_socket::{Client, ClientError};
use node_daemon::web::{Page, PageRequest};
use report::balance::{self, PageState, Queues};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use task_api::{ClientRequest, DaemonAnswer, RerunSelection, TaskRange};

const HTML: &str = "text/html; charset=utf-8";
const JSON: &str = "application/json";
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Pages of a daemon.
pub(super) struct NodeSite {
    pub(super) nodes_view: Arc<Mutex<NodesView>>,
    pub(super) folder: PathBuf,
}

impl NodeSite {
    /// Answers a request; `None` where there is no such page.
    pub(super) fn answer(&self, request: &PageRequest) -> Option<Page> {
        if let Some(order) = &request.order {
            return self.order(request.path(), order);
        }
        let after = || request.value("after").and_then(|text| text.parse().ok()).unwrap_or(0);
        match request.path() {
            "/" => Some(Page::new(HTML, balance::page(&self.state(0)))),
            "/state.json" => Some(data(serde_json::to_value(self.state(after())).ok()?)),
            "/metrics" => self.metrics(),
            "/jobs.json" => Some(self.asked(|client| tasks::jobs(client, request))),
            "/tasks.json" => Some(self.asked(|client| tasks::tasks(client, request))),
            "/active.json" => Some(self.asked(|client| tasks::active(client, request))),
            "/task.json" => Some(self.asked(|client| tasks::task(client, request))),
            _ => None,
        }
    }

    fn order(&self, path: &str, order: &[u8]) -> Option<Page> {
        match path {
            "/cancel" => Some(self.asked(|client| cancel(client, order))),
            "/rerun" => Some(self.asked(|client| rerun(client, order))),
            _ => None,
        }
    }

    fn state(&self, after_ms: u64) -> PageState {
        // Asked before the lock is taken, so that other pages are not held up.
        let tasks = Client::connect(&self.folder).and_then(|mut client| queues(&mut client));
        let view = self.nodes_view.lock().unwrap_or_else(PoisonError::into_inner);
        let state = PageState::new(&view.node, view.nodes.clone(), &view.history, after_ms);
        state.with_queues(tasks.unwrap_or_else(|_| Queues::default()))
    }

    fn metrics(&self) -> Option<Page> {
        let view = self.nodes_view.lock().unwrap_or_else(PoisonError::into_inner);
        let own = view.nodes.iter().find(|node| node.node == view.node)?;
        Some(Page::new(METRICS, balance::metrics(own, &view.nodes)))
    }

    /// Asks the daemon for data, on a connection of its own.
    fn asked(&self, ask: impl FnOnce(&mut Client) -> Result<Value, SiteError>) -> Page {
        let client = Client::connect(&self.folder).map_err(SiteError::Daemon);
        match client.and_then(|mut client| ask(&mut client)) {
            Ok(value) => data(value),
            Err(SiteError::Value(sentence)) => Page::refusal(400, sentence),
            Err(SiteError::Daemon(ClientError::Refused(sentence))) => Page::refusal(409, &sentence),
            Err(SiteError::Daemon(error)) => Page::refusal(503, &error.to_string()),
        }
    }
}

fn data(value: Value) -> Page {
    Page::new(JSON, value.to_string())
}

fn cancel(client: &mut Client, order: &[u8]) -> Result<Value, SiteError> {
    let mut n_all = 0;
    for tasks in ranges_of(&parsed(order)?)? {
        match client.ask(&ClientRequest::Cancel { tasks })? {
            DaemonAnswer::Canceled { n_tasks } => n_all += n_tasks,
            answer => return Err(other(answer).into()),
        }
    }
    Ok(json!({"n_tasks": n_all}))
}

/// Runs tasks again. Of several ranges, those that have no such tasks are passed over.
fn rerun(client: &mut Client, order: &[u8]) -> Result<Value, SiteError> {
    let order = parsed(order)?;
    let which = serde_json::from_value::<RerunSelection>(order["which"].clone());
    let which =
        which.map_err(|_| SiteError::Value("`which` is `failed`, `unsuccessful` or `all`"))?;
    let mut again = Vec::new();
    let mut refusal = None;
    for tasks in ranges_of(&order)? {
        match client.ask(&ClientRequest::Rerun { tasks, which }) {
            Ok(DaemonAnswer::Submitted { tasks }) => again.push(tasks),
            Ok(answer) => refusal = Some(other(answer)),
            Err(error @ ClientError::Refused(_)) => refusal = Some(error),
            Err(error) => return Err(error.into()),
        }
    }
    match refusal.filter(|_| again.is_empty()) {
        Some(refusal) => Err(refusal.into()),
        None => Ok(json!({"tasks": again})),
    }
}

fn parsed(order: &[u8]) -> Result<Value, SiteError> {
    serde_json::from_slice(order).map_err(|_| SiteError::Value("the order is no JSON"))
}

/// Tasks of an order: a range, or a list of ranges.
fn ranges_of(order: &Value) -> Result<Vec<TaskRange>, SiteError> {
    let range = |value: &Value| value.as_str()?.parse::<TaskRange>().ok();
    let ranges = match order["tasks"].as_array() {
        Some(ranges) => ranges.iter().map(range).collect::<Option<Vec<_>>>(),
        None => range(&order["tasks"]).map(|range| vec![range]),
    };
    let ranges = ranges.filter(|ranges| !ranges.is_empty());
    ranges.ok_or(SiteError::Value("`tasks` is `NODE.NUMBER`, `NODE.FIRST-LAST`, or a list of such"))
}
