//! Runs the bodies, and whole programs, on ranks of the installed MPI libraries.

use launch::{Job, Library, StartedJob, example};
use std::cell::Cell;
use std::time::Duration;

/// Job of the test program.
fn job(library: Library, n_ranks: usize, words: &str) -> Job {
    library.launch(n_ranks, &example("ranks")).args(words.split_whitespace())
}

/// The same job on threads of one process.
fn on_threads(n_threads: usize, words: &str) -> Job {
    let job = Job::new(example("ranks")).args(words.split_whitespace());
    let launchers = ["OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_FD", "MPI_LOCALNRANKS"];
    let job = launchers.iter().fold(job, Job::without);
    job.args(["--threads", &n_threads.to_string()])
}

#[track_caller]
fn check(job: &Job, stdout: &str) {
    let ended = job.run();
    assert_eq!((ended.code, &*ended.stdout), (0, stdout), "{job:?}\n{}", ended.stderr);
}

/// Checks that the job fails, and reports why exactly once.
#[track_caller]
fn check_refused(job: &Job, sentence: &str) {
    let ended = job.run();
    let n_times = ended.stderr.matches(sentence).count();
    assert_eq!((ended.code, n_times), (1, 1), "{job:?}\n{}", ended.text());
}

/// Checks the job on threads, and on the ranks of every library.
#[track_caller]
fn check_everywhere(words: &str, check: impl Fn(&Job)) {
    check(&on_threads(3, words));
    Library::ALL.into_iter().for_each(|library| check(&job(library, 3, words)));
}

#[track_caller]
fn check_bodies(library: Library) {
    for n_ranks in [1, 2, 3, 5] {
        let ended = job(library, n_ranks, "bodies").run();
        assert_eq!(ended.code, 0, "{library:?} x {n_ranks}: {}", ended.text());
        assert!(ended.stdout.ends_with("passed all\n"), "{library:?}: {}", ended.stdout);
    }
}

#[test]
fn bodies_under_open_mpi_4() {
    check_bodies(Library::OpenMpi4);
}

#[test]
fn bodies_under_mpich_4() {
    check_bodies(Library::Mpich4);
}

#[test]
fn bodies_under_open_mpi_5() {
    check_bodies(Library::OpenMpi5);
}

#[test]
fn bodies_under_mpich_5() {
    check_bodies(Library::Mpich5);
}

/// Output of a run on one thread.
const DIGEST: &str = "digest e765afd6f2ab7ccd\n";

#[test]
fn the_last_bit_is_the_same_everywhere() {
    let options = ["--policy gss", "--prefetch always --policy ss", "--synchronous --master-works"];
    for options in options {
        let words = format!("digest {options}");
        for n_ranks in [1, 2, 3, 5] {
            check(&on_threads(n_ranks, &words), DIGEST);
        }
        for (library, n_ranks) in Library::ALL.into_iter().zip([5, 3, 2, 1]) {
            check(&job(library, n_ranks, &words), DIGEST);
        }
    }
}

#[test]
fn a_tuned_run_says_what_it_reckons_with() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("network.json");
    let piece = r#"{"from_bytes":0,"latency_s":0.001,"s_per_byte":1e-9}"#;
    let pair = format!(r#"{{"from":0,"to":1,"model":{{"samples":[],"pieces":[{piece}]}}}}"#);
    std::fs::write(&file, format!("[{pair}]")).unwrap();
    let words = format!("many --workers auto --explain --network {}", file.display());
    for library in Library::ALL {
        let ended = job(library, 3, &words).run();
        assert_eq!(ended.code, 0, "{library:?}: {}", ended.text());
        // Chunks without data have only one size.
        for expected in ["; calculated with latency ", ", cost per byte from the network file\n"] {
            assert!(ended.stderr.contains(expected), "{library:?}: {}", ended.stderr);
        }
    }
}

#[test]
fn one_run_follows_another() {
    check_everywhere("twice", |job| check(job, "the sum is 3825\n"));
}

#[test]
fn a_program_may_use_mpi_itself() {
    for library in Library::ALL {
        let expected = format!("{DIGEST}3 ranks are still together\n");
        check(&job(library, 3, "inside"), &expected);
    }
}

#[test]
fn large_messages_arrive() {
    for library in Library::ALL {
        check(&job(library, 3, "large"), "12 of 12 are right\n");
    }
}

/// The program's own copy and one to send, however many workers there are. When the second iteration begins, the program has
/// the data of both, and those of the first may still be on their way.
#[test]
fn the_master_has_few_copies_of_shared_data() {
    for library in Library::SYSTEM {
        let ended = job(library, 5, "shared").run();
        let said = ended.stdout.strip_prefix("16 of 16 are right with ");
        let n_copies = said.and_then(|said| said.strip_suffix(" copies\n")?.parse::<f64>().ok());
        assert!(n_copies.is_some_and(|n| n < 2.6), "{library:?}: {}", ended.text());
    }
}

/// The reported panic is that of the last rank that tried the tasks.
#[test]
fn a_task_that_always_panics_is_reported() {
    let sentence = "panicked 2 times, last on rank `";
    check_everywhere("faulty", |job| check_refused(job, sentence));
}

