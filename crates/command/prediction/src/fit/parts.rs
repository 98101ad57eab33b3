//! Selects regions and metrics by patterns.

/// Returns whether a name matches a pattern, in which `*` stands for anything.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        match name.find(part) {
            Some(at) => name = &name[at + part.len()..],
            None => return false,
        }
    }
    name.ends_with(last)
}

/// Returns whether one of the patterns matches, or there is none.
pub(crate) fn is_wanted(patterns: &[String], name: &str) -> bool {
    patterns.is_empty() || patterns.iter().any(|pattern| matches(pattern, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, name: &str, expected: bool) {
        assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
    }

    #[test]
    fn a_star_stands_for_anything() {
        check("main->a", "main->a", true);
        check("main->a", "main->ab", false);
        check("*", "", true);
        check("main*", "main->a", true);
        check("*a", "main->a", true);
        check("m*>*a", "main->a", true);
        check("m*x*a", "main->a", false);
        check("*aa", "a", false);
        check("a*a", "a", false);
        assert!(is_wanted(&[], "a") && !is_wanted(&["b".into(), "c*".into()], "a"));
    }
}
