//! Problem in a description, with its location.

use std::ops::Range;

/// Severity of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// The program can run, but maybe not as intended.
    Warning,
    /// The program is not started.
    Error,
}

/// Problem in a description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescriptionProblem {
    /// Severity.
    pub level: Level,
    /// Line in the description, counted from 1.
    pub line: usize,
    /// Range of characters in the line, counted from 0; empty for the whole line.
    pub columns: Range<usize>,
    /// Description of the problem and its remedy, as a sentence.
    pub sentence: String,
}

impl DescriptionProblem {
    /// Creates a problem at the bytes `span` of `text`.
    pub(crate) fn at(text: &str, span: &Range<usize>, level: Level, sentence: String) -> Self {
        let start = span.start.min(text.len());
        let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |newline| start + newline);
        let end = span.end.clamp(start, line_end);
        let column = |byte: usize| text[line_start..byte].chars().count();
        let line = text[..start].matches('\n').count() + 1;
        Self { level, line, columns: column(start)..column(end), sentence }
    }

    /// Formats the problem for the user: file and line, the sentence, the source line, and a marker below the subject.
    ///
    /// ```text
    /// xfire.toml:12: event `iteration_end` is on `mastre`, which is no actor; did you mean `master`?
    ///    12 | actor = "mastre"
    ///       |         ^^^^^^^^
    /// ```
    pub fn render(&self, file: &str, text: &str) -> String {
        let level = if self.level == Level::Warning { "warning: " } else { "" };
        let mut shown = format!("{file}:{}: {level}{}\n", self.line, self.sentence);
        let Some(line) = self.line.checked_sub(1).and_then(|idx| text.lines().nth(idx)) else {
            return shown;
        };
        let line = line.replace('\t', " ");
        shown += &format!("{:>5} | {}\n", self.line, line.trim_end());
        if !self.columns.is_empty() {
            let (before, marks) = (self.columns.start, "^".repeat(self.columns.len()));
            shown += &format!("      | {:before$}{marks}\n", "");
        }
        shown
    }

    /// Formats the problem for tests: `LINE: MARKED: SENTENCE`.
    #[cfg(test)]
    pub(crate) fn short(&self, text: &str) -> String {
        let line = text.lines().nth(self.line - 1).unwrap_or_default();
        let marked = line.chars().skip(self.columns.start).take(self.columns.len());
        let level = if self.level == Level::Warning { "warning: " } else { "" };
        format!("{}: {}: {level}{}", self.line, marked.collect::<String>(), self.sentence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, span: Range<usize>, expected: &str) {
        let problem =
            DescriptionProblem::at(text, &span, Level::Error, "it is wrong; mend it".to_owned());
        assert_eq!(problem.render("a.toml", text), expected);
    }

    #[test]
    fn a_problem_shows_its_line_and_marks_what_it_is_about() {
        check(
            "x = 1\n\ty = 2\n",
            11..12,
            "a.toml:2: it is wrong; mend it\n    2 |  y = 2\n      |      ^\n",
        );
        check(
            "n = 'ö' # ü\n",
            4..8,
            "a.toml:1: it is wrong; mend it\n    1 | n = 'ö' # ü\n      |     ^^^\n",
        );
        check("x = 1", 9..9, "a.toml:1: it is wrong; mend it\n    1 | x = 1\n");
        check("", 0..0, "a.toml:1: it is wrong; mend it\n");
        check(
            "[[a]]\nb = 1\n",
            0..11,
            "a.toml:1: it is wrong; mend it\n    1 | [[a]]\n      | ^^^^^\n",
        );
    }
}
