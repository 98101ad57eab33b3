//! The tuner: feeds news to the conductor, and carries out its orders and lines.

mod answers;

use crate::actions::Actions;
use crate::directory::{Directory, Key, SeenReport};
use crate::iteration_finder::{IterationFinder, Step};
use crate::order_queue::OrderQueue;
use crate::overload::OverloadDetector;
use crate::performance::EfficiencySampler;
use crate::plan::TuningPlan;
use crate::sums::LocalSums;
use crate::value_reader::ValueReader;
use crate::warnings::Warnings;
use crate::{NodeInput, Outlet, TuningOptions};
use events::decoding::{DecodedRecord, Decoder, Passage};
use events::tuning::{TuningEvent, TuningLine, TuningMode};
use events::{CodeAddress, Rank, Ticks};
use std::collections::VecDeque;
use tunlets::conductor::{ActionReport, Conductor, Input, IterationSource, Output};
use tunlets::{Detail, EventNews, SummaryNews};
use wire::{EventFacts, Order, ProbedFunction, ProcessReport, Records, SummaryBatch, ToCollector};

/// Tuner of a run; see the crate's documentation.
pub struct Tuner<O> {
    outlet: O,
    plan: TuningPlan,
    /// Number of events that the description names, the first ones of the plan.
    n_described: usize,
    /// True if passages of functions chosen with `--probe` arrive individually.
    every_passage: bool,
    conductor: Conductor,
    directory: Directory,
    sums: LocalSums,
    decoder: Decoder<(Key, u32)>,
    value_reader: ValueReader,
    overload: OverloadDetector,
    order_queue: OrderQueue,
    warnings: Warnings,
    efficiencies: EfficiencySampler,
    iteration_finder: IterationFinder,
    actions: Actions,
    /// Time of the current input, in s since the start of the run.
    now_s: f64,
}

impl<O: Outlet> Tuner<O> {
    /// Creates the tuner of a run that started at `started_s`, in s since 1970; it begins at `now_s` of the run.
    pub fn new(options: TuningOptions, outlet: O, started_s: f64, now_s: f64) -> Self {
        let TuningOptions {
            application,
            mut plan,
            tunlets,
            mode,
            options,
            seeks_iterations,
            every_passage,
        } = options;
        #[expect(clippy::cast_possible_truncation, reason = "a time since 1970 fits")]
        let started_ns = (started_s * 1e9) as i64;
        let texts = std::mem::take(&mut plan.warnings);
        let described = application.iteration_call.clone();
        let has_call = described.is_some();
        let is_sought = has_call || seeks_iterations && application.iteration.is_none();
        let has_levers =
            application.tuning_points.iter().any(|point| point.change.lever().is_some());
        let mut tuner = Self {
            outlet,
            n_described: application.events.len(),
            every_passage,
            directory: Directory::new(&application.program, started_ns),
            sums: LocalSums::new(&plan),
            conductor: Conductor::new(application, tunlets, mode, options),
            decoder: Decoder::new(plan.events.iter().map(EventFacts::kinds).collect()),
            value_reader: ValueReader::new(&plan),
            overload: OverloadDetector::default(),
            plan,
            order_queue: OrderQueue::default(),
            warnings: Warnings::default(),
            iteration_finder: IterationFinder::new(is_sought, described),
            efficiencies: EfficiencySampler::new(has_levers),
            actions: Actions::default(),
            now_s,
        };
        texts.into_iter().for_each(|text| tuner.warn(text));
        tuner.feed(Input::Values(ValueReader::known(&tuner.plan)));
        if has_call || is_sought && has_levers {
            tuner.feed(Input::Iterations(IterationSource::Sought));
        }
        tuner
    }

    /// Processes what the collector of a node sent, at `now_s` of the run.
    pub fn hear(&mut self, now_s: f64, node: String, input: NodeInput) {
        self.now_s = now_s;
        match input {
            NodeInput::Collector => {
                let (mode, has_tunlets) =
                    (self.conductor.mode(), self.conductor.tunlets().n_tunlets() != 0);
                self.outlet.say(&node, &self.sums.shapes(mode, has_tunlets));
                self.order_queue.come_back(&self.outlet, &node);
            }
            NodeInput::Sums(batch) => self.hear_sums(&node, &batch),
            NodeInput::Report(report, offset_ns) => self.see(&report, offset_ns),
            NodeInput::Answer(process, answer) => self.take_answer(&(node, process), answer),
            NodeInput::Records(records) => self.read(node, &records),
            NodeInput::Switch { is_on } => self.feed(Input::Switch { is_on }),
        }
    }

