//! Daemon without the rest of the command line, for the tests of this crate and to measure it.
//!
//! `node run STATE NAME N_CORES [LISTEN PEER...]` runs one, with leases of `NODE_LEASE_MS`, reachable at
//! `NODE_HOST`; `node serve STATE` and `node guard STATE` are its keeper; `node speed N` prints how many trivial
//! tasks a second a node of its own runs, and the processor time of each of its threads.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program of the command line")]

use std::error::Error;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use node_core::interface::Measurement;
use node_daemon::client_socket::Client;
use node_daemon::daemon::{ClusterSettings, Daemon, Options, Warn};
use node_daemon::keeper::{self, KeeperOptions};
use node_daemon::links::{ClusterKey, LinkOptions};
use task_api::{ArrayIndices, ClientRequest, Submission};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = std::env::args().skip(1).collect::<Vec<_>>();
    let arguments = arguments.iter().map(String::as_str).collect::<Vec<_>>();
    match arguments.as_slice() {
        ["run", state, name, n_cores] => run(Path::new(state), name, n_cores.parse()?, None),
        ["run", state, name, n_cores, listen, peers @ ..] => {
            let network = network(listen, peers)?;
            run(Path::new(state), name, n_cores.parse()?, Some(network))
        }
        ["serve", state] => {
            let guard = ["guard", state].map(OsString::from).to_vec();
            let mut options = KeeperOptions::new(PathBuf::from(state), guard);
            options.idle = Duration::from_secs(2);
            Ok(keeper::serve(options)?)
        }
        ["guard", state] => {
            keeper::guard(Path::new(state));
            Ok(())
        }
        ["speed", n_tasks] => speed(n_tasks.parse()?),
        _ => Err("usage: node run|serve|guard|speed ...".into()),
    }
}

/// Network in a cluster with a public key, with short times.
fn network(listen: &str, peers: &[&str]) -> Result<ClusterSettings, Box<dyn Error>> {
    let listen: std::net::SocketAddr = listen.parse()?;
    Ok(ClusterSettings {
        listen,
        host: std::env::var("NODE_HOST").unwrap_or_else(|_| listen.ip().to_string()),
        key: ClusterKey::of([1; 32]),
        peers: peers.iter().map(|&peer| peer.to_owned()).collect(),
        meeting: None,
        links: LinkOptions::default(),
    })
}

fn run(
    state: &Path,
    name: &str,
    n_cores: u32,
    network: Option<ClusterSettings>,
) -> Result<(), Box<dyn Error>> {
    let measurement = Measurement { n_cores, speed: 1.0 };
    let keeper = ["/proc/self/exe".into(), "serve".into(), state.into()].to_vec();
    let mut options = Options::new(name, state, measurement, keeper);
    let lease_ms = std::env::var("NODE_LEASE_MS").ok().and_then(|ms| ms.parse().ok());
    options.lease_ms = lease_ms.unwrap_or(options.lease_ms);
    options.slack_ms = options.lease_ms / 2;
    options.network = network;
    options.warn = Warn(Arc::new(|sentence| eprintln!("{sentence}")));
    Ok(Daemon::open(options)?.run()?)
}

fn speed(n_tasks: u64) -> Result<(), Box<dyn Error>> {
    let state = std::env::temp_dir().join(format!("sintonia-node-speed-{}", std::process::id()));
    let n_cores = std::thread::available_parallelism()?.to_string();
    let mut command = Command::new("/proc/self/exe");
    command.arg("run").arg(&state).args(["speed", &n_cores]).stdin(Stdio::null());
    let mut daemon = command.spawn()?;
    let found = through(&state, n_tasks, &daemon);
    if found.is_err() {
        daemon.kill()?;
    }
    daemon.wait()?;
    std::fs::remove_dir_all(&state)?;
    found
}

fn through(state: &Path, n_tasks: u64, daemon: &Child) -> Result<(), Box<dyn Error>> {
    let mut client = connect(state)?;
    let submission = Submission {
        command: vec!["true".to_owned()],
        folder: "/".to_owned(),
        environment: std::env::vars().collect(),
        array: Some(ArrayIndices::range(1, n_tasks)),
        ..Submission::default()
    };
    let since = Instant::now();
    let tasks = client.submit(submission)?;
    let (mut n_ended, mut n_good) = (0, 0);
    client.wait(&tasks, true, |ended| {
        n_ended += 1;
        n_good += u64::from(ended.outcome.is_success());
    })?;
    let seconds = since.elapsed().as_secs_f64();
    println!(
        "{n_ended} tasks, {n_good} good, in {seconds:.2} s: {:.0} a second",
        n_ended as f64 / seconds
    );
    for (thread, us) in cpu_us(daemon.id())? {
        println!("{thread}: {:.1} us of CPU for each task", us / n_ended as f64);
    }
    client.ask(&ClientRequest::Stop { now: true })?;
    Ok(())
}

fn connect(state: &Path) -> Result<Client, Box<dyn Error>> {
    let end = Instant::now() + Duration::from_secs(10);
    loop {
        match Client::connect(&state.join("node.sock")) {
            Ok(client) => return Ok(client),
            Err(error) if end < Instant::now() => return Err(error.into()),
            Err(_) => std::thread::sleep(Duration::from_millis(10)),
        }
    }
}

/// Processor time of each thread of a process by name, in µs.
fn cpu_us(pid: u32) -> Result<Vec<(String, f64)>, Box<dyn Error>> {
    let mut found = Vec::new();
    for thread in std::fs::read_dir(format!("/proc/{pid}/task"))? {
        let path = thread?.path();
        let name = std::fs::read_to_string(path.join("comm"))?.trim().to_owned();
        let spent = std::fs::read_to_string(path.join("schedstat"))?;
        let ns = spent.split_whitespace().next().unwrap_or("0").parse::<f64>()?;
        found.push((name, ns / 1000.0));
    }
    Ok(found)
}
