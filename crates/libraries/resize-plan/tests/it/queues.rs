//! Laws that hold for all queues.

use proptest::prelude::*;
use resize_plan::payoff::Estimate;
use resize_plan::queue::{
    JobResize, NodeRange, Outlook, QueueRules, ResizeReason, RunningJob, WaitingJob, rearrange,
};

#[derive(Clone, Debug)]
struct Scene {
    running: Vec<RunningJob>,
    waiting: Vec<WaitingJob>,
    n_idle: u32,
}

/// Outlook of a job that has so many tenths of its work in a part that further nodes do not shorten.
fn amdahl(tenths: u32, work: u32) -> Outlook {
    let serial = f64::from(tenths) / 10.0;
    let left_s = |n: u32| 100.0 + f64::from(work) * (serial + (1.0 - serial) / f64::from(n));
    Outlook::new((1..=12).map(|n| (n, Estimate::around(left_s(n), 0.0))))
}

fn running(job: u64) -> impl Strategy<Value = RunningJob> {
    let times = (0..5_u32, 0..100_u32);
    let range = prop::option::weighted(0.8, (0..4_u32, 0..4_u32));
    let soon = prop::option::weighted(0.2, 1..8_u32);
    let outlook =
        prop::option::of((0..=10_u32, 1..1000_u32).prop_map(|(tenths, work)| amdahl(tenths, work)));
    (1..5_u32, range, (0..4_u32), soon, times, outlook).prop_map(
        move |(min, range, above, soon, (resize_s, calm_s), outlook)| {
            let range = range.map(|(to_preferred, to_max)| {
                let preferred = min + to_preferred;
                NodeRange { min, preferred, max: preferred + to_max }
            });
            let n_nodes = range.map_or(min, |range| (min + above).min(range.max));
            let n_nodes_soon = range.and(soon);
            let (resize_s, calm_s) = (f64::from(resize_s), f64::from(calm_s));
            let outlook = range.and(outlook);
            RunningJob { job, n_nodes, n_nodes_soon, range, resize_s, calm_s, outlook }
        },
    )
}

fn scene() -> impl Strategy<Value = Scene> {
    let jobs = (0..6_u64).prop_flat_map(|n| (0..n).map(running).collect::<Vec<_>>());
    (jobs, prop::collection::vec(1..8_u32, 0..4), 0..6_u32).prop_map(
        |(running, waiting, n_idle)| {
            let waiting = waiting.into_iter().zip(100..);
            let waiting = waiting.map(|(n_nodes, job)| WaitingJob { job, n_nodes }).collect();
            Scene { running, waiting, n_idle }
        },
    )
}

fn decide(scene: &Scene) -> Vec<JobResize> {
    let idle_s = vec![1e6; usize::try_from(scene.n_idle).unwrap()];
    rearrange(&scene.running, &scene.waiting, &idle_s, &QueueRules::default())
}

/// Numbers of nodes that jobs give away, and that they take.
fn given_and_taken(changes: &[JobResize]) -> (u32, u32) {
    let given = changes.iter().map(|change| change.from.saturating_sub(change.to)).sum();
    (given, changes.iter().map(|change| change.to.saturating_sub(change.from)).sum())
}

/// Number of nodes that are idle once the changes under way are over.
fn n_free(scene: &Scene) -> i64 {
    let coming = scene
        .running
        .iter()
        .map(|job| i64::from(job.n_nodes) - i64::from(job.n_nodes_soon.unwrap_or(job.n_nodes)));
    i64::from(scene.n_idle) + coming.sum::<i64>()
}

/// Number of nodes that jobs could give away.
fn n_to_spare(scene: &Scene) -> i64 {
    let settled = scene.running.iter().filter(|job| job.n_nodes_soon.is_none());
    let spare = settled.filter_map(|job| Some(job.n_nodes.saturating_sub(job.range?.min)));
    spare.map(i64::from).sum()
}

