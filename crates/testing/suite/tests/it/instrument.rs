//! Tests of probes in functions of real ranks, and of changes made at them, without launcher and analyzer.

mod collectors;
mod loading;
mod ranks;

use events::{ProbePoint, Value, ValueType};
use ranks::{Ranks, Recorded, Symbols, fixed_memory, memory, program};
use std::path::PathBuf;
use suite::library::Library;
use suite::tool::WatchFolders;
use suite::{EndedJob, Job, TestProgram};
use wire::control::{
    ActionEffect, Attribute, Location, Module, Replacement, Site, SitePoint, ValueOrigin,
};
use wire::{Order, OrderAnswer};

const STEP: u32 = 1;
const ENTRY: u32 = 10;
const EXIT: u32 = 11;
const N_RANKS: usize = 2;

/// Program `tuned`, built for one library.
struct Tuned {
    path: PathBuf,
    library: Library,
    symbols: Symbols,
}

impl Tuned {
    fn new(library: Library) -> Self {
        let path = TestProgram::c("tuned").flags(&["-Wl,-z,now", "-pthread"]).built(library);
        let symbols = Symbols::of(&path);
        Self { path, library, symbols }
    }

    fn job(&self, arguments: &[&str]) -> Job {
        self.library.launch(N_RANKS, &self.path).args(arguments)
    }

    /// Site of `step` with events at both ends: its first argument and `factor`, and its return value.
    fn site(&self, is_on: bool) -> Site {
        let attribute = |source, kind| Attribute { source, kind };
        Site {
            id: STEP,
            function: self.symbols.at("step"),
            n_bytes: self.symbols.n_bytes("step"),
            n_bytes_to_next: self.symbols.n_bytes("step"),
            entry: Some(SitePoint {
                event: ENTRY,
                attributes: vec![
                    attribute(ValueOrigin::Integer(0), ValueType::I32),
                    attribute(ValueOrigin::Float(0), ValueType::F64),
                    attribute(ValueOrigin::Global(self.symbols.at("factor")), ValueType::F64),
                ],
                is_on,
            }),
            exit: Some(SitePoint {
                event: EXIT,
                attributes: vec![attribute(ValueOrigin::Returned, ValueType::F64)],
                is_on,
            }),
            is_sync: true,
        }
    }

    fn install(&self) -> Order {
        Order::Install { modules: program(), sites: vec![self.site(true)] }
    }

    /// Machine code of `step` in rank 0.
    fn code(&self, ranks: &Ranks) -> Vec<u8> {
        let n_bytes = self.symbols.n_bytes("step") as usize;
        memory(ranks.pid(0), self.symbols.at("step").address, n_bytes)
    }

    fn set_factor(&self, value: Value) -> ActionEffect {
        ActionEffect::Set { at: self.symbols.at("factor"), kind: ValueType::F64, value }
    }
}

fn prepare(action: u64, change: ActionEffect) -> Order {
    prepare_at(STEP, action, change)
}

fn prepare_at(site: u32, action: u64, change: ActionEffect) -> Order {
    let (modules, sync) = (program(), (site, ProbePoint::Entry));
    Order::Prepare { action, modules, sync, change, repeats: false }
}

#[track_caller]
fn check_installed(answers: &[OrderAnswer]) {
    assert_eq!(answers.len(), N_RANKS);
    for answer in answers {
        let is_so = matches!(answer, OrderAnswer::Installed { refused, .. } if refused.is_empty());
        assert!(is_so, "{answer:?}");
    }
}

#[track_caller]
fn check_ready(answers: &[OrderAnswer], expected: u64) {
    for answer in answers {
        let is_ready = matches!(answer, OrderAnswer::Ready { old, .. } if *old == expected);
        assert!(is_ready, "{answer:?}, not {expected}");
    }
}

#[track_caller]
fn check_refused(answers: &[OrderAnswer], word: &str) {
    for answer in answers {
        let reason = match answer {
            OrderAnswer::Refused { reason, .. } => reason.clone(),
            OrderAnswer::Installed { refused, .. } => format!("{refused:?}"),
            _ => String::new(),
        };
        assert!(reason.contains(word), "{answer:?} does not say `{word}`");
    }
}

#[track_caller]
fn check_withdrawn(answers: &[OrderAnswer], expected: u32) {
    for answer in answers {
        let is_so = matches!(answer, OrderAnswer::Withdrawn { n_done, .. } if *n_done == expected);
        assert!(is_so, "{answer:?}, not {expected}");
    }
}

