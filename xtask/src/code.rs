//! Removes comments and literals from Rust text, and divides the rest into words, so that rules about code see only code.
//!
//! # Invariants
//! - The result has as many lines as the text, and each word of code remains on its line.
//!
//! # Not here
//! Items and their names: `items`.

/// Returns `text` with every comment and literal blanked out.
#[must_use]
pub fn code_only(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let n_bytes = literal_or_comment(rest, code.chars().next_back());
        if n_bytes == 0 {
            code.push(first);
            rest = &rest[first.len_utf8()..];
        } else {
            let (blanked, after) = rest.split_at(n_bytes);
            code.extend(blanked.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
            rest = after;
        }
    }
    code
}

/// Lines before the tests of a file; all lines if it has none. A module of tests in a file of its own is not the end.
#[must_use]
pub fn before_tests(text: &str) -> &str {
    let mut n_bytes = 0;
    for line in text.split_inclusive('\n') {
        let (next, rest) = text[n_bytes + line.len()..].split_once('\n').unwrap_or_default();
        let goes_on = next.contains("mod ") && next.ends_with(';') && !rest.trim().is_empty();
        if line.starts_with("#[cfg(test)]") && !goes_on {
            return &text[..n_bytes];
        }
        n_bytes += line.len();
    }
    text
}

/// Word or punctuation of the code, with its line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token<'a> {
    pub(crate) word: &'a str,
    pub(crate) line: usize,
}

/// Divides code without comments and literals into words and single signs.
pub(crate) fn tokens(code: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    for (line_text, line) in code.lines().zip(1..) {
        let mut rest = line_text.trim_start();
        while let Some(first) = rest.chars().next() {
            let word_end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            let n_bytes = if is_word(first) { word_end } else { first.len_utf8() };
            let (word, after) = rest.split_at(n_bytes);
            tokens.push(Token { word, line });
            rest = after.trim_start();
        }
    }
    tokens
}

/// Returns whether a character belongs to a word.
pub(crate) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Length in bytes of the comment or literal that `rest` starts with; zero if it starts with code.
fn literal_or_comment(rest: &str, before: Option<char>) -> usize {
    if rest.starts_with("//") {
        return rest.find('\n').unwrap_or(rest.len());
    }
    if rest.starts_with("/*") {
        return block_comment(rest);
    }
    if rest.starts_with('"') {
        return quoted(rest, '"');
    }
    if rest.starts_with('\'') {
        return character(rest);
    }
    let inside_word = before.is_some_and(is_word);
    if inside_word { 0 } else { raw_string(rest) }
}

fn block_comment(rest: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < rest.len() {
        let here = &rest[at..];
        if here.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if here.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += here.chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    rest.len()
}

/// Length of a character literal; a lifetime (`'a` without a closing quote) is code.
fn character(rest: &str) -> usize {
    let mut chars = rest.chars().skip(1);
    match (chars.next(), chars.next()) {
        (Some('\\'), _) => quoted(rest, '\''),
        (Some(c), Some('\'')) => 2 + c.len_utf8(),
        _ => 0,
    }
}

fn raw_string(rest: &str) -> usize {
    let prefix = ["br", "cr", "r"].into_iter().find(|prefix| rest.starts_with(prefix));
    let Some(prefix) = prefix else { return 0 };
    let after_prefix = &rest[prefix.len()..];
    let n_hashes = after_prefix.chars().take_while(|c| *c == '#').count();
    if !after_prefix[n_hashes..].starts_with('"') {
        return 0;
    }
    let start = prefix.len() + n_hashes + 1;
    let end = format!("\"{}", "#".repeat(n_hashes));
    rest[start..].find(&end).map_or(rest.len(), |at| start + at + end.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, words: &[&str]) {
        assert_eq!(code_only(text).split_whitespace().collect::<Vec<_>>(), words);
        assert_eq!(code_only(text).lines().count(), text.lines().count());
    }

    #[test]
    fn only_code_stays() {
        check("a // b\nc", &["a", "c"]);
        check("a /* b /* c */ d\n */ e", &["a", "e"]);
        check(r#"a "b \" c" d"#, &["a", "d"]);
        check(r##"a r#"b " c"# d"##, &["a", "d"]);
        check(r"a '\'' b 'c' d", &["a", "b", "d"]);
        check("&'a str 'é'", &["&'a", "str"]);
        check("var\"b\" r", &["var", "r"]);
        check("r#type = 1", &["r#type", "=", "1"]);
    }

    #[test]
    fn tests_are_cut_at_the_first_column() {
        assert_eq!(before_tests("a\n#[cfg(test)]\nb"), "a\n");
        assert_eq!(before_tests("a\n    #[cfg(test)]\nb"), "a\n    #[cfg(test)]\nb");
        assert_eq!(
            before_tests("#[cfg(test)]\nmod a;\nb\n#[cfg(test)]\nc"),
            "#[cfg(test)]\nmod a;\nb\n"
        );
        assert_eq!(before_tests("a"), "a");
    }
}
