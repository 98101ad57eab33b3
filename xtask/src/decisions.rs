//! Rules for decision records: numbered without gaps, with the same four headings.

use crate::Problem;

/// Folder of the decision records, from the root of the repository.
pub const FOLDER: &str = "docs/decisions";

const HEADINGS: [&str; 4] =
    ["## Problem", "## Decision", "## Consequences", "## What would change our mind"];

/// Problems of the numbering; `paths` has all records, in any order.
#[must_use]
pub fn numbering(paths: &[&str]) -> Vec<Problem> {
    let mut names: Vec<&str> =
        paths.iter().map(|path| path.rsplit('/').next().unwrap_or(path)).collect();
    names.sort_unstable();
    let numbered = names.iter().zip(1_usize..);
    let wrong = numbered.filter(|(name, number)| !name.starts_with(&format!("{number:04}-")));
    wrong
        .map(|(name, number)| {
            Problem::of_file(
                &format!("{FOLDER}/{name}"),
                format!("the record in this place is number {number:04}: number without holes"),
            )
        })
        .collect()
}

/// Problems of missing headings in a record.
#[must_use]
pub fn headings(path: &str, text: &str) -> Vec<Problem> {
    let missing = HEADINGS.iter().filter(|heading| !text.lines().any(|line| line == **heading));
    missing.map(|heading| Problem::of_file(path, format!("has no heading `{heading}`"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_numbering(paths: &[&str], n_problems: usize) {
        assert_eq!(numbering(paths).len(), n_problems);
    }

    #[test]
    fn numbers_have_no_holes_and_no_doubles() {
        check_numbering(&["docs/decisions/0002-b.md", "docs/decisions/0001-a.md"], 0);
        check_numbering(&["docs/decisions/0001-a.md", "docs/decisions/0003-c.md"], 1);
        check_numbering(&["docs/decisions/0001-a.md", "docs/decisions/0001-b.md"], 1);
        check_numbering(&["docs/decisions/notes.md"], 1);
    }

    #[test]
    fn each_question_is_answered() {
        let complete = HEADINGS.join("\n\n");
        assert_eq!(headings("a.md", &complete), []);
        assert_eq!(headings("a.md", &complete.replace("## Decision\n", "")).len(), 1);
    }
}