/// Starts `tuned count N` and gives `orders` during `MPI_Init`, after `step` got its probes.
#[track_caller]
fn run_with(
    tuned: &Tuned,
    arguments: &[&str],
    orders: impl FnOnce(&Ranks),
) -> (EndedJob, Vec<Recorded>) {
    let ranks = Ranks::start(&tuned.job(arguments), N_RANKS);
    check_installed(&ranks.ask(&tuned.install()));
    orders(&ranks);
    ranks.tell(&Order::Go);
    ranks.finish()
}

fn values(recorded: &Recorded, event: u32) -> Vec<[u64; 5]> {
    let of_event = recorded.events.iter().filter(|record| record.event == event);
    of_event.map(|record| record.values()).collect()
}

#[test]
fn a_run_with_probes_prints_what_a_run_without_prints() {
    for library in Library::SYSTEM {
        let tuned = Tuned::new(library);
        let bare = tuned.job(&["count", "30"]).run();
        let (ended, recorded) = run_with(&tuned, &["count", "30"], |_| {});
        assert_eq!(ended.stdout, bare.stdout);
        for rank in &recorded {
            let entries = values(rank, ENTRY);
            let iterations: Vec<u64> = entries.iter().map(|values| values[0]).collect();
            assert_eq!(iterations, (1..=30).collect::<Vec<u64>>());
            assert!(entries.iter().all(|values| values[1] == 0.5_f64.to_bits()));
            assert!(entries.iter().all(|values| values[2] == 1.0_f64.to_bits()));
            let returned: Vec<f64> =
                values(rank, EXIT).iter().map(|values| f64::from_bits(values[0])).collect();
            let expected: Vec<f64> = (1..=30).map(|iteration| f64::from(iteration) + 4.0).collect();
            assert_eq!(returned, expected);
        }
    }
}

#[test]
fn a_variable_changes_before_the_call_that_is_asked_for() {
    for library in Library::SYSTEM {
        let tuned = Tuned::new(library);
        let (ended, recorded) = run_with(&tuned, &["count", "8"], |ranks| {
            let change = tuned.set_factor(Value::Float(2.5));
            check_ready(&ranks.ask(&prepare(77, change)), 1.0_f64.to_bits());
            ranks.tell(&Order::Commit { action: 77, at_hit: 5 });
        });
        let expected: String = (1..=8)
            .map(|iteration| {
                let result = if iteration < 5 { 1.0 } else { 2.5 } * f64::from(iteration) + 4.0;
                format!("{iteration} {result} {}\n", 2.0 * result)
            })
            .collect();
        assert_eq!(ended.stdout, expected);
        for rank in &recorded {
            let [action] = rank.actions[..] else { panic!("{:?}", rank.actions) };
            assert_eq!((action.action, action.hit, action.failure), (77, 5, 0));
            assert_eq!((action.old, action.new), (1.0_f64.to_bits(), 2.5_f64.to_bits()));
        }
    }
}

#[test]
fn what_repeats_is_carried_out_until_it_is_withdrawn() {
    let tuned = Tuned::new(Library::Mpich4);
    let folders = WatchFolders::new();
    let file = folders.folder().join("end");
    let ranks = Ranks::start(&tuned.job(&["until"]).arg(&file), N_RANKS);
    check_installed(&ranks.ask(&tuned.install()));
    let (at, kind) = (tuned.symbols.at("chunk"), ValueType::I32);
    let change = ActionEffect::Set { at, kind, value: Value::Int(3) };
    let sync = (STEP, ProbePoint::Exit);
    let order = Order::Prepare { action: 5, modules: program(), sync, change, repeats: true };
    check_ready(&ranks.ask(&order), 8);
    ranks.tell(&Order::Commit { action: 5, at_hit: 0 });
    ranks.tell(&Order::Go);
    ranks.wait_until("some are carried out", |ranks| {
        (0..N_RANKS).all(|rank| 3 < ranks.recorded(rank).actions.len())
    });
    let answers = ranks.ask(&Order::Withdraw { action: 5 });
    std::fs::write(&file, "").expect("the folder is ours");
    let (_, recorded) = ranks.finish();
    for (answer, rank) in answers.iter().zip(&recorded) {
        let OrderAnswer::Withdrawn { action: 5, n_done } = answer else { panic!("{answer:?}") };
        assert_eq!(rank.actions.len(), *n_done as usize);
        assert!(rank.actions[1..].iter().all(|action| (action.old, action.new) == (3, 3)));
    }
}

