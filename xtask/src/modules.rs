//! Modules of one crate, and the items that they name of each other.
//!
//! # Invariants
//! - A name that a module re-exports belongs to the module that defines it.
//!
//! # Not here
//! Items of other crates.

use std::collections::{BTreeMap, BTreeSet};

use crate::{code, items::Items, tree::TextFile};

/// Most imports that are followed to find one item.
const N_IMPORTS_MAX: usize = 8;

/// Path of a module from the root of its crate, which has none.
pub(crate) type ModulePath<'a> = Vec<&'a str>;

/// Use of an item by another module of its crate.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Reference<'a> {
    pub(crate) from: ModulePath<'a>,
    pub(crate) to: ModulePath<'a>,
    /// Name of the item; `*` for all of them.
    pub(crate) name: &'a str,
}

/// Code of each crate without comments and literals, by name of the crate and path of the file in its `src`.
#[derive(Clone, Debug)]
pub(crate) struct Sources<'a> {
    crates: BTreeMap<&'a str, BTreeMap<&'a str, String>>,
}

/// Modules of a crate that are compiled without its tests.
#[derive(Clone, Debug)]
pub(crate) struct Modules<'a> {
    items: BTreeMap<ModulePath<'a>, Items<'a>>,
}

impl<'a> Sources<'a> {
    /// Finds the sources of all crates.
    pub(crate) fn of(files: &'a [TextFile]) -> Self {
        let mut crates: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
        for TextFile { path, text } in files {
            let Some((folder, file)) = path.split_once("/src/") else { continue };
            let steps: Vec<&str> = folder.split('/').collect();
            let (["crates", _, name] | ["apps", name] | [name]) = steps[..] else { continue };
            if let Some(file) = file.strip_suffix(".rs") {
                crates.entry(name).or_default().insert(file, code::code_only(text));
            }
        }
        Self { crates }
    }

    /// Modules of each crate.
    pub(crate) fn modules(&self) -> impl Iterator<Item = (&str, Modules<'_>)> {
        self.crates.iter().map(|(name, files)| (*name, Modules::of(files)))
    }
}

impl<'a> Modules<'a> {
    fn of(files: &'a BTreeMap<&'a str, String>) -> Self {
        let mut modules = Self { items: BTreeMap::new() };
        let root = files.get("lib").or_else(|| files.get("main"));
        let mut open: Vec<_> = root.map(|code| (ModulePath::new(), code)).into_iter().collect();
        while let Some((path, code)) = open.pop() {
            let items = Items::read(code);
            for name in &items.modules {
                let below = [&path[..], &[*name]].concat();
                open.extend(files.get(&*below.join("/")).map(|code| (below, code)));
            }
            modules.items.insert(path, items);
        }
        modules
    }

    /// Items of each module.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&ModulePath<'a>, &Items<'a>)> {
        self.items.iter()
    }

    /// Items that modules name of others.
    pub(crate) fn references(&self) -> BTreeSet<Reference<'a>> {
        let mut references = BTreeSet::new();
        for (from, items) in &self.items {
            let imported = items.imports.iter().map(|import| &import.path);
            for path in imported.chain(&items.paths) {
                if let Some((to, name)) = self.definition(from, path) {
                    references.insert(Reference { from: from.clone(), to, name });
                }
            }
        }
        references.retain(|reference| reference.from != reference.to);
        references
    }

    /// Module and name of the item to which a path leads that a module names; `None` if it is of no module here.
    pub(crate) fn definition(
        &self,
        at: &[&'a str],
        path: &[&'a str],
    ) -> Option<(ModulePath<'a>, &'a str)> {
        self.follow(at, path, N_IMPORTS_MAX)
    }

    fn follow(
        &self,
        at: &[&'a str],
        path: &[&'a str],
        n_imports_max: usize,
    ) -> Option<(ModulePath<'a>, &'a str)> {
        let (mut module, mut rest) = self.start(at, path);
        let is_relative = rest.len() == path.len();
        while let [name, below @ ..] = rest
            && self.items[&module].modules.contains(name)
            && self.items.contains_key(&*[&module[..], &[*name]].concat())
        {
            module.push(name);
            rest = below;
        }
        let (name, below) = rest.split_first()?;
        let items = &self.items[&module];
        if *name == "*" || items.names.contains(name) {
            return Some((module, name));
        }
        let n_imports_max = n_imports_max.checked_sub(1)?;
        let is_itself = |import: &[&str]| is_relative && import == path;
        if let Some(import) =
            items.imports.iter().find(|import| import.name == *name && !is_itself(&import.path))
        {
            return self.follow(&module, &[&import.path[..], below].concat(), n_imports_max);
        }
        let globs = items.imports.iter().filter(|import| import.name == "*");
        let mut found = globs.filter_map(|glob| {
            let path = [&glob.path[..glob.path.len() - 1], &[*name]].concat();
            let (module, name) = self.follow(&module, &path, n_imports_max)?;
            self.items[&module].names.contains(&name).then_some((module, name))
        });
        // What macros make is known by no name.
        found.next().or_else(|| (!is_relative || module != at).then_some((module, *name)))
    }

    /// Module from which a path leads on, and the rest of the path.
    fn start<'p>(&self, at: &[&'a str], path: &'p [&'a str]) -> (ModulePath<'a>, &'p [&'a str]) {
        match path {
            ["crate", rest @ ..] => (Vec::new(), rest),
            ["self", rest @ ..] => (at.to_vec(), rest),
            ["super", ..] => {
                let n_up = path.iter().take_while(|word| **word == "super").count();
                (at[..at.len().saturating_sub(n_up)].to_vec(), &path[n_up..])
            }
            _ => (at.to_vec(), path),
        }
    }
}
