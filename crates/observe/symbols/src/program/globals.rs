//! Variables, and their lookup by name in one file.

use super::debug::Location;
use super::errors::LookupError;
use super::index::Global;
use super::module::{Module, best, is_file};
use super::names::{Fit, fit, loose_fit};
use super::path::{PathStep, VariablePath};
use super::types;
use super::walk::{member_names, untyped, walk};
use events::ValueType;
use std::path::Path;
use std::sync::Arc;

/// Maximum nesting of structures whose members are listed.
const MEMBER_DEPTH_MAX: usize = 3;
/// Maximum number of numbers that are listed of a file.
const N_NUMBERS_MAX: usize = 100_000;

/// Number in the memory of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Name as requested.
    pub name: String,
    /// Program or library that contains the variable.
    pub module: Arc<Path>,
    /// Build-id of that file; empty if it has none.
    pub build_id: Arc<[u8]>,
    /// Virtual address in that file.
    pub address: u64,
    /// Type according to debug information; without it, the caller has to know the type.
    pub kind: Option<ValueType>,
    /// Size in bytes; without debug information, that of the whole symbol.
    pub n_bytes: u64,
    /// Type in the source; empty if unknown.
    pub type_name: String,
    /// Whether other files of the program cannot refer to it; compilers keep it in registers more often.
    pub is_static: bool,
    /// Whether it is declared `volatile`, so that every read sees the current value.
    pub is_volatile: bool,
    /// Whether it is writable.
    pub is_writable: bool,
    /// Section that contains it, such as `.data`.
    pub section: String,
}

impl Module {
    /// Returns the variable with this name as described by debug information, if there is one.
    pub(crate) fn typed_variable(&self, name: &str) -> Result<Option<Variable>, LookupError> {
        let globals = &self.index().variables;
        let objects = self.image.objects().iter();
        let named: Vec<_> = objects.filter(|object| object.symbol == name).collect();
        if let [object] = named.as_slice() {
            // `count.0` is a symbol, not a member; and a symbol is unambiguous.
            let is_it = |global: &&Global| global.location == Location::Address(object.address);
            if let Some(global) = globals.iter().find(is_it) {
                return self.number(name, global, &[]).map(Some);
            }
        }
        let path = VariablePath::parse(name).ok_or_else(|| LookupError::Syntax(name.to_owned()))?;
        match self.choose(name, &path)? {
            Some(global) => self.number(name, global, &path.steps).map(Some),
            None => Ok(None),
        }
    }

    /// Returns the numbers at fixed places that debug information describes: variables, and members of structures.
    pub(crate) fn numbers(&self) -> Vec<Variable> {
        let mut found = Vec::new();
        for global in &self.index().variables {
            self.add_numbers(&mut found, global, &global.name, 0);
        }
        found
    }

    fn add_numbers(&self, found: &mut Vec<Variable>, global: &Global, name: &str, depth: usize) {
        // The name of a variable may be no path: it may have template arguments.
        let path = format!("v{}", name.strip_prefix(global.name.as_str()).unwrap_or_default());
        let Some(path) = VariablePath::parse(&path) else { return };
        if N_NUMBERS_MAX <= found.len() {
            return;
        }
        if let Ok(number) = self.number(name, global, &path.steps) {
            return found.push(number);
        }
        let (Some(debug), Some(type_offset)) = (&self.debug(), global.type_offset) else { return };
        if depth < MEMBER_DEPTH_MAX
            && let Ok(part) = walk(debug, name, type_offset, &path.steps)
        {
            for member in member_names(debug, part.type_offset) {
                self.add_numbers(found, global, &format!("{name}.{member}"), depth + 1);
            }
        }
    }

