//! Runs that are hard to present.

use report::sample;
use run_record::Summary;
use run_record::summary::{CommandOutcome, World};

/// Returns a run whose command started no MPI process.
pub(crate) fn no_mpi() -> Summary {
    let full = sample::summary();
    Summary {
        sintonia_version: full.sintonia_version,
        command: vec!["./a.out".to_owned()],
        started_s: full.started_s,
        outcome: CommandOutcome { exit_code: Some(3), complete: true, ..CommandOutcome::default() },
        wall_s: 0.002,
        ..Summary::default()
    }
}

/// Returns a run that ended by a signal, in which two ranks were killed.
pub(crate) fn killed() -> Summary {
    let mut summary = sample::summary_of(4);
    summary.outcome =
        CommandOutcome { signal: Some(9), complete: true, ..CommandOutcome::default() };
    for idx in [1, 3] {
        summary.ranks[idx].end = "ended without MPI_Finalize".to_owned();
        summary.ranks[idx].last_seen_in = Some("MPI_Recv".to_owned());
        summary.ranks[idx].elapsed_s /= 3.0;
        summary.ranks[idx].useful_s /= 3.0;
        summary.ranks[idx].mpi_s /= 3.0;
    }
    summary.tool.records_dropped = 12_345;
    summary.tool.warnings = vec![
        "node `node02` runs with perf_event_paranoid 3: no processor counters; \
         set /proc/sys/kernel/perf_event_paranoid to 1 to have them"
            .to_owned(),
    ];
    summary
}

/// Returns a run with a parent world and two that it spawned.
pub(crate) fn spawned() -> Summary {
    let mut summary = sample::summary_of(6);
    let pop = summary.pop;
    let world = |n_ranks, size, program: &str, start_s| World {
        n_ranks,
        size,
        program: program.to_owned(),
        start_s,
        elapsed_s: 41.0 - start_s,
        pop,
    };
    summary.worlds = vec![
        world(2, 2, "/opt/bin/parent", 0.2),
        world(2, 2, "/opt/bin/child", 4.0),
        world(2, 3, "/opt/bin/child", 21.5),
    ];
    for (idx, rank) in summary.ranks.iter_mut().enumerate() {
        rank.world = idx / 2;
        rank.rank %= 2;
    }
    summary
}

/// Returns a run with names as long as in C++, containing escape sequences and markup.
pub(crate) fn huge_names() -> Summary {
    let mut summary = sample::summary();
    let huge = format!("std::vector<{}>::operator()", "std::pair<int, double>, ".repeat(40));
    summary.command.push("--title=\u{1b}[31mred<script>alert(1)</script>".to_owned());
    summary.command.push("x".repeat(500));
    for site in &mut summary.call_sites {
        site.place.function.clone_from(&huge);
        site.place.file = format!("/src/{}</script>.cpp", "deeply_nested_".repeat(20));
    }
    for rank in &mut summary.ranks {
        rank.node = "a-very-long-host-name.of.a.cluster.example.org".to_owned();
    }
    summary.findings[0].text = "w".repeat(300);
    summary
}

/// Returns a run with functions that were counted and timed.
pub(crate) fn probed(n_ranks: u32) -> Summary {
    Summary { functions: sample::functions(n_ranks as usize), ..sample::summary_of(n_ranks) }
}

/// Returns a run that tunlets changed.
pub(crate) fn tuned() -> Summary {
    Summary { tuning: Some(sample::tuning()), ..sample::summary() }
}
