//! `sintonia node start`: makes a daemon from options and runs it until it leaves.

use super::log::Log;
use super::options::StartOptions;
use super::{keeper_words, web};
use crate::location::own_name;
use crate::requests::{ADDRESS_FILE, now_ms};
use anyhow::Context;
use balancing_policies::Policy;
use node_daemon::capacity::{CapacityOptions, capacity};
use node_daemon::client_socket::{Client, SOCKET, open_state};
use node_daemon::daemon::{BookLimits, ClusterSettings, Daemon, Options, Stopper, Warn};
use node_daemon::measure::{MeasureOptions, measure};
use std::env;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use task_api::{ClientRequest, DaemonAnswer, check_node_name};
use user_io::exit::{BadOption, NoDaemon};
use user_io::print::warn;

/// Runs a daemon, here or in the background.
pub(super) fn start(options: &StartOptions) -> anyhow::Result<ExitCode> {
    let folder = open_state(&options.state.location().folder()?).map_err(|error| failed(&error))?;
    refuse_second(&folder)?;
    if options.background {
        return start_in_background(&folder);
    }
    if options.detached {
        // Fails for the leader of a process group, which the terminal does not reach anyway.
        rustix::process::setsid().ok();
    }
    let name = options.name.clone().unwrap_or_else(|| own_name(|name| env::var(name).ok()));
    check_node_name(&name).context(BadOption)?;
    let network = options.network.network()?;
    let page = serve_page(options, &folder)?;
    let daemon = Daemon::open(daemon_options(options, network, (&name, &folder)));
    let daemon = daemon.map_err(|error| failed(&error))?;
    options.leave.watch(&daemon.stopper(), &folder)?;
    if let Some(ms) = options.node.ends_in {
        leave_after(ms, daemon.stopper())?;
    }
    say((&name, daemon.address()), &folder, page.as_deref(), options);
    let address_file = AddressFile::write(&folder, daemon.address());
    let ended = daemon.run();
    drop(address_file);
    ended.map_err(|error| failed(&error))?;
    web::remove_address(&folder);
    Ok(ExitCode::SUCCESS)
}

/// File by which clients on other hosts that share this home find the daemon; removed when the value is dropped.
struct AddressFile(PathBuf);

impl AddressFile {
    fn write(folder: &Path, address: &str) -> Self {
        let path = folder.join(ADDRESS_FILE);
        // The file only helps: clients can be told the address.
        match address {
            "" => fs::remove_file(&path).ok(),
            address => files::replace(&path, address.as_bytes()).ok(),
        };
        Self(path)
    }
}

impl Drop for AddressFile {
    fn drop(&mut self) {
        fs::remove_file(&self.0).ok();
    }
}

/// Returns an error if a daemon already serves the folder.
fn refuse_second(folder: &Path) -> anyhow::Result<()> {
    let Ok(client) = Client::connect(folder) else { return Ok(()) };
    let why = format!(
        "node `{}` already serves `{}`: stop it with `sintonia node stop`, or use another folder with `--state`",
        client.node(),
        folder.display()
    );
    Err(NoDaemon.because(why).into())
}

fn failed(error: &dyn std::error::Error) -> anyhow::Error {
    let cause = error.source().map_or_else(String::new, |cause| format!(" ({cause})"));
    NoDaemon.because(format!("{error}{cause}")).into()
}

fn daemon_options(
    options: &StartOptions,
    network: Option<ClusterSettings>,
    (name, state): (&str, &Path),
) -> Options {
    let rules = &options.rules;
    let node = &options.node;
    let measured = MeasureOptions { by: node.speed_by, n_cores: node.cores, speed: node.speed };
    let measurement = measure(&measured);
    let told = CapacityOptions {
        memory_bytes: node.memory,
        gpus: node.gpus,
        named: node.resource.iter().cloned().collect(),
    };
    // This program's own file, even if it was replaced meanwhile.
    let keeper = std::iter::once("/proc/self/exe".into()).chain(keeper_words("keeper", state));
    // In the background, messages go into a file of the daemon's own, else to where the user sent standard error.
    let log = Log::new(options.detached.then(|| state.join(LOG)));
    Options {
        policy: Policy { rule: rules.policy, domain: rules.domain },
        durability: node.fsync,
        lease_ms: display::units::whole(rules.lease * 1e3),
        limits: BookLimits {
            n_ended_max: node.keep_tasks,
            output_bytes_max: node.keep_output,
            kept_ms_max: node.keep_for,
            ..BookLimits::default()
        },
        network,
        warn: Warn(Arc::new(move |sentence: &str| log.say(sentence))),
        capacity: capacity(measurement.n_cores, &told),
        ends_ms: ends_ms(node.ends_in, |name| env::var(name).ok()),
        ..Options::new(name, state, measurement, keeper.collect())
    }
}

/// Variable of Slurm with the time at which the job ends, in s since 1970.
const SLURM_END: &str = "SLURM_JOB_END_TIME";