    /// Does what is due at `now_s` of the run.
    pub fn pass_time(&mut self, now_s: f64) {
        self.now_s = now_s;
        let messages = self.warnings.take_ripe(now_s);
        self.warn_of_sites(messages);
        self.open();
        for (rank, order) in self.value_reader.questions(now_s, &self.plan) {
            if self.directory.present().contains(&rank) {
                self.order(&[rank], &order);
            }
        }
        let name = |address: &CodeAddress<'_>| self.outlet.name(address);
        let steps = self.iteration_finder.pass_time(now_s, name);
        self.take(steps);
        for rank in self.directory.gone(now_s) {
            self.efficiencies.forget(rank);
            self.iteration_finder.forget(rank, now_s);
            if let Some(key) = self.directory.process(rank) {
                self.order_queue.forget(key);
            }
            self.feed(Input::RankGone(rank));
        }
        let name = |address: &CodeAddress<'_>| self.outlet.name(address);
        if let Some(numbers) = self.efficiencies.take(now_s, self.directory.present().len(), name) {
            self.feed(Input::Performance(numbers));
        }
        for (node, batch) in self.sums.flush(now_s) {
            self.hear_sums(&node, &batch);
        }
        self.feed(Input::Tick);
    }

    /// Ends all decisions at the end of the run, after which `n_unheard` events were never heard; returns the outlet.
    pub fn finish(mut self, now_s: f64, n_unheard: u64) -> O {
        self.now_s = now_s;
        let messages = self.warnings.take_all();
        self.warn_of_sites(messages);
        for output in self.conductor.finish(now_s) {
            if let Output::Record(line) = output {
                self.outlet.record(line);
            }
        }
        if self.directory.is_empty() {
            let text = "no rank ran the described or probed program: nothing was measured";
            self.warn(text.to_owned());
        }
        for (n_times, what) in [
            (self.decoder.n_unknown, "records belong to no event that was asked for"),
            (self.order_queue.n_lost(), "orders found no room while a collector was away"),
        ] {
            if n_times != 0 {
                self.warn(format!("{n_times} {what}"));
            }
        }
        self.record(TuningEvent::End { n_events_unheard: n_unheard });
        self.outlet
    }

    fn record(&mut self, what: TuningEvent) {
        self.outlet.record(TuningLine { t_s: self.now_s, what });
    }

    fn warn(&mut self, text: String) {
        if self.warnings.is_new(&text) {
            self.record(TuningEvent::Warning { text });
        }
    }

    fn warn_of_sites(&mut self, messages: Vec<(u32, String)>) {
        for (site, reason) in messages {
            self.warn(format!("`{}`: {reason}", self.plan.function_of(site)));
        }
    }

    fn hear_of_site(&mut self, key: &Key, site: u32, reason: &str) {
        self.warnings.add(site, reason, self.directory.rank(key), self.now_s);
    }

    fn see(&mut self, report: &ProcessReport, offset_ns: i64) {
        let key = (report.node.clone(), report.key);
        let seen = self.directory.see(report, offset_ns, self.now_s);
        let rank = self.directory.rank(&key).filter(|rank| self.directory.present().contains(rank));
        if let Some(rank) = rank {
            // Before the rank goes on, so that its first calls are heard.
            let name = |address: &CodeAddress<'_>| self.outlet.name(address);
            let mut steps = self.iteration_finder.see(rank, report, self.now_s, name);
            let at_s = self.time_s(&key, report.now.0);
            steps.extend(self.iteration_finder.count(rank, report, at_s));
            self.take(steps);
        }
        match seen {
            SeenReport::Rank(rank, n_ranks) => {
                let arrived = (rank, n_ranks, key.clone());
                if let Some(order) = self.value_reader.appear(arrived, &self.plan, self.now_s) {
                    self.order_queue.send(&self.outlet, &key, order);
                }
                self.open();
            }
            SeenReport::Untuned => self.order_queue.start(&self.outlet, &key, vec![Order::Go]),
            SeenReport::Known => {}
        }
        if let Some(rank) = rank.filter(|_| self.conductor.tunlets().wants_performance()) {
            self.efficiencies.see(rank, report, self.time_s(&key, report.now.0));
        }
        self.switch_off_overloaded(&key, report);
    }

    /// Carries out what the finder of iterations wants.
    fn take(&mut self, steps: impl IntoIterator<Item = Step>) {
        for step in steps {
            match step {
                Step::Order(rank, order) => self.order(&[rank], &order),
                Step::Tell(input) => self.feed(input),
            }
        }
    }

    /// Switches off functions that flood the rings of a process.
    fn switch_off_overloaded(&mut self, key: &Key, report: &ProcessReport) {
        for (site, points) in self.overload.see(key, report, &self.plan) {
            let reason = "it is called too often to be recorded, and is no longer measured; probe its \
                          callers instead";
            self.hear_of_site(key, site, reason);
            self.order_queue.send(&self.outlet, key, Order::Switch { points, on: false });
        }
    }

