//! Rules for types: one that needs many methods or fields has several jobs, and a name means one thing.
//!
//! Methods are those of all `impl` blocks of a type in its crate, those of traits and of tests apart. Fields are those of
//! a struct. Exceptions are in `arrows.toml`, each with its reason; one that is no longer needed is a problem itself.

use std::collections::BTreeMap;

use crate::{
    Problem,
    arrows::{Arrows, FILE},
    modules::{Modules, Sources},
    tree::TextFile,
};

/// Most methods of a type.
pub const N_METHODS_MAX: usize = 30;

/// Most fields of a struct.
pub const N_FIELDS_MAX: usize = 16;

/// Most types and traits of one name that files other than their own can use.
pub const N_NAMESAKES_MAX: usize = 3;

/// Options of a subcommand have the same name in each.
const COMMON_NAME: &str = "Options";

/// Problems of names that many types share.
#[must_use]
pub fn namesakes(files: &[TextFile]) -> Vec<Problem> {
    let sources = Sources::of(files);
    let mut types: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (krate, modules) in sources.modules() {
        for (module, items) in modules.iter() {
            for name in &items.shared_types {
                let path = [&[krate], &module[..]].concat().join("::");
                types.entry((*name).to_owned()).or_default().push(path);
            }
        }
    }
    types.retain(|name, modules| N_NAMESAKES_MAX < modules.len() && name != COMMON_NAME);
    let problems = types.into_iter().map(|(name, modules)| {
        let modules = modules.join("`, `");
        let sentence = format!(
            "more than {N_NAMESAKES_MAX} types are called `{name}`: say of each in `{modules}` what it is"
        );
        Problem::of_file(FILE, sentence)
    });
    problems.collect()
}

/// Problems of types that are too large, and of exceptions for those that are not.
#[must_use]
pub fn sizes(arrows: &Arrows, files: &[TextFile]) -> Vec<Problem> {
    let sources = Sources::of(files);
    let mut large = BTreeMap::new();
    for (krate, modules) in sources.modules() {
        large.extend(large_types(krate, &modules));
    }
    let unneeded = arrows.types.keys().filter(|name| !large.contains_key(*name));
    let mut problems: Vec<_> = unneeded
        .map(|name| Problem::of_file(FILE, format!("the type `{name}` needs no exception")))
        .collect();
    large.retain(|name, _| !arrows.types.contains_key(name));
    problems.extend(large.into_iter().map(|(name, (n_methods, n_fields))| {
        let sentence = format!(
            "`{name}` has {n_methods} methods and {n_fields} fields, {N_METHODS_MAX} and {N_FIELDS_MAX} at most: make \
             it several types"
        );
        Problem::of_file(FILE, sentence)
    }));
    problems
}

/// Types of a crate that are too large, with their numbers of methods and fields.
fn large_types(krate: &str, modules: &Modules<'_>) -> BTreeMap<String, (usize, usize)> {
    let mut types: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for (module, items) in modules.iter() {
        let full_name =
            |module: &[&str], name: &str| [&[krate], module, &[name]].concat().join("::");
        for one in &items.structs {
            types.entry(full_name(module, one.name)).or_default().1 = one.n_fields;
        }
        for block in &items.impls {
            let (module, name) = modules
                .definition(module, &block.path)
                .unwrap_or_else(|| (module.clone(), block.path[block.path.len() - 1]));
            types.entry(full_name(&module, name)).or_default().0 += block.n_methods;
        }
    }
    types.retain(|_, (n_methods, n_fields)| N_METHODS_MAX < *n_methods || N_FIELDS_MAX < *n_fields);
    types
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks a crate in which `A` has as many methods in each of its two modules, and as many fields.
    #[track_caller]
    fn check(n_methods: usize, n_fields: usize, exceptions: &str, expected: &[&str]) {
        let methods = "fn a() {}\n".repeat(n_methods);
        let fields = "a: u8,\n".repeat(n_fields);
        let file = |path: &str, text: String| TextFile {
            path: format!("crates/floor/ring/src/{path}"),
            text,
        };
        let files = [
            file(
                "lib.rs",
                format!("mod b;\npub struct A {{ {fields} }}\nimpl A {{ {methods} }}\n"),
            ),
            file(
                "b.rs",
                format!("use super::A;\nimpl A {{ {methods} }}\nimpl C for A {{ {methods} }}\n"),
            ),
        ];
        let arrows = Arrows::read(&format!("[houses]\n[crates]\n[types]\n{exceptions}")).unwrap();
        let problems = sizes(&arrows, &files);
        assert_eq!(problems.iter().map(|p| p.sentence.as_str()).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_name_means_one_thing() {
        let file = |krate: &str| TextFile {
            path: format!("crates/floor/{krate}/src/lib.rs"),
            text: "pub struct Outcome;\npub struct Options;\nstruct State;".to_owned(),
        };
        assert_eq!(namesakes(&["a", "b", "c"].map(file)), []);
        let problems = namesakes(&["a", "b", "c", "d"].map(file));
        let expected =
            "more than 3 types are called `Outcome`: say of each in `a`, `b`, `c`, `d` what it is";
        assert_eq!(problems.iter().map(|p| p.sentence.as_str()).collect::<Vec<_>>(), [expected]);
    }

    #[test]
    fn a_large_type_is_several() {
        check(15, 16, "", &[]);
        let sentence =
            "`ring::A` has 32 methods and 16 fields, 30 and 16 at most: make it several types";
        check(16, 16, "", &[sentence]);
        let sentence =
            "`ring::A` has 30 methods and 17 fields, 30 and 16 at most: make it several types";
        check(15, 17, "", &[sentence]);
    }

    #[test]
    fn an_exception_is_needed() {
        let exception = "\"ring::A\" = \"Its fields are a format.\"\n";
        check(0, 17, exception, &[]);
        check(0, 16, exception, &["the type `ring::A` needs no exception"]);
    }
}
