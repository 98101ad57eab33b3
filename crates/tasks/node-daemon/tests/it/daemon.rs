//! Tests of a node's daemon with real processes: promises to clients hold, whichever process is killed.

mod names;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use node_daemon::client_socket::{Client, ClientError};
use task_api::{
    ArrayIndices, ClientRequest, DaemonAnswer, EndedTask, Submission, TaskFilter, TaskLimits,
    TaskOutcome, TaskRange, TaskState,
};

/// Longest wait; nothing here takes as long.
const DEADLINE: Duration = Duration::from_secs(120);

fn program() -> PathBuf {
    launch::example("node")
}

/// A node with its folder; nothing of it is left at the end.
struct Node {
    folder: tempfile::TempDir,
    daemon: Option<Child>,
}

impl Node {
    fn start() -> Self {
        let mut node = Self { folder: tempfile::tempdir().unwrap(), daemon: None };
        node.run();
        node
    }

    fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    fn command(&self) -> Command {
        let mut command = Command::new(program());
        command.arg("run").arg(self.state()).args(["alpha", "2"]);
        command.stdin(Stdio::null()).stderr(Stdio::piped());
        command
    }

    fn run(&mut self) {
        self.daemon = Some(self.command().spawn().unwrap());
    }

    /// Kills the daemon alone.
    fn kill(&mut self) {
        if let Some(mut daemon) = self.daemon.take() {
            daemon.kill().unwrap();
            daemon.wait().unwrap();
        }
    }

    #[track_caller]
    fn client(&self) -> Client {
        eventually("a daemon that answers", || Client::connect(&self.state()).ok())
    }

    fn submit(&self, script: &str, n_tasks: u64) -> TaskRange {
        self.submit_with(script, n_tasks, TaskLimits::default())
    }

    fn submit_with(&self, script: &str, n_tasks: u64, limits: TaskLimits) -> TaskRange {
        self.client().submit(self.submission(script, n_tasks, limits)).unwrap()
    }

    fn submission(&self, script: &str, n_tasks: u64, limits: TaskLimits) -> Submission {
        Submission {
            command: ["sh", "-c", script].map(str::to_owned).to_vec(),
            folder: self.folder.path().to_str().unwrap().to_owned(),
            environment: vec![("PATH".to_owned(), std::env::var("PATH").unwrap())],
            array: Some(ArrayIndices::range(1, n_tasks)),
            limits,
            ..Submission::default()
        }
    }

    fn wait(&self, tasks: &TaskRange) -> Vec<EndedTask> {
        let mut ended = Vec::new();
        self.client().wait(tasks, true, |task| ended.push(task)).unwrap();
        ended.sort_by_key(|task| task.number);
        ended
    }

    /// Number of tasks in this state.
    fn n_in(&self, state: TaskState) -> usize {
        let filter = TaskFilter { state: Some(state), ..TaskFilter::default() };
        let request = ClientRequest::Tasks { filter, after: None, n_max: 1000, is_backward: false };
        let DaemonAnswer::Tasks { tasks, .. } = self.client().ask(&request).unwrap() else {
            panic!("tasks were asked for")
        };
        tasks.len()
    }

    /// Explanation of a task's state.
    fn why(&self, task: &str) -> Vec<String> {
        let request = ClientRequest::Explain { task: task.parse().unwrap() };
        match self.client().ask(&request).unwrap() {
            DaemonAnswer::Explained { explanation } => explanation.because,
            other => panic!("{other:?}"),
        }
    }

    fn go(&self) {
        std::fs::write(self.folder.path().join("go"), "").unwrap();
    }

    fn read(&self, file: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(file)).unwrap_or_default()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if self.daemon.is_none() {
            self.run();
        }
        let asked = Client::connect(&self.state())
            .and_then(|mut it| it.ask(&ClientRequest::Stop { now: true }));
        let Some(mut daemon) = self.daemon.take() else { return };
        if asked.is_err() {
            daemon.kill().ok();
        }
        daemon.wait().ok();
        let state = self.state();
        eventually("an end of the keeper", || keeper_pid(&state).is_none().then_some(()));
    }
}

#[track_caller]
pub(crate) fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + DEADLINE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "{what} did not come");
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

/// Script that writes down its start and its end, and takes a while.
const DIARY: &str =
    "echo \"+ $SINTONIA_TASK\" >> diary; sleep 0.1; echo \"- $SINTONIA_TASK\" >> diary";

/// Checks that no task starts while it runs already, unless that attempt was `killed` before, and that all tasks
/// have ended.
fn assert_diary(diary: &str, n_tasks: usize, killed: bool) {
    let mut runs = BTreeMap::<&str, i32>::new();
    let mut n_ends = BTreeMap::<&str, i32>::new();
    for line in diary.lines() {
        let (sign, task) = line.split_once(' ').unwrap();
        let n = runs.entry(task).or_default();
        *n += if sign == "+" { 1 } else { -1 };
        assert!(killed || (0..=1).contains(n), "{task} runs {n} times at once");
        *n_ends.entry(task).or_default() += i32::from(sign == "-");
    }
    assert_eq!(n_ends.len(), n_tasks);
    // An end that was written down and not reported before the kill happens again.
    assert!(n_ends.values().all(|n| *n == 1 || (killed && 1 < *n)), "{n_ends:?}");
}

