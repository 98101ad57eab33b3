//! Three daemons share tasks while daemons and keepers are killed and stopped: no task is lost, and none runs twice
//! at the same time.
//!
//! `CHAOS_TASKS` and `CHAOS_BLOWS` make the test longer, `CHAOS_SEED` repeats it.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use node_core::book::JournalRecord;
use node_daemon::client_socket::{Client, ClientError};
use node_daemon::journal::{JournalEntry, read};
use task_api::{
    ArrayIndices, ClientRequest, DaemonAnswer, EndedTask, Submission, TaskOutcome, TaskRange,
};

use super::{daemon::eventually, links::proxy::Proxy};

/// Time for which a node may run a task after its home last answered, in ms.
const LEASE_MS: u64 = 2000;

/// Takes a lock that every process of the task holds, so that one of another attempt that is still alive is
/// noticed; then reports its beginning and its end.
const SCRIPT: &str = "exec 9> locks/$SINTONIA_TASK; \
    flock -n 9 || echo \"twice $SINTONIA_TASK $SINTONIA_INSTANCE\" >> diary; \
    echo \"begins $SINTONIA_TASK $SINTONIA_INSTANCE\" >> diary; sleep 0.15; \
    echo \"ends $SINTONIA_TASK $SINTONIA_INSTANCE\" >> diary";

struct Cluster {
    folder: tempfile::TempDir,
    addresses: Vec<String>,
    /// Proxies at which others dial the nodes.
    networks: Vec<Proxy>,
    daemons: Vec<Option<Child>>,
}

