//! The tuning thread: feeds news to the conductor, and carries out its orders and lines.

mod answers;
mod changes;

use super::TuningOptions;
use super::aggregator::MessageAggregator;
use super::directory::{Arrival, Directory, Key};
use super::inbox::{Inbox, TuningInput};
use super::lines::Lines;
use super::order_queue::{Collectors, OrderQueue};
use super::overload::OverloadDetector;
use super::performance::EfficiencySampler;
use super::plan::Plan;
use super::sums::LocalSums;
use super::value_reader::ValueReader;
use changes::Wanted;
use events::decoding::{DecodedRecord, Decoder, Passage};
use events::{Rank, Ticks, Value};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tunlets::conductor::{Conductor, Input, Mode, Output};
use tunlets::{Detail, EventNews, SummaryNews};
use wire::facts::{EventFacts, ProbedFunction};
use wire::{Order, ProcessReport, Records, SummaryBatch, ToCollector};

/// Longest time between two ticks of the conductor.
const TICK: Duration = Duration::from_millis(20);
/// Time between two computations of efficiencies.
const PERFORMANCE_EVERY: Duration = Duration::from_secs(1);
/// Maximum number of actions remembered.
const N_ACTIONS_MAX: usize = 4096;

/// State of the tuning thread; see the module documentation.
pub struct Runtime<C> {
    collectors: C,
    inbox: Arc<Inbox>,
    mode: Mode,
    plan: Plan,
    n_described: usize,
    /// True if there are no tunlets, so that all events are recorded.
    has_no_tunlets: bool,
    /// True if passages of functions chosen with `--probe` arrive individually.
    every_passage: bool,
    conductor: Conductor,
    directory: Directory,
    sums: LocalSums,
    decoder: Decoder<(Key, u32)>,
    value_reader: ValueReader,
    overload: OverloadDetector,
    order_queue: OrderQueue,
    aggregator: MessageAggregator,
    lines: Lines,
    efficiency_sampler: EfficiencySampler,
    next_performance: Instant,
    present: BTreeSet<Rank>,
    /// Tuning point and wanted values of each action.
    actions: BTreeMap<u64, Wanted>,
    /// Last value given to tuning points that are not variables, by point and rank.
    given: HashMap<(usize, Rank), Value>,
    /// Actions carried out at every passage, by point and rank.
    repeating: HashMap<(usize, Rank), u64>,
    /// Sites that a rank could not install, with the reason.
    failed: HashMap<(u32, Rank), String>,
    started_ns: i64,
}

impl<C: Collectors> Runtime<C> {
    /// Creates the state for a run that started at `started_s`, in s since 1970.
    pub fn new(options: TuningOptions, collectors: C, inbox: Arc<Inbox>, started_s: f64) -> Self {
        let TuningOptions { application, plan, tunlets, mode, options, every_passage, lines } =
            options;
        #[expect(clippy::cast_possible_truncation, reason = "a time since 1970 fits")]
        let started_ns = (started_s * 1e9) as i64;
        Self {
            collectors,
            inbox,
            mode,
            n_described: application.events.len(),
            has_no_tunlets: tunlets.is_empty(),
            every_passage,
            directory: Directory::new(&application.program),
            sums: LocalSums::new(&plan),
            conductor: Conductor::new(application, tunlets, mode, options),
            decoder: Decoder::new(plan.events.iter().map(EventFacts::kinds).collect()),
            value_reader: ValueReader::new(&plan),
            overload: OverloadDetector::default(),
            repeating: HashMap::new(),
            failed: HashMap::new(),
            plan,
            order_queue: OrderQueue::default(),
            aggregator: MessageAggregator::default(),
            lines: Lines::open(&lines),
            efficiency_sampler: EfficiencySampler::new(),
            next_performance: Instant::now() + PERFORMANCE_EVERY,
            present: BTreeSet::new(),
            actions: BTreeMap::new(),
            given: HashMap::new(),
            started_ns,
        }
    }

    /// Runs until the inbox is closed; returns sentences about the tool's own problems.
    pub fn run(mut self) -> Vec<String> {
        let now_s = self.now_s();
        for text in std::mem::take(&mut self.plan.warnings) {
            self.lines.warn(now_s, text);
        }
        self.feed(Input::Values(ValueReader::known(&self.plan)));
        loop {
            let batch = self.inbox.take(TICK);
            for input in batch.inputs {
                self.hear(input);
            }
            self.pass_time(Instant::now());
            if batch.is_last {
                return self.finish(batch.n_unheard);
            }
        }
    }