    /// Starts the ranks that no longer need to wait.
    fn open(&mut self) {
        for (rank, n_ranks, key) in self.value_reader.take_ready(self.now_s) {
            self.feed(Input::RankAppeared { rank, n_ranks });
            self.start(rank, &key);
        }
    }

    /// Installs in a process what its rank needs, and lets it go on.
    fn start(&mut self, rank: Rank, key: &Key) {
        let points = self.conductor.tunlets().points();
        let wants = |event: u32| {
            let event = event as usize;
            // Events of `--probe` are wanted from all ranks.
            self.n_described <= event
                || self.conductor.tunlets().n_tunlets() == 0
                || self.conductor.wants(event, rank) != Detail::None
        };
        let is_tuned = self.conductor.mode() == TuningMode::Tune;
        let changes = |point: usize| is_tuned && points.contains(&point);
        let mut orders = self.plan.install(rank.0, wants, changes);
        orders.push(Order::Go);
        self.ask_for_sums(rank, key);
        self.order_queue.start(&self.outlet, key, orders);
    }

    /// Tells the collector which events of a rank to sum, and sums here those that are also wanted individually.
    fn ask_for_sums(&mut self, rank: Rank, key: &Key) {
        let (mut there, mut here) = (Vec::new(), Vec::new());
        for (event, number) in (0..self.n_described).zip(0..) {
            match self.conductor.wants(event, rank) {
                Detail::Summary => there.push(number),
                Detail::Every if self.conductor.tunlets().wants_sums(event) => here.push(number),
                Detail::Every | Detail::None => {}
            }
        }
        if !self.every_passage {
            there.extend(self.plan.probed.iter().flat_map(ProbedFunction::events));
        }
        self.sums.ask(key, &here);
        let message = ToCollector::Summarize { process: Some(key.1), events: there };
        // For a collector that is away, the server keeps the message.
        self.outlet.say(&key.0, &message);
    }

    fn read(&mut self, node: String, records: &Records) {
        let key = (node, records.process);
        let Some(rank) = self.directory.rank(&key) else { return };
        self.sums.read(&key, records);
        let thread = (key, records.thread);
        for record in &records.records {
            let (now_s, directory) = (self.now_s, &self.directory);
            let time_s = |ticks| directory.seconds_at(&thread.0, Ticks(ticks)).unwrap_or(now_s);
            let from = (rank, thread.1);
            let step = self.iteration_finder.hear(from, record, now_s, time_s);
            self.take(step);
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
        self.value_reader.start_reading(self.now_s);
        let time_s = self.time_s(key, ticks);
        let thread = self.directory.thread_number(key, *thread);
        self.feed(Input::Event(EventNews { event, rank, thread, time_s, values }));
    }

    fn time_s(&self, key: &Key, ticks: u64) -> f64 {
        self.directory.seconds_at(key, Ticks(ticks)).unwrap_or(self.now_s)
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
            let time_s =
                |ticks| self.directory.seconds_on(node, Ticks(ticks)).unwrap_or(self.now_s);
            let span_s = (time_s(sum.first_ticks), time_s(sum.last_ticks));
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
            for output in self.conductor.hear(self.now_s, input) {
                self.carry(output, &mut inputs);
            }
        }
    }

    fn carry(&mut self, output: Output, inputs: &mut VecDeque<Input>) {
        match output {
            Output::Record(line) => self.outlet.record(line),
            Output::Prepare { action, point, values, repeats } => {
                self.actions.prepare((action, point, repeats), &values);
                for (rank, value) in values {
                    match self.actions.change(&self.plan, point, rank, value) {
                        Ok((sync, change)) => {
                            let modules = self.plan.modules.clone();
                            let order = Order::Prepare { action, modules, sync, change, repeats };
                            self.order(&[rank], &order);
                        }
                        Err(reason) => {
                            let report = ActionReport::Failed(reason);
                            inputs.push_back(Input::Report { action, rank, report });
                        }
                    }
                }
            }
            Output::Commit { action, ranks, at_hit } => {
                for (rank, ended) in self.actions.end_repeated(action, &ranks) {
                    self.order(&[rank], &Order::Withdraw { action: ended });
                }
                self.order(&ranks, &Order::Commit { action, at_hit });
            }
            Output::Withdraw { action, ranks } => self.order(&ranks, &Order::Withdraw { action }),
        }
    }

    fn order(&mut self, ranks: &[Rank], order: &Order) {
        for rank in ranks {
            if let Some(key) = self.directory.process(*rank) {
                self.order_queue.send(&self.outlet, key, order.clone());
            }
        }
    }
}