    /// Returns the variable with this symbol, without type information.
    pub(crate) fn untyped_variable(&self, name: &str) -> Result<Option<Variable>, LookupError> {
        let mut found = best(self.image.objects(), |object| {
            fit(name, &object.symbol, &object.name).or_else(|| loose_fit(name, &object.name))
        });
        found.dedup_by_key(|object| object.address);
        match found.as_slice() {
            [] => Ok(None),
            [object] if object.is_thread_local => Err(LookupError::ThreadLocal(name.to_owned())),
            [object] => Ok(Some(Variable {
                n_bytes: object.n_bytes,
                is_static: !object.is_global,
                ..self.at(name, object.address)
            })),
            several => {
                let symbols = several.iter().map(|object| object.symbol.clone()).collect();
                Err(LookupError::Ambiguous(name.to_owned(), symbols))
            }
        }
    }

    /// Returns the variable at an address, without type information.
    pub(crate) fn at(&self, name: &str, address: u64) -> Variable {
        let (section, is_writable) = self.image.section_at(address);
        Variable {
            name: name.to_owned(),
            module: Arc::clone(&self.image.path),
            build_id: Arc::clone(&self.image.build_id),
            address,
            kind: None,
            n_bytes: 0,
            type_name: String::new(),
            is_static: false,
            is_volatile: false,
            is_writable,
            section,
        }
    }

    pub(crate) fn choose(
        &self,
        name: &str,
        path: &VariablePath<'_>,
    ) -> Result<Option<&Global>, LookupError> {
        let found = best(&self.index().variables, |global| {
            let is_here = path.file.is_none_or(|file| is_file(file, &global.file));
            is_here.then(|| global_fit(path.base, global)).flatten()
        });
        let is_placed = |global: &&&Global| global.location != Location::Elsewhere;
        let mut placed: Vec<&Global> = found.iter().filter(is_placed).copied().collect();
        placed.sort_by_key(|global| match global.location {
            Location::Address(address) => address,
            _ => 0,
        });
        placed.dedup_by_key(|global| global.location);
        match (placed.as_slice(), found.as_slice()) {
            ([one], _) => Ok(Some(*one)),
            ([], []) => Ok(None),
            ([], _) => Err(LookupError::Folded(name.to_owned())),
            (several, _) => Err(LookupError::Ambiguous(name.to_owned(), distinguish(several))),
        }
    }

    /// Follows the steps from a variable to the requested part.
    fn number(
        &self,
        name: &str,
        global: &Global,
        steps: &[PathStep<'_>],
    ) -> Result<Variable, LookupError> {
        let Location::Address(address) = global.location else {
            return Err(LookupError::ThreadLocal(name.to_owned()));
        };
        let debug = self.debug();
        let (Some(debug), Some(type_offset)) = (&debug, global.type_offset) else {
            return Err(untyped(name));
        };
        let part = walk(debug, name, type_offset, steps)?;
        let [offset] = part.offsets[..] else { return Err(part.indirect(name)) };
        let kind = part.kind(debug, name)?;
        Ok(Variable {
            kind: Some(kind),
            n_bytes: kind.n_bytes() as u64,
            type_name: types::name(debug, Some(part.type_offset)),
            is_static: !global.is_external,
            is_volatile: part.is_volatile,
            ..self.at(name, address.wrapping_add_signed(offset))
        })
    }
}

fn global_fit(wanted: &str, global: &Global) -> Option<Fit> {
    let exact = fit(wanted, &global.linkage_name, &global.name);
    // Languages other than Fortran distinguish upper and lower case.
    let is_loose = global.is_fortran || wanted.to_lowercase() == wanted || wanted.contains("::");
    exact.or_else(|| if is_loose { loose_fit(wanted, &global.name) } else { None })
}

fn distinguish(globals: &[&Global]) -> Vec<String> {
    let is_named_alike = globals.windows(2).all(|pair| pair[0].name == pair[1].name);
    let name = |global: &&Global| match global.file.rsplit('/').next() {
        Some(file) if is_named_alike => format!("{file}:{}", global.name),
        _ => global.name.clone(),
    };
    globals.iter().map(name).collect()
}
