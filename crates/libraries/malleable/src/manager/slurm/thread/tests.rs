//! Tests of the handle with a fake queue. The thread is not needed: orders and checks are direct calls.

use super::*;

/// State of a fake Slurm.
#[derive(Debug, Default)]
struct Fake {
    n_submitted: u64,
    /// Ids of jobs that run; others wait.
    running: Vec<u64>,
    canceled: Vec<u64>,
    /// Time until the limits of the companions and of the program's job, in seconds.
    left_s: Option<u64>,
    own_left_s: Option<u64>,
    /// Error with which all commands fail.
    away: Option<&'static str>,
}

#[derive(Clone, Debug, Default)]
struct FakeQueue(Arc<Mutex<Fake>>);

impl FakeQueue {
    fn with<T>(&self, look: impl FnOnce(&mut Fake) -> T) -> T {
        look(&mut self.0.lock().unwrap())
    }

    fn failing(&self) -> Result<(), CommandError> {
        let command = "sbatch".to_owned();
        let failed = |said: &str| CommandError::Failed { command, said: said.to_owned() };
        self.with(|fake| fake.away).map_or(Ok(()), |said| Err(failed(said)))
    }
}

impl SlurmQueue for FakeQueue {
    fn submit(&mut self, _hosts: &[String]) -> Result<u64, CommandError> {
        self.failing()?;
        Ok(self.with(|fake| {
            fake.n_submitted += 1;
            fake.n_submitted
        }))
    }

    fn companions(&mut self) -> Result<Vec<Queued>, CommandError> {
        self.failing()?;
        Ok(self.with(|fake| {
            let there = (1..=fake.n_submitted).filter(|job| !fake.canceled.contains(job));
            let queued = there.map(|job| {
                let is_running = fake.running.contains(&job);
                let (state, reason) =
                    if is_running { ("RUNNING", "None") } else { ("PENDING", "Resources") };
                let node = if is_running { format!("n{job}") } else { String::new() };
                let left = fake.left_s.map(Duration::from_secs);
                Queued { job, state: state.into(), reason: reason.into(), node, left }
            });
            queued.collect()
        }))
    }

    fn own_time_left(&mut self) -> Result<Option<Duration>, CommandError> {
        self.failing()?;
        Ok(self.with(|fake| fake.own_left_s.map(Duration::from_secs)))
    }

    fn cancel(&mut self, jobs: &[u64]) -> Result<(), CommandError> {
        self.failing()?;
        self.with(|fake| fake.canceled.extend(jobs));
        Ok(())
    }
}

const FIRST: Ticket = Ticket(1);

fn slurm_thread() -> (FakeQueue, SlurmThread<FakeQueue>) {
    let queue = FakeQueue::default();
    let slurm_thread = SlurmThread {
        shared: Arc::default(),
        queue: queue.clone(),
        loans: BTreeMap::new(),
        returns: Vec::new(),
        occupied: None,
        has_to_ask: false,
        rest_until: None,
    };
    (queue, slurm_thread)
}

fn borrow(n_nodes: u32, patience: Duration) -> SlurmOrder {
    let until = Instant::now() + patience;
    SlurmOrder::Borrow { ticket: FIRST, n_nodes, hosts: Vec::new(), until }
}

const LONG: Duration = Duration::from_secs(3600);

fn answer(slurm_thread: &SlurmThread<FakeQueue>) -> Option<Result<Vec<u64>, String>> {
    let answer = lock(&slurm_thread.shared).answers.get(&FIRST).cloned();
    answer.map(|answer| answer.map(|lent| lent.iter().map(|lent| lent.job).collect()))
}

#[test]
fn nodes_are_lent_when_all_are_there() {
    let (queue, mut slurm_thread) = slurm_thread();
    slurm_thread.take(borrow(2, LONG));
    slurm_thread.check_queue();
    queue.with(|fake| fake.running = vec![2]);
    slurm_thread.check_queue();
    assert_eq!(answer(&slurm_thread), None);
    assert_eq!(lock(&slurm_thread.shared).waiting, "job 1 waits (Resources)");
    queue.with(|fake| fake.running = vec![1, 2]);
    slurm_thread.check_queue();
    assert_eq!(answer(&slurm_thread), Some(Ok(vec![1, 2])));
    assert_eq!(queue.with(|fake| fake.canceled.clone()), Vec::<u64>::new());
}

#[test]
fn what_comes_too_late_is_returned_with_slurms_reason() {
    let (queue, mut slurm_thread) = slurm_thread();
    slurm_thread.take(borrow(2, Duration::ZERO));
    queue.with(|fake| fake.running = vec![1]);
    slurm_thread.check_queue();
    let why = "Slurm lent no node in time: job 2 waits (Resources)".to_owned();
    assert_eq!(answer(&slurm_thread), Some(Err(why)));
    slurm_thread.check_queue();
    assert_eq!(queue.with(|fake| fake.canceled.clone()), [1, 2]);
}