#[test]
fn functions_are_called_and_replaced() {
    for library in Library::SYSTEM {
        let tuned = Tuned::new(library);
        let (ended, recorded) = run_with(&tuned, &["count", "6"], |ranks| {
            let call = ActionEffect::Call {
                function: tuned.symbols.at("retune"),
                arguments: vec![
                    (ValueType::F64, Value::Float(10.0)),
                    (ValueType::I32, Value::Int(-2)),
                ],
                returns: Some(ValueType::F64),
            };
            let by = Replacement::Function(tuned.symbols.at("other_step"));
            check_ready(&ranks.ask(&prepare(1, call)), 0);
            check_ready(&ranks.ask(&prepare(2, ActionEffect::Replace { site: STEP, by })), 0);
            ranks.tell(&Order::Commit { action: 1, at_hit: 3 });
            ranks.tell(&Order::Commit { action: 2, at_hit: 5 });
        });
        let results = [5.0, 6.0, 29.0, 39.0];
        let printed: Vec<&str> = ended.stdout.lines().collect();
        for (iteration, result) in (1..).zip(results) {
            assert_eq!(printed[iteration - 1], format!("{iteration} {result} {}", 2.0 * result));
        }
        assert_eq!(printed[5], "6 -59 -118");
        for rank in &recorded {
            let [call, replacement] = rank.actions[..] else { panic!("{:?}", rank.actions) };
            assert_eq!((call.new, call.failure), (1.0_f64.to_bits(), 0));
            assert_eq!(replacement.failure, 0);
        }
    }
}

#[test]
fn what_cannot_be_is_refused_and_the_program_goes_on() {
    let tuned = Tuned::new(Library::OpenMpi4);
    let at = |name| tuned.symbols.at(name);
    let set = |at, kind, value| ActionEffect::Set { at, kind, value };
    let (ended, recorded) = run_with(&tuned, &["count", "5"], |ranks| {
        let other = Module { name: String::new(), build_id: vec![1, 2, 3] };
        let order = Order::Install { modules: vec![other], sites: vec![tuned.site(true)] };
        check_refused(&ranks.ask(&order), "differs from the build");
        let modules = vec![Module { name: "libnone.so".to_owned(), build_id: Vec::new() }];
        let sites = vec![Site { id: 7, ..tuned.site(true) }];
        let answers = ranks.ask(&Order::Install { modules, sites });
        check_installed(&answers);
        assert!(format!("{answers:?}").contains("`libnone.so` is not loaded yet"), "{answers:?}");
        let order = prepare_at(7, 9, set(at("chunk"), ValueType::I32, Value::Int(1)));
        check_refused(&ranks.ask(&order), "`libnone.so` is not loaded yet");
        check_installed(&ranks.ask(&Order::Remove { sites: vec![7] }));
        for (change, word) in [
            (set(at("fixed"), ValueType::I32, Value::Int(1)), "read-only"),
            (set(at("chunk"), ValueType::I32, Value::Float(0.5)), "does not fit"),
            (set(Location { module: 0, address: 1 << 40 }, ValueType::I8, Value::Int(1)), "not in"),
            (set(Location { module: 3, address: 0 }, ValueType::I8, Value::Int(1)), "file 3"),
            (ActionEffect::Load { path: "/none/lib.so".to_owned() }, "no file"),
            (ActionEffect::Replace { site: 99, by: Replacement::Original }, "has no probes here"),
            (
                ActionEffect::Replace { site: STEP, by: Replacement::Exported("none".to_owned()) },
                "`none`",
            ),
        ] {
            check_refused(&ranks.ask(&prepare(9, change)), word);
        }
        check_refused(&ranks.ask(&Order::Commit { action: 9, at_hit: 0 }), "not prepared");
        ranks.tell(&Order::Go);
    });
    assert_eq!(ended.stdout, tuned.job(&["count", "5"]).run().stdout);
    assert!(recorded.iter().all(|rank| rank.actions.is_empty()));
}

#[track_caller]
fn check_live(library: Library, mode: &str) {
    let tuned = Tuned::new(library);
    let folders = WatchFolders::new();
    let file = folders.folder().join("end");
    let mut ranks = Ranks::start(&tuned.job(&[mode]).arg(&file), N_RANKS);
    ranks.tell(&Order::Go);
    ranks.running().wait_for_line("ready");
    let before = tuned.code(&ranks);
    for round in 1..=3 {
        check_installed(&ranks.ask(&tuned.install()));
        assert_ne!(tuned.code(&ranks), before);
        let n_before: Vec<usize> =
            (0..N_RANKS).map(|rank| ranks.recorded(rank).events.len()).collect();
        ranks.wait_until("events come", |ranks| {
            (0..N_RANKS).all(|rank| n_before[rank] < ranks.recorded(rank).events.len())
        });
        check_installed(&ranks.ask(&Order::Remove { sites: vec![STEP] }));
        assert_eq!(tuned.code(&ranks), before, "round {round}");
    }
    std::fs::write(&file, "").expect("the folder is ours");
    ranks.finish();
}

