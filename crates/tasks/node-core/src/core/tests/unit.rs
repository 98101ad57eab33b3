//! Tests of what single clients see, one case each.

mod ahead;
mod asking;
mod failing;
mod kept;
mod lost;
mod progress;
mod rerun;
mod uncertain;
mod wishes;

use balancing_policies::Moment;
use task_api::{
    ArrayIndices, ClientRequest, DaemonAnswer, Explanation, Output, OutputText, Presence,
    Submission, TaskFilter, TaskOutcome, TaskState,
};

use crate::book::{Book, BookLimits, JournalRecord};
use crate::core::{Core, CoreOptions};
use crate::interface::{
    AttemptEnd, ClientId, CoreEvent, CoreTimer, EndedAttempt, Job, KeeperEvent, KeeperOrder,
    Member, NodeId, Now, Out, PeerMessage, SharedEnd, node_id,
};

/// All actions of the core.
#[derive(Default)]
struct Seen {
    answers: Vec<(ClientId, DaemonAnswer)>,
    sent: Vec<(NodeId, PeerMessage)>,
    jobs: Vec<Job>,
    orders: Vec<KeeperOrder>,
    left: bool,
}

impl Out for Seen {
    fn send(&mut self, to: NodeId, message: PeerMessage) {
        self.sent.push((to, message));
    }
    fn answer(&mut self, client: ClientId, answer: DaemonAnswer) {
        self.answers.push((client, answer));
    }
    fn keeper(&mut self, order: KeeperOrder) {
        match order {
            KeeperOrder::Start(job) => self.jobs.push(*job),
            order => self.orders.push(order),
        }
    }
    fn timer(&mut self, _timer: CoreTimer, _at: Moment) {}
    fn presence(&mut self, _presence: Presence) {}
    fn append(&mut self, _record: &JournalRecord) {}
    fn leave(&mut self) {
        self.left = true;
    }
}

/// A node `n` with one core.
struct Rig {
    core: Core,
    seen: Seen,
    now_ms: u64,
    /// Time that ending tasks have run for.
    ran_ms: u64,
}

const ANNA: ClientId = ClientId(1);

impl Rig {
    fn new() -> Self {
        Self::with(CoreOptions::new("n"))
    }

    fn with(options: CoreOptions) -> Self {
        Self::of(options, Book::new(node_id("n"), BookLimits::default()))
    }

    /// With this book, and a keeper that runs nothing.
    fn of(options: CoreOptions, book: Book) -> Self {
        let mut seen = Seen::default();
        let core = Core::new(options, Now::default(), book, &mut seen);
        let mut rig = Self { core, seen, now_ms: 0, ran_ms: 0 };
        rig.on(CoreEvent::Keeper(KeeperEvent::Inventory {
            running: Vec::new(),
            ended: Vec::new(),
        }));
        rig
    }

    fn on(&mut self, event: CoreEvent) {
        let now = Now { moment: Moment(self.now_ms * 1_000_000), unix_ms: self.now_ms };
        self.core.on(now, event, &mut self.seen);
    }

    fn pass(&mut self, ms: u64) {
        self.now_ms += ms;
        self.on(CoreEvent::Timer(CoreTimer::Sweep));
    }

    /// Sends a request; returns the immediate answers.
    fn ask(&mut self, request: ClientRequest) -> Vec<DaemonAnswer> {
        self.seen.answers.clear();
        self.on(CoreEvent::FromClient { client: ANNA, request });
        self.answers()
    }

    fn answers(&mut self) -> Vec<DaemonAnswer> {
        self.seen.answers.drain(..).map(|(_, answer)| answer).collect()
    }

    /// Receives a message from the other node.
    fn hear(&mut self, message: PeerMessage) {
        self.on(CoreEvent::FromPeer { from: node_id("other"), message });
    }

    fn explain(&mut self, task: &str) -> Explanation {
        let answers = self.ask(ClientRequest::Explain { task: task.parse().unwrap() });
        let [DaemonAnswer::Explained { explanation }] = &answers[..] else {
            unreachable!("{answers:?}")
        };
        (**explanation).clone()
    }

    fn submit(&mut self, n_tasks: u64) {
        let array = Some(ArrayIndices::range(1, n_tasks));
        let submission =
            Submission { name: Some(format!("{n_tasks} of them")), array, ..submission() };
        let answer = self.ask(ClientRequest::Submit { submission: Box::new(submission) });
        assert!(matches!(answer[..], [DaemonAnswer::Submitted { .. }]), "{answer:?}");
    }

    /// Ends the oldest job that runs.
    fn end(&mut self) {
        self.end_by(0, AttemptEnd::Exit(0));
    }