impl Cluster {
    fn start(n_nodes: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("locks")).unwrap();
        let free: Vec<_> =
            (0..n_nodes).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let addresses: Vec<String> =
            free.iter().map(|it| it.local_addr().unwrap().to_string()).collect();
        let networks = addresses.iter().map(|address| Proxy::to(address)).collect();
        drop(free);
        let daemons = (0..n_nodes).map(|_| None).collect();
        let mut cluster = Self { folder, addresses, networks, daemons };
        (0..n_nodes).for_each(|node| cluster.run(node));
        cluster
    }

    fn state(&self, node: usize) -> PathBuf {
        self.folder.path().join(format!("n{node}"))
    }

    fn run(&mut self, node: usize) {
        if self.daemons[node].is_some() {
            return;
        }
        let program = launch::example("node");
        let log = self.folder.path().join(format!("n{node}.log"));
        let log = fs::File::options().create(true).append(true).open(log).unwrap();
        let mut command = Command::new(program);
        command.arg("run").arg(self.state(node)).args([format!("n{node}"), "2".to_owned()]);
        command.arg(&self.addresses[node]).args(self.networks.iter().map(|it| &it.address));
        command.env("NODE_HOST", &self.networks[node].address);
        command.env("NODE_LEASE_MS", LEASE_MS.to_string()).stdin(Stdio::null()).stderr(log);
        self.daemons[node] = Some(command.spawn().unwrap());
    }

    fn kill_daemon(&mut self, node: usize) {
        if let Some(mut daemon) = self.daemons[node].take() {
            daemon.kill().unwrap();
            daemon.wait().unwrap();
        }
    }

    fn signal_daemon(&self, node: usize, signal: &str) {
        if let Some(daemon) = &self.daemons[node] {
            send(signal, daemon.id());
        }
    }

    /// Processes of this node's folder: keepers (`serve`) or guards (`guard`).
    fn helpers(&self, node: usize, role: &str) -> Vec<u32> {
        let state = self.state(node).canonicalize().unwrap_or_default();
        let processes = fs::read_dir("/proc").unwrap().flatten();
        let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let is_it = |pid: &u32| {
            let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let words: Vec<&str> = line.split('\0').collect();
            words.get(1) == Some(&role) && words.get(2).is_some_and(|it| Path::new(it) == state)
        };
        pids.filter(is_it).collect()
    }

    fn kill_keeper(&self, node: usize) {
        self.helpers(node, "serve").into_iter().for_each(|pid| send("-KILL", pid));
    }

    fn submit(&self, node: usize, n_tasks: u64) -> TaskRange {
        let submission = Submission {
            command: ["sh", "-c", SCRIPT].map(str::to_owned).to_vec(),
            folder: self.folder.path().to_str().unwrap().to_owned(),
            environment: vec![("PATH".to_owned(), std::env::var("PATH").unwrap())],
            array: Some(ArrayIndices::range(1, n_tasks)),
            ..Submission::default()
        };
        eventually("a daemon that takes tasks", || {
            Client::connect(&self.state(node)).ok()?.submit(submission.clone()).ok()
        })
    }

    fn wait(&self, node: usize, tasks: &TaskRange) -> Vec<EndedTask> {
        let mut ended = BTreeMap::new();
        eventually("the end of all tasks", || {
            let waited: Result<_, ClientError> =
                Client::connect(&self.state(node)).and_then(|mut it| {
                    it.wait(tasks, false, |task| drop(ended.insert(task.number, task)))
                });
            waited.ok()
        });
        ended.into_values().collect()
    }

    fn diary(&self) -> io::Result<String> {
        fs::read_to_string(self.folder.path().join("diary"))
    }

    /// Diary of a cluster in which no task ran twice at the same time.
    #[track_caller]
    fn diary_without_twice(&self) -> String {
        let diary = self.diary().unwrap();
        let twice: Vec<&str> = diary.lines().filter(|line| line.starts_with("twice")).collect();
        assert!(twice.is_empty(), "{twice:?} in\n{diary}");
        diary
    }

    fn n_ends(&self) -> usize {
        self.diary().unwrap_or_default().lines().filter(|line| line.starts_with("ends")).count()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for node in 0..self.daemons.len() {
            if std::thread::panicking() {
                let log = self.folder.path().join(format!("n{node}.log"));
                eprintln!("n{node}: {}", fs::read_to_string(log).unwrap_or_default());
            }
            self.kill_daemon(node);
            self.kill_keeper(node);
        }
        let left = |node| {
            !self.helpers(node, "serve").is_empty() || !self.helpers(node, "guard").is_empty()
        };
        if !std::thread::panicking() {
            let n_nodes = self.daemons.len();
            eventually("an end of the keepers", || (!(0..n_nodes).any(left)).then_some(()));
        }
    }
}

fn send(signal: &str, pid: u32) {
    // The process may have ended by itself.
    let sent = Command::new("kill").args([signal, &pid.to_string()]).stderr(Stdio::null()).status();
    assert!(sent.is_ok());
}

/// Random numbers, the same for the same seed.
struct Dice(u64);

impl Dice {
    fn throw(&mut self, n_sides: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n_sides
    }
}

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// Present failure, which the next blow ends.
#[derive(Clone, Copy)]
enum Down {
    Dead(usize),
    Stopped(usize),
    /// Messages between nodes do not arrive.
    Frozen,
}

fn mend(cluster: &mut Cluster, down: &mut Option<Down>) {
    match down.take() {
        Some(Down::Dead(node)) => cluster.run(node),
        Some(Down::Stopped(node)) => cluster.signal_daemon(node, "-CONT"),
        Some(Down::Frozen) => cluster.networks.iter().for_each(|network| network.freeze(false)),
        None => {}
    }
}

