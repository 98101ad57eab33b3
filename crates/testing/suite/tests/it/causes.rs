//! Tests of the first sentence of the report on programs that are slow for one known reason.
//!
//! Where the test may, its ranks are in a control group that comes before all else, so that other tests do not take their
//! cores. Where it may not, a run that lacked cores is tried again, and at last that sentence may come before the cause.

use run_record::summary::Finding;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU32, Ordering};
use suite::library::Library::{self, Mpich4, OpenMpi4};
use suite::{Job, TestProgram, watch, watch_with};

/// First sentence where nothing is to be said.
const EFFICIENT: &str = "The run is efficient";
/// Runs of a case on a machine that does not keep cores free for it.
const N_TRIES: usize = 3;

/// Number of groups that were made.
static N_GROUPS: AtomicU32 = AtomicU32::new(0);

/// Control group for processor time, removed with this value.
struct ControlGroup(PathBuf);

impl ControlGroup {
    /// Makes a group within `parent` with this weight, or with a quota in units of 10 us per millisecond; `None` where
    /// that is not allowed.
    fn new(name: &str, (file, of_first, of_second): (&str, &str, &str)) -> Option<Self> {
        let id = N_GROUPS.fetch_add(1, Ordering::Relaxed);
        let name = format!("sintonia-{name}-{}-{id}", std::process::id());
        let first = Path::new("/sys/fs/cgroup/cpu").join(&name);
        let second = Path::new("/sys/fs/cgroup").join(&name);
        let places =
            [(first, format!("cpu.{file}"), of_first), (second, second_name(file), of_second)];
        places.into_iter().find_map(|(folder, file, value)| {
            fs::create_dir(&folder).ok()?;
            let group = Self(folder);
            fs::write(group.0.join(file), value).ok()?;
            Some(group)
        })
    }

    /// Group whose processes get cores before those of others.
    fn preferred() -> Option<Self> {
        Self::new("preferred", ("shares", "262144", "10000"))
    }

    /// Group whose processes get half a core.
    fn half_a_core() -> Option<Self> {
        Self::new("quota", ("cfs_quota_us", "50000", "50000 100000"))
    }

    fn start(&self, job: Job) -> Job {
        let script = "echo $$ > \"$0/cgroup.procs\" && exec \"$@\"";
        let folder = self.0.clone().into_os_string();
        job.after(vec!["sh".into(), "-c".into(), script.into(), folder])
    }
}

/// Name of a file of version 1 in version 2.
fn second_name(file: &str) -> String {
    if file == "shares" { "cpu.weight".to_owned() } else { "cpu.max".to_owned() }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        fs::remove_dir(&self.0).unwrap_or_default();
    }
}

/// Cases that are run one after the other.
struct Cases {
    preferred: Option<ControlGroup>,
    failures: Vec<String>,
}

impl Cases {
    fn new() -> Self {
        Self { preferred: ControlGroup::preferred(), failures: Vec::new() }
    }

    fn start(&self, job: Job) -> Job {
        match &self.preferred {
            Some(group) => group.start(job),
            None => job,
        }
    }

    /// Checks that the first sentence of a run contains these words.
    fn check(&mut self, job: Job, words: &[&str]) {
        let job = self.start(job);
        for n_left in (0..N_TRIES).rev() {
            let findings = watch(&job).summary.findings;
            let is_named = |finding: &Finding| words.iter().all(|word| finding.text.contains(word));
            let at = findings.iter().position(is_named);
            let is_disturbed = findings[0].text.contains("wait for a core");
            match at {
                Some(0) => return,
                // The sentence about the efficiency comes second.
                Some(1 | 2) if is_disturbed && n_left == 0 => return,
                None if is_disturbed && n_left == 0 && words == [EFFICIENT] => return,
                _ if is_disturbed && n_left != 0 => (),
                _ => {
                    return self.failures.push(format!("{words:?} are not first in {findings:#?}"));
                }
            }
        }
    }

    #[track_caller]
    fn finish(self) {
        assert!(self.failures.is_empty(), "{}", self.failures.join("\n"));
    }
}

