//! Tests of unusual programs: threads, forks, plug-ins, other tools, no MPI at all.

use crate::bit_equality::python;
use run_record::Summary;
use std::path::Path;
use suite::library::Library::{self, Mpich4, OpenMpi4};
use suite::{Job, TestProgram, watch};

#[track_caller]
fn calls(summary: &Summary, operation: &str) -> u64 {
    summary.operations.get(operation).map_or(0, |totals| totals.calls)
}

#[test]
fn every_thread_is_counted() {
    for library in Library::ALL {
        let watched = watch(&library.launch(2, &TestProgram::cpp("particles").built(library)));
        // Three threads of 50 rounds on two ranks; each rank also sums once.
        assert_eq!(calls(&watched.summary, "MPI_Sendrecv"), 3 * 50 * 2);
        for rank in &watched.summary.ranks {
            assert_eq!(
                (rank.n_threads, rank.end.as_str()),
                (4, "finalized"),
                "{library:?} rank {}",
                rank.rank
            );
        }
        assert_eq!(watched.summary.tool.threads_refused, 0);
    }
}

#[test]
fn openmp_threads_are_counted() {
    for library in Library::SYSTEM {
        let watched = watch(
            &library.launch(2, &TestProgram::c("openmp").flags(&["-fopenmp"]).built(library)),
        );
        assert_eq!(calls(&watched.summary, "MPI_Sendrecv"), 20 * 3 * 2);
        assert!(watched.summary.ranks.iter().all(|rank| rank.n_threads == 3));
        let regions = &watched.summary.openmp_regions;
        assert_eq!(regions.len(), 2, "{regions:?}");
        for region in regions {
            assert_eq!((region.executions, region.threads), (20 * 2, 3), "{region:?}");
            assert_eq!(region.place.function, "main");
            let parts_s = region.busy_s + region.waiting_s + region.starting_s + region.mpi_s;
            assert!((parts_s - region.team_s).abs() <= 0.01 * region.team_s, "{region:?}");
        }
        assert!(watched.summary.pop.openmp_parallel_efficiency.is_some_and(|share| share < 1.0));
    }
}

#[test]
fn children_of_fork_do_not_count() {
    for library in Library::ALL {
        let summary = watch(&library.launch(2, &TestProgram::c("forks").built(library))).summary;
        assert_eq!((summary.n_ranks, summary.worlds.len()), (2, 1));
        assert_eq!(
            (calls(&summary, "MPI_Allreduce"), calls(&summary, "MPI_Barrier")),
            (3 * 10 * 2, 3 * 2)
        );
        assert!(summary.ranks.iter().all(|rank| rank.end == "finalized"));
    }
}

#[test]
fn calls_of_a_plug_in_are_seen() {
    for library in Library::SYSTEM {
        let plugin = TestProgram::shared("plugin").built(library);
        let job = library.launch(2, &TestProgram::c("plugin_host").built(library)).arg(&plugin);
        let summary = watch(&job).summary;
        assert_eq!(calls(&summary, "MPI_Allreduce"), 20 * 2);
        let site = summary.call_sites.iter().find(|site| site.operation == "MPI_Allreduce");
        let place = &site.expect("the reduction has a site").place;
        assert!(Path::new(&place.module).ends_with("plugin.so"), "{place:?}");
        assert_eq!(place.function, "plugin_run");
    }
}

#[test]
fn python_is_seen() {
    for library in Library::ALL {
        let summary = watch(&python(library, 2)).summary;
        assert_eq!((summary.n_ranks, summary.worlds.len()), (2, 1), "{library:?}");
        assert!(summary.mpi.contains(library.own_name()), "{library:?}: {}", summary.mpi);
        // mpi4py calls the large-count form where there is one.
        let receive = summary.operations.get("MPI_Irecv_c").or(summary.operations.get("MPI_Irecv"));
        assert_eq!(
            receive.map(|totals| (totals.calls, totals.bytes)),
            Some((2, 2 * 800)),
            "{library:?}"
        );
    }
}

/// Both tools see all calls, however the other one forwards them.
#[test]
fn another_preloaded_tool_sees_the_same() {
    for library in Library::SYSTEM {
        let counts = tempfile::tempdir().expect("a folder for the other tool");
        let job = library.launch(2, &TestProgram::c("ring").built(library)).arg("30");
        let job = with_other_tool(job, library, counts.path());
        let watched = watch(&job);
        for operation in ["MPI_Send", "MPI_Recv", "MPI_Barrier"] {
            assert_eq!(calls(&watched.summary, operation), 60, "{library:?} {operation}");
        }
        let files: Vec<_> =
            std::fs::read_dir(counts.path()).expect("it is ours").flatten().collect();
        assert_eq!(files.len(), 2, "the other tool wrote a file for each rank");
        for file in files {
            let text = std::fs::read_to_string(file.path()).expect("the other tool wrote it");
            assert_eq!(text, "30 30 30\n");
        }
    }
}

/// Preloads the other tool, also into the launcher, where it has nothing to do.
fn with_other_tool(job: Job, library: Library, counts: &Path) -> Job {
    let tool = TestProgram::shared("other_tool").built(library);
    job.variable("LD_PRELOAD", tool).variable("OTHER_TOOL_OUT", counts)
}

#[test]
fn a_program_without_mpi_runs_as_ever() {
    let plain = TestProgram::c("plain");
    for program in [
        plain.built_without_mpi(),
        plain.flags(&["-static"]).named("plain-static").built_without_mpi(),
    ] {
        let watched = watch(&Job::new(&program).arg("5"));
        assert_eq!((watched.ended.code, watched.ended.stdout.as_str()), (5, "plain 5\n"));
        assert_eq!((watched.summary.n_ranks, watched.summary.outcome.exit_code), (0, Some(5)));
        assert_eq!(watched.summary.mpi, "");
    }
}

#[test]
fn one_rank_without_a_launcher() {
    for library in [OpenMpi4, Mpich4] {
        let mut job = Job::new(TestProgram::c("gradients").built(library));
        job = job
            .variable("OMPI_ALLOW_RUN_AS_ROOT", "1")
            .variable("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        let (bare, watched) = (job.run(), watch(&job));
        assert_eq!((watched.ended.code, &watched.ended.stdout), (bare.code, &bare.stdout));
        assert_eq!((watched.summary.n_ranks, watched.summary.ranks[0].rank), (1, 0));
    }
}

/// Two launches in one job script are two worlds.
#[test]
fn two_launches_are_two_worlds() {
    let program = TestProgram::c("ring").built(Mpich4);
    let script = "mpiexec.mpich -n 2 \"$0\" 5 && mpiexec.mpich -n 3 \"$0\" 5";
    let watched = watch(&Job::new("sh").args(["-c", script]).arg(&program));
    assert_eq!(watched.ended.code, 0, "{}", watched.ended.stderr);
    let sizes: Vec<(usize, usize)> =
        watched.summary.worlds.iter().map(|world| (world.n_ranks, world.size)).collect();
    assert_eq!((sizes, watched.summary.n_ranks), (vec![(2, 2), (3, 3)], 5));
    assert_eq!(calls(&watched.summary, "MPI_Send"), 5 * 5);
}