/// Time at which the node ends, in ms since 1970, as far as that is known.
fn ends_ms(ends_in_ms: Option<u64>, variable: impl Fn(&str) -> Option<String>) -> Option<u64> {
    let of_job = || variable(SLURM_END)?.parse::<u64>().ok()?.checked_mul(1_000);
    ends_in_ms.map(|ms| now_ms().saturating_add(ms)).or_else(of_job)
}

/// Makes the daemon leave after this time.
fn leave_after(ms: u64, stopper: Stopper) -> anyhow::Result<()> {
    let leave = move || {
        std::thread::sleep(Duration::from_millis(ms));
        stopper.stop(true);
    };
    std::thread::Builder::new().name("end".to_owned()).spawn(leave)?;
    Ok(())
}

fn serve_page(options: &StartOptions, folder: &Path) -> anyhow::Result<Option<String>> {
    web::remove_address(folder);
    let Some(address) = options.web else { return Ok(None) };
    let page = web::serve(address, folder);
    let page = page.map_err(|error| NoDaemon.because(format!("{error:#}")))?;
    if !address.ip().is_loopback() {
        warn(
            "the page is not encrypted: on networks that others share, listen at 127.0.0.1 and use `ssh -L`",
        );
    }
    Ok(Some(page))
}

fn say((name, address): (&str, &str), folder: &Path, page: Option<&str>, options: &StartOptions) {
    if !address.is_empty() {
        warn(&format!("other nodes reach node `{name}` at {address}"));
    }
    warn(&format!("node `{name}` accepts clients at `{}`", folder.join(SOCKET).display()));
    if let Some(page) = page {
        let words = options.state.location().words("--node");
        warn(&format!(
            "its page is at {page}; `sintonia nodes --web{words}` prints the address with its key"
        ));
    }
}

/// Longest time until a daemon answers: reading a long journal takes a while.
const ANSWERS_WITHIN: Duration = Duration::from_secs(120);
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// File with the messages of a daemon in the background.
const LOG: &str = "node.log";
/// Most bytes of the log that are shown when the daemon does not start.
const SHOWN_BYTES_MAX: usize = 4096;

/// Starts the daemon as a process of its own; returns when it answers.
fn start_in_background(folder: &Path) -> anyhow::Result<ExitCode> {
    let path = folder.join(LOG);
    let mut log = OpenOptions::new();
    let log = log.create(true).append(true).read(true).mode(0o600).open(&path);
    let mut log = log.with_context(|| format!("`{}` cannot be written", path.display()))?;
    let begins = log.seek(SeekFrom::End(0))?;
    let child = spawn(&log)?;
    let mut client = wait(child, folder, (log, begins))?;
    let node = client.node().to_owned();
    eprintln!("sintonia: node `{node}` is up; its log is `{}`", path.display());
    say_troubles(&mut client);
    Ok(ExitCode::SUCCESS)
}

/// Prints the troubles of the daemon: no user reads its log once it has started.
fn say_troubles(client: &mut Client) {
    let own = client.node().to_owned();
    // If the daemon has just ended, the next command notices.
    let Ok(DaemonAnswer::Nodes { nodes }) = client.ask(&ClientRequest::Nodes) else { return };
    let troubles = nodes.iter().filter(|node| node.node == own).flat_map(|node| &node.troubles);
    troubles.for_each(|sentence| eprintln!("sintonia: {sentence}"));
}

/// Starts the same command without `--background`.
fn spawn(log: &File) -> anyhow::Result<Child> {
    let words = std::env::args_os().skip(1).filter(|word| word != "--background");
    let mut command = Command::new("/proc/self/exe");
    command.arg0("sintonia").args(words).arg("--detached");
    command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log.try_clone()?);
    command.spawn().context("the daemon cannot be started")
}

/// Connects to the daemon when it answers.
fn wait(mut child: Child, folder: &Path, log: (File, u64)) -> anyhow::Result<Client> {
    let until = Instant::now() + ANSWERS_WITHIN;
    loop {
        if let Ok(client) = Client::connect(folder) {
            return Ok(client);
        }
        let has_ended = child.try_wait()?.is_some();
        if has_ended || until < Instant::now() {
            let how = if has_ended { "did not start" } else { "does not answer" };
            let why = format!("the daemon {how}; its last messages: {}", log_tail(log));
            return Err(NoDaemon.because(why).into());
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Text that the daemon has written since it was started, in one sentence.
fn log_tail((mut log, begins): (File, u64)) -> String {
    let mut text = String::new();
    let read = log.seek(SeekFrom::Start(begins)).and_then(|_| log.read_to_string(&mut text));
    let text = read.map_or("", |_| text.trim());
    let tail = text.char_indices().rev().nth(SHOWN_BYTES_MAX).map_or(text, |(at, _)| &text[at..]);
    let tail = tail.trim_start_matches("sintonia: ");
    if tail.is_empty() { "nothing" } else { tail }.to_owned()
}
