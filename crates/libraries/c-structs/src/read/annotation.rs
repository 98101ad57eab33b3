//! Comments that give the number of elements behind a pointer: `/* [n_rows][n_columns] */`.

use super::{Reader, children};
use tree_sitter::Node;

/// Returns the contents of the brackets in the comment on a declaration; empty when there is no such comment.
///
/// The comment begins with a bracket, and stands in the declaration or behind it on the line where it ends.
pub(super) fn counts(reader: &Reader<'_>, declaration: Node<'_>) -> Vec<String> {
    let row = declaration.end_position().row;
    let within = children(declaration).into_iter().filter(|child| child.kind() == "comment");
    let behind = declaration
        .next_named_sibling()
        .filter(|next| next.kind() == "comment" && next.start_position().row == row);
    let comments = within.chain(behind);
    comments
        .map(|comment| in_brackets(reader.text(comment)))
        .find(|it| !it.is_empty())
        .unwrap_or_default()
}

fn in_brackets(comment: &str) -> Vec<String> {
    let inner = comment.trim_start_matches(['/', '*', '!', '<']);
    let mut rest = inner.trim_start();
    let mut counts = Vec::new();
    while let Some((count, behind)) = rest.strip_prefix('[').and_then(|inner| inner.split_once(']'))
    {
        counts.push(count.trim().to_owned());
        rest = behind.trim_start();
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(comment: &str, expected: &[&str]) {
        assert_eq!(in_brackets(comment), expected, "{comment}");
    }

    #[test]
    fn brackets_begin_the_comment() {
        check("/* [n] */", &["n"]);
        check("/*[ n_rows ] [4], in meters*/", &["n_rows", "4"]);
        check("// [n]", &["n"]);
        check("/**< [n] */", &["n"]);
        check("/* in [m] */", &[]);
        check("/* [n */", &[]);
    }
}