    /// Ends one of the ordered jobs.
    fn end_by(&mut self, at: usize, end: AttemptEnd) {
        let ended = EndedAttempt {
            attempt: self.seen.jobs.remove(at).attempt,
            end,
            started_ms: self.now_ms,
            ended_ms: self.now_ms + self.ran_ms,
            output: Output { stdout: OutputText(b"done".to_vec()), ..Output::default() },
            usage: task_api::Usage::default(),
        };
        self.on(CoreEvent::Keeper(KeeperEvent::Ended(vec![ended])));
    }

    fn member(&mut self, presence: Presence, incarnation: u64) {
        self.on(CoreEvent::Members(vec![Member { incarnation, presence, ..member("other") }]));
    }

    fn refusal(&mut self) -> String {
        match self.answers().pop() {
            Some(DaemonAnswer::Refused { sentence }) => sentence,
            answer => format!("{answer:?}"),
        }
    }
}

/// A node that is up.
fn member(name: &str) -> Member {
    Member {
        id: node_id(name),
        name: name.to_owned(),
        address: format!("{name}:1"),
        incarnation: 1,
        presence: Presence::Up,
        n_cores: 1,
        speed: 1.0,
        capacity: task_api::Resources::default(),
    }
}

/// One task that runs `true`.
fn submission() -> Submission {
    let command = vec!["true".to_owned()];
    Submission { command, folder: "/".to_owned(), ..Submission::default() }
}

/// Book of the node `n` after this submission.
fn book_of(submission: &Submission) -> Book {
    let mut book = Book::new(node_id("n"), BookLimits::default());
    book.records_of(submission, 1).iter().for_each(|record| book.apply(record));
    book
}

fn wait(tasks: &str) -> ClientRequest {
    ClientRequest::Wait { tasks: tasks.parse().unwrap(), with_output: true }
}

fn numbers(answers: &[DaemonAnswer]) -> (Vec<u64>, u64) {
    match answers {
        [DaemonAnswer::Ended { tasks, n_left }] => {
            (tasks.iter().map(|it| it.number).collect(), *n_left)
        }
        _ => (Vec::new(), u64::MAX),
    }
}

#[test]
fn who_waits_is_told_in_pieces_when_it_is_ready() {
    let mut rig = Rig::new();
    rig.submit(4);
    assert!(rig.ask(wait("n.1-4")).is_empty());
    rig.end();
    assert_eq!(numbers(&rig.answers()), (vec![1], 3));
    rig.end();
    rig.end();
    assert!(rig.answers().is_empty(), "it has not asked for more");
    assert_eq!(numbers(&rig.ask(ClientRequest::More)), (vec![2, 3], 1));
    assert!(rig.ask(ClientRequest::More).is_empty());
    rig.end();
    assert_eq!(numbers(&rig.answers()), (vec![4], 0));
    let again = rig.ask(wait("n.2-3"));
    assert_eq!(numbers(&again), (vec![2, 3], 0));
    let [DaemonAnswer::Ended { tasks, .. }] = &again[..] else { unreachable!("just looked at") };
    assert_eq!(tasks[0].output.as_ref().unwrap().stdout.0, b"done");
}

/// A client that submits one task after the other had to wait over a connection for each of them.
#[test]
fn who_waits_adds_tasks() {
    let mut rig = Rig::new();
    rig.submit(6);
    assert!(rig.ask(wait("n.4-5")).is_empty());
    assert!(rig.ask(wait("n.1-1")).is_empty());
    assert!(rig.ask(wait("n.1-4")).is_empty(), "two of them are new");
    rig.end();
    assert_eq!(numbers(&rig.answers()), (vec![1], 4));
    rig.end();
    assert!(rig.ask(wait("n.2-2")).is_empty(), "it has not asked for more");
    assert_eq!(numbers(&rig.ask(ClientRequest::More)), (vec![2], 3));
    assert!(rig.ask(ClientRequest::More).is_empty());
    for (number, n_left) in [(3, 2), (4, 1), (5, 0)] {
        rig.end();
        assert_eq!(numbers(&rig.answers()), (vec![number], n_left));
        if 0 < n_left {
            assert!(rig.ask(ClientRequest::More).is_empty());
        }
    }
    rig.end();
    assert!(rig.answers().is_empty(), "nobody waits for it");
}

