//! Applies every rule to the whole tree.

use std::path::Path;

use crate::{
    Problem, TidyError,
    arrows::{self, Arrows},
    circles, decisions, manifest, rules, threats,
    tree::{self, TextFile},
    types,
};

/// Extensions of files that people write and read as code.
const CODE_ENDINGS: [&str; 7] = [".rs", ".c", ".h", ".cpp", ".f90", ".py", ".js"];

/// Code that users do not run.
const OF_TESTS: [&str; 2] = ["crates/testing/", "xtask/"];

/// Finds all problems of the checkout at `root`, sorted by place.
///
/// # Errors
/// If the tree, `arrows.toml` or a manifest cannot be read.
pub fn tidy(root: &Path) -> Result<Vec<Problem>, TidyError> {
    problems_of(&tree::text_files(root)?)
}

/// Finds all problems of a tree of files, sorted by place.
///
/// # Errors
/// If `arrows.toml` is missing, or it or a manifest has the wrong shape.
pub fn problems_of(files: &[TextFile]) -> Result<Vec<Problem>, TidyError> {
    let arrows_file = files.iter().find(|file| file.path == arrows::FILE);
    let arrows_text = &arrows_file.ok_or(TidyError::NoArrows)?.text;
    let arrows = Arrows::read(arrows_text).map_err(|source| bad_toml(arrows::FILE, source))?;

    let mut problems = Vec::new();
    let mut manifests = Vec::new();
    for file in files.iter().filter(|file| is_manifest(&file.path)) {
        let manifest = manifest::read_manifest(&file.path, &file.text)
            .map_err(|source| bad_toml(&file.path, source))?;
        problems.extend(manifest::lints(&manifest));
        problems.extend(manifest::folder(&manifest));
        manifests.push(manifest);
    }
    problems.extend(arrows.check(&manifests));
    problems.extend(files.iter().flat_map(|file| problems_of_file(&arrows, file)));
    problems.extend(decisions::numbering(&records(files)));
    problems.extend(threats::promises(files));
    problems.extend(types::sizes(&arrows, files));
    problems.extend(types::namesakes(files));
    problems.extend(circles::circles(&arrows, files));
    problems.sort();
    Ok(problems)
}

fn bad_toml(path: &str, source: toml::de::Error) -> TidyError {
    TidyError::BadToml { path: path.to_owned(), source: Box::new(source) }
}

/// Returns whether a path is the manifest of a crate, and not that of a fixture inside one.
fn is_manifest(path: &str) -> bool {
    let steps: Vec<&str> = path.split('/').collect();
    matches!(
        steps[..],
        ["crates", _, _, "Cargo.toml"] | ["apps", _, "Cargo.toml"] | ["xtask", "Cargo.toml"]
    )
}

/// Returns whether a file is compiled into the crate: build scripts and files of tests are not.
fn ships(path: &str) -> bool {
    path.contains("/src/") && !path.ends_with("/tests.rs")
}

fn records(files: &[TextFile]) -> Vec<&str> {
    let below = |path: &str| path.starts_with(decisions::FOLDER);
    files.iter().map(|file| file.path.as_str()).filter(|path| below(path)).collect()
}

fn problems_of_file(arrows: &Arrows, TextFile { path, text }: &TextFile) -> Vec<Problem> {
    let mut problems = rules::words(path, text);
    let is_code = CODE_ENDINGS.iter().any(|ending| path.ends_with(ending));
    if is_code && !arrows.length.tables.contains(path) {
        problems.extend(rules::length(path, text));
    }
    if path.starts_with(decisions::FOLDER) {
        problems.extend(decisions::headings(path, text));
    }
    if path.ends_with(".rs") && !path.contains("/fixtures/") {
        problems.extend(rules::module_doc(path, text));
        problems.extend(rules::module_name(path));
        if ships(path) {
            problems.extend(rules::variants(path, text));
        }
        problems.extend(problems_of_crate_code(arrows, path, text));
    }
    problems
}

