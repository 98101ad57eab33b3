//! Chunk sizes as published, or computed by hand from the publications.

use chunking::{ChunkScheduler, Completed, Settings, Spread, by_name};

/// Returns the sizes of all chunks when workers ask in turn and no chunk has come back.
fn sizes(name: &str, settings: &Settings, n_tasks: u64, n_workers: u32) -> Vec<u64> {
    let mut scheduler = ChunkScheduler::new(by_name(name).expect("a policy").policy(settings));
    scheduler.begin(n_tasks, n_workers);
    rest(&mut scheduler, n_workers)
}

fn size(scheduler: &mut ChunkScheduler, worker: u32) -> u64 {
    let tasks = scheduler.deal(worker, 0.0);
    tasks.end - tasks.start
}

fn rest(scheduler: &mut ChunkScheduler, n_workers: u32) -> Vec<u64> {
    let in_turn = (0..n_workers).cycle().map(|worker| size(scheduler, worker));
    in_turn.take_while(|n_tasks| *n_tasks != 0).collect()
}

/// Expands `[(size, count), ...]`.
fn spelled(runs: &[(u64, usize)]) -> Vec<u64> {
    runs.iter().flat_map(|&(size, n)| std::iter::repeat_n(size, n)).collect()
}

#[track_caller]
fn check(name: &str, expected: &[(u64, usize)]) {
    assert_eq!(sizes(name, &Settings::default(), 1000, 4), spelled(expected));
}

/// Tzen and Ni, "Trapezoid self-scheduling" (1993), compare these policies for 1000 tasks on 4 processors.
#[test]
fn tzen_and_ni_1993_show_a_thousand_tasks_on_four_workers() {
    check("ss", &[(1, 1000)]);
    let tail = [(79, 1), (59, 1), (45, 1), (33, 1), (25, 1), (19, 1), (14, 1), (11, 1), (8, 1)];
    let end = [(6, 1), (4, 1), (3, 2), (2, 1), (1, 4)];
    check("gss", &[&[(250, 1), (188, 1), (141, 1), (106, 1)][..], &tail, &end].concat());
    let steps: Vec<(u64, usize)> = (0..12).map(|step| (125 - 8 * step, 1)).collect();
    check("tss", &[&steps[..], &[(28, 1)]].concat());
}

/// Polychronopoulos and Kuck, "Guided self-scheduling" (1987): `ceil(R/N)` of the remaining tasks, 100 tasks
/// on 5.
#[test]
fn polychronopoulos_and_kuck_1987_take_an_equal_part_of_what_is_left() {
    let expected = [20, 16, 13, 11, 8, 7, 5, 4, 4, 3, 2, 2, 1, 1, 1, 1, 1];
    assert_eq!(sizes("gss", &Settings::default(), 100, 5), expected);
}

/// Hummel, Schonberg and Flynn, "Factoring" (1992): `ceil(M/N * (1/2)^(j+1))` in batch `j`.
#[test]
fn hummel_schonberg_and_flynn_1992_halve_from_batch_to_batch() {
    check("fac2", &[(125, 4), (63, 4), (32, 4), (16, 4), (8, 4), (4, 4), (2, 4)]);
    let fac2 = sizes("fac2", &Settings::default(), 100, 4);
    assert_eq!(fac2, spelled(&[(13, 4), (7, 4), (4, 4), (2, 2)]));
}

/// Martínez, "Sintonización dinámica de aplicaciones MPI" (2010): half of the remaining tasks, until spread is
/// known.
#[test]
fn martinez_2010_halves_what_is_left() {
    check("static", &[(250, 4)]);
    let halves = [(125, 4), (63, 2), (62, 2), (32, 1), (31, 3), (16, 2), (15, 2), (8, 3), (7, 1)];
    let end = [(4, 4), (2, 4), (1, 8)];
    check("dpf", &[&halves[..], &end].concat());
    check("daf", &[&halves[..], &end].concat());
}

/// Cariño and Banicescu, "Dynamic load balancing with adaptive factoring methods" (2008).
#[test]
fn adaptive_weighted_factoring_halves_while_workers_are_alike() {
    let halves = [(125, 4), (63, 3), (61, 1), (32, 3), (29, 1), (16, 3), (15, 1), (8, 3), (7, 1)];
    check("awf-b", &[&halves[..], &[(4, 4), (2, 4), (1, 7)]].concat());
    let awf_c = sizes("awf-c", &Settings::default(), 1000, 4);
    assert_eq!(awf_c[..8], [125, 110, 96, 84, 74, 64, 56, 49]);
}

