//! Table of situations: each a line of what is there, and a line of what is decided.

use super::*;

const RULE: Rule = Rule {
    n_nodes_max: 4,
    n_nodes_min: 0,
    n_nodes_per_job: 1,
    n_pending_max: 3,
    idle_ms: 60_000,
    patience_ms: 5_000,
    worth_ms: 30_000,
    calm_ms: 30_000,
    joins_within_ms: 120_000,
    leaves_before_ms: 120_000,
    pause_ms: 30_000,
};

/// Cluster and queue that change, and the rule that looks at them.
struct Rig {
    rule: Rule,
    memory: Memory,
    nodes: Vec<Node>,
    jobs: Jobs,
    now_ms: u64,
    n_cores_per_node: Option<u64>,
    answers: bool,
}

impl Rig {
    /// A home with two busy cores, and no job.
    fn new() -> Self {
        let home = Node { name: "home".to_owned(), n_cores: 2, n_running: 2, ..Node::default() };
        Self {
            rule: RULE,
            memory: Memory::default(),
            nodes: vec![home],
            jobs: Jobs::default(),
            now_ms: 1_000_000,
            n_cores_per_node: Some(8),
            answers: true,
        }
    }

    /// As [`Self::new`], with so many tasks that wait at home.
    fn waiting(n_queued: u64) -> Self {
        let mut rig = Self::new();
        (rig.nodes[0].n_queued, rig.nodes[0].n_wanted) = (n_queued, n_queued);
        rig
    }

    /// Adds a job in this stage; one that runs has its node, idle.
    fn job(&mut self, slot: u32, stage: Stage) {
        self.jobs.ask(slot, self.now_ms);
        let job = self.jobs.of_slot(slot).unwrap();
        (job.id, job.stage, job.has_joined) = (Some(slot.into()), stage, stage == Stage::Running);
        if stage == Stage::Running {
            let name = format!("auto{slot}");
            self.nodes.push(Node { name, n_cores: 8, slot: Some(slot), ..Node::default() });
        }
    }

    fn pass(&mut self, seconds: u64) {
        for _ in 0..seconds {
            self.now_ms += 1000;
            self.memory.observe(&self.nodes, self.rule.window_ms(), self.now_ms);
        }
    }

    /// Decisions after some seconds: `+SLOT` submits, `-SLOT` lets leave, `xSLOT` cancels, else the kind of idleness.
    #[track_caller]
    fn check(&mut self, seconds: u64, expected: &str) -> String {
        self.pass(seconds);
        let jobs = self.answers.then_some(&self.jobs);
        let (now_ms, n_cores_per_node) = (self.now_ms, self.n_cores_per_node);
        let snapshot = Snapshot { now_ms, nodes: &self.nodes, jobs, n_cores_per_node };
        let decisions = self.rule.decide(&snapshot, &mut self.memory);
        let shown = decisions.iter().map(|decision| match decision.action {
            Action::Submit { slot } => format!("+{slot}"),
            Action::Leave { slot } => format!("-{slot}"),
            Action::Cancel { slot } => format!("x{slot}"),
            Action::Nothing(idleness) => format!("{idleness:?}"),
        });
        assert_eq!(shown.collect::<Vec<_>>().join(" "), expected, "{decisions:?}");
        decisions.last().map_or_else(String::new, |decision| decision.why.clone())
    }
}

#[test]
fn jobs_are_asked_for_when_tasks_have_waited() {
    Rig::new().check(60, "NothingWaits");
    let mut rig = Rig::waiting(10);
    rig.check(3, "JustWaits");
    let why = rig.check(3, "+1 +2");
    assert_eq!(why, "10 tasks wait; 0 cores free, 0 more asked for");
    Rig::waiting(8).check(6, "+1");
    // A queue that comes and goes.
    let mut rig = Rig::waiting(10);
    rig.pass(4);
    (rig.nodes[0].n_queued, rig.nodes[0].n_wanted) = (0, 0);
    rig.pass(1);
    (rig.nodes[0].n_queued, rig.nodes[0].n_wanted) = (10, 10);
    rig.check(3, "JustWaits");
    rig.check(3, "+1 +2");
}

