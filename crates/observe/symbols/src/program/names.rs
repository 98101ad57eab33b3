//! Matching of names, and search for similar names.

/// Quality of a match between a requested and an existing name, best first; other names do not match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fit {
    /// Equal to the symbol.
    Symbol,
    /// Equal to the whole name.
    Whole,
    /// Equal to the end of the name: `advance` for `fire::Front::advance`.
    End,
    /// One of the above, ignoring template arguments, underscores and capitals.
    Loose,
}

/// Returns how well something with this symbol and name matches the requested name.
pub(crate) fn fit(wanted: &str, symbol: &str, name: &str) -> Option<Fit> {
    if wanted == symbol {
        Some(Fit::Symbol)
    } else if wanted == name {
        Some(Fit::Whole)
    } else if is_end(wanted, name) {
        Some(Fit::End)
    } else {
        None
    }
}

/// Matches like [`fit`], with the differences that [`Fit::Loose`] ignores.
pub(crate) fn loose_fit(wanted: &str, name: &str) -> Option<Fit> {
    let (wanted, name) = (plain(wanted), plain(name));
    (wanted == name || is_end(&wanted, &name)).then_some(Fit::Loose)
}

fn is_end(wanted: &str, name: &str) -> bool {
    name.strip_suffix(wanted).is_some_and(|before| before.ends_with("::")) && !wanted.is_empty()
}

/// Removes template arguments, anonymous namespaces, spaces, and differences that Fortran ignores.
fn plain(name: &str) -> String {
    let name = name.replace("(anonymous namespace)::", "");
    let mut depth = 0_usize;
    let mut plain = String::with_capacity(name.len());
    // The `<` of `operator<` opens no template arguments.
    let is_operator = name.contains("operator");
    for character in name.chars() {
        match character {
            '<' if !is_operator => depth += 1,
            '>' if !is_operator => depth = depth.saturating_sub(1),
            ' ' => {}
            _ if depth == 0 => plain.extend(character.to_lowercase()),
            _ => {}
        }
    }
    plain.trim_end_matches('_').to_owned()
}

/// Returns the names similar to `wanted`, best first.
pub(crate) fn near<'n>(wanted: &str, names: impl Iterator<Item = &'n str>) -> Vec<String> {
    const SHOWN: usize = 4;
    let last = last_part(wanted).to_lowercase();
    let most = last.chars().count().div_ceil(3).min(4);
    let mut found: Vec<(usize, &str)> = names
        .filter_map(|name| {
            let part = last_part(name).to_lowercase();
            // Names whose lengths differ by more need more edits.
            let is_close = part.len().abs_diff(last.len()) <= most;
            let n_edits = if is_close { strsim::osa_distance(&last, &part) } else { usize::MAX };
            (n_edits <= most).then_some((n_edits, name))
        })
        .collect();
    found.sort_unstable();
    found.dedup();
    found.into_iter().take(SHOWN).map(|(_, name)| name.to_owned()).collect()
}

fn last_part(name: &str) -> &str {
    name.rsplit("::").next().unwrap_or(name).trim_end_matches('_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(wanted: &str, symbol: &str, name: &str, expected: Option<Fit>) {
        assert_eq!(fit(wanted, symbol, name).or_else(|| loose_fit(wanted, name)), expected);
    }

    #[test]
    fn a_name_fits_in_several_ways() {
        check("_ZN4fire1fEv", "_ZN4fire1fEv", "fire::f", Some(Fit::Symbol));
        check("fire::f", "_ZN4fire1fEv", "fire::f", Some(Fit::Whole));
        check("f", "_ZN4fire1fEv", "fire::f", Some(Fit::End));
        check("e::f", "_ZN4fire1fEv", "fire::f", None);
        check("fire::max", "_Z", "fire::max<double>", Some(Fit::Loose));
        check("max<double>", "_Z", "fire::max<double>", Some(Fit::End));
        check("solve", "solve_", "solve_", Some(Fit::Loose));
        check("Params::Chunk", "__params_MOD_chunk", "params::chunk", Some(Fit::Loose));
        check("f", "_Z", "(anonymous namespace)::f", Some(Fit::End));
        check("fire::f", "_Z", "fire::(anonymous namespace)::f", Some(Fit::Loose));
        check("", "f", "f", None);
    }

    #[track_caller]
    fn check_near(wanted: &str, expected: &[&str]) {
        let names = ["chunk", "chunk_size", "fire::chnuk", "MAIN__", "rows", "x"];
        assert_eq!(near(wanted, names.into_iter()), expected);
    }

    #[test]
    fn near_names_differ_in_few_letters() {
        check_near("chunck", &["chunk", "fire::chnuk"]);
        check_near("chunk_sise", &["chunk_size"]);
        check_near("row", &["rows"]);
        check_near("columns", &[]);
    }
}
