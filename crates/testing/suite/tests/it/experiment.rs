//! Tests of `sintonia experiment` on the matrices of `apps/matmul`: its measurements, and what an interruption leaves.

use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use suite::tool::sintonia;
use suite::{EndedJob, Job, Library, Slurm, TestProgram};
use tempfile::TempDir;

/// Placeholders for the number of ranks and the size until the plan is written.
const N_RANKS: usize = 999;
const SIZE: &str = "888";

/// Plan, and the folders in which it is carried out.
struct Experiment {
    folder: TempDir,
    shared_memory: TempDir,
}

impl Experiment {
    /// Makes an experiment of 2 x 2 points with 2 repetitions, and one point to validate.
    fn new(library: Library, more: &str) -> Self {
        let program = TestProgram::matmul("matmul2").built(library);
        let job = library.launch(N_RANKS, &program).arg(SIZE);
        let grid = "[parameters]\nn = [40, 80]\np = [1, 2]\n[[holdout]]\nn = [120]\np = [2]\n";
        Self::of(&job.script(), &format!("repetitions = 2\nseed = 7\ntimeout_s = 60\n{more}"), grid)
    }

    /// Makes an experiment of a shell command that contains [`N_RANKS`] and [`SIZE`].
    fn of(script: &str, fields: &str, grid: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let shared_memory =
            tempfile::Builder::new().prefix("sintonia-suite-").tempdir_in("/dev/shm");
        let has_settings = !script.starts_with('\'');
        let at = script.find(" '/").filter(|_| has_settings).map_or(0, |at| at + 1);
        let (settings, line) = script.split_at(at);
        let settings: String =
            settings.split_whitespace().map(|word| word.replacen('=', " = ", 1) + "\n").collect();
        let line =
            line.replace(&format!("'{N_RANKS}'"), "{p + 1}").replace(&format!("'{SIZE}'"), "{n}");
        let plan =
            format!("command = \"\"\"{line}\"\"\"\n{fields}\n[environment]\n{settings}\n{grid}");
        fs::write(folder.path().join("plan.toml"), plan).expect("the folder is ours");
        Self { folder, shared_memory: shared_memory.expect("`/dev/shm` is writable") }
    }

    fn out(&self) -> PathBuf {
        self.folder.path().join("measured")
    }

    fn job(&self) -> Job {
        let job = Job::new(sintonia()).arg("experiment").arg(self.folder.path().join("plan.toml"));
        let job = job.arg("-o").arg(self.out()).arg("--json").within(Duration::from_secs(300));
        job.variable("SINTONIA_SHM_DIR", self.shared_memory.path())
    }