/// Ends the present failure and does something bad to a random node; returns a description.
fn blow(cluster: &mut Cluster, dice: &mut Dice, down: &mut Option<Down>) -> String {
    mend(cluster, down);
    let node = dice.throw(cluster.daemons.len());
    match dice.throw(7) {
        0 => {
            cluster.kill_daemon(node);
            cluster.run(node);
            format!("daemon n{node} killed")
        }
        1 => {
            cluster.kill_keeper(node);
            format!("keeper n{node} killed")
        }
        2 => {
            cluster.kill_daemon(node);
            cluster.kill_keeper(node);
            cluster.run(node);
            format!("daemon and keeper n{node} killed")
        }
        3 => {
            cluster.kill_daemon(node);
            *down = Some(Down::Dead(node));
            format!("daemon n{node} killed and left so")
        }
        4 => {
            cluster.networks[node].cut();
            format!("links to n{node} cut")
        }
        5 => {
            cluster.networks.iter().for_each(|network| network.freeze(true));
            *down = Some(Down::Frozen);
            "all links frozen".to_owned()
        }
        _ => {
            cluster.signal_daemon(node, "-STOP");
            *down = Some(Down::Stopped(node));
            format!("daemon n{node} stopped")
        }
    }
}

#[test]
fn no_task_is_lost_or_runs_twice_at_once_whoever_is_killed() {
    let (n_tasks, n_blows) = (number("CHAOS_TASKS", 180), number("CHAOS_BLOWS", 10));
    let seed = number("CHAOS_SEED", u64::from(std::process::id()));
    println!("CHAOS_SEED={seed}");
    let mut dice = Dice(seed);
    let mut cluster = Cluster::start(3);
    let homes: Vec<(usize, TaskRange)> =
        (0..3).map(|node| (node, cluster.submit(node, n_tasks / 3))).collect();
    let mut down = None;
    for number in 1..=n_blows {
        // The blows are spread over the tasks, and over time where no task ends.
        let n_ends = usize::try_from(n_tasks * number / (n_blows + 1)).unwrap();
        let patience = Instant::now() + Duration::from_millis(2 * LEASE_MS);
        // A node that is down for long loses its leases.
        let lingers = down.is_some() && dice.throw(2) == 0;
        eventually("some ends", || {
            let enough = n_ends <= cluster.n_ends() && !lingers;
            (enough || patience < Instant::now()).then_some(())
        });
        println!("{:4} ends: {}", cluster.n_ends(), blow(&mut cluster, &mut dice, &mut down));
    }
    mend(&mut cluster, &mut down);
    let mut ended = Vec::new();
    for (node, tasks) in &homes {
        ended.extend(cluster.wait(*node, tasks));
    }
    let diary = cluster.diary_without_twice();
    assert_eq!(ended.len() as u64, 3 * (n_tasks / 3));
    for task in &ended {
        assert_eq!(task.outcome, TaskOutcome::Exit(0), "{task:?}");
    }
    for (_, tasks) in &homes {
        for number in tasks.first..=tasks.last {
            let line = format!("ends {}.{number} ", tasks.home);
            assert!(diary.contains(&line), "{line}is missing");
        }
    }
    let n_attempts = diary.lines().filter(|line| line.starts_with("begins")).count();
    println!("{} tasks in {n_attempts} attempts", ended.len());
    assert_eq!(cluster_is_whole(&cluster).len(), 3);
}

/// Readable records of a node's journal.
fn entries(bytes: &[u8], node: usize) -> Vec<JournalRecord> {
    let mut records = Vec::new();
    let contents = read(bytes, &format!("n{node}"), |entry| match entry {
        JournalEntry::Record(record) => records.push(record),
        JournalEntry::Hole => {}
    });
    assert!(contents.is_ok(), "{contents:?}");
    records
}

/// Overwrites a spot of the journal of a node whose daemon was killed.
fn damage(cluster: &Cluster, node: usize, dice: &mut Dice) {
    let path = cluster.state(node).join("journal");
    let mut bytes = fs::read(&path).unwrap();
    let before = entries(&bytes, node);
    let begin = dice.throw(bytes.len() - 16);
    bytes[begin..begin + 16].iter_mut().for_each(|byte| *byte = !*byte);
    fs::write(&path, &bytes).unwrap();
    let after = entries(&bytes, node);
    let n_lost = before.iter().filter(|record| !after.contains(record)).count();
    assert!(n_lost <= 2, "16 bytes at {begin} touch two records at most, and not {n_lost}");
}