proptest! {
    #[test]
    fn sizes_stay_in_their_ranges(scene in scene()) {
        for change in decide(&scene) {
            let job = scene.running.iter().find(|job| job.job == change.job).unwrap();
            let range = job.range.unwrap();
            prop_assert!((range.min..=range.max).contains(&change.to), "{change:?}");
            prop_assert_eq!(change.from, job.n_nodes);
            prop_assert!(job.n_nodes_soon.is_none());
        }
    }

    #[test]
    fn no_more_nodes_are_dealt_than_there_are(scene in scene()) {
        let (given, taken) = given_and_taken(&decide(&scene));
        prop_assert!(i64::from(taken) <= (n_free(&scene) + i64::from(given)).max(0));
    }

    #[test]
    fn the_first_that_waits_starts_if_it_can(scene in scene()) {
        let Some(first) = scene.waiting.first() else { return Ok(()) };
        let wanted = i64::from(first.n_nodes);
        if wanted <= n_free(&scene) + n_to_spare(&scene) {
            let (given, taken) = given_and_taken(&decide(&scene));
            prop_assert!(wanted <= n_free(&scene) + i64::from(given) - i64::from(taken));
        } else {
            let changes = decide(&scene);
            let is_for_others = |change: &JobResize| change.reason != ResizeReason::IsAsFast;
            prop_assert!(!changes.iter().any(is_for_others), "{changes:?}");
        }
    }

    #[test]
    fn growth_blocks_nobody(scene in scene()) {
        let changes = decide(&scene);
        let (given, taken) = given_and_taken(&changes);
        if 0 < taken {
            let wanted = scene.waiting.iter().map(|job| i64::from(job.n_nodes)).sum::<i64>();
            prop_assert!(wanted <= n_free(&scene) + i64::from(given) - i64::from(taken));
        }
    }

    #[test]
    fn shrinking_is_never_in_vain(scene in scene()) {
        let changes = decide(&scene);
        let (given, _) = given_and_taken(&changes);
        let mut n_free = n_free(&scene) + i64::from(given);
        for change in changes.iter().filter(|change| change.to < change.from) {
            match change.reason {
                ResizeReason::MakesRoom { job } => {
                    prop_assert!(scene.waiting.iter().any(|waiting| waiting.job == job));
                }
                ResizeReason::UsesIdle => {
                    return Err(TestCaseError::fail("nodes are given away for nobody"));
                }
                ResizeReason::IsAsFast => {}
            }
        }
        let is_room = |change: &JobResize| matches!(change.reason, ResizeReason::MakesRoom { .. });
        // All jobs up to the last one that nodes were given for start, and no more nodes were given than they need.
        let n_started = scene.waiting.iter().take_while(|job| {
            n_free -= i64::from(job.n_nodes);
            0 <= n_free
        });
        prop_assert!(!changes.iter().any(is_room) || 0 < n_started.count());
    }

    #[test]
    fn nothing_changes_without_news(mut scene in scene()) {
        scene.running.iter_mut().for_each(|job| job.n_nodes_soon = None);
        let changes = decide(&scene);
        // While the change is under way.
        for job in &mut scene.running {
            let change = changes.iter().find(|change| change.job == job.job);
            job.n_nodes_soon = job.n_nodes_soon.or(change.map(|change| change.to));
        }
        prop_assert_eq!(decide(&scene), vec![]);
        // Nodes that were given back are news once they have been idle for long.
        if changes.iter().any(|change| change.reason == ResizeReason::IsAsFast) {
            return Ok(());
        }
        // After the change, before the waiting jobs have started.
        scene.n_idle = u32::try_from(n_free(&scene)).unwrap();
        for job in &mut scene.running {
            if let Some(soon) = job.n_nodes_soon.take() {
                (job.n_nodes, job.calm_s) = (soon, 0.0);
            }
        }
        prop_assert_eq!(decide(&scene), vec![]);
    }
}
