//! Reads from the words of a Rust file which items it has and which it names.
//!
//! # Invariants
//! - Items under `#[cfg(test)]` are left out.
//! - No file is refused: what is not understood has no items.
//!
//! # Not here
//! What macros make; the files to which names lead: [`crate::modules`].

use crate::code;

/// Items of one file, and the paths that it names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Items<'a> {
    /// Names of its items that lie in no other item.
    pub(crate) names: Vec<&'a str>,
    /// Names of types and traits among them that other files can use.
    pub(crate) shared_types: Vec<&'a str>,
    /// Its modules that lie in files of their own.
    pub(crate) modules: Vec<&'a str>,
    pub(crate) structs: Vec<Struct<'a>>,
    /// `impl` blocks that are of no trait.
    pub(crate) impls: Vec<Impl<'a>>,
    pub(crate) imports: Vec<Import<'a>>,
    /// Paths of two and more words outside of imports.
    pub(crate) paths: Vec<Vec<&'a str>>,
}

/// Struct with the number of its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Struct<'a> {
    pub(crate) name: &'a str,
    pub(crate) n_fields: usize,
}

/// `impl` block with the number of its functions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Impl<'a> {
    /// Path of the type.
    pub(crate) path: Vec<&'a str>,
    pub(crate) n_methods: usize,
}

/// One name of a `use`; `*` for all of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Import<'a> {
    pub(crate) path: Vec<&'a str>,
    pub(crate) name: &'a str,
}

/// Words that begin an item with a name.
const ITEMS: [&str; 9] =
    ["fn", "struct", "enum", "trait", "type", "const", "static", "union", "mod"];

/// Words that begin a type or a trait.
const TYPES: [&str; 4] = ["struct", "enum", "trait", "type"];

impl<'a> Items<'a> {
    /// Reads code without comments and literals.
    pub(crate) fn read(code: &'a str) -> Self {
        let words =
            without_tests(&code::tokens(code).into_iter().map(|t| t.word).collect::<Vec<_>>());
        let mut items = Self::default();
        let (mut at, mut depth) = (0, 0_usize);
        while let Some(word) = words.get(at) {
            let next = words.get(at + 1).copied().unwrap_or_default();
            match *word {
                "{" => depth += 1,
                "}" => depth = depth.saturating_sub(1),
                "use" if next != "<" => {
                    at = imports(&words, at + 1, &[], &mut items.imports);
                    continue;
                }
                "impl" if begins_item(&words[..at]) => {
                    items.impls.extend(own_impl(&words[at + 1..]))
                }
                "struct" if is_name(next) => {
                    let n_fields = n_fields(&words[at + 2..]);
                    items.structs.push(Struct { name: next, n_fields });
                }
                _ => {}
            }
            if depth == 0 && ITEMS.contains(word) && is_name(next) && !ITEMS.contains(&next) {
                let is_file = *word == "mod" && words.get(at + 2) == Some(&";");
                if is_file {
                    items.modules.push(next)
                } else {
                    items.names.push(next)
                }
                if TYPES.contains(word) && is_shared(&words[..at]) {
                    items.shared_types.push(next);
                }
            }
            let path = path(&words[at..]);
            let is_inside =
                at != 0 && words[at - 1] == ":" && words.get(at.wrapping_sub(2)) == Some(&":");
            if path.len() > 1 && !is_inside {
                items.paths.push(path);
            }
            at += 1;
        }
        items
    }
}

/// Leaves out each item after `#[cfg(test)]`.
fn without_tests<'a>(words: &[&'a str]) -> Vec<&'a str> {
    const OF_TESTS: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let mut kept = Vec::new();
    let mut at = 0;
    while at < words.len() {
        if words[at..].starts_with(&OF_TESTS) {
            at += OF_TESTS.len();
            at += n_before(&words[at..], |word| word == ";" || word == "{");
            at += n_in_brackets(&words[at..]).max(1);
        } else {
            kept.push(words[at]);
            at += 1;
        }
    }
    kept
}

/// Whether an item may begin after these words.
fn begins_item(before: &[&str]) -> bool {
    before.last().is_none_or(|word| ["}", "{", ";", "]", "unsafe"].contains(word))
}

