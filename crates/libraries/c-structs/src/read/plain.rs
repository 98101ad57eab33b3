//! Removes the parts of a header that only a C++ compiler sees.
//!
//! The usual `#ifdef __cplusplus`, `extern "C" {`, `#endif` opens a brace in one conditional and closes it in another,
//! which no grammar can follow.

/// Returns the text with spaces in place of the parts for C++, so that everything else keeps its place.
pub(super) fn for_c(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    // Depth of conditionals at which the C++ conditional began, and whether its lines are removed.
    let mut part: Option<(usize, bool)> = None;
    let mut depth: usize = 0;
    for line in text.split_inclusive('\n') {
        let directive = directive(line);
        let is_own = part.is_some_and(|(began, _)| began == depth);
        match directive {
            "ifdef" | "ifndef" | "if" => {
                depth += 1;
                if part.is_none() && line.contains("__cplusplus") {
                    part = Some((depth, directive != "ifndef"));
                    blank(line, &mut plain);
                    continue;
                }
            }
            "else" if is_own => {
                part = part.map(|(began, is_out)| (began, !is_out));
                blank(line, &mut plain);
                continue;
            }
            "endif" => {
                depth = depth.saturating_sub(1);
                if is_own {
                    part = None;
                    blank(line, &mut plain);
                    continue;
                }
            }
            _ => {}
        }
        match part {
            Some((_, true)) => blank(line, &mut plain),
            _ => plain.push_str(line),
        }
    }
    plain
}

/// Returns the word behind `#`, or an empty string.
fn directive(line: &str) -> &str {
    let word = line.trim_start().strip_prefix('#').unwrap_or_default().trim_start();
    word.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default()
}

/// Appends as many blanks as `line` has bytes, keeping line ends.
fn blank(line: &str, to: &mut String) {
    to.extend(line.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let plain = for_c(text);
        assert_eq!(plain.len(), text.len());
        let lines: Vec<_> = plain.lines().filter(|line| !line.trim().is_empty()).collect();
        assert_eq!(lines.join("|"), expected);
    }

    #[test]
    fn what_is_for_cpp_is_left_out() {
        check("a\n#ifdef __cplusplus\nextern \"C\" {\n#endif\nb\n", "a|b");
        check("#if defined(__cplusplus)\nx\n#else\ny\n#endif\nb", "y|b");
        check("#ifndef __cplusplus\nx\n#else\ny\n#endif\n", "x");
        check(
            "#ifdef A\n# ifdef __cplusplus\n# if 1\nx é\n# endif\n# endif\nb\n#endif\n",
            "#ifdef A|b|#endif",
        );
        check("#ifdef A\nx\n#else\ny\n#endif\n", "#ifdef A|x|#else|y|#endif");
    }
}
