//! Tests of loading a library into running ranks, where its function replaces one of theirs.

use super::ranks::Ranks;
use super::{
    EXIT, N_RANKS, STEP, Tuned, check_installed, check_ready, check_refused, check_withdrawn,
    prepare, values,
};
use std::path::Path;
use suite::library::Library;
use suite::tool::WatchFolders;
use suite::{Job, TestProgram};
use wire::Order;
use wire::control::{ActionEffect, Replacement};

/// Prepares and commits a change, and waits until all ranks have carried it out as their `n_actions`th.
#[track_caller]
fn carry_out(ranks: &Ranks, n_actions: usize, change: ActionEffect) {
    let action = n_actions as u64;
    check_ready(&ranks.ask(&prepare(action, change)), 0);
    ranks.tell(&Order::Commit { action, at_hit: 0 });
    ranks.wait_until("the change is made", |ranks| {
        (0..N_RANKS).all(|rank| ranks.recorded(rank).actions.len() == n_actions)
    });
    for rank in 0..N_RANKS {
        assert_eq!(ranks.recorded(rank).actions[n_actions - 1].failure, 0);
    }
}

#[test]
fn a_function_of_a_loaded_library_takes_the_place_of_another() {
    for library in Library::SYSTEM {
        let flags = ["-shared", "-fPIC"];
        let loaded = TestProgram::c("better_step").flags(&flags).built(library);
        let tuned = Tuned::new(library);
        let folders = WatchFolders::new();
        let file = folders.folder().join("end");
        let job: Job = tuned.job(&["until"]).arg(&file);
        let mut ranks = Ranks::start(&job, N_RANKS);
        check_installed(&ranks.ask(&tuned.install()));
        ranks.tell(&Order::Go);
        ranks.running().wait_for_line("ready");
        carry_out(&ranks, 1, ActionEffect::Load { path: loaded.display().to_string() });
        let by = Replacement::Exported("better_step".to_owned());
        carry_out(&ranks, 2, ActionEffect::Replace { site: STEP, by });
        let is_better =
            |values: &[u64; 5]| (f64::from_bits(values[0]) % 1000.0).to_bits() == 0.5_f64.to_bits();
        ranks.wait_until("the other function runs", |ranks| {
            (0..N_RANKS).all(|rank| values(&ranks.recorded(rank), EXIT).iter().any(is_better))
        });
        carry_out(&ranks, 3, ActionEffect::Replace { site: STEP, by: Replacement::Original });
        std::fs::write(&file, "").expect("the folder is ours");
        ranks.finish();
    }
}

/// Returns whether a rank has mapped a file.
#[track_caller]
fn has_loaded(ranks: &Ranks, rank: usize, library: &Path) -> bool {
    let maps = format!("/proc/{}/maps", ranks.pid(rank));
    let maps = std::fs::read_to_string(maps).expect("the rank lives");
    maps.contains(&*library.to_string_lossy())
}

/// Loading runs code of the library, and another rank may refuse: until all ranks can load it, it is only read as a file.
#[test]
fn a_library_is_loaded_only_when_all_ranks_can() {
    let library = Library::Mpich4;
    let replacement = TestProgram::c("better_step").flags(&["-shared", "-fPIC"]).built(library);
    let tuned = Tuned::new(library);
    let folders = WatchFolders::new();
    let (file, text) = (folders.folder().join("end"), folders.folder().join("text.so"));
    std::fs::write(&text, "no library").expect("the folder is ours");
    let ranks = Ranks::start(&tuned.job(&["until"]).arg(&file), N_RANKS);
    check_installed(&ranks.ask(&tuned.install()));
    ranks.tell(&Order::Go);
    let by = |path: &Path, name: &str| {
        let by = Replacement::Exported(format!("{}:{name}", path.display()));
        ActionEffect::Replace { site: STEP, by }
    };
    check_refused(&ranks.ask(&prepare(1, by(&text, "better_step"))), "cannot be loaded here");
    check_refused(&ranks.ask(&prepare(1, by(&tuned.path, "step"))), "exports no `step`");
    check_refused(&ranks.ask(&prepare(1, by(&replacement, "none"))), "exports no `none`");
    // A function that the library needs, but does not have.
    check_refused(&ranks.ask(&prepare(1, by(&replacement, "MPI_Barrier"))), "exports no");
    let load = ActionEffect::Load { path: text.display().to_string() };
    check_refused(&ranks.ask(&prepare(1, load)), "cannot be loaded here");

    check_ready(&ranks.ask(&prepare(1, by(&replacement, "better_step"))), 0);
    check_withdrawn(&ranks.ask(&Order::Withdraw { action: 1 }), 0);
    assert!(!(0..N_RANKS).any(|rank| has_loaded(&ranks, rank, &replacement)));
    check_ready(&ranks.ask(&prepare(2, by(&replacement, "better_step"))), 0);
    ranks.tell(&Order::Commit { action: 2, at_hit: 0 });
    ranks.wait_until("the change is made", |ranks| {
        (0..N_RANKS).all(|rank| ranks.recorded(rank).actions.len() == 1)
    });
    assert!((0..N_RANKS).all(|rank| has_loaded(&ranks, rank, &replacement)));
    std::fs::write(&file, "").expect("the folder is ours");
    let (_, recorded) = ranks.finish();
    assert!(recorded.iter().all(|rank| rank.actions[0].failure == 0));
}