/// Whether these words end with `pub`, `pub(crate)` or the like.
fn is_shared(before: &[&str]) -> bool {
    match before {
        [.., "pub"] => true,
        [.., ")"] => {
            before.iter().rev().find(|word| ["pub", ";", "}"].contains(word)) == Some(&"pub")
        }
        _ => false,
    }
}

/// Reads one branch of the tree of a `use`, and returns where the next begins.
fn imports<'a>(
    words: &[&'a str],
    mut at: usize,
    above: &[&'a str],
    found: &mut Vec<Import<'a>>,
) -> usize {
    let start = at;
    let mut path = above.to_vec();
    let mut name = None;
    while let Some(&word) = words.get(at) {
        match word {
            "{" => {
                while words.get(at).is_some_and(|word| *word != "}") {
                    at = imports(words, at + 1, &path, found);
                }
                return at + 1;
            }
            "," | "}" | ";" => break,
            "as" => {
                name = words.get(at + 1).copied();
                at += 1;
            }
            ":" => {}
            word => path.push(word),
        }
        at += 1;
    }
    path.pop_if(|last| *last == "self");
    if let Some(&last) = path.last()
        && at != start
    {
        found.push(Import { path, name: name.unwrap_or(last) });
    }
    at
}

/// Reads an `impl` block from the words after `impl`; `None` if it is of a trait.
fn own_impl<'a>(words: &[&'a str]) -> Option<Impl<'a>> {
    let start = n_in_angles(words);
    let n_head = n_before(&words[start..], |word| word == "{");
    let head = &words[start..start + n_head];
    let is_of_trait = head.windows(2).any(|two| two[0] == "for" && two[1] != "<");
    let body = &words[start + n_head..];
    let body = &body[..n_in_brackets(body)];
    let mut depth = 0_usize;
    let mut n_methods = 0;
    for two in body.windows(2) {
        match two[0] {
            "{" => depth += 1,
            "}" => depth = depth.saturating_sub(1),
            "fn" if depth == 1 && is_name(two[1]) => n_methods += 1,
            _ => {}
        }
    }
    let type_at = head.iter().position(|word| is_name(word) && *word != "dyn")?;
    (!is_of_trait).then(|| Impl { path: path(&head[type_at..]), n_methods })
}

/// Number of fields of a struct, from the words after its name.
fn n_fields(words: &[&str]) -> usize {
    let start = n_in_angles(words);
    let start = start + n_before(&words[start..], |word| ["{", "(", ";"].contains(&word));
    let body = &words[start..start + n_in_brackets(&words[start..])];
    let (mut n_fields, mut is_empty, mut at) = (0, true, 1);
    while at + 1 < body.len() {
        match body[at] {
            "#" => at += n_in_brackets(&body[at + 1..]),
            "," => is_empty = true,
            _ => {
                n_fields += usize::from(is_empty);
                is_empty = false;
                at += n_in_brackets(&body[at..]).max(n_in_angles(&body[at..])).saturating_sub(1);
            }
        }
        at += 1;
    }
    n_fields
}

/// Longest path that begins with the first word; empty if it is no name.
fn path<'a>(words: &[&'a str]) -> Vec<&'a str> {
    let mut path = Vec::new();
    let mut rest = words;
    while let [name, after @ ..] = rest
        && is_name(name)
    {
        path.push(*name);
        let [":", ":", below @ ..] = after else { break };
        rest = below;
    }
    path
}

/// Number of words before the first that `is_end`, brackets apart.
fn n_before(words: &[&str], is_end: impl Fn(&str) -> bool) -> usize {
    let mut at = 0;
    while let Some(word) = words.get(at)
        && !is_end(word)
    {
        at += n_in_brackets(&words[at..]).max(1);
    }
    at.min(words.len())
}

/// Number of words from an opening bracket to its closing one; zero if no bracket comes first.
fn n_in_brackets(words: &[&str]) -> usize {
    n_enclosed(words, &["{", "(", "["], &["}", ")", "]"])
}

/// Number of words from `<` to its `>`; zero if `<` does not come first.
fn n_in_angles(words: &[&str]) -> usize {
    n_enclosed(words, &["<"], &[">"])
}

