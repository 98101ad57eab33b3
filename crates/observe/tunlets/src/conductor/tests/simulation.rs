//! Simulated ranks that carry out actions, scripted tunlets, and the messages between them, without real time.

use super::{END, START, application};
use crate::conductor::{ActionDone, ActionReport, Conductor, Input, Options, Output};
use crate::{Decision, Detail, EventNews, News, Requests, Tunlet, TunletError, TunletSpec, World};
use app_description::Application;
use events::tuning::{TuningEvent, TuningLine, TuningMode};
use events::{Rank, Value};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};

/// Initial value of every tuning point.
pub(super) const FIRST: Value = Value::Int(50);

/// News that a scripted tunlet has heard, and decisions it will make at the next news.
#[derive(Debug, Default)]
pub(super) struct Script {
    pub(super) heard: Vec<News>,
    pub(super) decisions: VecDeque<(usize, Value)>,
    pub(super) panics: bool,
    pub(super) ends: bool,
}

pub(super) struct Scripted {
    pub(super) name: &'static str,
    pub(super) points: Vec<usize>,
    pub(super) script: Arc<Mutex<Script>>,
}

impl Tunlet for Scripted {
    fn spec(&self) -> TunletSpec {
        TunletSpec { name: self.name.to_owned(), ..TunletSpec::default() }
    }

    fn begin(&mut self, _: &Application, _: &World) -> Result<Requests, TunletError> {
        let events = vec![Detail::None, Detail::Every];
        Ok(Requests { events, performance: true, points: self.points.clone() })
    }

    fn hear(&mut self, news: &News, _: &mut Vec<Decision>) {
        let mut script = self.script.lock().unwrap();
        assert!(!std::mem::take(&mut script.panics), "as the script says");
        script.heard.push(news.clone());
    }

    fn look(&mut self, decisions: &mut Vec<Decision>) -> Result<(), String> {
        let mut script = self.script.lock().unwrap();
        let decided = script.decisions.drain(..);
        decisions.extend(decided.map(|(point, value)| {
            let reason = "the script says so".to_owned();
            Decision { point, value, reason }
        }));
        if script.ends { Err("it crashed".to_owned()) } else { Ok(()) }
    }
}

/// Order in transit to a rank.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Order {
    Prepare { action: u64, point: usize, value: Value },
    Commit { action: u64, at_hit: u32 },
    Withdraw { action: u64 },
}

#[derive(Clone, Debug)]
struct Kept {
    point: usize,
    value: Value,
    at_hit: Option<u32>,
}

#[derive(Debug, Default)]
pub(super) struct Process {
    pub(super) values: BTreeMap<usize, Value>,
    /// Orders in transit, in order.
    pub(super) orders: VecDeque<Order>,
    /// Answers in transit.
    pub(super) answers: VecDeque<Input>,
    /// Records of its ring in transit.
    pub(super) records: VecDeque<Input>,
    kept: BTreeMap<u64, Kept>,
    n_hits: u32,
    /// Reason for which it refuses to change anything, if it does.
    pub(super) refuses: Option<&'static str>,
    /// What it says of a change that it is going to make.
    pub(super) note: &'static str,
    pub(super) fails: bool,
}

impl Process {
    pub(super) fn value(&self, point: usize) -> Value {
        self.values.get(&point).copied().unwrap_or(FIRST)
    }

    /// Processes the next order.
    pub(super) fn take_order(&mut self, rank: Rank) {
        let (action, report) = match self.orders.pop_front() {
            Some(Order::Prepare { action, point, value }) => {
                if let Some(reason) = self.refuses {
                    let report = ActionReport::Failed(reason.to_owned());
                    self.answers.push_back(Input::Report { action, rank, report });
                    return;
                }
                self.kept.insert(action, Kept { point, value, at_hit: None });
                let (n_hits, old) = (self.n_hits, self.value(point));
                (action, ActionReport::Ready { n_hits, old, note: self.note.to_owned() })
            }
            Some(Order::Commit { action, at_hit }) => {
                if let Some(kept) = self.kept.get_mut(&action) {
                    kept.at_hit = Some(at_hit);
                }
                return;
            }
            Some(Order::Withdraw { action }) => {
                let n_done = u32::from(self.kept.remove(&action).is_none());
                (action, ActionReport::Withdrawn { n_done })
            }
            None => return,
        };
        self.answers.push_back(Input::Report { action, rank, report });
    }

    /// Passes the sync point.
    fn pass(&mut self, rank: Rank, time_s: f64) {
        self.n_hits += 1;
        let hit = self.n_hits;
        let is_due = |kept: &Kept| kept.at_hit.is_some_and(|at_hit| at_hit <= hit);
        let due: Vec<u64> =
            self.kept.iter().filter(|(_, kept)| is_due(kept)).map(|(action, _)| *action).collect();
        for action in due {
            let Some(Kept { point, value, .. }) = self.kept.remove(&action) else { continue };
            let report = if self.fails {
                ActionReport::Failed("EACCES".to_owned())
            } else {
                let old = self.values.insert(point, value).unwrap_or(FIRST);
                ActionReport::Done(ActionDone { rank, time_s, hit, old, new: value })
            };
            self.records.push_back(Input::Report { action, rank, report });
        }
    }
}