#[test]
fn probes_go_in_and_out_while_ranks_run() {
    for library in Library::SYSTEM {
        check_live(library, "until");
        check_live(library, "masked");
    }
}

/// The records are not read: the rings are full long before the change.
#[test]
fn a_change_is_told_though_the_ring_is_full() {
    let tuned = Tuned::new(Library::Mpich4);
    let job = tuned.job(&["count", "200"]).variable("SINTONIA_RECORDS", "64");
    let ranks = Ranks::start(&job, N_RANKS);
    check_installed(&ranks.ask(&tuned.install()));
    let change = tuned.set_factor(Value::Float(2.0));
    check_ready(&ranks.ask(&prepare(1, change)), 1.0_f64.to_bits());
    ranks.tell(&Order::Commit { action: 1, at_hit: 150 });
    ranks.tell(&Order::Go);
    let (_, recorded) = ranks.finish();
    for rank in &recorded {
        assert_eq!(rank.events.len(), 64);
        let [action] = rank.actions[..] else { panic!("{:?}", rank.actions) };
        assert_eq!((action.action, action.hit), (1, 150));
    }
}

#[test]
fn threads_that_never_call_mpi_have_events_and_children_of_a_fork_have_none() {
    let tuned = Tuned::new(Library::Mpich4);
    let (_, recorded) = run_with(&tuned, &["threads", "20"], |_| {});
    for rank in &recorded {
        assert_eq!((values(rank, ENTRY).len(), values(rank, EXIT).len()), (40, 40));
        assert_eq!(rank.n_rings, 2);
    }
    let (ended, recorded) = run_with(&tuned, &["forks", "20"], |ranks| {
        let change = tuned.set_factor(Value::Float(-4.0));
        check_ready(&ranks.ask(&prepare(1, change)), 1.0_f64.to_bits());
        // The child reaches this passage before the rank does, and would find 0.
        ranks.tell(&Order::Commit { action: 1, at_hit: 11 });
    });
    assert!(ended.stdout.contains("child 7\n"), "{}", ended.stdout);
    for rank in &recorded {
        assert_eq!((values(rank, ENTRY).len(), values(rank, EXIT).len()), (20, 20));
        assert_eq!(rank.actions.len(), 1);
    }
}

/// The program loads the library itself and calls its entrance, as an attaching tool would make it do.
#[test]
fn a_running_program_is_joined_and_left() {
    for library in Library::SYSTEM {
        let tuned = Tuned::new(library);
        let (folders, shared_memory) = (WatchFolders::new(), ranks::shared_memory());
        let (file, options) = (folders.folder().join("end"), folders.folder().join("options"));
        let job = tuned.job(&["attach"]).arg(&file).arg(ranks::library()).arg(&options);
        let mut running = job.start();
        running.wait_for_line("ready");
        let is_rank = |words: &[String]| words.first().is_some_and(|word| word.ends_with("/tuned"));
        let pids = running.processes(is_rank);
        assert_eq!(pids.len(), N_RANKS);
        let before: Vec<_> = pids.iter().map(|pid| fixed_memory(*pid)).collect();
        ranks::write_options(&options, shared_memory.path());

        let ranks = Ranks::find(shared_memory, running, N_RANKS);
        check_installed(&ranks.ask(&tuned.install()));
        ranks.wait_until("events and calls come", |ranks| {
            (0..N_RANKS).all(|rank| {
                let mut threads = ranks.segment(rank).threads();
                let has_calls = threads.any(|thread| !thread.regions().is_empty());
                has_calls && !ranks.recorded(rank).events.is_empty()
            })
        });
        let joined: Vec<_> = pids.iter().map(|pid| fixed_memory(*pid)).collect();
        assert_ne!(joined, before);
        let answers = ranks.ask(&Order::Detach);
        let is_clean = |answer: &OrderAnswer| matches!(answer, OrderAnswer::Detached { refused } if refused.is_empty());
        assert!(answers.iter().all(is_clean), "{answers:?}");
        ranks.wait_until("the watch is over", |ranks| {
            (0..N_RANKS).all(|rank| ranks.segment(rank).process().finalizing)
        });
        let left: Vec<_> = pids.iter().map(|pid| fixed_memory(*pid)).collect();
        assert!(left == before, "code and bindings are as they were");
        std::fs::write(&file, "").expect("the folder is ours");
        ranks.finish();
    }
}
