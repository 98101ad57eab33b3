//! Removes shared-memory files that a library keeps until it ends, and leaves behind when its ranks are killed.
//!
//! MPICH 5 (5.0.2) keeps `/dev/shm/mpich_shm_*`, one for each world on a node. Once all ranks have mapped it, the
//! name is not needed any more, so it is removed here as MPICH 4 does itself: a killed job then leaves nothing
//! behind.

use std::path::Path;

const START: &str = "/dev/shm/mpich_shm_";

/// Removes the names of the shared memory that this process has mapped; call it when all ranks of the world are known
/// to have returned from `MPI_Init`.
pub fn remove() {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    for path in paths(&maps) {
        // Another rank of this node may have removed it first.
        let _removed = std::fs::remove_file(path);
    }
}

/// Returns the library's files that are mapped and still have a name.
fn paths(maps: &str) -> impl Iterator<Item = &Path> {
    let named = maps.lines().filter(|line| !line.ends_with(" (deleted)"));
    let paths = named.filter_map(|line| line.split_whitespace().nth(5));
    paths.filter(|path| path.starts_with(START)).map(Path::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_the_library_are_found() {
        let maps = "\
7f71-7f72 rw-s 00000000 00:1b 9 /dev/shm/mpich_shm_bd0e8cba_0
7f73-7f74 rw-s 00000000 00:1b 9 /dev/shm/mpich_shm_2d91c16f_0 (deleted)
7f75-7f76 rw-s 00000000 00:1b 9 /dev/shm/other
7f77-7f78 rw-p 00000000 00:00 0 [heap]
7f79-7f7a rw-p 00000000 00:00 0
";
        let found: Vec<_> = paths(maps).collect();
        assert_eq!(found, [Path::new("/dev/shm/mpich_shm_bd0e8cba_0")]);
    }
}
