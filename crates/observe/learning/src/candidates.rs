//! Settings of the next launch for which a run gives a reason.
//!
//! None of them changes what a program computes: they say where memory comes from, from which size on a message waits for
//! its receiver, and who writes the parts of a file.
//!
//! # Not here
//! Whether the user has set one already, and the environment of the command (`watch`).

use crate::facts::{Facts, Library};
use display::units::{bytes, count, percent};
use serde::{Deserialize, Serialize};

/// Resident bytes of a rank from which on huge pages are tried.
const RESIDENT_BYTES: u64 = 64 << 20;
/// Page faults per second of processor time from which on memory is kept.
const FAULTS_PER_CPU_S: f64 = 3000.0;
/// Messages, their share of all, and the share of the time in MPI, from which on their protocol is worth a trial.
const N_MESSAGES: u64 = 1000;
const MESSAGES_SHARE: f64 = 0.2;
const MPI_SHARE: f64 = 0.05;
/// Collective calls on files, their mean size in bytes below which they are joined, and their share of the time.
const N_FILE_CALLS: u64 = 50;
const FILE_CALL_BYTES: u64 = 1 << 20;
const FILE_SHARE: f64 = 0.05;

/// Variable that takes several settings, divided by colons.
pub(crate) const TUNABLES: &str = "GLIBC_TUNABLES";
/// Variable that asks the probe for huge pages for memory that there is after `MPI_Init`, such as static arrays.
const STATIC_HUGE_PAGES: (&str, &str) = ("SINTONIA_HUGE_PAGES", "1");
/// Variable with the path of a file of hints for MPI-IO.
const HINTS: &str = "ROMIO_HINTS";

/// Setting of a launch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// Name, the same in all runs.
    pub name: String,
    /// Environment variables of the command.
    pub variables: Vec<Variable>,
    /// Reason, as the end of a sentence after "because".
    pub reason: String,
}

/// Environment variable of a setting.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Variable {
    /// Name.
    pub name: String,
    /// Value; parts of `GLIBC_TUNABLES` are joined with those of other settings and of the user.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub value: String,
    /// Content of a file, whose path is the value then.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub file: String,
}

impl Setting {
    fn of(name: &str, (variable, value): (&str, &str), reason: String) -> Self {
        Self { name: name.to_owned(), variables: Vec::new(), reason }.and((variable, value))
    }

    fn and(mut self, (name, value): (&str, &str)) -> Self {
        let (name, value) = (name.to_owned(), value.to_owned());
        self.variables.push(Variable { name, value, file: String::new() });
        self
    }
}

/// Returns the settings that a run gives a reason for, in the order in which they are tried. `has_failed` tells levers
/// that did not help: what they do is not tried another way.
pub(crate) fn candidates(facts: &Facts, has_failed: impl Fn(&str) -> bool) -> Vec<Setting> {
    let huge_pages = huge_pages(facts).filter(|_| !has_failed("huge-pages"));
    let memory = kept_memory(facts).filter(|_| !has_failed("memory"));
    let all = [huge_pages, memory, eager(facts), joined_writes(facts), joined_reads(facts)];
    all.into_iter().flatten().collect()
}

fn huge_pages(facts: &Facts) -> Option<Setting> {
    let held = facts.memory_max_bytes;
    let reason = || format!("a rank held {}", bytes(held));
    let value = (TUNABLES, "glibc.malloc.hugetlb=1");
    (RESIDENT_BYTES < held).then(|| Setting::of("hugetlb", value, reason()).and(STATIC_HUGE_PAGES))
}

/// Where iterations were found, the lever `memory` does the same while the program runs.
fn kept_memory(facts: &Facts) -> Option<Setting> {
    let rate = facts.faults_per_cpu_s;
    let reason = || format!("ranks had {rate:.0} page faults in a second of processor time");
    let value = "glibc.malloc.mmap_threshold=33554432:glibc.malloc.trim_threshold=1073741824:\
                 glibc.malloc.top_pad=16777216";
    (FAULTS_PER_CPU_S < rate && !facts.has_iterations)
        .then(|| Setting::of("keep-memory", (TUNABLES, value), reason()))
}

/// Size up to which messages are sent without waiting for their receiver.
fn eager(facts: &Facts) -> Option<Setting> {
    let (low, high, variable, value) = match facts.library() {
        // Above 32 KiB, the largest fragment of this transport, the value is refused.
        Library::OpenMpi { major: 4 } => (4096, 32768, "OMPI_MCA_btl_vader_eager_limit", "32768"),
        Library::OpenMpi { .. } => (4096, 32768, "OMPI_MCA_btl_sm_eager_limit", "32768"),
        Library::Mpich { major: ..5 } => (8192, 1 << 20, "UCX_RNDV_THRESH", "1048576"),
        Library::Mpich { .. } => (8192, 1 << 20, "MPIR_CVAR_CH4_IPC_CMA_P2P_THRESHOLD", "1048576"),
        Library::Other => return None,
    };
    let (n, share) = facts.messages_between(low, high);
    let is_worth = N_MESSAGES <= n && MESSAGES_SHARE <= share && MPI_SHARE <= facts.mpi_share;
    is_worth.then(|| {
        let (n, share) = (count(n), percent(share));
        let (low, high) = (bytes(low), bytes(high));
        let reason = format!("{n} messages, {share} of all, had {low} to {high}");
        Setting::of("eager-limit", (variable, value), reason)
    })
}