/// Job of `n_ranks` ranks of the program of causes.
fn causes(library: Library, n_ranks: usize, words: &[&str]) -> Job {
    let program = TestProgram::c("causes").flags(&["-fopenmp"]).built(library);
    library.launch(n_ranks, &program).variable("OMP_NUM_THREADS", "2").args(words)
}

/// As [`causes`], with two ranks on a core each: the kernel may leave both on one for the whole of a short run.
fn two(library: Library, words: &[&str]) -> Job {
    let program = TestProgram::c("causes").flags(&["-fopenmp"]).built(library);
    let rank = "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}";
    let script = format!("exec taskset -c {rank} \"$0\" \"$@\"");
    library.launch(2, Path::new("sh")).args(["-c", &script]).arg(program).args(words)
}

fn on_cores(job: Job, cores: &str) -> Job {
    job.after(["taskset", "-c", cores].map(Into::into).to_vec())
}

/// A case: ranks, causes and steps, and words of the first sentence.
type Case = (usize, [&'static str; 2], &'static [&'static str]);

const CASES: [Case; 20] = [
    (1, ["faults", "10"], &["Page faults take about"]),
    (1, ["files", "20"], &["Small reads and writes of files take about", "of 50 B"]),
    (2, ["sleep", "10"], &["neither compute nor communicate for", "they sleep"]),
    (2, ["function", "50"], &["out of balance: rank 1", "MPI_Allreduce"]),
    (2, ["slow", "50"], &["Rank 1 is slow everywhere"]),
    (2, ["sender", "60"], &["wait for messages", "(sender)", "the sender is late"]),
    (
        2,
        ["receiver", "60"],
        &["wait for messages", "(receiver)", "receiver posts its receive late"],
    ),
    (2, ["messages", "200"], &["Many small messages take", "of 8 B"]),
    (2, ["large", "5"], &["Moving large messages takes", "(large)"]),
    (2, ["collective", "200"], &["Collective operations themselves take", "(add_up)"]),
    (2, ["moving", "40"], &["arrive at collective operations at different times", "(add_up)"]),
    (2, ["polling", "40"], &["The program polls", "MPI_Iprobe"]),
    (2, ["windows", "20"], &["One-sided communication takes"]),
    (2, ["duplicates", "4"], &["Making communicators takes"]),
    (1, ["mpi-io", "10"], &["MPI-IO takes", "MPI_File_write"]),
    (1, ["threads", "40"], &["Threads of the OpenMP region", "Give them equal parts"]),
    (1, ["serial", "40"], &["OpenMP threads have no work for"]),
    (1, ["critical", "40"], &["Threads of the OpenMP region", "they take turns in `critical`"]),
    (2, ["dies", "1"], &["rank 1", "ended without MPI_Finalize"]),
    (2, ["none", "25"], &[EFFICIENT]),
];

#[test]
fn each_cause_comes_first() {
    let mut cases = Cases::new();
    for (number, (n_ranks, words, expected)) in CASES.iter().enumerate() {
        let library = if number % 2 == 0 { OpenMpi4 } else { Mpich4 };
        let job = if *n_ranks == 2 { two(library, words) } else { causes(library, 1, words) };
        cases.check(job, expected);
    }
    cases.finish();
}

/// Regions of OpenMP pass through our library, as calls of MPI do: what they compute was taken for time in MPI.
#[test]
fn samples_in_regions_of_openmp_are_computing() {
    let job = causes(OpenMpi4, 1, &["threads", "300"]);
    let sampling = watch_with(&job, &["--sample"]).summary.sampling.expect("samples of some kind");
    assert!(20 <= sampling.samples && sampling.mpi_s <= 0.1 * sampling.computing_s, "{sampling:?}");
}

/// Of two causes in one program, the one that costs more comes first.
#[test]
fn the_larger_cause_comes_first() {
    let mut cases = Cases::new();
    let mut check = |library, words: [&str; 2], expected: &[&str]| {
        cases.check(two(library, &words), expected);
    };
    check(
        Mpich4,
        ["function,function,function,files,sleep,sleep,sleep", "10"],
        &["neither compute"],
    );
    check(OpenMpi4, ["function,function,function,collective", "20"], &["out of balance: rank 1"]);
    check(Mpich4, ["faults,function,messages", "6"], &["Page faults"]);
    check(OpenMpi4, ["moving,moving,moving,messages", "20"], &["arrive at collective operations"]);
    check(Mpich4, ["large,sender,none", "6"], &["Moving large messages"]);
    cases.finish();
}

/// Such ranks used to be told to join small messages, and that the other side starts its part late.
#[test]
fn cores_that_are_short_come_first() {
    let mut cases = Cases::new();
    let crowded = on_cores(causes(OpenMpi4, 4, &["crowded", "100"]), "0");
    cases.check(crowded, &["are bound to 1 core (0)", "wait for a core"]);
    let crowded = on_cores(causes(Mpich4, 4, &["crowded", "20"]), "0,1");
    cases.check(crowded, &["4 ranks share 2 cores", "wait for a core"]);
    let doubled = on_cores(causes(OpenMpi4, 2, &["crowded", "100"]), "0");
    cases.check(doubled, &["Ranks 0 and 1 are bound to 1 core (0)"]);
    let threads = on_cores(causes(Mpich4, 2, &["team", "20"]), "0,1");
    cases.check(threads, &["2 ranks with 4 busy threads share 2 cores"]);
    let bound = on_cores(causes(OpenMpi4, 1, &["team", "80"]), "0");
    cases.check(bound, &["Rank 0 with 2 busy threads is bound to 1 core (0)"]);
    cases.finish();
}

/// The collector needs a core, too, so this job comes before nobody.
#[test]
fn other_programs_come_first() {
    let _others = [Busy::new(), Busy::new()];
    let job = on_cores(causes(OpenMpi4, 2, &["none", "20"]), "0,1");
    let findings = watch(&job).summary.findings;
    assert!(findings[0].text.contains("Other programs use"), "{findings:#?}");
}

#[test]
fn a_quota_comes_first() {
    let Some(group) = ControlGroup::half_a_core() else {
        eprintln!("not tested: this user cannot make control groups");
        return;
    };
    let job = group.start(causes(Mpich4, 2, &["crowded", "500"]));
    let findings = watch(&job).summary.findings;
    assert!(findings[0].text.contains("The quota of their control group allows"), "{findings:#?}");
}

/// Process that computes all the time, ended with this value.
struct Busy(Child);

impl Busy {
    fn new() -> Self {
        let busy = Command::new("sh").args(["-c", "while :; do :; done"]).spawn();
        Self(busy.expect("there is a shell"))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.kill().unwrap_or_default();
        self.0.wait().map(drop).unwrap_or_default();
    }
}

/// Rank 2 waits for rank 1, which has no work of its own, but waits for rank 0.
#[test]
fn a_trace_tells_which_rank_and_place_all_wait_for() {
    let cases = Cases::new();
    let job = cases.start(causes(OpenMpi4, 3, &["chain", "15"]));
    let summary = watch_with(&job, &["--trace"]).summary;
    let delays = summary.delays.as_ref().expect("the run was traced");
    let of_rank =
        |rank| delays.causes.iter().filter(|it| it.rank == rank).map(|it| it.time_s).sum::<f64>();
    assert!(2.0 * (of_rank(1) + of_rank(2)) < of_rank(0), "{delays:#?}");
    let place = |site: Option<usize>| site.and_then(|site| summary.call_sites.get(site));
    let first = delays.causes[0];
    let send = place(first.to).expect("the computing before a call");
    assert_eq!((&*send.operation, &*send.place.function), ("MPI_Send", "chain"));
    let path_s: f64 = delays.critical_path.iter().map(|it| it.time_s).sum();
    assert!((path_s / summary.elapsed_s - 1.0).abs() < 0.1, "{path_s} {summary:#?}");
    let words = "Rank 0 causes";
    assert!(summary.findings.iter().any(|it| it.text.contains(words)), "{:#?}", summary.findings);
}
