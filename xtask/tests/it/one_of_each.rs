//! Test that one more of each kind is one file and one line of a list, beside the `mod` of the file.
//!
//! A copy of the tree gets one more of each, made from one that is there: its file once more under another name, and each
//! line of the crates that names it. Then the copy is checked and compiled.

use std::os::unix::fs::symlink;
use std::{collections::BTreeSet, env, fs, io, path::Path, process::Command};

use xtask::{
    code,
    tree::{self, TextFile},
};

/// Entry of a list, of which the copy gets a second one.
struct Entry {
    kind: &'static str,
    /// End of the path of its file, or of a list in which it is a line.
    file: &'static str,
    /// Its module, and what else its line calls it; a word of its line, if it has no file.
    words: &'static [&'static str],
}

const ENTRIES: [Entry; 8] = [
    Entry { kind: "MPI operation", file: "mpi-abi/operations.txt", words: &["Ibarrier"] },
    Entry { kind: "chunking policy", file: "/chunking/src/trapezoid.rs", words: &["trapezoid"] },
    Entry { kind: "rule of balancing", file: "-policies/src/stealing.rs", words: &["stealing"] },
    Entry { kind: "finding", file: "/findings/collectives.rs", words: &["collectives"] },
    Entry { kind: "export format", file: "/export/src/chrome.rs", words: &["chrome"] },
    Entry { kind: "subcommand", file: "/cli/src/messages.rs", words: &["messages", "Messages"] },
    Entry { kind: "column of a report", file: "/report/src/tables.rs", words: &["shortest"] },
    Entry { kind: "tunlet", file: "tunlets/src/imbalance.rs", words: &["imbalance"] },
];

#[test]
fn one_more_of_each_is_one_file_and_one_line() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap();
    let mut files = tree::text_files(&root).expect("the tree can be read");
    for entry in &ENTRIES {
        let lines = add(&mut files, entry);
        assert_eq!(lines.len(), 1, "a further {} takes these lines: {lines:#?}", entry.kind);
    }
    let copy = Path::new(env!("CARGO_TARGET_TMPDIR")).join("one-of-each");
    write(&copy, &files).expect("the target folder is writable");
    for (path, to) in tree::links(&root).expect("the tree can be read") {
        let place = copy.join(path);
        let folder = place.parent().expect("it is below the copy");
        fs::create_dir_all(folder).and_then(|()| symlink(to, &place)).expect("as its files");
    }
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["check", "--quiet", "--offline", "--profile", "bench", "--lib", "--bins"]);
    let crates = ENTRIES.iter().map(|entry| name_of(crate_of(&model(&files, entry).path)));
    cargo.args(crates.chain(["probe"]).flat_map(|name| ["--package", name])).current_dir(&copy);
    // Cargo takes crates of two trees with one target folder for the same; those that are compiled through another program
    // are others. Without that, the next build of this tree would use what was compiled from the copy.
    cargo.env("RUSTC_WORKSPACE_WRAPPER", "/usr/bin/env");
    if env::var_os("CARGO_TARGET_DIR").is_none() {
        cargo.env("CARGO_TARGET_DIR", root.join("target"));
    }
    let checked = cargo.output().expect("cargo can be started");
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
    assert_eq!(xtask::tidy::problems_of(&files).expect("the copy can be read"), []);
}

/// File of an entry, or its list.
fn model<'a>(files: &'a [TextFile], entry: &Entry) -> &'a TextFile {
    files.iter().find(|file| file.path.ends_with(entry.file)).expect(entry.file)
}

/// Adds an entry like the one that is there; returns the lines that name it outside of its file, but for its `mod`.
fn add(files: &mut Vec<TextFile>, entry: &Entry) -> Vec<String> {
    let model = model(files, entry).clone();
    let added = renamed(&model.path, entry.words);
    let mut lines = Vec::new();
    for file in files.iter_mut() {
        let is_own = file.path.starts_with(crate_of(&model.path));
        let names = |line: &str, code: &str, word: &str| {
            if added == model.path {
                file.path == model.path && line.contains(word)
            } else if is_own {
                file.path != model.path && is_named(code, word)
            } else {
                code.contains(&format!(
                    "{}::{word}",
                    name_of(crate_of(&model.path)).replace('-', "_")
                ))
            }
        };
        let shipped = if is_code(&file.path) { code::before_tests(&file.text) } else { "" };
        let code = code::code_only(shipped);
        let mut of_code = code.lines();
        let mut text = String::new();
        for line in file.text.split_inclusive('\n') {
            text.push_str(line);
            let code = of_code.next().unwrap_or_default();
            if entry.words.iter().any(|word| names(line, code, word)) {
                text.push_str(&renamed(line, entry.words));
                if !code.trim_end().ends_with(&format!("mod {};", entry.words[0])) {
                    lines.push(format!("{}: {}", file.path, line.trim()));
                }
            }
        }
        file.text = text;
    }
    if added != model.path {
        files.push(TextFile { path: added, text: model.text });
    }
    lines
}

fn crate_of(path: &str) -> &str {
    path.match_indices('/').nth(2).map_or(path, |(end, _)| &path[..end])
}

fn name_of(folder: &str) -> &str {
    folder.rsplit('/').next().unwrap_or(folder)
}

/// Whether a file is compiled without the tests of its crate.
fn is_code(path: &str) -> bool {
    path.ends_with(".rs") && path.contains("/src/") && !path.ends_with("/tests.rs")
}

/// Whether code declares a module of this name, names an item of it, or is a type of this name.
fn is_named(code: &str, word: &str) -> bool {
    let mut parts = code.match_indices(word).map(|(at, _)| (&code[..at], &code[at + word.len()..]));
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    parts.any(|(before, after)| {
        let is_type = word.starts_with(char::is_uppercase) && !after.starts_with(is_part);
        let is_module =
            after.starts_with("::") || before.ends_with("mod ") && after.starts_with(';');
        !before.ends_with(is_part) && (is_type || is_module)
    })
}

fn renamed(text: &str, words: &[&str]) -> String {
    words.iter().fold(text.to_owned(), |text, word| text.replace(word, &format!("{word}2")))
}

/// Makes a folder hold these files alone. Those that are as they were keep their times, so that they are not compiled again.
fn write(folder: &Path, files: &[TextFile]) -> io::Result<()> {
    let wanted: BTreeSet<_> = files.iter().map(|file| folder.join(&file.path)).collect();
    remove_others(folder, &|path| wanted.contains(path))?;
    for TextFile { path, text } in files {
        let place = folder.join(path);
        if !fs::read(&place).is_ok_and(|bytes| bytes == text.as_bytes()) {
            fs::create_dir_all(place.parent().unwrap_or(folder))?;
            fs::write(place, text)?;
        }
    }
    Ok(())
}

fn remove_others(folder: &Path, is_wanted: &dyn Fn(&Path) -> bool) -> io::Result<()> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            remove_others(&path, is_wanted)?;
        } else if !is_wanted(&path) {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}