/// Conductor with simulated ranks.
pub(super) struct Simulation {
    pub(super) conductor: Conductor,
    pub(super) now_s: f64,
    pub(super) processes: BTreeMap<Rank, Process>,
    pub(super) lines: Vec<TuningLine>,
    pub(super) scripts: Vec<Arc<Mutex<Script>>>,
    pub(super) silent: BTreeSet<Rank>,
}

impl Simulation {
    /// Creates a simulation with these tunlets and the points that each asks for.
    pub(super) fn new(
        n_ranks: u32,
        mode: TuningMode,
        tunlets: &[(&'static str, &[usize])],
    ) -> Self {
        let scripts: Vec<Arc<Mutex<Script>>> = tunlets.iter().map(|_| Arc::default()).collect();
        let tunlets = tunlets.iter().zip(&scripts).map(|((name, points), script)| {
            let (points, script) = (points.to_vec(), Arc::clone(script));
            Box::new(Scripted { name, points, script }) as Box<dyn Tunlet>
        });
        let conductor = Conductor::new(application(), tunlets.collect(), mode, Options::default());
        let mut simulation = Self {
            conductor,
            now_s: 0.0,
            processes: BTreeMap::new(),
            lines: Vec::new(),
            scripts,
            silent: BTreeSet::new(),
        };
        for rank in (0..n_ranks).map(Rank) {
            simulation.processes.insert(rank, Process::default());
            simulation.hear(Input::RankAppeared { rank, n_ranks });
        }
        simulation
    }

    pub(super) fn hear(&mut self, input: Input) {
        let outputs = self.conductor.hear(self.now_s, input);
        self.carry(outputs);
    }

    pub(super) fn finish(&mut self) {
        let outputs = self.conductor.finish(self.now_s);
        self.carry(outputs);
    }

    fn carry(&mut self, outputs: Vec<Output>) {
        for output in outputs {
            match output {
                Output::Record(line) => self.lines.push(line),
                Output::Prepare { action, point, values, .. } => {
                    for (rank, value) in values {
                        self.order(rank, Order::Prepare { action, point, value });
                    }
                }
                Output::Commit { action, ranks, at_hit } => {
                    ranks
                        .iter()
                        .for_each(|rank| self.order(*rank, Order::Commit { action, at_hit }));
                }
                Output::Withdraw { action, ranks } => {
                    ranks.iter().for_each(|rank| self.order(*rank, Order::Withdraw { action }));
                }
            }
        }
    }

    fn order(&mut self, rank: Rank, order: Order) {
        if let Some(process) = self.processes.get_mut(&rank) {
            process.orders.push_back(order);
        }
    }

    /// Delivers everything in transit, except to and from silent ranks.
    pub(super) fn settle(&mut self) {
        loop {
            let mut inputs = Vec::new();
            for (rank, process) in &mut self.processes {
                if self.silent.contains(rank) {
                    continue;
                }
                while !process.orders.is_empty() {
                    process.take_order(*rank);
                }
                inputs.extend(process.answers.drain(..).chain(process.records.drain(..)));
            }
            if inputs.is_empty() {
                return;
            }
            inputs.into_iter().for_each(|input| self.hear(input));
        }
    }

    /// Runs an iteration of `duration_s` with `work`; the sync point is passed at its start.
    pub(super) fn iterate(&mut self, duration_s: f64, work: i64) {
        self.settle();
        self.round(duration_s, work);
        self.settle();
    }

    /// Runs an iteration while messages are in transit.
    pub(super) fn round(&mut self, duration_s: f64, work: i64) {
        self.now_s += 0.001;
        let now_s = self.now_s;
        self.processes.iter_mut().for_each(|(rank, process)| process.pass(*rank, now_s));
        self.event(START, work);
        self.now_s += duration_s;
        self.event(END, work);
    }

    pub(super) fn event(&mut self, event: usize, work: i64) {
        let (rank, values) = (Rank(0), vec![Value::Int(work)]);
        self.hear(Input::Event(EventNews { event, rank, thread: 0, time_s: self.now_s, values }));
    }

    pub(super) fn decide(&mut self, tunlet: usize, point: usize, value: i64) {
        self.scripts[tunlet].lock().unwrap().decisions.push_back((point, Value::Int(value)));
        self.hear(Input::Tick);
    }

    pub(super) fn wait(&mut self, seconds: f64) {
        self.now_s += seconds;
        self.hear(Input::Tick);
        self.settle();
    }

    pub(super) fn values(&self, point: usize) -> Vec<i64> {
        let whole = |process: &Process| process.value(point).as_integer().unwrap();
        self.processes.values().map(|process| i64::try_from(whole(process)).unwrap()).collect()
    }

    /// Returns the outcome of each decision as words: `1 kept`.
    pub(super) fn outcomes(&self) -> Vec<String> {
        let lines = self.lines.iter();
        lines
            .filter_map(|line| match &line.what {
                TuningEvent::Would { decision } => Some(format!("{decision} would")),
                TuningEvent::Declined { decision, .. } => Some(format!("{decision} declined")),
                TuningEvent::Applied { decision, .. } => Some(format!("{decision} applied")),
                TuningEvent::Effect { decision, .. } => Some(format!("{decision} effect")),
                TuningEvent::Kept { decision, .. } => Some(format!("{decision} kept")),
                TuningEvent::Undone { decision, .. } => Some(format!("{decision} undone")),
                TuningEvent::Lost { decision, .. } => Some(format!("{decision} lost")),
                TuningEvent::TunletEnded { tunlet, .. } => Some(format!("{tunlet} ended")),
                _ => None,
            })
            .collect()
    }
}