fn n_enclosed(words: &[&str], open: &[&str], close: &[&str]) -> usize {
    if !words.first().is_some_and(|word| open.contains(word)) {
        return 0;
    }
    let mut depth = 0_usize;
    for (at, word) in words.iter().enumerate() {
        // The sign of a function's result closes nothing.
        let is_arrow = *word == ">" && at != 0 && ["-", "="].contains(&words[at - 1]);
        if open.contains(word) {
            depth += 1;
        } else if close.contains(word) && !is_arrow {
            depth -= 1;
            if depth == 0 {
                return at + 1;
            }
        }
    }
    words.len()
}

fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(text: &str) -> Items<'_> {
        Items::read(text)
    }

    #[test]
    fn items_have_names() {
        let found = items(
            "mod a;\nmod b { fn c() {} }\npub const fn d() {}\nstatic E: u8 = 1;\n#[cfg(test)]\nmod tests;",
        );
        assert_eq!(found.modules, ["a"]);
        assert_eq!(found.names, ["b", "d", "E"]);
    }

    #[test]
    fn types_may_be_of_other_files() {
        let found = items(
            "struct A;\npub struct B;\npub(super) enum C {}\n#[derive(D)]\nstruct D;\n\
             pub(in crate::x) trait E {}\npub fn f() {}\npub type G = u8;",
        );
        assert_eq!(found.shared_types, ["B", "C", "E", "G"]);
    }

    #[track_caller]
    fn check_imports(text: &str, expected: &[(&str, &str)]) {
        let found = items(text).imports;
        let found: Vec<_> =
            found.iter().map(|import| (import.path.join("::"), import.name)).collect();
        let expected: Vec<_> =
            expected.iter().map(|(path, name)| ((*path).to_owned(), *name)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_tree_of_imports_is_flattened() {
        check_imports("use a::b;", &[("a::b", "b")]);
        check_imports("pub use a::b as c;", &[("a::b", "c")]);
        check_imports("use super::*;", &[("super::*", "*")]);
        let tree = "use crate::{a::{self, B}, c::*, d};";
        check_imports(
            tree,
            &[("crate::a", "a"), ("crate::a::B", "B"), ("crate::c::*", "*"), ("crate::d", "d")],
        );
        check_imports("fn f() -> impl A + use<'a> {}", &[]);
    }

    #[test]
    fn paths_are_whole() {
        assert_eq!(
            items("fn f() { a::b::c(d::E); g }").paths,
            [vec!["a", "b", "c"], vec!["d", "E"]]
        );
    }

    #[track_caller]
    fn check_fields(text: &str, expected: usize) {
        assert_eq!(
            items(text).structs.iter().map(|one| one.n_fields).collect::<Vec<_>>(),
            [expected]
        );
    }

    #[test]
    fn fields_are_counted() {
        check_fields("struct A;", 0);
        check_fields("struct A {}", 0);
        check_fields("struct A { b: u8, pub(crate) c: [u8; 2], }", 2);
        check_fields("struct A<'a, B: Fn(u8, u8) -> u8> where B: C { b: &'a B }", 1);
        check_fields("struct A { b: Map<u8, Fn(u8, u8) -> u8>, #[c(d, e)] f: (u8, u8) }", 2);
        check_fields("struct A(u8, pub u8);", 2);
    }

    #[track_caller]
    fn check_methods(text: &str, expected: &[(&str, usize)]) {
        let found = items(text).impls;
        let found: Vec<_> =
            found.iter().map(|block| (block.path.join("::"), block.n_methods)).collect();
        let expected: Vec<_> = expected.iter().map(|(path, n)| ((*path).to_owned(), *n)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn methods_are_counted() {
        check_methods(
            "impl A { fn b() { fn c() {} } pub const fn d() {} const E: fn(u8) = f; }",
            &[("A", 2)],
        );
        check_methods(
            "impl<'a, B: Into<u8>> super::A<'a, B> where B: C { fn b() {} }",
            &[("super::A", 1)],
        );
        check_methods("impl A for B { fn c() {} }", &[]);
        check_methods("impl B where for<'a> A: C<'a> { fn c() {} }", &[("B", 1)]);
        check_methods("fn f(a: impl A) -> impl B { }", &[]);
    }
}
