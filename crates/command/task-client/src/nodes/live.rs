//! `sintonia nodes --live`: asks the daemon again and again, and shows its answers.

use crate::location::DaemonLocation;
use crate::requests;
use crate::requests::now_ms;
use node_daemon::client_socket::{Client, ClientError};
use report::balance::Queues;
use report::balance::live::{ClusterView, draw, plain_line};
use report::live::LiveScreen;
use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use task_api::{Answer, NodeStatus, Request};
use user_io::terminal::Terminal;

/// Time between two requests.
const ASK_EVERY: Duration = Duration::from_millis(500);
/// Time between lines in a pipe.
const LINE_EVERY: Duration = Duration::from_secs(1);
/// Longest wait for a key.
const KEY_PATIENCE: Duration = Duration::from_millis(50);

/// Shows the nodes until the user ends it.
pub(super) fn show(location: &DaemonLocation, terminal: Terminal) -> anyhow::Result<ExitCode> {
    let client = requests::connect(location)?;
    if std::io::stdout().is_terminal() {
        view(client, location, terminal)
    } else {
        lines(client, location)
    }
}

fn lines(mut client: Client, location: &DaemonLocation) -> anyhow::Result<ExitCode> {
    loop {
        let nodes = nodes(&mut client).map_err(|error| requests::failure(error, location))?;
        let line = plain_line(now_ms(), &nodes);
        user_io::print::result(&format!("{line}\n"))?;
        std::thread::sleep(LINE_EVERY);
    }
}

fn view(client: Client, location: &DaemonLocation, terminal: Terminal) -> anyhow::Result<ExitCode> {
    let mut view = ClusterView::new(client.node().to_owned(), terminal.stdout_style().color);
    let mut client = Some(client);
    let mut screen = LiveScreen::start(std::io::stdout())?;
    let mut next_question = Instant::now();
    loop {
        if next_question <= Instant::now() {
            next_question = Instant::now() + ASK_EVERY;
            match poll(client.take(), location) {
                Ok((again, nodes, queues)) => {
                    client = Some(again);
                    view.update(now_ms(), nodes, queues);
                }
                Err(error) => view.trouble(format!("{:#}", requests::failure(error, location))),
            }
        }
        screen.frame(|frame| draw(frame, &view))?;
        if screen.key(KEY_PATIENCE)?.is_some_and(|key| !view.key(key)) {
            screen.stop()?;
            return Ok(ExitCode::SUCCESS);
        }
    }
}

/// Nodes and queues; connects again to a daemon that was restarted.
fn poll(
    client: Option<Client>,
    location: &DaemonLocation,
) -> Result<(Client, Vec<NodeStatus>, Queues), ClientError> {
    let socket = || location.socket().map_err(|error| requests::refused(&error));
    let mut client = match client {
        Some(client) => client,
        None => Client::connect(&socket()?)?,
    };
    let nodes = nodes(&mut client)?;
    let queues = requests::queues(&mut client)?;
    Ok((client, nodes, queues))
}

fn nodes(client: &mut Client) -> Result<Vec<NodeStatus>, ClientError> {
    match client.ask(&Request::Nodes)? {
        Answer::Nodes { nodes } => Ok(nodes),
        other => Err(requests::other(other)),
    }
}