/// Applies the rules that differ from crate to crate.
fn problems_of_crate_code(arrows: &Arrows, path: &str, text: &str) -> Vec<Problem> {
    let Some(rules_of_crate) = arrows.crate_of(path) else { return Vec::new() };
    let mut problems = Vec::new();
    if rules_of_crate.pure && ships(path) {
        problems.extend(rules::purity(path, text));
    }
    if ships(path) && !OF_TESTS.iter().any(|folder| path.starts_with(folder)) {
        problems.extend(rules::threads(path, text));
    }
    if !rules_of_crate.edge {
        problems.extend(rules::no_unsafe(path, text));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARROWS: &str = "[houses]\nfloor = {}\nobserve = {}\n[crates.events]\npure = true\n\
        [crates.ring]\nedge = true\nmay_use = [\"events\"]\n";

    const RECORD: &str =
        "## Problem\n## Decision\n## Consequences\n## What would change our mind\n";

    fn manifest_of(name: &str) -> String {
        format!("[package]\nname = \"{name}\"\n[lints]\nworkspace = true\n")
    }

    fn clean_tree() -> Vec<TextFile> {
        let file = |path: &str, text: &str| TextFile { path: path.into(), text: text.into() };
        vec![
            file("arrows.toml", ARROWS),
            file("crates/floor/events/Cargo.toml", &manifest_of("events")),
            file("crates/floor/events/src/lib.rs", "//! Words.\n"),
            file("crates/observe/ring/Cargo.toml", &manifest_of("ring")),
            file(
                "crates/observe/ring/src/lib.rs",
                "//! An edge.\nuse std::fs;\nunsafe fn f() {}\n",
            ),
            file("docs/decisions/0001-a.md", RECORD),
        ]
    }

    /// Checks that a tree in which `path` has `text` has one problem, at `expected_path`.
    #[track_caller]
    fn check(path: &str, text: &str, expected_path: &str) {
        let mut files = clean_tree();
        files.retain(|file| file.path != path);
        files.push(TextFile { path: path.into(), text: text.into() });
        let problems = problems_of(&files).unwrap();
        let paths: Vec<&str> = problems.iter().map(|problem| problem.path.as_str()).collect();
        assert_eq!(paths, [expected_path], "{problems:?}");
    }

    #[test]
    fn a_clean_tree_has_no_problems() {
        assert_eq!(problems_of(&clean_tree()).unwrap(), []);
    }

    #[test]
    fn every_rule_reaches_its_files() {
        let events = "crates/floor/events/src/lib.rs";
        check(events, "//! Words.\nuse std::fs;\n", events);
        check(events, "//! Words.\nunsafe fn f() {}\n", events);
        check(events, "// Words.\n", events);
        check(events, "//! Words.\nenum Wide { Word(u128) }\n", events);
        check(
            "crates/observe/ring/tests/it/mod.rs",
            "//! Tests.\n",
            "crates/observe/ring/tests/it/mod.rs",
        );
        check("apps/a/a.c", &"//\n".repeat(1 + rules::N_LINES_MAX), "apps/a/a.c");
        check("README.md", concat!("TO", "DO\n"), "README.md");
        check("docs/decisions/0003-c.md", RECORD, "docs/decisions/0003-c.md");
        check(
            "docs/decisions/0001-a.md",
            "# a\n\n## Problem\n## Decision\n## Consequences\n",
            "docs/decisions/0001-a.md",
        );
        check(
            "crates/observe/ring/Cargo.toml",
            "[package]\nname = \"ring\"\n",
            "crates/observe/ring/Cargo.toml",
        );
        check(
            "crates/observe/new/Cargo.toml",
            &manifest_of("new"),
            "crates/observe/new/Cargo.toml",
        );
        check("arrows.toml", &format!("{ARROWS}[crates.gone]\n"), "arrows.toml");
    }

    #[test]
    fn build_scripts_and_tests_of_a_pure_crate_are_free() {
        let mut files = clean_tree();
        for path in ["build.rs", "src/a/tests.rs", "tests/it/main.rs"] {
            let path = format!("crates/floor/events/{path}");
            files.push(TextFile { path, text: "//! Free.\nuse std::fs;\n".into() });
        }
        assert_eq!(problems_of(&files).unwrap(), []);
    }

    #[test]
    fn a_named_table_may_be_long() {
        let mut files = clean_tree();
        files[0].text.push_str("[length]\ntables = [\"crates/observe/ring/src/table.rs\"]\n");
        let long = format!("//! Rows.\n{}", "//\n".repeat(rules::N_LINES_MAX));
        files.push(TextFile { path: "crates/observe/ring/src/table.rs".into(), text: long });
        assert_eq!(problems_of(&files).unwrap(), []);
    }

    #[test]
    fn a_tree_without_arrows_is_an_error() {
        assert!(matches!(problems_of(&clean_tree()[1..]), Err(TidyError::NoArrows)));
    }
}
