//! Facts about a run that speak for settings of the next launch.

/// What a run used, in the numbers that settings depend on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// Version text of the MPI library.
    pub mpi: String,
    /// Ranks, and their nodes.
    pub n_ranks: usize,
    /// Number of nodes with ranks.
    pub n_nodes: usize,
    /// Most ranks that share a core on a node; 0 if unknown.
    pub ranks_per_core: f64,
    /// Share of the ranks' time in MPI.
    pub mpi_share: f64,
    /// Largest resident memory of a rank in bytes.
    pub memory_max_bytes: u64,
    /// Page faults in a second of processor time, in memory that had been given back before.
    pub faults_per_cpu_s: f64,
    /// Point-to-point messages by size.
    pub messages: Vec<Message>,
    /// MPI-IO by operation.
    pub files: Vec<FileUse>,
    /// Time of all ranks together in s.
    pub ranks_s: f64,
    /// True if iterations were found.
    pub has_iterations: bool,
}

/// Point-to-point messages of one size class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// Smallest size in the class, in bytes.
    pub bytes_min: u64,
    /// Number of messages.
    pub n: u64,
}

/// Calls of one operation of MPI-IO.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileUse {
    /// Name of the operation (`MPI_File_write_all`).
    pub operation: String,
    /// Number of calls.
    pub n: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Time inside, over all ranks, in s.
    pub time_s: f64,
}

/// Families of MPI libraries that take different settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Library {
    OpenMpi { major: u32 },
    Mpich { major: u32 },
    Other,
}

impl Facts {
    /// Family and version of the MPI library.
    pub(crate) fn library(&self) -> Library {
        let major = || {
            let digits = self.mpi.split(|c: char| !c.is_ascii_digit());
            digits.filter(|word| !word.is_empty()).find_map(|word| word.parse().ok())
        };
        match major() {
            Some(major) if self.mpi.contains("Open MPI") => Library::OpenMpi { major },
            Some(major) if self.mpi.contains("MPICH") => Library::Mpich { major },
            _ => Library::Other,
        }
    }

    /// Messages of at least `low` and less than `high` bytes, and their share of all.
    pub(crate) fn messages_between(&self, low: u64, high: u64) -> (u64, f64) {
        let within = self.messages.iter().filter(|it| (low..high).contains(&it.bytes_min));
        let n: u64 = within.map(|it| it.n).sum();
        let n_all: u64 = self.messages.iter().map(|it| it.n).sum();
        (n, if n_all == 0 { 0.0 } else { n as f64 / n_all as f64 })
    }

    /// Calls, bytes and share of the time of the file operations that `is_meant`.
    pub(crate) fn files_of(&self, is_meant: impl Fn(&str) -> bool) -> (u64, u64, f64) {
        let meant = self.files.iter().filter(|it| is_meant(&it.operation));
        let add = |(n, bytes, s): (u64, u64, f64), it: &FileUse| {
            (n + it.n, bytes + it.bytes, s + it.time_s)
        };
        let (n, bytes, time_s) = meant.fold((0, 0, 0.0), add);
        (n, bytes, if 0.0 < self.ranks_s { time_s / self.ranks_s } else { 0.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(mpi: &str, expected: Library) {
        assert_eq!(Facts { mpi: mpi.to_owned(), ..Facts::default() }.library(), expected);
    }

    #[test]
    fn libraries_are_told_apart_by_their_texts() {
        check("Open MPI v4.1.4, package: Debian OpenMPI", Library::OpenMpi { major: 4 });
        check("Open MPI v5.0.11", Library::OpenMpi { major: 5 });
        check("MPICH Version:\t4.0.2", Library::Mpich { major: 4 });
        check("MPICH 5.0.2", Library::Mpich { major: 5 });
        check("Intel(R) MPI Library 2021.9", Library::Other);
        check("", Library::Other);
    }
}
