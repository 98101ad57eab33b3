//! Words in names: which variables look like choices, and names for what is described.

/// Words of names of values that are chosen for speed, and can mostly be changed.
const CHOICES: [&str; 33] = [
    "batch",
    "batchsize",
    "block",
    "blocking",
    "blocks",
    "blocksize",
    "bs",
    "chunk",
    "chunks",
    "chunksize",
    "cut",
    "cutoff",
    "cutoffs",
    "rcut",
    "skin",
    "tile",
    "tiles",
    "tilesize",
    "grain",
    "granularity",
    "every",
    "interval",
    "freq",
    "frequency",
    "threshold",
    "thresh",
    "depth",
    "unroll",
    "prefetch",
    "workers",
    "buffer",
    "bufsize",
    "lookahead",
];

/// Words of names of counts, which look like choices otherwise: `n_chunks`, `blocks_done`.
const COUNTS: [&str; 7] = ["n", "num", "count", "counter", "left", "done", "id"];

/// Words of names of numbers that tell how much work there is.
const AMOUNTS: [&str; 18] = [
    "n",
    "nx",
    "ny",
    "nz",
    "rows",
    "cols",
    "columns",
    "count",
    "size",
    "num",
    "len",
    "length",
    "steps",
    "iter",
    "iteration",
    "cells",
    "points",
    "particles",
];

/// Returns whether a variable's name looks like a choice: cut-offs, sizes of blocks and chunks, intervals.
pub(crate) fn is_choice(name: &str) -> bool {
    let words = words(last_part(name));
    let is_count = words.iter().any(|word| COUNTS.contains(&word.as_str()));
    !is_count && words.iter().any(|word| CHOICES.contains(&word.as_str()))
}

/// Returns whether a name looks like an amount of work.
pub(crate) fn is_amount(name: &str) -> bool {
    words(last_part(name)).iter().any(|word| AMOUNTS.contains(&word.as_str()))
}

/// Last part of a name: the member, or the function without its scopes.
pub(crate) fn last_part(name: &str) -> &str {
    let name = name.split(['(', '<', '[']).next().unwrap_or(name);
    name.rsplit([':', '.', '%', '>']).next().unwrap_or(name)
}

/// Words of a name in lower case: `maxChunkSize` and `max_chunk_size` have the same.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for letter in name.chars() {
        if !letter.is_alphabetic() || letter.is_uppercase() && was_lower {
            words.push(String::new());
        }
        was_lower = letter.is_lowercase();
        if letter.is_alphabetic()
            && let Some(last) = words.last_mut()
        {
            last.extend(letter.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Name for an event or a tuning point, of letters that need no quotes.
pub(crate) fn plain(name: &str) -> String {
    let letters = last_part(name).chars();
    let plain: String =
        letters.map(|letter| if letter.is_alphanumeric() { letter } else { '_' }).collect();
    let plain = plain.trim_matches('_');
    if plain.is_empty() { "value".to_owned() } else { plain.to_owned() }
}

/// Words that tell forms of a function apart.
const FORMS: [&str; 24] = [
    "avx",
    "base",
    "blocked",
    "fast",
    "fused",
    "generic",
    "gpu",
    "naive",
    "new",
    "old",
    "omp",
    "opt",
    "optimized",
    "orig",
    "parallel",
    "plain",
    "ref",
    "reference",
    "scalar",
    "simd",
    "simple",
    "tiled",
    "v",
    "vector",
];

/// Returns whether one function looks like another form of the other: `step` and `step_blocked`, `solve_v1` and `solve_v2`.
pub(crate) fn are_forms(a: &str, b: &str) -> bool {
    let (first, second) = (last_part(a), last_part(b));
    let (a, b) = (words(first), words(second));
    let n_common = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let is_form = |rest: &[String]| rest.iter().all(|word| FORMS.contains(&word.as_str()));
    let (a, b) = (&a[n_common..], &b[n_common..]);
    first != second && 0 < n_common && (a.is_empty() || b.is_empty() || is_form(a) && is_form(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_choices_are_known_by_their_words() {
        for name in
            ["chunk", "maxChunkSize", "sim->box.cutoff", "params%rcut", "BLOCK_SIZE", "a.b[3]"]
        {
            assert_eq!(is_choice(name), name != "a.b[3]", "{name}");
        }
        for name in ["chunky", "n", "n_chunks", "blocks_done", "scut", "MPI_COMM_WORLD", "rows"] {
            assert!(!is_choice(name), "{name}");
        }
        assert!(is_amount("n_rows") && is_amount("grid->nx") && !is_amount("next"));
    }

    #[test]
    fn plain_names_need_no_quotes() {
        assert_eq!(plain("fire::Front::advance(double)"), "advance");
        assert_eq!(plain("sim->box.cutoff"), "cutoff");
        assert_eq!(plain("operator()"), "operator");
        assert_eq!(plain("~"), "value");
    }

    #[test]
    fn forms_of_a_function_begin_alike() {
        assert!(are_forms("step", "step_blocked") && are_forms("a::solve_v1", "a::solve_v2"));
        assert!(!are_forms("step", "stepper") && !are_forms("read", "write"));
        assert!(!are_forms("line_reserve", "line_resample") && are_forms("dot_naive", "dot_tiled"));
        assert!(are_forms("exchange_rows", "exchange") && are_forms("exchange", "exchange_rows"));
        assert!(!are_forms("step", "step"));
    }
}