    fn finish(mut self, n_unheard: u64) -> Vec<String> {
        let messages = self.aggregator.take_all();
        self.warn_of_sites(messages);
        let now_s = self.now_s();
        for output in self.conductor.finish(now_s) {
            if let Output::Record(line) = output {
                self.lines.append(line);
            }
        }
        if self.directory.is_empty() {
            let text = "no rank ran the described or probed program: nothing was measured";
            self.lines.warn(now_s, text.to_owned());
        }
        self.warn_if(self.decoder.n_unknown, "records belong to no event that was asked for");
        self.warn_if(self.order_queue.n_lost(), "orders found no room while a collector was away");
        self.lines.end(now_s, n_unheard);
        self.lines.take_problem().into_iter().collect()
    }

    fn warn_if(&mut self, n_times: u64, what: &str) {
        if n_times != 0 {
            let now_s = self.now_s();
            self.lines.warn(now_s, format!("{n_times} {what}"));
        }
    }

    fn now_s(&self) -> f64 {
        let (_, now_ns) = ring::clock::point();
        self.seconds(now_ns.cast_signed())
    }

    /// Returns seconds since the start of the run.
    fn seconds(&self, ns: i64) -> f64 {
        ns.wrapping_sub(self.started_ns) as f64 * 1e-9
    }

    fn hear(&mut self, input: TuningInput) {
        match input {
            TuningInput::Collector { node } => {
                let shapes = self.sums.shapes(self.mode, !self.has_no_tunlets);
                self.collectors.say(&node, &shapes);
                self.order_queue.come_back(&self.collectors, &node);
            }
            TuningInput::Sums { node, batch } => self.hear_sums(&node, &batch),
            TuningInput::Report { report, offset_ns } => self.see(&report, offset_ns),
            TuningInput::Answer { node, process, answer } => {
                self.take_answer(&(node, process), answer)
            }
            TuningInput::Records { node, records } => self.read(node, &records),
        }
    }

    fn see(&mut self, report: &ProcessReport, offset_ns: i64) {
        let key = (report.node.clone(), report.key);
        match self.directory.see(report, offset_ns, Instant::now()) {
            Arrival::Rank(rank, n_ranks) => {
                self.present.insert(rank);
                let arrived = (rank, n_ranks, key.clone());
                if let Some(order) = self.value_reader.appear(arrived, &self.plan, Instant::now()) {
                    self.order_queue.send(&self.collectors, &key, order);
                }
                self.open();
            }
            Arrival::Untuned => self.order_queue.start(&self.collectors, &key, vec![Order::Go]),
            Arrival::Known => {}
        }
        if let Some(rank) = self.directory.rank(&key).filter(|rank| self.present.contains(rank))
            && self.conductor.wants_performance()
        {
            let time_s = self.directory.ns_at(&key, report.now).map(|ns| self.seconds(ns));
            self.efficiency_sampler.see(rank, report, time_s.unwrap_or_else(|| self.now_s()));
        }
        self.switch_off_overloaded(&key, report);
    }

    /// Switches off functions that flood the rings of a process.
    fn switch_off_overloaded(&mut self, key: &Key, report: &ProcessReport) {
        for (site, points) in self.overload.see(key, report, &self.plan) {
            let reason = "it is called too often to be recorded, and is no longer measured; probe its \
                          callers instead";
            self.hear_of_site(key, site, reason);
            self.order_queue.send(&self.collectors, key, Order::Switch { points, on: false });
        }
    }

    /// Starts the ranks that no longer need to wait.
    fn open(&mut self) {
        for (rank, n_ranks, key) in self.value_reader.take_ready(Instant::now()) {
            self.feed(Input::RankAppeared { rank, n_ranks });
            self.start(rank, &key);
        }
    }

    /// Installs in a process what its rank needs, and lets it go on.
    fn start(&mut self, rank: Rank, key: &Key) {
        let points = self.conductor.points();
        let wants = |event: u32| {
            let event = event as usize;
            // Events of `--probe` are wanted from all ranks.
            self.n_described <= event
                || self.has_no_tunlets
                || self.conductor.wants(event, rank) != Detail::None
        };
        let changes = |point: usize| self.mode == Mode::Tune && points.contains(&point);
        let mut orders = self.plan.install(rank.0, wants, changes);
        orders.push(Order::Go);
        self.ask_for_sums(rank, key);
        self.order_queue.start(&self.collectors, key, orders);
    }

    fn read(&mut self, node: String, records: &Records) {
        let key = (node, records.process);
        let Some(rank) = self.directory.rank(&key) else { return };
        self.sums.read(&key, records);
        let thread = (key, records.thread);
        for record in &records.records {
            match self.decoder.read(&thread, record) {
                Some(DecodedRecord::Passed(passage)) => self.pass(rank, &thread, passage),
                Some(DecodedRecord::Did(action)) => self.acknowledge(rank, &thread.0, &action),
                None => {}
            }
        }
    }