/// Hummel, Schonberg and Flynn (1992), with `b = N/(2*sqrt(R)) * sigma/mu`.
#[test]
fn known_spread_makes_the_chunks_of_factoring() {
    let spread = |deviation_s| Some(Spread { mean_s: 1.0, deviation_s });
    let known = Settings { spread: spread(1.0), ..Settings::default() };
    // b = 0.0632, x = 1.0935; then b = 0.218, x = 2.487; b = 0.289, x = 2.667; 2.912; 3.281; 4.
    let expected = spelled(&[(229, 4), (9, 4), (5, 4), (3, 4), (2, 4), (1, 8)]);
    assert_eq!(sizes("fac", &known, 1000, 4), expected);
    let alike = Settings { spread: spread(0.0), ..Settings::default() };
    assert_eq!(sizes("fac", &alike, 1000, 4), [250; 4]);
    assert_eq!(sizes("fac", &Settings::default(), 1000, 4)[..4], [125; 4]);
}

/// Kruskal and Weiss, "Allocating independent subtasks on parallel processors" (1985).
#[test]
fn known_costs_make_the_chunks_of_fixed_size() {
    let spread = Some(Spread { mean_s: 1.0, deviation_s: 1.0 });
    let known = Settings { overhead_s: Some(0.1), spread, ..Settings::default() };
    assert_eq!(sizes("fsc", &known, 1000, 4), [10; 100]);
    assert_eq!(sizes("fsc", &Settings::default(), 1000, 4), spelled(&[(32, 31), (8, 1)]));
}

/// Completion of a chunk of ten tasks.
fn completed(worker: u32, compute_s: f64) -> Completed {
    Completed { worker, n_tasks: 10, compute_s, ..Completed::default() }
}

/// Martínez (2010), with the spread of the first iteration.
#[test]
fn adjusting_factoring_follows_the_spread_from_the_second_iteration_on() {
    let mut scheduler = ChunkScheduler::new(by_name("daf").unwrap().policy(&Settings::default()));
    scheduler.begin(1600, 8);
    assert_eq!(size(&mut scheduler, 0), 100);
    // mu = 2, sigma = 1, sqrt(8/2) = 2: x_0 = 2, x_j = 3.
    scheduler.completed(&completed(0, 10.0));
    scheduler.completed(&completed(1, 30.0));
    scheduler.begin(1600, 8);
    let dealt = rest(&mut scheduler, 8);
    // Batches 0, 1 and 2 are cut from 1600, 800 and 534 tasks.
    assert_eq!(dealt[..24], spelled(&[(100, 8), (34, 2), (33, 6), (23, 2), (22, 6)]));
}

#[test]
fn adjusting_factoring_knows_one_batch_ahead() {
    let mut scheduler = ChunkScheduler::new(by_name("daf").unwrap().policy(&Settings::default()));
    scheduler.begin(1000, 4);
    scheduler.completed(&completed(0, 10.0));
    scheduler.begin(1000, 4);
    // All tasks took the same time so far, so batch 0 is everything.
    assert_eq!(size(&mut scheduler, 0), 250);
    scheduler.completed(&completed(1, 30.0));
    assert_eq!(rest(&mut scheduler, 4), [250; 3]);
}

/// Returns the next chunks of the slow worker after two of eight equal parts were dealt to four workers, three
/// of them equal and one with a third of their speed: 1.2 and 0.4 times the mean speed.
fn slow_chunks(name: &str) -> Vec<u64> {
    let mut scheduler =
        ChunkScheduler::new(by_name(name).expect("a policy").policy(&Settings::default()));
    scheduler.begin(1000, 4);
    assert_eq!(size(&mut scheduler, 0), 125);
    for (worker, compute_s) in [(0, 10.0), (1, 10.0), (2, 10.0), (3, 30.0)] {
        scheduler.completed(&completed(worker, compute_s));
    }
    (0..4).map(|_| size(&mut scheduler, 3)).collect()
}

/// Cariño and Banicescu (2008): `R/(2N)` times the speed over the mean speed.
#[test]
fn adaptive_weighted_factoring_follows_the_speeds() {
    // The first batch continues with the weights from before it; then 500 / 8 * 0.4.
    assert_eq!(slow_chunks("awf-b"), [125, 125, 125, 25]);
    // 875 / 8 * 0.4, and so on with the remaining tasks.
    assert_eq!(slow_chunks("awf-c"), [44, 42, 40, 38]);
}
