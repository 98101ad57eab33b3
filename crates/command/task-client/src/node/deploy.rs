//! `sintonia node deploy`: starts daemons on other hosts over `ssh`, or stops them.
//!
//! # Invariants
//! - The key of the cluster goes through the standard input of `ssh`, and is an argument of no program.
//! - A key or a program of another kind that is on a host is not replaced, unless `--copy` asks for the program.

mod launcher;
mod script;

use crate::cluster_key;
use crate::location::StateOption;
use crate::requests::Daemon;
use anyhow::Context;
use clap::Args;
use display::units::plural;
use launcher::Launcher;
use script::{Outcome, Place, Script, Start};
use serde_json::json;
use std::env;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use task_api::{ClientRequest, DaemonAnswer};
use user_io::exit::{BadOption, Failure, bad_option};
use user_io::print::result;

const EXAMPLES: &str = "\
Examples:
  sintonia node start --background --port 7411     here, to begin with
  sintonia node deploy node2 node3                 these join it
  sintonia node deploy 'node[1-16],gpu1' --cores 8
  sintonia node deploy node2 --copy                copies this program there if it is missing or old
  sintonia node deploy node2 --join node1:7411 -- --policy event
  sintonia node deploy 'node[1-16]' --stop

Each host needs a login by `ssh` without a password, and this version of Sintonia: in PATH, in
~/.local/bin, where `--copy` puts it, or where it is here. The key of the cluster is written to the
host unless it is there, as in a shared home; it goes through the encrypted connection, and is in no
list of processes. Without a daemon here, and without `--join`, the hosts join each other. A host
that has a daemon already is left as it is. A line for each host says what happened.
Exit codes: 0 all hosts are as wanted; 2 an option is wrong; 108 some are not.";

/// Start daemons on other hosts over ssh, or stop them
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(super) struct DeployOptions {
    /// Hosts, as `ssh` knows them; also lists: `node[1-4],gpu1`
    #[arg(required = true, value_name = "HOST")]
    hosts: Vec<String>,
    /// Node to join; by default the daemon of this machine. May be given several times
    #[arg(long, value_name = "HOST:PORT", conflicts_with = "stop")]
    join: Vec<String>,
    /// Tasks that run on a host at the same time; by default its cores
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65_536))]
    cores: Option<u32>,
    /// Port at which the daemons listen for other nodes
    #[arg(long, value_name = "PORT", default_value_t = node_daemon::members::PORT)]
    port: u16,
    /// File of the cluster's key here; by default `sintonia/node.key` in `$XDG_CONFIG_HOME` or `~/.config`, where it is
    /// on the hosts, too
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Path of the program on the hosts
    #[arg(long, value_name = "PATH")]
    program: Option<String>,
    /// Copy this program to hosts where it is missing or of another version
    #[arg(long, conflicts_with_all = ["program", "stop"])]
    copy: bool,
    /// Stop the daemons of these hosts, after the tasks that run there
    #[arg(long)]
    stop: bool,
    /// With `--stop`: end these tasks
    #[arg(long, requires = "stop")]
    now: bool,
    /// Command that runs another one on a host, in place of `ssh`, with its options; by default `SINTONIA_SSH`
    #[arg(long, value_name = "COMMAND")]
    ssh: Option<String>,
    /// Most hosts at the same time
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=256))]
    parallel: u32,
    /// Print a line of JSON for each host
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    state: StateOption,
    /// Further options of `node start`, after `--`
    #[arg(last = true, value_name = "START OPTION", conflicts_with = "stop")]
    further: Vec<String>,
}