    /// Checks that all runs were done once, and nothing else is left.
    #[track_caller]
    fn check_whole(&self, ended: &EndedJob) {
        assert_eq!(ended.code, 0, "{}", ended.text());
        let said: Value = serde_json::from_str(&ended.stdout).expect("it prints JSON");
        assert_eq!(
            (&said["n_done"], &said["n_left"], &said["n_failed"]),
            (&10.into(), &0.into(), &0.into())
        );
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for file in ["measurements.jsonl", "holdout.jsonl"] {
            for line in self.lines(file).iter().filter(|line| is_total(line)) {
                *counts.entry(format!("{file} {}", line["params"])).or_default() += 1;
            }
        }
        let points =
            [(40, 1), (40, 2), (80, 1), (80, 2)].map(|(n, p)| (n, p, "measurements.jsonl"));
        let points = points.into_iter().chain([(120, 2, "holdout.jsonl")]);
        let expected = points.map(|(n, p, file)| (format!("{file} {{\"n\":{n},\"p\":{p}}}"), 2));
        assert_eq!(counts, expected.collect());
        let mut names: Vec<String> = fs::read_dir(self.out())
            .expect("it was made")
            .map(|entry| entry.expect("it is there").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        assert_eq!(
            names,
            ["experiment.json", "holdout.jsonl", "lock", "measurements.jsonl", "progress.svg"]
        );
        self.check_nothing_is_left();
    }

    /// Checks that no shared memory is left. Ranks of the run that was cut off may end, and with them its memory, a
    /// moment after all other processes.
    #[track_caller]
    fn check_nothing_is_left(&self) {
        let until = Instant::now() + Duration::from_secs(20);
        let left = || {
            let entries = fs::read_dir(self.shared_memory.path()).expect("it is ours");
            entries.map(|entry| entry.expect("it is there").path()).collect::<Vec<_>>()
        };
        while !left().is_empty() && Instant::now() < until {
            std::thread::yield_now();
        }
        assert_eq!(left(), Vec::<PathBuf>::new());
    }

    fn lines(&self, file: &str) -> Vec<Value> {
        let text = fs::read_to_string(self.out().join(file)).expect("it was written");
        text.lines().map(|line| serde_json::from_str(line).expect("it is JSON")).collect()
    }

    /// Number of runs in the journal so far.
    fn n_done(&self) -> usize {
        let text = fs::read_to_string(self.out().join("experiment.json")).unwrap_or_default();
        let journal: Value = serde_json::from_str(&text).unwrap_or_default();
        journal["runs"].as_array().map_or(0, Vec::len)
    }
}

/// Returns whether a line has the time of a whole run.
fn is_total(line: &Value) -> bool {
    line["callpath"] == "total" && line["metric"] == "time"
}

/// Values of a metric by region, at n = 80 and p = 2, of one repetition.
fn values(lines: &[Value], metric: &str) -> BTreeMap<String, f64> {
    let here = lines.iter().filter(|line| {
        line["metric"] == metric && line["params"]["n"] == 80 && line["params"]["p"] == 2
    });
    let pair =
        |line: &Value| Some((line["callpath"].as_str()?.to_owned(), line["value"].as_f64()?));
    here.filter_map(pair).collect()
}

#[track_caller]
#[expect(clippy::float_cmp, reason = "counts are whole numbers")]
fn check(library: Library) {
    let experiment = Experiment::new(library, "functions = [\"multiply\"]");
    experiment.check_whole(&experiment.job().run());
    let lines = experiment.lines("measurements.jsonl");
    let calls = values(&lines, "calls");
    let count = |role: &str, operation: &str| -> f64 {
        let of =
            calls.iter().filter(|(path, _)| path.starts_with(role) && path.ends_with(operation));
        of.map(|(_, calls)| calls).sum()
    };
    assert_eq!([count("master->matmul2.c:", "MPI_Send"), count("master->", "MPI_Recv")], [6.0; 2]);
    assert_eq!([count("workers->", "MPI_Send"), count("workers->", "MPI_Recv")], [3.0; 2]);
    assert_eq!([count("master->", "MPI_Bcast"), count("workers->", "MPI_Bcast")], [1.0; 2]);
    let multiply: Vec<&String> =
        calls.keys().filter(|path| path.contains("MPI_Send->multiply")).collect();
    assert!(matches!(multiply[..], [path] if path.starts_with("workers->")), "{multiply:?}");
    let times = values(&lines, "time");
    assert!(0.0 < times[multiply[0]], "{times:?}");
    for role in ["master->", "workers->"] {
        let own = times.iter().filter(|(path, _)| path.starts_with(role));
        let sum_s: f64 = own.map(|(_, time_s)| time_s).sum();
        assert!(0.0 < sum_s && sum_s < 1.01 * times["total"], "{role} {sum_s} {times:?}");
    }
    assert!(values(&lines, "bytes").values().any(|bytes| *bytes == 80.0 * 80.0 * 8.0));
}

#[test]
fn matrices_are_measured_on_open_mpi() {
    check(Library::OpenMpi4);
}

#[test]
fn matrices_are_measured_on_mpich() {
    check(Library::Mpich4);
}

/// Time of each region at the larger point, in s, as `sintonia fit` reads it.
fn read_regions(experiment: &Experiment, words: &[&str]) -> BTreeMap<String, f64> {
    let table = experiment.folder.path().join("measured.json");
    let fit =
        Job::new(sintonia()).arg("fit").arg(experiment.out()).arg("--write-extrap").arg(&table);
    let fit = words.iter().fold(fit.arg("--metric").arg("time"), |fit, word| fit.arg(word));
    let ended = fit.run();
    let text = fs::read_to_string(table).unwrap_or_else(|_| panic!("{}", ended.text()));
    let value: Value = serde_json::from_str(&text).expect("it is JSON");
    let regions = value["measurements"].as_object().expect("there are regions");
    let largest = |times: &Value| times["time"].as_array()?.last()?["values"][0].as_f64();
    regions.iter().filter_map(|(name, times)| Some((name.clone(), largest(times)?))).collect()
}

/// The work of both functions stood before the one call of the wrapper.
#[test]
fn regions_are_the_functions_that_compute() {
    let program = TestProgram::c("paths").built(Library::OpenMpi4);
    let job = Library::OpenMpi4.launch(2, &program).arg(SIZE);
    let experiment =
        Experiment::of(&job.script(), "repetitions = 1", "[parameters]\nn = [150, 300]\n");
    let ended = experiment.job().run();
    assert_eq!(ended.code, 0, "{}", ended.text());
    let by_site = read_regions(&experiment, &["--by", "call-site"]);
    let by_path = read_regions(&experiment, &[]);
    let of =
        |path: &str| by_path.get(path).copied().unwrap_or_else(|| panic!("{path}: {by_path:?}"));
    let (heavy, light) =
        (of("all ranks->main->heavy->add_up"), of("all ranks->main->light->add_up"));
    // Three times the work; other tests take processor time from either.
    assert!((1.5..6.0).contains(&(heavy / light)), "{by_path:?}");
    assert!(0.2 < of("all ranks->blocked outside MPI"), "300 times at least 1 ms: {by_path:?}");
    let sum = |regions: &BTreeMap<String, f64>| -> f64 {
        regions.iter().filter(|(name, _)| *name != "total").map(|(_, time_s)| time_s).sum()
    };
    assert!((sum(&by_path) / sum(&by_site) - 1.0).abs() < 1e-6, "{by_path:?} {by_site:?}");
}

/// Checks that an experiment that was ended in the middle goes on where it was.
#[track_caller]
fn check_going_on(library: Library, end: impl Fn(&suite::StartedJob), code: i32) {
    let experiment = Experiment::new(library, "");
    let running = experiment.job().start();
    running.wait_until("three runs are done", |_| 3 <= experiment.n_done());
    end(&running);
    let ended = running.finish();
    assert_eq!(ended.code, code, "{}", ended.text());
    let n_done = experiment.n_done();
    assert!((3..10).contains(&n_done), "{n_done}");
    experiment.check_whole(&experiment.job().run());
}

#[test]
fn a_killed_experiment_goes_on_under_open_mpi() {
    check_going_on(Library::OpenMpi4, |running| running.kill(running.pid()), 137);
}

#[test]
fn a_killed_experiment_goes_on_under_mpich() {
    check_going_on(Library::Mpich4, |running| running.kill(running.pid()), 137);
}

#[test]
fn an_interrupted_experiment_goes_on() {
    check_going_on(Library::OpenMpi4, |running| running.interrupt(running.pid()), 130);
    check_going_on(Library::Mpich4, |running| running.terminate(running.pid()), 143);
}

/// Runs an experiment under Slurm, where the number of ranks is that of the allocation.
#[track_caller]
fn check_slurm(slurm: &Slurm, script: &str, fields: &str) {
    let experiment = Experiment::of(script, fields, "[parameters]\nn = [40, 80]\n");
    let ended = experiment.job().run();
    assert_eq!(ended.code, 0, "{}\n{}", ended.text(), slurm.logs());
    let lines = experiment.lines("measurements.jsonl");
    let totals = lines.iter().filter(|line| is_total(line)).count();
    assert_eq!(totals, 2);
    let sends = lines.iter().filter(|line| {
        let path = line["callpath"].as_str().unwrap_or_default();
        path.starts_with("master->matmul2.c:") && path.ends_with("MPI_Send") && line["value"] == 3.0
    });
    assert_eq!(sends.count(), 6, "three places at two points, each called for three workers");
}

#[test]
fn slurm_starts_the_runs_of_an_experiment() {
    let program = TestProgram::matmul("matmul2").built(Library::Mpich4);
    let slurm = Slurm::new(2);
    let step = slurm.srun("pmi2", 2, &program).arg(SIZE);
    check_slurm(&slurm, &step.script(), "repetitions = 1");
}

#[test]
fn a_run_of_an_experiment_may_be_a_batch_job() {
    let program = TestProgram::matmul("matmul2").built(Library::Mpich4);
    let slurm = Slurm::new(2);
    let step = slurm.srun("pmi2", 2, &program).script();
    let folder = tempfile::tempdir().expect("a folder");
    let output = folder.path().join("output");
    let line =
        step.replace("/srun'", "/sbatch'").replace(&format!("'{}'", program.display()), "{script}");
    let line = line.replace("'--mpi=pmi2'", &format!("'--wait' '--output={}'", output.display()));
    let fields = format!("repetitions = 1\nscript = \"\"\"#!/bin/sh\n{step} {{n}}\n\"\"\"");
    check_slurm(&slurm, &line, &fields);
}
