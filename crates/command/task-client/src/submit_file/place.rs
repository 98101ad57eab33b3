//! Places in a job file, shown with the line and a caret.

use std::path::Path;

/// Sentence about a wrong word of a file, with its line and a caret below it.
pub(super) fn at_word(text: &str, path: &Path, word: &str, sentence: &str) -> String {
    let quoted = [format!("\"{word}\""), format!("'{word}'"), word.to_owned()];
    let found = quoted.iter().find_map(|word| Some((text.rfind(word.as_str())?, word.len())));
    match found {
        Some((at, n_bytes)) => shown(text, path, (at, n_bytes), sentence),
        None => format!("`{}`: {sentence}", path.display()),
    }
}

/// Sentence about a line and column, both from 1.
pub(super) fn at_column(
    text: &str,
    path: &Path,
    (line, column): (usize, usize),
    what: &str,
) -> String {
    let before =
        text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum::<usize>();
    shown(text, path, (before + column.saturating_sub(1), 1), what)
}

/// Sentence about the entry with this `id`.
pub(super) fn told(text: &str, path: &Path, id: Option<&str>) -> String {
    match id {
        Some(id) => at_word(text, path, id, "this task is wrong"),
        None => format!("`{}`: a task without `id` is wrong", path.display()),
    }
}

fn shown(text: &str, path: &Path, (at, n_bytes): (usize, usize), sentence: &str) -> String {
    let at = (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let begin = text[..at].rfind('\n').map_or(0, |before| before + 1);
    let line = text[begin..].lines().next().unwrap_or("");
    let number = text[..begin].matches('\n').count() + 1;
    let n_before = text[begin..at].chars().count();
    let n_marked = text[at..].chars().take(n_bytes).take_while(|it| *it != '\n').count().max(1);
    let margin = " ".repeat(number.to_string().len());
    format!(
        "`{}`, line {number}: {sentence}\n{margin} |\n{number} | {line}\n{margin} | {}{}",
        path.display(),
        " ".repeat(n_before),
        "^".repeat(n_marked)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_shown_in_its_line() {
        let text = "name = \"x\"\nafter_ok = [\"prepare\", \"é\"]\n";
        let shown = at_word(text, Path::new("a.toml"), "prepare", "there is no such task");
        let expected = "`a.toml`, line 2: there is no such task\n  |\n\
                        2 | after_ok = [\"prepare\", \"é\"]\n  |             ^^^^^^^^^";
        assert_eq!(shown, expected);
        let shown = at_column(text, Path::new("a.toml"), (1, 8), "wrong");
        assert!(shown.ends_with("1 | name = \"x\"\n  |        ^"), "{shown}");
    }

    #[test]
    fn a_place_beyond_the_text_is_its_end() {
        for (line, column) in [(9, 9), (1, 99), (0, 0)] {
            assert!(
                at_column("é", Path::new("a"), (line, column), "x").starts_with("`a`, line 1: x")
            );
        }
    }
}
