//! Keeper of processes without the rest of a node, for the tests of this crate and to measure it.
//!
//! `keeper serve STATE IDLE_MS`, `keeper guard STATE`, `keeper daemon STATE SCRIPT` (starts one task and
//! waits for its end), `keeper speed N` (prints how many trivial tasks it starts and ends in a second).
#![expect(clippy::print_stdout, reason = "a program of the command line")]

use std::error::Error;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use node_core::interface::{
    Allocation, Attempt, ExecContext, Job, KeeperEvent, KeeperOrder, NodeId, TaskInput, TaskKey,
    Work,
};
use node_daemon::keeper::{self, Keeper, KeeperOptions};
use task_api::Submission;

/// Tasks that run at the same time while the speed is measured.
const N_AT_ONCE: u64 = 4;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["serve", state, idle_ms] => {
            let guard = ["guard", state].map(OsString::from).to_vec();
            let mut options = KeeperOptions::new(PathBuf::from(state), guard);
            options.idle = Duration::from_millis(idle_ms.parse()?);
            options.grace = Duration::from_millis(300);
            Ok(keeper::serve(options)?)
        }
        ["guard", state] => {
            keeper::guard(Path::new(state));
            Ok(())
        }
        ["daemon", state, script] => daemon(Path::new(state), script),
        ["speed", n_tasks] => speed(n_tasks.parse()?),
        _ => Err("usage: keeper serve|guard|daemon|speed ...".into()),
    }
}

fn connect(state: &Path) -> Result<(Keeper, mpsc::Receiver<KeeperEvent>), Box<dyn Error>> {
    let (tell, says) = mpsc::channel();
    let command = ["/proc/self/exe".into(), "serve".into(), state.into(), "1000".into()];
    let keeper = Keeper::connect_or_start(state, &command, move |said| {
        // The receiver may have ended.
        tell.send(said).ok();
    })?;
    Ok((keeper, says))
}

fn start(number: u64, command: &[&str]) -> KeeperOrder {
    let submission = Submission {
        command: command.iter().map(|&word| word.to_owned()).collect(),
        folder: "/".to_owned(),
        environment: std::env::vars().collect(),
        ..Submission::default()
    };
    let around = Arc::new(ExecContext::of(&submission));
    KeeperOrder::Start(Box::new(Job {
        attempt: Attempt { task: TaskKey { home: NodeId(1), number }, instance: 1 },
        name: format!("example.{number}"),
        work: Arc::new(Work::new(&submission, around)),
        input: TaskInput::default(),
        allocation: Allocation::default(),
        lease_until: None,
        n_at_once: None,
    }))
}

fn daemon(state: &Path, script: &str) -> Result<(), Box<dyn Error>> {
    let (keeper, says) = connect(state)?;
    keeper.send(&[start(1, &["sh", "-c", script])])?;
    says.iter().find(|said| matches!(said, KeeperEvent::Ended(_))).ok_or("the keeper has gone")?;
    Ok(())
}

fn speed(n_tasks: u64) -> Result<(), Box<dyn Error>> {
    let state = std::env::temp_dir().join(format!("sintonia-keeper-speed-{}", std::process::id()));
    std::fs::create_dir(&state)?;
    let (keeper, says) = connect(&state)?;
    let since = Instant::now();
    let first: Vec<_> = (0..N_AT_ONCE).map(|number| start(number, &["true"])).collect();
    keeper.send(&first)?;
    let (mut n_started, mut n_ended) = (N_AT_ONCE, 0);
    while n_ended < n_tasks {
        let KeeperEvent::Ended(ended) = says.recv()? else { continue };
        let mut orders = vec![KeeperOrder::Forget(ended.iter().map(|end| end.attempt).collect())];
        for _ in &ended {
            n_ended += 1;
            if n_started < n_tasks {
                orders.push(start(n_started, &["true"]));
                n_started += 1;
            }
        }
        keeper.send(&orders)?;
    }
    let seconds = since.elapsed().as_secs_f64();
    println!("{n_tasks} tasks, {N_AT_ONCE} at once: {:.0} a second", n_tasks as f64 / seconds);
    let (own_us, tasks_us) = cpu_us(keeper.pid())?;
    let each = |us: f64| us / n_tasks as f64;
    println!("of CPU for each: keeper {:.0} us, task {:.0} us", each(own_us), each(tasks_us));
    keeper.send(&[KeeperOrder::Leave])?;
    while !matches!(says.recv(), Ok(KeeperEvent::Gone) | Err(_)) {}
    std::fs::remove_dir_all(state)?;
    Ok(())
}

/// Processor time of a process, and of its children that it has waited for, in µs.
fn cpu_us(pid: u32) -> Result<(f64, f64), Box<dyn Error>> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let (_, rest) = stat.rsplit_once(')').ok_or("no process")?;
    let ticks = rest.split_whitespace().skip(11).take(4).map(str::parse::<f64>);
    let us =
        ticks.map(|ticks| ticks.map(|ticks| ticks * 10_000.0)).collect::<Result<Vec<_>, _>>()?;
    Ok((us[0] + us[1], us[2] + us[3]))
}