#[test]
fn a_panic_of_the_master_ends_all() {
    for library in Library::ALL {
        let ended = job(library, 3, "headless").run();
        assert_ne!(ended.code, 0, "{library:?}");
        assert!(ended.stderr.contains("there is no iteration 4"), "{library:?}: {}", ended.text());
    }
}

/// The tasks are as many on any number of ranks, too.
#[test]
fn tasks_that_make_tasks_are_all_done() {
    let expected = "2680 ways to place 11 queens, in 11598 tasks\n";
    let words = ["11", "11 --policy ss --prefetch always", "11 --policy static --master-works"];
    for (library, n_ranks) in Library::ALL.into_iter().zip([2, 3, 5, 1]) {
        let job = library.launch(n_ranks, &example("queens"));
        check(&job.args(words[n_ranks % 3].split(' ')), expected);
    }
}

#[test]
fn ten_million_tasks_are_dealt_at_once() {
    let numbers: u64 = (0..10_000_000).sum();
    for library in Library::ALL {
        let ended = job(library, 3, "many").run();
        let expected = format!("the sum is {}\n", 3 * numbers);
        assert_eq!((ended.code, &ended.stdout), (0, &expected), "{library:?}: {}", ended.stderr);
    }
}

#[test]
fn a_message_that_cannot_be_read_ends_the_run() {
    let sentence = "cannot go on: a message between master and workers failed";
    check_everywhere("unreadable", |job| check_refused(job, sentence));
}

#[test]
fn wrong_options_are_told_once() {
    for (words, sentence) in [
        ("digest --workers x", "`--workers x` is not understood; write `--workers N|all|auto`"),
        ("digest --policy best2", "`--policy` is wrong: "),
        ("digest --resume", "`--resume` needs `--checkpoint FILE`"),
    ] {
        check_everywhere(words, |job| check_refused(job, sentence));
    }
}

/// Starts an endless run, and waits until it has done some iterations.
#[track_caller]
fn endless(library: Library, options: &str) -> StartedJob {
    let mut running = job(library, 3, &format!("endless {options}")).start();
    running.wait_for_line("iteration 12 lost 0");
    running
}

#[test]
fn an_interrupted_launcher_ends_all() {
    for library in Library::ALL {
        let running = endless(library, "");
        running.interrupt(running.pid());
        // `finish` fails when processes are left over.
        let ended = running.finish();
        assert_ne!(ended.code, 0, "{library:?}: {}", ended.text());
    }
}

#[test]
fn a_rank_that_is_killed_ends_the_job_and_leaves_the_checkpoint() {
    for library in Library::ALL {
        let folder = tempfile::tempdir().unwrap();
        let checkpoint = folder.path().join("state").display().to_string();
        let running = endless(library, &format!("--checkpoint {checkpoint}"));
        let program = example("ranks").display().to_string();
        let ranks = running.processes(|words| words.first() == Some(&program));
        running.kill(*ranks.last().unwrap());
        let ended = running.finish();
        assert_ne!(ended.code, 0, "{library:?}: {}", ended.text());
        // The checkpoint holds more iterations than this run asks for.
        let ended = on_threads(2, &format!("digest --checkpoint {checkpoint} --resume")).run();
        assert!(ended.code == 0 && ended.stdout.starts_with("digest "), "{}", ended.text());
    }
}

#[test]
fn a_worker_that_stands_still_is_missed_until_it_goes_on() {
    for library in Library::ALL {
        let mut running = job(library, 3, "endless --deadline 0.5").start();
        let worker = Cell::new(None);
        running.wait_for_line_that("the process of rank 2", |line| {
            let number = line.strip_prefix("rank 2 is process ");
            worker.set(number.and_then(|number| number.parse().ok()));
            number.is_some()
        });
        running.wait_for_line("iteration 4 lost 0");
        let worker = worker.get().unwrap();
        running.stop(worker);
        // A worker stopped halfway through a send: MPICH holds back what others send after it, so they become missing
        // as well.
        let is_loss = |line: &str| line.contains(" lost ") && !line.ends_with(" lost 0");
        running.wait_for_line_that("a loss", is_loss);
        running.resume(worker);
        running.wait_for_line_that("rank 2 at work", |line| line.ends_with(" by 2"));
        running.interrupt(running.pid());
        running.finish();
    }
}

/// Other workers do its tasks; then the job ends with the code of rank 0, which reports what happened.
#[test]
fn a_worker_that_never_returns_does_not_keep_the_run_from_its_end() {
    for (library, n_ranks) in Library::ALL.into_iter().zip([3, 5, 5, 3]) {
        let words = "stuck --deadline 0.5 --explain";
        let ended = job(library, n_ranks, words).within(Duration::from_secs(20)).run();
        assert_eq!((ended.code, &*ended.stdout), (0, DIGEST), "{library:?}: {}", ended.stderr);
        let sentences = [
            "workers: rank 1 never returned its last tasks, and other workers did them; all results",
            "a rank did not reach the end of the program; rank 0 has finished and ends the job",
        ];
        for sentence in sentences {
            let n_times = ended.stderr.matches(sentence).count();
            assert_eq!(n_times, 1, "{library:?}: {}", ended.stderr);
        }
    }
}
