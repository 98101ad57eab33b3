//! Tests that spawned children are a second world.

use suite::library::Library;
use suite::{TestProgram, watch};

#[test]
fn spawned_children_are_a_world_of_their_own() {
    for library in Library::DYNAMIC {
        let watched = watch(&library.launch(2, &TestProgram::c("spawns").built(library)));
        let summary = &watched.summary;
        let sizes: Vec<(usize, usize)> =
            summary.worlds.iter().map(|world| (world.n_ranks, world.size)).collect();
        assert_eq!(sizes, [(2, 2), (2, 2)], "{library:?}: {}", watched.ended.stderr);
        assert!(summary.worlds[0].start_s < summary.worlds[1].start_s, "parents come first");
        assert_eq!(summary.operations["MPI_Allreduce"].calls, 5 * 4);
        assert_eq!(summary.operations["MPI_Comm_spawn"].calls, 2);
        let ranks: Vec<(usize, u32)> =
            summary.ranks.iter().map(|rank| (rank.world, rank.rank)).collect();
        assert_eq!(ranks, [(0, 0), (0, 1), (1, 0), (1, 1)]);
    }
}