fn joined_writes(facts: &Facts) -> Option<Setting> {
    let is_meant = |name: &str| name.contains("write") && is_collective(name);
    joined(facts, is_meant, ("joined-writes", "writes", "romio_cb_write enable\n"))
}

fn joined_reads(facts: &Facts) -> Option<Setting> {
    let is_meant = |name: &str| name.contains("read") && is_collective(name);
    joined(facts, is_meant, ("joined-reads", "reads", "romio_cb_read enable\n"))
}

/// Only ROMIO inside of MPICH reads the variable: Open MPI has MPI-IO of its own.
fn joined(
    facts: &Facts,
    is_meant: impl Fn(&str) -> bool,
    (name, what, hints): (&str, &str, &str),
) -> Option<Setting> {
    let reason = small_collective(facts, is_meant, what)?;
    matches!(facts.library(), Library::Mpich { .. }).then(|| {
        let file = hints.to_owned();
        let variable = Variable { name: HINTS.to_owned(), value: String::new(), file };
        Setting { name: name.to_owned(), variables: vec![variable], reason }
    })
}

/// Words about small collective calls on files, if they take much time.
pub(crate) fn small_collective(
    facts: &Facts,
    is_meant: impl Fn(&str) -> bool,
    what: &str,
) -> Option<String> {
    let (n, n_bytes, share) = facts.files_of(is_meant);
    let mean = n_bytes.checked_div(n)?;
    let is_worth = N_FILE_CALLS <= n && mean < FILE_CALL_BYTES && FILE_SHARE <= share;
    is_worth.then(|| {
        let (n, mean, share) = (count(n), bytes(mean), percent(share));
        format!("{n} collective {what} of {mean} on average took {share} of the time")
    })
}

/// Returns whether an operation on files is one of all ranks of the file.
pub(crate) fn is_collective(operation: &str) -> bool {
    operation.contains("_all") || operation.contains("_ordered")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::{FileUse, Message};

    #[track_caller]
    fn check(facts: &Facts, expected: &[&str]) {
        let found = candidates(facts, |_| false);
        let names: Vec<_> = found.iter().map(|setting| setting.name.as_str()).collect();
        assert_eq!(names, expected, "{found:?}");
    }

    fn facts(mpi: &str) -> Facts {
        Facts { mpi: mpi.to_owned(), mpi_share: 0.5, ranks_s: 10.0, ..Facts::default() }
    }

    #[test]
    fn nothing_is_tried_without_a_reason() {
        check(&facts("Open MPI v4.1.4"), &[]);
        check(&Facts::default(), &[]);
    }

    #[test]
    fn memory_speaks_for_huge_pages_and_faults_for_keeping_it() {
        let large = Facts { memory_max_bytes: 100 << 20, ..facts("") };
        check(&large, &["hugetlb"]);
        assert_eq!(candidates(&large, |lever| lever == "huge-pages"), []);
        let faulting = Facts { faults_per_cpu_s: 1e4, ..large };
        check(&faulting, &["hugetlb", "keep-memory"]);
        check(&Facts { has_iterations: true, ..faulting }, &["hugetlb"]);
    }

    #[test]
    fn messages_above_the_limit_speak_for_another_one() {
        let sized = |bytes_min, mpi| {
            let messages = vec![Message { bytes_min: 8, n: 1000 }, Message { bytes_min, n: 2000 }];
            Facts { messages, ..facts(mpi) }
        };
        for (mpi, variable) in [
            ("Open MPI v4.1.4", "OMPI_MCA_btl_vader_eager_limit"),
            ("Open MPI v5.0.11", "OMPI_MCA_btl_sm_eager_limit"),
            ("MPICH Version: 4.0.2", "UCX_RNDV_THRESH"),
            ("MPICH 5.0.2", "MPIR_CVAR_CH4_IPC_CMA_P2P_THRESHOLD"),
        ] {
            let found = candidates(&sized(16384, mpi), |_| false);
            assert_eq!(found[0].variables[0].name, variable);
            check(&sized(1024, mpi), &[]);
        }
        check(&Facts { mpi_share: 0.01, ..sized(16384, "MPICH 5.0.2") }, &[]);
        check(&sized(16384, "Intel(R) MPI Library 2021.9"), &[]);
    }

    #[test]
    fn small_collective_writes_are_joined_where_the_library_is_asked() {
        let operation = "MPI_File_write_at_all".to_owned();
        let written = FileUse { operation, n: 200, bytes: 200 << 10, time_s: 5.0 };
        let of = |mpi| Facts { files: vec![written.clone()], ..facts(mpi) };
        check(&of("MPICH 4.0.2"), &["joined-writes"]);
        check(&of("Open MPI v5.0.11"), &[]);
    }
}