fn assert_all_good(ended: &[EndedTask], n_tasks: usize) {
    assert_eq!(ended.len(), n_tasks);
    for task in ended {
        assert_eq!(task.outcome, TaskOutcome::Exit(0), "{task:?}");
    }
}

#[test]
fn tasks_run_and_their_ends_are_told() {
    let node = Node::start();
    let tasks = node.submit(
        "echo out $SINTONIA_ARRAY_INDEX; echo err >&2; exit $((SINTONIA_ARRAY_INDEX - 1))",
        3,
    );
    let ended = node.wait(&tasks);
    let outcomes = ended.iter().map(|task| task.outcome.clone()).collect::<Vec<_>>();
    assert_eq!(outcomes, [TaskOutcome::Exit(0), TaskOutcome::Exit(1), TaskOutcome::Exit(2)]);
    let output = ended[1].output.as_ref().unwrap();
    assert_eq!((&output.stdout.0[..], &output.stderr.0[..]), (&b"out 2\n"[..], &b"err\n"[..]));
}

#[test]
fn a_killed_daemon_loses_nothing_and_doubles_nothing() {
    let mut node = Node::start();
    let tasks = node.submit(DIARY, 40);
    for n_seen in [4, 20, 40] {
        eventually("an entry in the diary", || {
            (n_seen <= node.read("diary").lines().count()).then_some(())
        });
        node.kill();
        node.run();
    }
    assert_all_good(&node.wait(&tasks), 40);
    assert_diary(&node.read("diary"), 40, false);
}

#[test]
fn what_ended_while_no_daemon_was_there_is_known_to_the_next() {
    let mut node = Node::start();
    let script =
        "echo begun >> diary; until [ -e go ]; do sleep 0.01; done; echo well >> diary; echo well";
    let tasks = node.submit(script, 1);
    eventually("an entry in the diary", || node.read("diary").contains("begun").then_some(()));
    node.kill();
    node.go();
    eventually("the task's end", || node.read("diary").contains("well").then_some(()));
    node.run();
    let ended = node.wait(&tasks);
    assert_eq!((ended.len(), ended[0].instance), (1, 1));
    assert_eq!(ended[0].output.as_ref().unwrap().stdout.0, b"well\n");
    assert_eq!(node.read("diary"), "begun\nwell\n", "it was not run again");
}

#[test]
fn a_killed_keeper_costs_the_attempts_that_it_kept() {
    let node = Node::start();
    let tasks = node.submit(DIARY, 12);
    eventually("an entry in the diary", || node.read("diary").contains('-').then_some(()));
    let pid = keeper_pid(&node.state()).unwrap();
    assert!(Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap().success());
    assert_all_good(&node.wait(&tasks), 12);
    assert_diary(&node.read("diary"), 12, true);
}

/// Takes the place of the keeper, accepts connections and sends nothing.
fn mute_keeper(state: &Path) -> std::os::unix::net::UnixListener {
    let socket = state.join(node_daemon::keeper::SOCKET);
    std::fs::remove_file(&socket).unwrap();
    let listener = std::os::unix::net::UnixListener::bind(socket).unwrap();
    listener.set_nonblocking(true).unwrap();
    listener
}

#[test]
fn a_daemon_answers_while_its_keeper_is_replaced() {
    let node = Node::start();
    let script = "echo $SINTONIA_INSTANCE >> diary; until [ -e go ]; do sleep 0.01; done";
    let tasks = node.submit(script, 3);
    eventually("two that run", || (node.read("diary") == "1\n1\n").then_some(()));
    let keeper = keeper_pid(&node.state()).unwrap();
    let mute = mute_keeper(&node.state());
    assert!(Command::new("kill").args(["-9", &keeper.to_string()]).status().unwrap().success());
    let looked_for = eventually("a daemon that looks for a keeper", || mute.accept().ok());
    let waits = "the daemon of `alpha` is waiting for its keeper's list of running tasks";
    assert_eq!(node.why("alpha.3")[0], waits);
    let more = node.submit("echo $SINTONIA_INSTANCE >> diary", 1);
    assert_eq!(node.n_in(TaskState::Queued), 2, "nothing is started meanwhile");
    drop((mute, looked_for));
    eventually("both again", || (node.read("diary").matches('2').count() == 2).then_some(()));
    node.go();
    assert_all_good(&node.wait(&tasks), 3);
    assert_all_good(&node.wait(&more), 1);
    let diary = node.read("diary");
    let mut starts = diary.lines().collect::<Vec<_>>();
    starts.sort_unstable();
    assert_eq!(starts, ["1", "1", "1", "1", "2", "2"]);
}