    fn pass(&mut self, rank: Rank, (key, thread): &(Key, u32), passage: Passage) {
        let Passage { event, ticks, values, .. } = passage;
        if self.n_described <= event {
            self.overload.pass(key, event, 1);
            return;
        }
        self.value_reader.start_reading(Instant::now());
        let time_s = self.time_s(key, ticks);
        let thread = self.directory.thread_number(key, *thread);
        self.feed(Input::Event(EventNews { event, rank, thread, time_s, values }));
    }

    fn time_s(&self, key: &Key, ticks: u64) -> f64 {
        let ns = self.directory.ns_at(key, Ticks(ticks));
        ns.map_or_else(|| self.now_s(), |ns| self.seconds(ns))
    }

    fn pass_time(&mut self, now: Instant) {
        let messages = self.aggregator.take_ripe(now);
        self.warn_of_sites(messages);
        self.open();
        for (rank, order) in self.value_reader.questions(now, &self.plan) {
            if self.present.contains(&rank) {
                self.order(&[rank], &order);
            }
        }
        for rank in self.directory.gone(now) {
            self.present.remove(&rank);
            self.efficiency_sampler.forget(rank);
            if let Some(key) = self.directory.process(rank) {
                self.order_queue.forget(key);
            }
            self.feed(Input::RankGone { rank });
        }
        if self.next_performance <= now {
            self.next_performance = now + PERFORMANCE_EVERY;
            if let Some(numbers) = self.efficiency_sampler.take(self.present.len()) {
                self.feed(Input::Performance(numbers));
            }
        }
        for (node, batch) in self.sums.flush(now) {
            self.hear_sums(&node, &batch);
        }
        self.feed(Input::Tick);
    }

    /// Tells the collector which events of a rank to sum, and sums here those that arrive individually but
    /// are also wanted as sums.
    fn ask_for_sums(&mut self, rank: Rank, key: &Key) {
        let (mut there, mut here) = (Vec::new(), Vec::new());
        for (event, number) in (0..self.n_described).zip(0..) {
            match self.conductor.wants(event, rank) {
                Detail::Summary => there.push(number),
                Detail::Every if self.conductor.wants_sums(event) => here.push(number),
                Detail::Every | Detail::None => {}
            }
        }
        if !self.every_passage {
            there.extend(self.plan.probed.iter().flat_map(ProbedFunction::events));
        }
        self.sums.ask(key, &here);
        let message = ToCollector::Summarize { process: Some(key.1), events: there };
        // For a collector that is away, the server keeps the message.
        self.collectors.say(&key.0, &message);
    }

    fn hear_sums(&mut self, node: &str, batch: &SummaryBatch) {
        for sum in &batch.events {
            let event = sum.event as usize;
            for process in &sum.processes {
                self.overload.pass(&(node.to_owned(), process.process), event, process.n);
            }
            if self.n_described <= event || sum.n == 0 {
                continue;
            }
            let seconds = |ticks: u64| {
                let ns = self.directory.ns_on(node, Ticks(ticks));
                ns.map_or_else(|| self.now_s(), |ns| self.seconds(ns))
            };
            let span_s = (seconds(sum.first_ticks), seconds(sum.last_ticks));
            let second = self.directory.seconds_per_tick(node);
            let (attributes, n_ranks) = (sum.attributes.clone(), sum.n_ranks);
            let duration_s = sum.duration_ticks.scaled(second);
            let news = SummaryNews { event, span_s, n_ranks, attributes, duration_s };
            self.feed(Input::Summary(news));
        }
    }

    /// Feeds an input to the conductor and carries out its outputs.
    fn feed(&mut self, input: Input) {
        let mut inputs = VecDeque::from([input]);
        while let Some(input) = inputs.pop_front() {
            let now_s = self.now_s();
            for output in self.conductor.hear(now_s, input) {
                self.carry(output, &mut inputs);
            }
        }
    }

    fn carry(&mut self, output: Output, inputs: &mut VecDeque<Input>) {
        match output {
            Output::Begun => {}
            Output::Record(line) => self.lines.append(line),
            Output::Prepare { action, point, values, repeats } => {
                self.prepare((action, point, repeats), &values, inputs);
            }
            Output::Commit { action, ranks, at_hit } => {
                self.take_turns(action, &ranks);
                self.order(&ranks, &Order::Commit { action, at_hit });
            }
            Output::Withdraw { action, ranks } => self.order(&ranks, &Order::Withdraw { action }),
        }
    }

    fn order(&mut self, ranks: &[Rank], order: &Order) {
        for rank in ranks {
            if let Some(key) = self.directory.process(*rank) {
                self.order_queue.send(&self.collectors, key, order.clone());
            }
        }
    }
}
