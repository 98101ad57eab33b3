//! `sintonia nodes`: shows the nodes of the cluster once or live, or prints the address of the web page.

use crate::location::{DaemonLocation, NodeOption};
use crate::requests::{self, Daemon, now_ms};
use clap::Args;
use node_daemon::client_socket::{Client, ClientError};
use report::balance::Queues;
use report::balance::live::{ClusterView, draw, plain_line};
use report::live::LiveScreen;
use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use task_api::{ClientRequest, DaemonAnswer, NodeStatus};
use user_io::exit::NoDaemon;
use user_io::print::result;
use user_io::terminal::Terminal;

const EXAMPLES: &str = "\
Examples:
  sintonia nodes
  sintonia nodes --live                                    q leaves
  sintonia nodes --resources                               cores, memory and GPUs in use
  sintonia nodes --json | jq -r '.[] | select(.presence != \"up\") | .node'
  sintonia nodes --web                                     the address of the page, with its key

A node that is `silent` sent nothing for 3 s; its tasks are run elsewhere when it stays so. A `receiver`
takes tasks of others, a `neutral` node its own only, a `sender` seeks others that take some of its tasks.
Counts begin with a node's daemon. `failed`, `canceled` and `retried` are of the tasks that were
submitted to the node, wherever they ran; `ended` counts what ran there; `lost` were started again,
since the node that ran them was lost.
Exit codes: 0 done; 108 no daemon answers.";

/// Show the nodes of the cluster, their load and their queues
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct Options {
    /// Keep showing the nodes, with their history, on the whole terminal; in a pipe, print a line a second
    #[arg(long, conflicts_with_all = ["json", "web"])]
    live: bool,
    /// Print the address of the web page of this node's daemon; anyone who has it can read everything on the page,
    /// cancel tasks and run them again
    #[arg(long, conflicts_with = "json")]
    web: bool,
    /// Show what tasks use of the cores, the memory, the GPUs and the other resources of each node
    #[arg(long, conflicts_with_all = ["live", "web", "json"])]
    resources: bool,
    /// Print the nodes as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    node: NodeOption,
}

/// Shows the nodes.
pub fn run(options: &Options, terminal: Terminal) -> anyhow::Result<ExitCode> {
    let location = options.node.location();
    if options.web {
        return result(&format!("{}\n", web(&location)?));
    }
    if options.live {
        return show(&location, terminal);
    }
    let answer = Daemon::connect(location)?.ask(&ClientRequest::Nodes)?;
    let DaemonAnswer::Nodes { nodes } = answer else { return Err(requests::unexpected(&answer)) };
    result(&match options.json {
        true => format!("{:#}\n", serde_json::to_value(&nodes)?),
        false if options.resources => {
            report::balance::node_resources(&nodes, terminal.stdout_style())
        }
        false => report::balance::nodes(&nodes, terminal.stdout_style()),
    })
}

fn web(location: &DaemonLocation) -> anyhow::Result<String> {
    let folder = location.folder()?;
    Daemon::connect(location.clone())?;
    crate::node::web::address(&folder).ok_or_else(|| {
        let words = location.words("--state");
        let why =
            format!("the daemon serves no page: start it with `sintonia node start --web{words}`");
        NoDaemon.because(why).into()
    })
}

/// Time between two requests.
const ASK_EVERY: Duration = Duration::from_millis(500);
/// Time between lines in a pipe.
const LINE_EVERY: Duration = Duration::from_secs(1);
/// Longest wait for a key.
const KEY_PATIENCE: Duration = Duration::from_millis(50);

/// Shows the nodes until the user ends it.
fn show(location: &DaemonLocation, terminal: Terminal) -> anyhow::Result<ExitCode> {
    let client = Daemon::connect(location.clone())?.client;
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

fn view(
    mut client: Client,
    location: &DaemonLocation,
    terminal: Terminal,
) -> anyhow::Result<ExitCode> {
    let mut view = ClusterView::new(client.node().to_owned(), terminal.stdout_style().color);
    let all = nodes(&mut client).map_err(|error| requests::failure(error, location))?;
    view.begin(&requests::pasts(&mut client, &all));
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
    let connect = || location.connect().map_err(|error| requests::refused(&error))?;
    let mut client = client.map_or_else(connect, Ok)?;
    let (nodes, queues) = (nodes(&mut client)?, requests::queues(&mut client)?);
    Ok((client, nodes, queues))
}

fn nodes(client: &mut Client) -> Result<Vec<NodeStatus>, ClientError> {
    match client.ask(&ClientRequest::Nodes)? {
        DaemonAnswer::Nodes { nodes } => Ok(nodes),
        other => Err(requests::other(other)),
    }
}