/// Fault: a damaged spot in a journal lost all records behind it: tasks, leases, and the numbers that were given
/// out.
#[test]
fn damaged_journals_lose_no_array_give_no_name_out_twice_and_run_nothing_twice_at_once() {
    let mut dice = Dice(number("CHAOS_SEED", 7));
    let mut cluster = Cluster::start(2);
    assert_eq!(cluster_is_whole(&cluster).len(), 2);
    let arrays = [0, 1].map(|node| (node, cluster.submit(node, 30)));
    let mut names: BTreeMap<(usize, u64), usize> = BTreeMap::new();
    let mut give = |node: usize, tasks: &TaskRange| {
        for number in tasks.first..=tasks.last {
            let n_times = names.entry((node, number)).or_default();
            *n_times += 1;
            assert_eq!(*n_times, 1, "{}.{number} was given out twice", tasks.home);
        }
    };
    arrays.iter().for_each(|(node, tasks)| give(*node, tasks));
    for round in 1..=4 {
        eventually("some ends", || (8 * round <= cluster.n_ends()).then_some(()));
        let node = dice.throw(2);
        cluster.kill_daemon(node);
        damage(&cluster, node, &mut dice);
        cluster.run(node);
        give(node, &cluster.submit(node, 2));
    }
    let troubles = |answer: &DaemonAnswer| match answer {
        DaemonAnswer::Nodes { nodes } => nodes.iter().map(|node| node.troubles.len()).sum(),
        _ => 0_usize,
    };
    assert_ne!(cluster_is_whole(&cluster).iter().map(troubles).sum::<usize>(), 0, "it is said");
    for (node, tasks) in &arrays {
        let ended = cluster.wait(*node, tasks);
        assert_eq!(ended.len() as u64, tasks.n_tasks(), "{tasks}");
        assert!(ended.iter().all(|task| task.outcome == TaskOutcome::Exit(0)), "{ended:?}");
    }
    cluster.diary_without_twice();
}

#[test]
fn who_waits_at_another_node_hears_of_all_ends_although_links_break() {
    let cluster = Cluster::start(2);
    assert_eq!(cluster_is_whole(&cluster).len(), 2);
    let tasks = cluster.submit(0, 40);
    let (state, waited) = (cluster.state(1), tasks.clone());
    let (heard, hearing) = std::sync::mpsc::channel();
    let waiting = std::thread::spawn(move || {
        let mut client = Client::connect(&state).unwrap();
        client.wait(&waited, false, |task| heard.send(task).unwrap()).unwrap();
    });
    let mut ended = BTreeMap::new();
    for (n_heard, task) in hearing.iter().enumerate() {
        ended.insert(task.number, task);
        if [5, 15, 25].contains(&n_heard) {
            cluster.networks.iter().for_each(Proxy::cut);
        }
    }
    waiting.join().unwrap();
    assert_eq!(ended.keys().copied().collect::<Vec<_>>(), (1..=40).collect::<Vec<_>>());
    assert!(ended.values().all(|task| task.outcome == TaskOutcome::Exit(0)), "{ended:?}");
}

/// Waits until all nodes have links to each other.
fn cluster_is_whole(cluster: &Cluster) -> Vec<DaemonAnswer> {
    let n_nodes = cluster.daemons.len();
    let nodes = |node| Client::connect(&cluster.state(node)).ok()?.ask(&ClientRequest::Nodes).ok();
    let is_whole = |answer: &DaemonAnswer| match answer {
        DaemonAnswer::Nodes { nodes } => {
            let up = nodes.iter().filter(|node| node.presence == task_api::Presence::Up);
            up.count() == n_nodes
        }
        _ => false,
    };
    (0..n_nodes)
        .map(|node| eventually("a whole cluster", || nodes(node).filter(&is_whole)))
        .collect()
}
