//! Tuned run in which one process is killed.

use super::evidence::{Counts, Evidence};
use random::Random;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use suite::library::Library;
use suite::program::source_folder;
use suite::tool::{WatchFolders, sintonia};
use suite::{EndedJob, Job, StartedJob, TestProgram};

pub(crate) const N_RANKS: u32 = 3;

/// Longest time from the start to the victim's death, and to the program's end, in ms.
const LATEST_MS: u64 = 800;
/// One case in so many begins when the victim appears, the others when all ranks are working.
const EARLY_ONE_IN: u64 = 4;

/// Exit code of a run whose description or tunlet is wrong: the command was not started.
const NOT_STARTED: i32 = 103;

/// Process that is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Victim {
    /// `sintonia run`.
    Analyzer,
    /// The collector of the node.
    Collector,
    /// The process that runs the tunlet.
    Tunlet,
    /// One of the ranks.
    Rank,
    /// `sintonia run`, and then the collector, which is not replaced.
    AnalyzerAndCollector,
}

impl Victim {
    pub(crate) const ALL: [Self; 5] =
        [Self::Analyzer, Self::Collector, Self::Tunlet, Self::Rank, Self::AnalyzerAndCollector];

    fn is_analyzer(self) -> bool {
        matches!(self, Self::Analyzer | Self::AnalyzerAndCollector)
    }

    fn living(self, running: &StartedJob) -> Vec<u32> {
        let has = |words: &[String], wanted: &str| words.iter().any(|word| word == wanted);
        let is_rank =
            |words: &[String]| words.first().is_some_and(|word| word.ends_with("/killed"));
        match self {
            Self::Analyzer | Self::AnalyzerAndCollector => {
                running.processes(|words| has(words, "run") && has(words, "--app"))
            }
            Self::Collector => running.processes(|words| has(words, "collector")),
            Self::Tunlet => running.processes(|words| has(words, "tunlet-host")),
            Self::Rank => running.processes(is_rank),
        }
    }
}

/// Events of a run, and their times.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    library: Library,
    victim: Victim,
    #[expect(dead_code, reason = "said when the case fails")]
    seed: u64,
    /// Index of the victim among several.
    choice: usize,
    is_early: bool,
    kill_after: Duration,
    end_after: Duration,
}

impl Case {
    pub(crate) fn new(library: Library, victim: Victim, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut below = |end: u64| random.bits() % end;
        let choice = usize::try_from(below(u64::from(N_RANKS))).unwrap_or_default();
        let is_early = below(EARLY_ONE_IN) == 0;
        let kill_after = Duration::from_millis(below(LATEST_MS));
        let end_after = Duration::from_millis(below(LATEST_MS));
        Self { library, victim, seed, choice, is_early, kill_after, end_after }
    }

    /// Runs the case and checks everything; returns false if the victim had ended before it was killed.
    #[track_caller]
    pub(crate) fn run(&self) -> bool {
        let folders = WatchFolders::new();
        let description = source_folder().join("killed.toml");
        let (description, tunlet) = (description.display(), tunlet(&[]));
        let (description, tunlet) = (description.to_string(), tunlet.display().to_string());
        let options = ["--trace", "--quiet", "--no-html", "--app", &description];
        let options = [options.as_slice(), &["--tunlet", &tunlet]].concat();
        let running = folders.start(&self.job(folders.folder()), &options);
        let moment = self.act(&running, folders.folder());
        // Processes that a killed analyzer leaves behind go on to their own end, too.
        running.wait_until("all has ended", |running| running.processes(|_| true).is_empty());
        let ended = running.finish();
        moment.is_some_and(|was_ready| self.check(folders, &ended, was_ready))
    }

    /// Job that prints the launcher's exit code after the output of the program, since the analyzer may be gone.
    fn job(&self, folder: &Path) -> Job {
        let program = TestProgram::c("killed").built(self.library);
        let script = r#""$@"; code=$?; echo "code $code"; exit $code"#;
        let shell = ["sh", "-c", script, "sh"].map(OsString::from);
        self.library.launch(N_RANKS as usize, &program).arg(folder).after(shell.to_vec())
    }

