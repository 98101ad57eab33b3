//! Tests that `docs/probes.md` is true: the tests that it names exist, and the tool prints the sentences that it quotes.

use std::fs;
use std::path::{Path, PathBuf};

/// Fewest rows of the tables; the page may grow.
const N_ROWS_MIN: usize = 35;

/// Row of a table.
struct Row {
    situation: String,
    what: String,
    sentences: Vec<String>,
    tests: Vec<String>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

fn rows() -> Vec<Row> {
    let page = fs::read_to_string(root().join("docs/probes.md")).expect("the page is there");
    let is_row = |line: &&str| {
        line.starts_with("| ") && !line.starts_with("| situation") && !line.starts_with("|--")
    };
    page.lines().filter(is_row).map(row).collect()
}

#[track_caller]
fn row(line: &str) -> Row {
    let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
    let [situation, what, sentences, tests] = cells[..] else { panic!("not four cells: {line}") };
    Row {
        situation: situation.to_owned(),
        what: what.to_owned(),
        sentences: quoted(sentences, '"'),
        tests: quoted(tests, '`'),
    }
}

/// Texts between pairs of `mark`.
fn quoted(text: &str, mark: char) -> Vec<String> {
    text.split(mark).skip(1).step_by(2).map(str::to_owned).collect()
}

/// Text of all sources in the selected folders of the crates, one after the other.
fn sources(is_wanted: impl Fn(&Path) -> bool) -> String {
    let mut text = String::new();
    let mut folders = vec![root().join("crates")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("the sources are there").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") && is_wanted(&path) {
                text += &fs::read_to_string(path).expect("sources are text");
            }
        }
    }
    text
}

/// String literals as they are printed: continued lines are joined, and … stands for what is filled in.
fn said(sources: &str) -> String {
    let mut said = String::with_capacity(sources.len());
    let mut lines = sources.lines();
    while let Some(line) = lines.next() {
        let mut line = line.to_owned();
        while let Some(start) = line.strip_suffix('\\') {
            line = start.to_owned() + lines.next().unwrap_or_default().trim_start();
        }
        said += &filled(&line);
        said.push('\n');
    }
    said
}

fn filled(line: &str) -> String {
    let mut filled = String::new();
    for (idx, part) in line.split('{').enumerate() {
        match part.split_once('}') {
            Some((_, rest)) if idx != 0 => {
                filled.push('…');
                filled += rest;
            }
            _ => filled += part,
        }
    }
    filled
}

#[test]
fn every_row_has_tests_that_exist() {
    let (rows, sources) = (rows(), sources(|_| true));
    assert!(N_ROWS_MIN <= rows.len(), "{} rows", rows.len());
    let is_test = |name: &String| {
        let parts = sources.split("#[test]").skip(1);
        parts.into_iter().any(|part| part.trim_start().starts_with(&format!("fn {name}()")))
    };
    for Row { situation, tests, .. } in &rows {
        assert!(!tests.is_empty(), "`{situation}` names no test");
        let missing: Vec<_> = tests.iter().filter(|name| !is_test(name)).collect();
        assert!(missing.is_empty(), "`{situation}`: there is no test {missing:?}");
    }
}

#[test]
fn every_sentence_is_said_so() {
    let said = said(&sources(|path| path.components().any(|part| part.as_os_str() == "src")));
    for Row { situation, what, sentences, .. } in rows() {
        let is_refused = what.contains("refused") || what.contains("warned");
        assert!(!is_refused || !sentences.is_empty(), "`{situation}`: what does it say?");
        for sentence in sentences {
            let mut parts = sentence.split('…').map(|part| part.trim_matches(['`', ' ']));
            let missing = parts.find(|part| !said.contains(part));
            assert_eq!(missing, None, "`{situation}`: nothing says `{sentence}`");
        }
    }
}

#[test]
fn the_page_says_what_is_not_seen() {
    let rows = rows();
    let limits: Vec<&Row> = rows.iter().filter(|row| row.what.starts_with("not seen")).collect();
    assert_eq!(limits.len(), 2);
    assert!(limits.iter().all(|row| row.what.contains("probe")), "each says what to do");
}