#[test]
fn tasks_are_listed_by_pages_state_and_title() {
    let mut rig = Rig::new();
    rig.submit(3);
    rig.submit(2);
    let tasks = |rig: &mut Rig, filter: TaskFilter, after| match &rig.ask(ClientRequest::Tasks {
        filter,
        after,
        n_max: 2,
        is_backward: false,
    })[..]
    {
        [DaemonAnswer::Tasks { tasks, next, .. }] => {
            (tasks.iter().map(|it| it.task.number).collect::<Vec<_>>(), *next)
        }
        other => unreachable!("{other:?}"),
    };
    let all = TaskFilter::default();
    assert_eq!(tasks(&mut rig, all.clone(), None), (vec![1, 2], Some(2)));
    assert_eq!(tasks(&mut rig, all.clone(), Some(2)), (vec![3, 4], Some(4)));
    assert_eq!(tasks(&mut rig, all.clone(), Some(4)), (vec![5], None));
    let running = TaskFilter { state: Some(TaskState::Running), ..all.clone() };
    assert_eq!(tasks(&mut rig, running, None), (vec![1], None));
    let titled = TaskFilter { title: Some("2 of them".to_owned()), ..all.clone() };
    assert_eq!(tasks(&mut rig, titled, None), (vec![4, 5], None));
    let ranged = TaskFilter { tasks: Some("n.3-4".parse().unwrap()), ..all };
    assert_eq!(tasks(&mut rig, ranged, None), (vec![3, 4], None));
}

#[test]
fn everything_can_be_canceled_at_once() {
    let mut rig = Rig::new();
    rig.submit(5);
    rig.end();
    let everything = ClientRequest::Cancel { tasks: "n.1-18446744073709551615".parse().unwrap() };
    assert_eq!(rig.ask(everything.clone()), [DaemonAnswer::Canceled { n_tasks: 4 }]);
    assert_eq!(rig.core.book().tasks().n_queued(), 0);
    assert!(matches!(rig.seen.orders.last(), Some(KeeperOrder::Kill { .. })));
    assert_eq!(
        rig.ask(everything),
        [DaemonAnswer::Canceled { n_tasks: 1 }],
        "one is still being ended"
    );
}

#[test]
fn a_task_that_waits_is_explained() {
    let mut rig = Rig::new();
    rig.submit(3);
    let explanation = rig.explain("n.3");
    assert_eq!(explanation.status.state, TaskState::Queued);
    let because = explanation.because.join("; ");
    assert!(
        because.contains("`n` runs 1 of at most") && because.contains("no other node is up"),
        "{because}"
    );
    assert!(because.contains("1 tasks with lower numbers wait"), "{because}");
}

#[test]
fn a_question_to_another_node_ends_after_a_while() {
    let mut rig = Rig::new();
    rig.member(Presence::Up, 1);
    assert!(rig.ask(ClientRequest::Explain { task: "other.1".parse().unwrap() }).is_empty());
    rig.pass(9_000);
    assert!(rig.answers().is_empty());
    rig.pass(2_000);
    assert_eq!(rig.refusal(), "`other` did not answer in time; try again");
    // Nodes that do not answer are reported as well.
    assert!(rig.ask(ClientRequest::Nodes).is_empty());
    rig.pass(1_000);
    let answers = rig.answers();
    let [DaemonAnswer::Nodes { nodes }] = &answers[..] else { unreachable!("{answers:?}") };
    let names =
        nodes.iter().map(|node| (node.node.as_str(), node.load.is_some())).collect::<Vec<_>>();
    assert_eq!(names, [("n", true), ("other", false)]);
}

#[test]
fn a_node_that_stops_takes_nothing_and_leaves_when_nothing_runs() {
    let mut rig = Rig::new();
    rig.submit(2);
    assert_eq!(
        rig.ask(ClientRequest::Stop { now: false }),
        [DaemonAnswer::Stopping { n_running: 1 }]
    );
    let request = ClientRequest::Submit { submission: Box::new(submission()) };
    rig.on(CoreEvent::FromClient { client: ANNA, request });
    assert_eq!(rig.refusal(), "`n` is being stopped: submit to another node");
    rig.pass(1_000);
    assert!(!rig.seen.left);
    rig.end();
    rig.pass(1_000);
    assert!(rig.seen.left && rig.seen.jobs.is_empty() && rig.core.book().tasks().n_queued() == 1);
    assert_eq!(rig.seen.orders.last(), Some(&KeeperOrder::Leave));
    assert_eq!(rig.core.book().task(1).unwrap().outcome(), Some(&TaskOutcome::Exit(0)));
}

#[test]
fn tasks_of_another_submission_wait_for_a_core() {
    let mut rig = Rig::new();
    rig.submit(33);
    rig.submit(9);
    (0..32).for_each(|_| rig.end());
    assert_eq!(rig.seen.jobs.len(), 1, "the last of the first, and none of the second");
}
