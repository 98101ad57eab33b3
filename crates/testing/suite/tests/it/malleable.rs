//! Tests of a malleable program under the probe: ranks come and go, each in a world of its own, and all are in the
//! record.

use launch::example;
use resize_api::ResizeOutcome;
use run_record::summary::RankTotals;
use suite::{Cluster, Job, Library, watch, watch_with};

/// Job of a rod on two ranks.
fn rod(library: Library, words: &[&str]) -> Job {
    // A resize is made before the next iteration, however slow the machine is.
    let steady = ["--pause-us", "1000", "--check-every", "1", "--foreground"];
    let job = library.launch(2, &example("rod")).args(steady);
    // Other tests make and remove networks, which Open MPI would use.
    job.args(words).variable("OMPI_MCA_btl_tcp_if_include", "lo")
}

#[track_caller]
fn check(library: Library) {
    // The two ranks get two more for a while.
    let job = rod(library, &["--until", "600", "--schedule", "100:4,300:2"]);
    let bare = job.run();
    let watched = watch(&job);
    let both = (watched.ended.code, &watched.ended.stdout);
    assert_eq!(both, (0, &bare.stdout), "{}", watched.ended.stderr);
    let summary = &watched.summary;
    assert_eq!(summary.tool.warnings, Vec::<String>::new());
    let sizes: Vec<usize> = summary.worlds.iter().map(|world| world.size).collect();
    assert_eq!((summary.n_ranks, sizes), (4, vec![2, 1, 1]));
    assert!(summary.ranks.iter().all(|rank| rank.end == "finalized"), "{:#?}", summary.ranks);
    let lived_s = |of: &dyn Fn(&RankTotals) -> bool| -> Vec<f64> {
        summary.ranks.iter().filter(|rank| of(rank)).map(|rank| rank.elapsed_s).collect()
    };
    // Ranks that joined later existed for a part of the time, and their waiting is summed over that part.
    let (stayed, left) = (lived_s(&|rank| rank.world == 0), lived_s(&|rank| rank.world != 0));
    assert!(left.iter().all(|left_s| stayed.iter().all(|s| left_s < s)), "{stayed:?} {left:?}");
    let changes = summary.resizes.iter().map(|one| (one.from, one.to, one.outcome));
    assert_eq!(
        changes.collect::<Vec<_>>(),
        [(2, 4, ResizeOutcome::Done), (4, 2, ResizeOutcome::Done)]
    );
    assert!(summary.resizes.iter().all(|one| 0.0 < one.seconds.total && 0.0 < one.seconds.wait));
    assert!(watched.ended.stderr.contains("Resizes"), "{}", watched.ended.stderr);
}

#[test]
fn all_worlds_are_in_the_record_with_open_mpi() {
    check(Library::OpenMpi5);
}

#[test]
fn all_worlds_are_in_the_record_with_mpich() {
    check(Library::Mpich5);
}

/// Digest of the rod at the end, which does not depend on the ranks.
#[track_caller]
fn digest(stdout: &str) -> &str {
    stdout.lines().find(|line| line.starts_with("digest")).expect(stdout)
}

#[test]
fn a_tunlet_sets_the_number_of_ranks() {
    let words = ["--until", "2000", "--control"];
    let folder = tempfile::tempdir().expect("there is a folder for temporary files");
    let control = folder.path().to_str().expect("text");
    let job = |sizes| rod(Library::OpenMpi5, &words).args([control, "--sizes", sizes]);
    let bare = job("2:2").run();
    let watched = watch_with(&job("2:3"), &["--tunlet", "search"]);
    assert_eq!(watched.ended.code, 0, "{}", watched.ended.text());
    assert_eq!(digest(&bare.stdout), digest(&watched.ended.stdout));
    let first = watched.summary.resizes.first().expect("the tunlet tried another number");
    assert_eq!((first.from, first.to, &*first.reason), (2, 3, "tunlet"), "{first:?}");
    assert_eq!(first.outcome, ResizeOutcome::Done, "{first:?}");
    let tuning = watched.summary.tuning.expect("it was tuned");
    assert_eq!(tuning.warnings, Vec::<String>::new());
    assert!(tuning.decisions.iter().any(|one| one.point == "n_ranks" && one.applied_s.is_some()));
}

/// Checks that ranks are started on a node by the rank that is already there.
#[track_caller]
fn check_two_nodes(library: Library) {
    let cluster = Cluster::new(2);
    let folder = tempfile::tempdir().expect("there is a folder for temporary files");
    let hosts = folder.path().join("hosts");
    let named = [1, 2].map(|number| format!("{} slots=4\n", cluster.node(number)));
    std::fs::write(&hosts, named.concat()).expect("it can be written");
    let words = [
        "--until",
        "600",
        "--schedule",
        "10:6,200:2,400:4",
        "--foreground",
        "--explain",
        "--pause-us",
        "1000",
    ];
    // The program chooses the network.
    let job =
        cluster.launch(library, 1, &example("rod")).args(words).without("MPIR_CVAR_CH4_NETMOD");
    let job = job.args(["--check-every", "1", "--manager", "hosts", "--hostfile"]).arg(&hosts);
    let ended = job.arg("--control").arg(folder.path()).run();
    assert_eq!(ended.code, 0, "{ended:?}");
    for sentence in ["2 ranks became 6", "6 ranks became 2", "2 ranks became 4"] {
        assert!(ended.stderr.contains(sentence), "{sentence}: {ended:?}");
    }
    let alone = library.launch(1, &example("rod")).args(["--until", "600"]).run();
    assert_eq!(digest(&ended.stdout), digest(&alone.stdout), "{}", library.name());
}

#[test]
fn ranks_come_and_go_on_two_nodes_with_open_mpi() {
    check_two_nodes(Library::OpenMpi5);
}

#[test]
fn ranks_come_and_go_on_two_nodes_with_mpich() {
    check_two_nodes(Library::Mpich5);
}
