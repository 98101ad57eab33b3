//! Rule for the modules of one crate: they form no circle.
//!
//! A module is its file and the folder of the same name. A circle are modules of one parent each of which names an item
//! of the next, and the last one of the first: none of them can be understood, tested or moved without the others. A
//! name that a parent re-exports counts as that of the module which defines it.
//!
//! A parent and its children may name each other: they are one module for all others, and [`crate::types`] limits the
//! type on which they work together. A registry, listed in `arrows.toml`, may name its entries, which name it. Further
//! exceptions are listed there, too, each with its reason; one that is no longer needed is a problem itself.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::{
    Problem,
    arrows::{Arrows, FILE},
    modules::{Modules, Sources},
    tree::TextFile,
};

/// Modules of one parent that a module names, each with one name.
type Graph = BTreeMap<String, BTreeMap<String, String>>;

/// Problems of modules in circles, and of exceptions without one.
#[must_use]
pub fn circles(arrows: &Arrows, files: &[TextFile]) -> Vec<Problem> {
    let rules = &arrows.circles;
    let mut graph = Graph::new();
    for (krate, modules) in Sources::of(files).modules() {
        add(&mut graph, krate, &modules);
    }
    let unlisted = rules.registries.iter().filter(|name| circle(&graph, name).is_empty());
    let mut problems: Vec<_> = unlisted
        .map(|name| Problem::of_file(FILE, format!("the registry `{name}` is in no circle")))
        .collect();
    graph.retain(|name, _| !rules.registries.contains(name));
    let unneeded = rules.known.keys().filter(|known| !is_in_circle(&graph, known));
    problems.extend(unneeded.map(|known| {
        Problem::of_file(FILE, format!("`{known}` is in no circle: it needs no exception"))
    }));
    for (from, targets) in &mut graph {
        targets.retain(|to, _| !rules.known.contains_key(&arrow(from, to)));
    }
    let mut seen = BTreeSet::new();
    for name in graph.keys() {
        let circle = circle(&graph, name);
        if !circle.is_empty() && circle.iter().all(|name| seen.insert(name.clone())) {
            problems.push(Problem::of_file(FILE, sentence(&graph, &circle)));
        }
    }
    problems
}

/// Adds the modules of a crate, by their full names.
fn add(graph: &mut Graph, krate: &str, modules: &Modules<'_>) {
    for reference in modules.references() {
        let pairs = reference.from.iter().zip(&reference.to);
        let n_common = pairs.take_while(|(from, to)| from == to).count();
        // Of a parent and its child, one has no step below what they have in common.
        if n_common < reference.from.len().min(reference.to.len()) {
            let name = |path: &[&str]| [&[krate], &path[..=n_common]].concat().join("::");
            let targets = graph.entry(name(&reference.from)).or_default();
            targets.entry(name(&reference.to)).or_insert_with(|| reference.name.to_owned());
        }
    }
}

/// Shortest circle through a module; empty if there is none.
fn circle(graph: &Graph, start: &str) -> Vec<String> {
    way(graph, start, start)
}

/// Shortest way from one module to another, without the first; empty if there is none.
fn way(graph: &Graph, from: &str, to: &str) -> Vec<String> {
    let mut before = BTreeMap::new();
    let mut open = VecDeque::from([from]);
    while let Some(name) = open.pop_front() {
        for next in graph.get(name).into_iter().flat_map(BTreeMap::keys) {
            if !before.contains_key(next.as_str()) {
                before.insert(next.as_str(), name);
                open.push_back(next);
            }
        }
        if before.contains_key(to) {
            break;
        }
    }
    let mut way = Vec::new();
    let mut at = to;
    while let Some(name) = before.get(at) {
        way.push(at.to_owned());
        at = name;
        if at == from {
            break;
        }
    }
    way.reverse();
    way
}

fn is_in_circle(graph: &Graph, known: &str) -> bool {
    known.split_once(" -> ").is_some_and(|(from, to)| {
        graph.get(from).is_some_and(|targets| targets.contains_key(to))
            && !way(graph, to, from).is_empty()
    })
}

fn arrow(from: &str, to: &str) -> String {
    format!("{from} -> {to}")
}