#[test]
fn what_is_free_or_was_asked_for_counts() {
    let mut rig = Rig::waiting(10);
    rig.job(1, Stage::Pending);
    rig.check(6, "+2");
    rig.job(2, Stage::Asked);
    assert_eq!(rig.check(6, "Enough"), "10 tasks wait; 0 cores free, 16 more asked for");
    let mut rig = Rig::waiting(10);
    rig.nodes[0].n_cores = 12;
    assert_eq!(rig.check(6, "Enough"), "10 tasks wait; 10 cores free, 0 more asked for");
    // A job that runs and whose node has not joined is still on its way.
    let mut rig = Rig::waiting(8);
    rig.job(1, Stage::Running);
    rig.nodes.truncate(1);
    rig.jobs.0[0].has_joined = false;
    rig.check(6, "Enough");
}

#[test]
fn a_job_near_its_limit_or_leaving_is_no_capacity() {
    for (left_ms, stage, expected) in [
        (Some(600_000), Stage::Running, "Enough"),
        (None, Stage::Running, "Enough"),
        (Some(119_000), Stage::Running, "+2"),
        (Some(600_000), Stage::Leaving, "+2"),
        (Some(600_000), Stage::Ending, "+2"),
    ] {
        let mut rig = Rig::waiting(8);
        rig.job(1, Stage::Running);
        (rig.jobs.0[0].left_ms, rig.jobs.0[0].stage) = (left_ms, stage);
        rig.check(6, expected);
    }
}

#[test]
fn there_are_at_most_so_many() {
    let mut rig = Rig::waiting(1000);
    rig.check(6, "+1 +2 +3");
    rig.rule.n_pending_max = 9;
    rig.check(1, "+1 +2 +3 +4");
    (1..=4).for_each(|slot| rig.job(slot, Stage::Pending));
    assert_eq!(rig.check(1, "AtMost"), "there are 4 nodes of at most 4");
    rig.rule.n_nodes_max = 20;
    rig.rule.n_pending_max = 4;
    rig.check(1, "Backlog");
    // One that leaves still has its node.
    let mut rig = Rig::waiting(1000);
    rig.rule.n_nodes_max = 1;
    rig.job(1, Stage::Leaving);
    rig.check(6, "AtMost");
    // Two nodes at a time.
    let mut rig = Rig::waiting(1000);
    rig.rule.n_nodes_per_job = 2;
    rig.check(6, "+1 +2");
    rig.rule.n_nodes_max = 3;
    rig.check(1, "+1");
    rig.rule.n_nodes_max = 1;
    rig.check(1, "AtMost");
}

#[test]
fn short_tasks_are_not_worth_a_job() {
    let mut rig = Rig::waiting(100);
    for _ in 0..6 {
        rig.nodes[0].n_ended += 50;
        rig.pass(1);
    }
    assert_eq!(
        rig.check(0, "DrainsSoon"),
        "100 tasks wait, but 50.0 end in a second: they will soon have run"
    );
    (rig.nodes[0].n_queued, rig.nodes[0].n_wanted) = (100_000, 100_000);
    rig.check(6, "+1 +2 +3");
}

#[test]
fn an_idle_node_leaves_late() {
    let mut rig = Rig::new();
    rig.job(1, Stage::Running);
    rig.check(60, "NothingWaits");
    let why = rig.check(1, "-1 NothingWaits");
    assert_eq!(why, "no task waits");
    // A task in between.
    let mut rig = Rig::new();
    rig.job(1, Stage::Running);
    rig.pass(50);
    rig.nodes[1].n_running = 1;
    rig.pass(1);
    rig.nodes[1].n_running = 0;
    rig.check(59, "NothingWaits");
    rig.check(2, "-1 NothingWaits");
    // Tasks that were submitted there and run elsewhere.
    let mut rig = Rig::new();
    rig.job(1, Stage::Running);
    rig.nodes[1].n_leased = 3;
    rig.check(600, "NothingWaits");
}

#[test]
fn some_nodes_are_kept() {
    let mut rig = Rig::new();
    rig.rule.n_nodes_min = 2;
    assert_eq!(rig.check(1, "+1 +2"), "2 nodes are to be kept, and there are 0");
    (1..=3).for_each(|slot| rig.job(slot, Stage::Running));
    rig.check(61, "-3 NothingWaits");
    // A job that waits is one of them.
    let mut rig = Rig::new();
    rig.rule.n_nodes_min = 1;
    rig.job(1, Stage::Pending);
    rig.check(100, "NothingWaits");
}

/// A node of several leaves with the others of its job.
#[test]
fn a_job_leaves_when_all_its_nodes_are_idle() {
    let mut rig = Rig::new();
    rig.rule.n_nodes_per_job = 2;
    rig.job(1, Stage::Running);
    let second = Node { name: "auto1-1".to_owned(), n_running: 1, ..rig.nodes[1].clone() };
    rig.nodes.push(second);
    rig.check(100, "NothingWaits");
    rig.nodes[2].n_running = 0;
    rig.check(61, "-1 NothingWaits");
}