/// Starts or stops the daemons of all hosts.
pub(super) fn deploy(options: &DeployOptions) -> anyhow::Result<ExitCode> {
    let hosts = hosts(&options.hosts)?;
    let place = Place {
        program: options.program.clone(),
        here: env::current_exe()?,
        version: own_version(),
    };
    let script = match options.stop {
        true => Script::stop(&place, options.now),
        false => Script::start(&place, &start(options, &hosts)?),
    };
    let launcher = Launcher::new(options.ssh.as_deref())?;
    let (next, n_failed) = (AtomicUsize::new(0), Mutex::new(0_usize));
    let work = || {
        while let Some(host) = hosts.get(next.fetch_add(1, Ordering::Relaxed)) {
            let outcome = launcher.deploy(host, &script, options.copy);
            let mut n_failed = n_failed.lock().unwrap_or_else(PoisonError::into_inner);
            *n_failed += usize::from(matches!(outcome, Outcome::Failed(_)));
            let line = match options.json {
                true => {
                    let why = if let Outcome::Failed(why) = &outcome { Some(why) } else { None };
                    json!({"host": host, "outcome": outcome.word(), "why": why}).to_string()
                }
                false => format!("{host}: {}", outcome.sentence()),
            };
            // The lock is held, so that lines do not mix. If standard output is closed, the exit code still tells.
            result(&format!("{line}\n")).ok();
        }
    };
    thread::scope(|scope| {
        for _ in 1..hosts.len().min(usize::try_from(options.parallel).unwrap_or(1)) {
            // Where no thread can be had, the others do the work.
            thread::Builder::new().spawn_scoped(scope, work).ok();
        }
        work();
    });
    match n_failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        0 => Ok(ExitCode::SUCCESS),
        n => {
            eprintln!("sintonia: {} of {} failed", n, plural(hosts.len(), "host"));
            Ok(Failure::NoDaemon.into())
        }
    }
}

/// Names of the hosts.
fn hosts(lists: &[String]) -> anyhow::Result<Vec<String>> {
    let mut hosts = Vec::new();
    for list in lists {
        hosts.extend(host_list::expand(list).context(BadOption)?);
    }
    // To `ssh` they would be options.
    match hosts.iter().find(|host| host.starts_with('-')) {
        Some(host) => Err(bad_option(format!("`{host}` is no host"))),
        None => Ok(hosts),
    }
}

fn own_version() -> String {
    format!("sintonia {}", env!("CARGO_PKG_VERSION"))
}

/// What the daemons are started with.
fn start(options: &DeployOptions, hosts: &[String]) -> anyhow::Result<Start> {
    super::key::read(options.key.as_deref())?;
    let key_file = cluster_key::path(options.key.as_deref())?;
    let key = std::fs::read_to_string(&key_file)?.trim().to_owned();
    let mut words = vec!["--port".to_owned(), options.port.to_string()];
    words.extend(options.cores.map(|n_cores| format!("--cores={n_cores}")));
    let seeds = match options.join.is_empty() {
        false => options.join.clone(),
        true => {
            own_address(options).map_or_else(|| first_hosts(hosts, options.port), |own| vec![own])
        }
    };
    words.extend(seeds.into_iter().map(|seed| format!("--seed={seed}")));
    words.extend(options.further.iter().cloned());
    Ok(Start { key, words })
}

/// Address of the daemon of this machine, if there is one that accepts other nodes.
fn own_address(options: &DeployOptions) -> Option<String> {
    let mut daemon = Daemon::connect(options.state.running()).ok()?;
    let name = daemon.client.node().to_owned();
    let DaemonAnswer::Nodes { nodes } = daemon.ask(&ClientRequest::Nodes).ok()? else {
        return None;
    };
    let own = nodes.into_iter().find(|node| node.node == name)?;
    (!own.address.is_empty()).then_some(own.address)
}

/// Most hosts that the others join when there is no daemon here.
const N_SEEDS_MAX: usize = 3;

fn first_hosts(hosts: &[String], port: u16) -> Vec<String> {
    let name =
        |host: &String| host.rsplit_once('@').map_or(host.as_str(), |(_, host)| host).to_owned();
    hosts.iter().take(N_SEEDS_MAX).map(|host| format!("{}:{port}", name(host))).collect()
}
