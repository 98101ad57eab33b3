//! Programs that are killed and continue from their checkpoint.

use crate::resizing::{digest, digest_alone, record, resized, rod};
use launch::Library;
use resize_api::ResizeOutcome;
use std::path::Path;

const UNTIL: [&str; 4] = ["--until", "1500", "--pause-us", "1000"];

/// Arguments of a rod that writes its state often.
fn words(file: &Path) -> Vec<String> {
    let file = file.to_str().unwrap();
    let words = ["--checkpoint", file, "--checkpoint-every", "0.001s", "--check-every", "1"];
    UNTIL.iter().chain(&words).map(|word| (*word).to_owned()).collect()
}

/// Writes a checkpoint, and is killed with all its ranks.
#[track_caller]
fn kill(library: Library, file: &Path, folder: &Path) {
    let words = words(file);
    let words = words.iter().map(String::as_str).collect::<Vec<_>>();
    let running = rod(library, 3, folder, &words).start();
    running.wait_until("a checkpoint", |_| file.exists());
    let is_rank = |words: &[String]| words.first().is_some_and(|word| word.ends_with("/rod"));
    running.processes(is_rank).into_iter().for_each(|pid| running.kill(pid));
    assert_ne!(running.finish().code, 0);
}

#[test]
fn a_killed_program_goes_on_with_another_number_of_ranks() {
    for library in Library::DYNAMIC {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("rod.checkpoint");
        kill(library, &file, folder.path());
        let words = words(&file);
        let words = words.iter().map(String::as_str);
        let resize = ["--schedule", "10:4", "--foreground"];
        let words = words.chain(resize).collect::<Vec<_>>();
        let ended = rod(library, 2, folder.path(), &words).run();
        assert_eq!(ended.code, 0, "{ended:?}");
        assert_eq!(digest(&ended.stdout), digest_alone(library, &UNTIL), "{}", library.name());
        let resizes = record(folder.path());
        assert_eq!(resizes.len(), 1, "{resizes:?}");
        assert_eq!(resizes[0].outcome, ResizeOutcome::Done, "{resizes:?}");
        let is_left = |name: &str| name.starts_with("rod.checkpoint");
        let entries = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap());
        let left = entries.map(|entry| entry.file_name().into_string().unwrap());
        assert_eq!(left.filter(|name| is_left(name)).collect::<Vec<_>>(), [""; 0]);
    }
}

#[test]
fn a_checkpoint_that_cannot_be_used_is_refused() {
    let library = Library::Mpich5;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rod.checkpoint");
    kill(library, &file, folder.path());
    let whole = std::fs::read(&file).unwrap();
    let check = |bytes: &[u8], others: &[&str], sentence: &str| {
        std::fs::write(&file, bytes).unwrap();
        let words = words(&file);
        let words = words.iter().map(String::as_str).chain(others.iter().copied());
        let ended = rod(library, 2, folder.path(), &words.collect::<Vec<_>>()).run();
        assert_ne!(ended.code, 0);
        assert!(ended.text().contains(sentence), "{sentence}: {}", ended.text());
    };
    check(&whole[..whole.len() / 2], &[], "` is a checkpoint that is cut off");
    check(&[], &[], "` is a checkpoint that is cut off");
    check(&[b'x'; 100], &[], "` is not a checkpoint");
    let mut other = whole.clone();
    other[8] = 9;
    check(&other, &[], "` is a checkpoint of version 9, and this program reads version 1");
    let mut other = whole.clone();
    other[60] ^= 1;
    check(&other, &[], "` is a checkpoint that is damaged");
    check(&whole, &["--rows", "7"], "was written by `rod");
}

/// Later versions continue from a file of version 1: after 14 iterations, so that no size changes before.
#[test]
fn a_program_goes_on_from_a_checkpoint_of_version_1() {
    let folder = tempfile::tempdir().unwrap();
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples/checkpoint-v1");
    for entry in std::fs::read_dir(samples).unwrap().map(Result::unwrap) {
        std::fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
    }
    let file = folder.path().join("rod.checkpoint").display().to_string();
    let rows = ["--rows", "12", "--until", "1500", "--pause-us", "500"];
    let resize = ["--schedule", "1:3", "--foreground", "--check-every", "1"];
    let words = [&rows[..], &resize, &["--checkpoint", &file]].concat();
    let ended = rod(Library::Mpich5, 2, folder.path(), &words).run();
    let alone = digest_alone(Library::Mpich5, &rows);
    assert_eq!(digest(&ended.stdout), alone, "{ended:?}");
    let resizes = record(folder.path());
    assert!(resizes.iter().all(|resize| 14 <= resize.iteration), "{resizes:?}");
    assert_eq!(resizes.len(), 1, "{ended:?}");
}

#[test]
fn a_refusal_names_the_way_over_the_checkpoint() {
    let (_, resizes) = resized(|folder| {
        let words = words(&folder.join("rod.checkpoint"));
        let words = words.iter().map(String::as_str).collect::<Vec<_>>();
        rod(Library::Mpich5, 1, folder, &words).args(["--schedule", "10:9", "--sizes", "1:2"])
    });
    assert_eq!(resizes[0].outcome, ResizeOutcome::Refused);
    assert!(resizes[0].sentence.contains("started anew with 9 ranks, it goes on from"));
}