/// Tasks that need what these nodes do not have would start and end jobs for ever.
#[test]
fn tasks_that_idle_nodes_do_not_help_start_no_more() {
    let mut rig = Rig::waiting(30);
    rig.job(1, Stage::Running);
    rig.rule.n_nodes_max = 1;
    rig.check(61, "-1 NoHelp");
    rig.jobs.remove(1);
    rig.nodes.truncate(1);
    let why = rig.check(10, "NoHelp");
    assert!(why.starts_with("30 tasks wait, and did so while"), "{why}");
    (rig.nodes[0].n_queued, rig.nodes[0].n_wanted) = (31, 31);
    rig.check(6, "+1");
    // These have run; later ones are a new matter.
    (rig.nodes[0].n_queued, rig.nodes[0].n_wanted) = (0, 0);
    rig.pass(1);
    (rig.nodes[0].n_queued, rig.nodes[0].n_wanted) = (5, 5);
    rig.check(6, "+1");
}

#[test]
fn jobs_that_wait_in_vain_are_canceled() {
    let mut rig = Rig::waiting(20);
    (1..=3).for_each(|slot| rig.job(slot, Stage::Pending));
    rig.check(40, "Enough");
    (rig.nodes[0].n_queued, rig.nodes[0].n_wanted) = (8, 8);
    rig.check(29, "Enough");
    rig.check(2, "x3 x2 Enough");
    rig.jobs.remove(3);
    rig.jobs.remove(2);
    (rig.nodes[0].n_queued, rig.nodes[0].n_wanted) = (0, 0);
    rig.check(31, "x1 NothingWaits");
    // What is being submitted cannot be canceled yet.
    rig.jobs.0[0].stage = Stage::Asked;
    rig.check(31, "NothingWaits");
}

#[test]
fn after_failures_it_is_tried_later_and_with_one_job() {
    let mut rig = Rig::waiting(1000);
    rig.pass(6);
    rig.memory.failed("no such partition".to_owned(), rig.now_ms);
    let why = rig.check(1, "BackOff");
    assert_eq!(why, "the last job failed (no such partition); the next is tried in 29 s");
    rig.check(28, "BackOff");
    rig.check(1, "+1");
    rig.job(1, Stage::Pending);
    rig.check(100, "BackOff");
    rig.jobs.remove(1);
    rig.memory.failed("again".to_owned(), rig.now_ms);
    rig.check(59, "BackOff");
    rig.check(1, "+1");
    rig.memory.joined();
    rig.check(1, "+1 +2 +3");
    (0..99).for_each(|_| rig.memory.failed("again".to_owned(), rig.now_ms));
    rig.check(1919, "BackOff");
    rig.check(1, "+1");
}

#[test]
fn a_job_whose_node_does_not_join_is_given_up() {
    let mut rig = Rig::waiting(8);
    rig.job(1, Stage::Running);
    rig.nodes.truncate(1);
    rig.jobs.0[0].has_joined = false;
    rig.check(119, "Enough");
    rig.check(1, "x1 Enough");
}

#[test]
fn nothing_is_decided_without_the_queue() {
    let mut rig = Rig::waiting(1000);
    rig.job(1, Stage::Running);
    rig.answers = false;
    rig.check(600, "NoAnswer");
}

/// Until a node has joined, nobody may know how many cores it has.
#[test]
fn one_job_finds_out_how_many_cores_it_has() {
    let mut rig = Rig::waiting(1000);
    rig.n_cores_per_node = None;
    rig.check(6, "+1");
    rig.job(1, Stage::Pending);
    assert_eq!(rig.check(6, "Enough"), "1000 tasks wait; 1 job asked for");
    rig.check(100, "Enough");
}

/// A queue that goes up and down around the number of cores submits once and cancels nothing.
#[test]
fn a_queue_that_oscillates_starts_no_oscillation() {
    let mut rig = Rig::waiting(9);
    rig.check(6, "+1 +2");
    rig.job(1, Stage::Pending);
    rig.job(2, Stage::Pending);
    for _ in 0..50 {
        for n_queued in [7, 18, 9, 12] {
            (rig.nodes[0].n_queued, rig.nodes[0].n_wanted) = (n_queued, n_queued);
            rig.check(3, "Enough");
        }
    }
}