    /// Kills the victim and lets the program end, each at its time. Returns whether all ranks were working when the
    /// victim was killed; `None` if it had ended.
    fn act(&self, running: &StartedJob, folder: &Path) -> Option<bool> {
        let is_at_work = || Counts::of_all(folder).iter().all(Option::is_some);
        running.wait_until("the victim is there", |running| {
            (self.is_early || is_at_work()) && !self.victim.living(running).is_empty()
        });
        let since = Instant::now();
        let end = || std::fs::write(folder.join("go"), "").expect("the folder is ours");
        if self.is_ended_first() {
            sleep_until(since + self.end_after);
            end();
        }
        sleep_until(since + self.kill_after);
        let was_ready = is_at_work();
        let victims = self.victim.living(running);
        let victim = victims.get(self.choice % victims.len().max(1));
        victim.iter().for_each(|pid| running.kill(**pid));
        if victim.is_some() && self.victim == Victim::AnalyzerAndCollector {
            Victim::Collector.living(running).iter().for_each(|pid| running.kill(*pid));
        }
        sleep_until(since + self.end_after);
        end();
        victim.map(|_| was_ready)
    }

    fn is_ended_first(&self) -> bool {
        self.end_after < self.kill_after
    }

    /// Checks the run; returns false if it turns out that the victim had ended before.
    #[track_caller]
    fn check(&self, folders: WatchFolders, ended: &EndedJob, was_ready: bool) -> bool {
        let counts = Counts::of_all(folders.folder());
        let (last, printed) = split_last_line(&ended.stdout);
        let never_began = ended.stdout.is_empty();
        let may_not_begin = match self.victim {
            Victim::Analyzer | Victim::AnalyzerAndCollector => ended.code == 128 + 9,
            Victim::Tunlet => ended.code == NOT_STARTED,
            Victim::Collector | Victim::Rank => false,
        };
        if never_began && may_not_begin && counts.iter().all(Option::is_none) {
            return true;
        }
        let is_well = printed == "right\n" && last == "code 0";
        if self.victim == Victim::Rank && is_well {
            assert!(self.is_ended_first(), "a killed rank is a failure: {ended:?}");
            return false;
        }
        assert!(self.victim == Victim::Rank || is_well, "the program did not end well: {ended:?}");
        let is_passed_on = last == format!("code {}", ended.code);
        assert!(self.victim.is_analyzer() || is_passed_on, "{last:?}: {ended:?}");
        let report = Job::new(sintonia()).arg("report").arg(folders.record()).run();
        assert_eq!(report.code, 0, "{}", report.stderr);
        let stderr = format!("{}{}", ended.stderr, report.stderr);
        let evidence = Evidence::read(folders.finish(EndedJob { stderr, ..report }));
        evidence.check(&counts, was_ready);
        // A tunlet that is killed as the run ends has not ended before it.
        if self.victim == Victim::Tunlet && !self.is_ended_first() {
            evidence.check_tunlet_ended();
        }
        true
    }
}

/// Builds the tunlet for a test.
pub(crate) fn tunlet(flags: &[&str]) -> PathBuf {
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../observe/tunlet-abi/include");
    let include = format!("-I{}", include.display());
    TestProgram::shared("restless")
        .flags(&[&include])
        .flags(flags)
        .named(&format!("restless{}.so", flags.concat()))
        .built_without_mpi()
}

/// Splits a text into its last line, without the line end, and the text before.
fn split_last_line(text: &str) -> (&str, &str) {
    let text = text.trim_end_matches('\n');
    let start = text.rfind('\n').map_or(0, |at| at + 1);
    (&text[start..], &text[..start])
}

fn sleep_until(at: Instant) {
    std::thread::sleep(at.saturating_duration_since(Instant::now()));
}