#[test]
fn nobody_holds_nodes_while_others_are_missing() {
    let (queue, mut slurm_thread) = slurm_thread();
    slurm_thread.take(borrow(2, LONG));
    queue.with(|fake| fake.running = vec![1]);
    slurm_thread.check_queue();
    assert_eq!(answer(&slurm_thread), None);
    let loan = slurm_thread.loans.get_mut(&FIRST).unwrap();
    loan.vain_since = loan.vain_since.map(|since| since - NO_NODE);
    slurm_thread.check_queue();
    let why = "Slurm lent no node in time: job 2 waits (Resources)".to_owned();
    assert_eq!(answer(&slurm_thread), Some(Err(why)));
}

#[test]
fn a_refusal_is_final_and_an_absence_is_not() {
    let (queue, mut slurm_thread) = slurm_thread();
    queue.with(|fake| fake.away = Some("Unable to contact slurm controller"));
    slurm_thread.take(borrow(1, LONG));
    slurm_thread.check_queue();
    assert_eq!(answer(&slurm_thread), None);
    queue.with(|fake| fake.away = Some("Invalid account"));
    slurm_thread.rest_until = None;
    slurm_thread.check_queue();
    let why = "Slurm lends no node: Invalid account".to_owned();
    assert_eq!(answer(&slurm_thread), Some(Err(why)));
}

#[test]
fn what_is_forgotten_is_returned() {
    let (queue, mut slurm_thread) = slurm_thread();
    slurm_thread.take(borrow(1, LONG));
    slurm_thread.check_queue();
    slurm_thread.take(SlurmOrder::Forget(FIRST));
    slurm_thread.check_queue();
    assert_eq!(queue.with(|fake| fake.canceled.clone()), [1]);
    assert_eq!(answer(&slurm_thread), None);
}

#[test]
fn a_return_is_tried_until_it_is_heard() {
    let (queue, mut slurm_thread) = slurm_thread();
    queue.with(|fake| fake.away = Some("Unable to contact slurm controller"));
    slurm_thread.take(SlurmOrder::Return(vec![7]));
    slurm_thread.check_queue();
    assert_eq!(queue.with(|fake| fake.canceled.clone()), Vec::<u64>::new());
    queue.with(|fake| fake.away = None);
    slurm_thread.rest_until = None;
    slurm_thread.check_queue();
    assert_eq!(queue.with(|fake| fake.canceled.clone()), [7]);
}

#[test]
fn companions_of_an_earlier_rank_0_are_adopted_or_ended() {
    let (queue, mut slurm_thread) = slurm_thread();
    queue.with(|fake| (fake.n_submitted, fake.running) = (3, vec![1, 3]));
    slurm_thread.occupied = Some(vec!["n0".to_owned(), "n3.site".to_owned()]);
    slurm_thread.take(borrow(1, LONG));
    slurm_thread.check_queue();
    let adopted = lock(&slurm_thread.shared).adopted.clone();
    assert_eq!(adopted, [Lent { job: 3, node: "n3".to_owned(), ends: None }]);
    assert_eq!(queue.with(|fake| fake.canceled.clone()), [1, 2]);
    assert_eq!(queue.with(|fake| fake.n_submitted), 4, "what is borrowed now is no stray");
}

#[test]
fn limits_are_asked_for_once() {
    let (queue, mut slurm_thread) = slurm_thread();
    queue.with(|fake| (fake.n_submitted, fake.left_s, fake.own_left_s) = (2, Some(60), Some(90)));
    slurm_thread.check_queue();
    assert_eq!(lock(&slurm_thread.shared).limits, None);
    queue.with(|fake| fake.away = Some("Unable to contact slurm controller"));
    slurm_thread.take(SlurmOrder::AskLimits);
    slurm_thread.check_queue();
    assert!(slurm_thread.is_busy());
    queue.with(|fake| fake.away = None);
    slurm_thread.rest_until = None;
    slurm_thread.check_queue();
    let limits = lock(&slurm_thread.shared).limits.take().unwrap();
    assert_eq!(limits.companions.keys().copied().collect::<Vec<_>>(), [1, 2]);
    assert!(limits.own > limits.companions.values().copied().max());
    assert!(!slurm_thread.is_busy());
}

#[test]
fn the_end_of_the_program_returns_everything() {
    let queue = FakeQueue::default();
    let handle = SlurmHandle::start(queue.clone(), Vec::new());
    handle.order(borrow(1, LONG));
    handle.order(SlurmOrder::Return(vec![9]));
    drop(handle);
    let canceled = queue.with(|fake| fake.canceled.clone());
    assert!(canceled.contains(&9), "{canceled:?}");
    assert_eq!(queue.with(|fake| fake.n_submitted), u64::from(canceled.contains(&1)));
}
