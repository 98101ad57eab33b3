//! A library comes into running ranks, and its function takes the place of one of theirs.

use super::ranks::Ranks;
use super::{EXIT, N_RANKS, STEP, Tuned, check_installed, check_ready, prepare, values};
use suite::library::Library;
use suite::tool::Scene;
use suite::{Job, Program};
use wire::Order;
use wire::control::{Change, Replacement};

/// Prepares a change, and waits until all ranks have carried it out: their `n_actions`th.
#[track_caller]
fn carry_out(ranks: &Ranks, n_actions: usize, change: Change) {
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
        let loaded = Program::c("better_step").flags(&flags).built(library);
        let tuned = Tuned::new(library);
        let scene = Scene::new();
        let file = scene.folder().join("end");
        let job: Job = tuned.job(&["until"]).arg(&file);
        let mut ranks = Ranks::start(&job, N_RANKS);
        check_installed(&ranks.ask(&tuned.install()));
        ranks.tell(&Order::Go);
        ranks.running().wait_for_line("ready");
        carry_out(&ranks, 1, Change::Load { path: loaded.display().to_string() });
        let by = Replacement::Exported("better_step".to_owned());
        carry_out(&ranks, 2, Change::Replace { site: STEP, by });
        let is_better =
            |values: &[u64; 5]| (f64::from_bits(values[0]) % 1000.0).to_bits() == 0.5_f64.to_bits();
        ranks.wait_until("the other function runs", |ranks| {
            (0..N_RANKS).all(|rank| values(&ranks.recorded(rank), EXIT).iter().any(is_better))
        });
        carry_out(&ranks, 3, Change::Replace { site: STEP, by: Replacement::Original });
        std::fs::write(&file, "").expect("the folder is ours");
        let (ended, _) = ranks.finish();
        assert_eq!(ended.code, 0, "{}", ended.stderr);
    }
}