/// Says which name leads from each module of a circle to the next.
fn sentence(graph: &Graph, circle: &[String]) -> String {
    let next = circle.iter().skip(1).chain(circle.first());
    let steps = circle
        .iter()
        .zip(next)
        .map(|(from, to)| format!("`{from}` names `{to}::{}`", graph[from][to]));
    format!("modules form a circle: {}; move what they share", steps.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks a crate of the modules `a` with a child `c`, `b` and `d`.
    #[track_caller]
    fn check(texts: [&str; 5], rules: &str, expected: &[&str]) {
        let names = ["lib", "a", "a/c", "b", "d"];
        let file = |(name, text): (&str, &str)| TextFile {
            path: format!("crates/floor/ring/src/{name}.rs"),
            text: text.to_owned(),
        };
        let mut files: Vec<_> = names.into_iter().zip(texts).map(file).collect();
        files[0].text.push_str("mod a; mod b; mod d;");
        files[1].text.push_str("mod c;");
        let arrows = Arrows::read(&format!("[houses]\n[crates]\n[circles]\n{rules}")).unwrap();
        let problems = circles(&arrows, &files);
        assert_eq!(problems.iter().map(|p| p.sentence.as_str()).collect::<Vec<_>>(), expected);
    }

    const A_B: &str = "modules form a circle: `ring::b` names `ring::a::A`, `ring::a` names `ring::b::B`; move what they share";

    #[test]
    fn siblings_form_no_circle() {
        check(["", "use crate::b::B;", "", "fn f(_: super::d::D) {}", ""], "", &[]);
        check(["", "use crate::b::B;", "", "use super::a::A;", ""], "", &[A_B]);
        check(["", "", "use super::super::b::B;", "fn f() { crate::a::A }", ""], "", &[A_B]);
        check(
            ["", "", "use super::B; fn f() { crate::b::g() }", "use crate::a::A;", ""],
            "",
            &[
                "modules form a circle: `ring::b` names `ring::a::A`, `ring::a` names `ring::b::g`; move what they share",
            ],
        );
        let longer = "modules form a circle: `ring::b` names `ring::d::D`, `ring::d` names `ring::a::A`, `ring::a` names \
                      `ring::b::B`; move what they share";
        check(["", "use crate::b::B;", "", "use super::d::D;", "use super::a::A;"], "", &[longer]);
    }

    #[test]
    fn a_name_belongs_to_the_module_that_defines_it() {
        check(
            [
                "pub use a::A; pub use b::B;",
                "use crate::B; pub struct A;",
                "",
                "use super::A; pub struct B;",
                "",
            ],
            "",
            &[A_B],
        );
        check(
            [
                "pub use a::*;",
                "use crate::b::B; pub struct A;",
                "",
                "use crate::A; pub struct B;",
                "",
            ],
            "",
            &[A_B],
        );
        check(
            [
                "",
                "use crate::b; fn f(_: b::B) {}",
                "",
                "use super::a::{self}; fn f(_: a::A) {}",
                "",
            ],
            "",
            &[A_B],
        );
        check(["", "use std::b::B;", "", "use super::a::A;", ""], "", &[]);
    }

    #[test]
    fn a_parent_and_its_children_name_each_other() {
        check(["use a::A; struct L;", "use c::C;", "use super::A; use crate::L;", "", ""], "", &[]);
    }

    #[test]
    fn tests_name_everything() {
        check(
            ["", "use crate::b::B;", "", "#[cfg(test)]\nmod tests { use crate::a::A; }", ""],
            "",
            &[],
        );
    }

    #[test]
    fn a_registry_names_its_entries() {
        let table = "fn f() { [super::b::B, super::d::D] }";
        let registries = "registries = [\"ring::a\"]";
        check(["", table, "", "use super::a::A;", "use super::a::A;"], registries, &[]);
        check(["", table, "", "", ""], registries, &["the registry `ring::a` is in no circle"]);
    }

    #[test]
    fn an_exception_is_needed() {
        let known = "known = { \"ring::a -> ring::b\" = \"They are one.\" }";
        check(["", "use crate::b::B;", "", "use super::a::A;", ""], known, &[]);
        let sentence = "`ring::a -> ring::b` is in no circle: it needs no exception";
        check(["", "use crate::b::B;", "", "", ""], known, &[sentence]);
        check(["", "", "", "use super::a::A;", ""], known, &[sentence]);
    }
}
