//! `sintonia nodes`: shows the nodes of the cluster once or live, or prints the address of the web page.

mod live;

use crate::location::{DaemonLocation, NodeOption};
use crate::requests;
use clap::Args;
use std::process::ExitCode;
use task_api::{Answer, Request};
use user_io::exit::NoDaemon;
use user_io::print::result;
use user_io::terminal::Terminal;

const EXAMPLES: &str = "\
Examples:
  sintonia nodes
  sintonia nodes --live                                    q leaves
  sintonia nodes --json | jq -r '.[] | select(.presence != \"up\") | .node'
  sintonia nodes --web                                     the address of the page, with its key

A node that is `silent` sent nothing for 3 s; its tasks are run elsewhere when it stays so. A `receiver`
takes tasks of others, a `neutral` node its own only, a `sender` seeks others that take some of its tasks.
Exit codes: 0 done; 108 no daemon answers.";

/// Show the nodes of the cluster, their load and their queues
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// Keep showing the nodes, with their history, on the whole terminal; in a pipe, print a line a second
    #[arg(long, conflicts_with_all = ["json", "web"])]
    live: bool,
    /// Print the address of the web page of this node's daemon; anyone who has it can read everything on the page
    #[arg(long, conflicts_with = "json")]
    web: bool,
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
        return live::show(&location, terminal);
    }
    let mut client = requests::connect(&location)?;
    let answer = requests::ask(&mut client, &Request::Nodes, &location)?;
    let Answer::Nodes { nodes } = answer else { return Err(requests::unexpected(&answer)) };
    result(&match options.json {
        true => format!("{:#}\n", serde_json::to_value(&nodes)?),
        false => report::balance::nodes(&nodes, terminal.stdout_style()),
    })
}

fn web(location: &DaemonLocation) -> anyhow::Result<String> {
    requests::connect(location)?;
    let folder = location.folder()?;
    crate::node::web::address(&folder).ok_or_else(|| {
        let words = location.words("--state");
        let why =
            format!("the daemon serves no page: start it with `sintonia node start --web{words}`");
        NoDaemon.because(why).into()
    })
}