/// Starts a task that writes down its instance and runs until it is told to end; then kills daemon, keeper and
/// task.
fn down_while_it_runs(limits: TaskLimits) -> (Node, TaskRange) {
    let mut node = Node::start();
    let script = "echo $$ >> pids; echo $SINTONIA_INSTANCE >> diary; \
                  until [ -e go ]; do sleep 0.01; done";
    let tasks = node.submit_with(script, 1, limits);
    eventually("an entry in the diary", || (node.read("diary") == "1\n").then_some(()));
    // This is answered only when the start is on disk.
    assert_eq!(node.n_in(TaskState::Running), 1);
    let keeper = keeper_pid(&node.state()).unwrap();
    node.kill();
    for pid in [&keeper.to_string(), node.read("pids").trim()] {
        // The keeper's guard may have ended the task already.
        Command::new("kill").args(["-9", pid]).stderr(Stdio::null()).status().unwrap();
    }
    node.run();
    (node, tasks)
}

#[test]
fn a_node_that_went_down_starts_its_tasks_as_the_next_instance() {
    let (node, tasks) = down_while_it_runs(TaskLimits::default());
    eventually("the second start", || (node.read("diary") == "1\n2\n").then_some(()));
    node.go();
    let ended = node.wait(&tasks);
    assert_eq!((&ended[0].outcome, ended[0].instance), (&TaskOutcome::Exit(0), 2));
}

#[test]
fn a_start_that_went_down_with_its_node_counts() {
    let (node, tasks) = down_while_it_runs(TaskLimits { n_starts_max: 1, ..TaskLimits::default() });
    let ended = node.wait(&tasks);
    assert_eq!((&ended[0].outcome, ended[0].instance), (&TaskOutcome::Lost, 1));
    assert_eq!(node.read("diary"), "1\n");
    let because = node.why("alpha.1").join("; ");
    assert!(because.starts_with("it was given up after 1 of its starts were lost"), "{because}");
}

#[test]
fn tasks_are_canceled_where_they_wait_and_where_they_run() {
    let node = Node::start();
    let tasks = node.submit("echo >> diary; sleep 1000", 10);
    eventually("two entries in the diary", || {
        (node.read("diary").lines().count() == 2).then_some(())
    });
    assert_eq!((node.n_in(TaskState::Running), node.n_in(TaskState::Queued)), (2, 8));
    let everything = TaskRange { last: u64::MAX, ..tasks.clone() };
    let answer = node.client().ask(&ClientRequest::Cancel { tasks: everything }).unwrap();
    assert_eq!(answer, DaemonAnswer::Canceled { n_tasks: 10 });
    let ended = node.wait(&tasks);
    assert!(ended.len() == 10 && ended.iter().all(|task| task.outcome == TaskOutcome::Canceled));
}

#[test]
fn a_stopped_node_goes_on_where_it_was() {
    let mut node = Node::start();
    let tasks = node.submit(DIARY, 20);
    eventually("an entry in the diary", || node.read("diary").contains('-').then_some(()));
    let answer = node.client().ask(&ClientRequest::Stop { now: false }).unwrap();
    assert!(matches!(answer, DaemonAnswer::Stopping { .. }));
    assert!(node.daemon.take().unwrap().wait().unwrap().success());
    let before = node.read("diary");
    assert_eq!(before.matches('+').count(), before.matches('-').count(), "what ran has ended");
    assert!(before.matches('-').count() < 20);
    node.run();
    assert_all_good(&node.wait(&tasks), 20);
    assert_diary(&node.read("diary"), 20, false);
}

#[test]
fn a_folder_has_one_daemon() {
    let node = Node::start();
    drop(node.client());
    let second = node.command().output().unwrap();
    assert!(!second.status.success());
    let says = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(says.contains("InUse") || says.contains("Taken"), "{says}");
    drop(node.client());
}

#[test]
fn what_makes_no_sense_is_refused_with_a_sentence() {
    let node = Node::start();
    let refused = node.client().submit(Submission::default()).map(drop);
    assert_refused(refused, "command");
    let wait = |tasks: &str| node.client().wait(&tasks.parse().unwrap(), false, |_| ());
    assert_refused(wait("alpha.7"), "alpha.7");
    assert_refused(wait("beta.7"), "`beta`");
}

#[track_caller]
fn assert_refused(answer: Result<(), ClientError>, expected: &str) {
    assert!(
        matches!(&answer, Err(ClientError::Refused(sentence)) if sentence.contains(expected)),
        "{answer:?}"
    );
}

fn keeper_pid(state: &Path) -> Option<u32> {
    let state = state.canonicalize().unwrap();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let mut pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_keeper = |pid: &u32| {
        let line = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let words = line.split('\0').collect::<Vec<_>>();
        words.get(1) == Some(&"serve") && words.get(2).is_some_and(|it| Path::new(it) == state)
    };
    pids.find(is_keeper)
}
