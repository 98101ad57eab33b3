//! Fills expressions in braces into a text, and splits commands into words.

use crate::{Expression, ExpressionError};
use std::collections::BTreeMap;

/// Placeholder for the path of the filled-in script.
pub(crate) const SCRIPT: &str = "script";

/// Replaces `{p + 1}` by its value; `{{` and `}}` are literal braces. `{script}` becomes the path, if one is
/// given.
pub(crate) fn fill(
    text: &str,
    parameters: &BTreeMap<String, f64>,
    script: Option<&str>,
) -> Result<String, ExpressionError> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        filled.push_str(&rest[..at]);
        let (brace, after) = rest[at..].split_at(1);
        if let Some(after) = after.strip_prefix(brace) {
            filled.push_str(brace);
            rest = after;
            continue;
        }
        let inner = after.split_once('}').filter(|_| brace == "{");
        let Some((inner, after)) = inner else {
            let expected = if brace == "{" { "`}`" } else { "`{`, or one more `}`," };
            let at = text.chars().count() - rest[at..].chars().count() + 1;
            return Err(ExpressionError::Malformed { text: text.to_owned(), expected, at });
        };
        match script.filter(|_| inner.trim() == SCRIPT) {
            Some(path) => filled.push_str(path),
            None => filled.push_str(&Expression::read(inner)?.value(parameters)?.to_string()),
        }
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}

/// Splits a command into words at spaces outside quotes and braces; returns the quote that is not closed
/// otherwise.
pub(crate) fn words(text: &str) -> Result<Vec<String>, char> {
    let mut words: Vec<String> = Vec::new();
    let (mut word, mut quote): (Option<String>, Option<char>) = (None, None);
    let mut n_braces = 0_usize;
    for c in text.chars() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => word.get_or_insert_default().push(c),
            None if c == '"' || c == '\'' => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            None if c.is_whitespace() && n_braces == 0 => words.extend(word.take()),
            None => {
                match c {
                    '{' => n_braces += 1,
                    '}' => n_braces = n_braces.saturating_sub(1),
                    _ => {}
                }
                word.get_or_insert_default().push(c);
            }
        }
    }
    words.extend(word);
    quote.map_or(Ok(words), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let parameters = [("p".to_owned(), 4.0), ("dt".to_owned(), 0.25)].into();
        let said = fill(text, &parameters, Some("/a/b.sh"));
        assert_eq!(said.unwrap_or_else(|error| error.to_string()), expected);
    }

    #[test]
    fn braces_are_filled_in() {
        check("mpirun -n {p + 1} x --dt {dt}", "mpirun -n 5 x --dt 0.25");
        check("sbatch {script}", "sbatch /a/b.sh");
        check("awk '{{print}}' {p}", "awk '{print}' 4");
        check("", "");
        check("x {p", "cannot parse `x {p`: expected `}` at character 3");
        check("x } y", "cannot parse `x } y`: expected `{`, or one more `}`, at character 3");
        check("{q}", "`q` uses the unknown parameter `q`; known parameters: `dt`, `p`");
    }

    #[test]
    fn words_keep_what_is_in_quotes() {
        #[track_caller]
        fn check(text: &str, expected: Result<&[&str], char>) {
            let expected = expected.map(|words| words.iter().map(|w| (*w).to_owned()).collect());
            assert_eq!(words(text), expected);
        }
        check("a  bc d", Ok(&["a", "bc", "d"]));
        check("sh -c 'x \"y\" z'", Ok(&["sh", "-c", "x \"y\" z"]));
        check("a=\"b c\"d ''", Ok(&["a=b cd", ""]));
        check("-n {p + 1} '{n * 2}'x", Ok(&["-n", "{p + 1}", "{n * 2}x"]));
        check("  ", Ok(&[]));
        check("a 'b", Err('\''));
    }
}
