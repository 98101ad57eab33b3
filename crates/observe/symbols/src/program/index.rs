//! Index that joins symbols and debug information of one file.
//!
//! # Invariants
//! - It contains only code and data that symbols or debug information place in *this* file; code that the
//!   linker left out (duplicates of inline functions) is absent.

use super::debug::{Debug, Location};
use super::function::{Function, Inlined, SourceLine};
use super::parameters::signature;
use super::survey::{Declared, Survey, VariableEntry};
use super::types::unit_is_fortran;
use crate::demangle::{demangle, demangle_fortran};
use std::collections::{BTreeMap, HashMap};

/// Functions and variables of a file.
#[derive(Debug, Default)]
pub(crate) struct Index {
    /// Ordered by address.
    pub(crate) functions: Vec<Function>,
    pub(crate) variables: Vec<Global>,
}

/// Variable as declared by debug information.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Global {
    /// Name with namespace, class, module, common block or function.
    pub(crate) name: String,
    pub(crate) linkage_name: String,
    /// Source file that defines the variable.
    pub(crate) file: String,
    pub(crate) location: Location,
    /// Offset of the type in debug information.
    pub(crate) type_offset: Option<usize>,
    pub(crate) is_external: bool,
    pub(crate) is_fortran: bool,
}

/// Function without code of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Absent {
    pub(crate) name: String,
    pub(crate) linkage_name: String,
    pub(crate) inlined: Vec<Inlined>,
}

/// Identity of a function: equal in all units that contain the same function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Key<'a> {
    Name(&'a str),
    /// Offset of the declaration.
    Entry(usize),
}

/// Number of copies of a function, by the index of the containing function.
type Copies<'a> = HashMap<Key<'a>, BTreeMap<usize, usize>>;

impl Index {
    /// Completes `functions` by debug information.
    pub(crate) fn join(mut functions: Vec<Function>, debug: &Debug<'_>) -> Self {
        let survey = Survey::of(debug);
        let join = Join::new(debug, &survey, &functions);
        let names: Vec<String> = functions.iter().map(|function| function.name.clone()).collect();
        for (position, function) in functions.iter_mut().enumerate() {
            join.complete(position, function, &names);
        }
        let variables = join.variables();
        Self { functions, variables }
    }

    /// Returns the functions that debug information defines and that have no symbol.
    pub(crate) fn absent(functions: &[Function], debug: &Debug<'_>) -> Vec<Absent> {
        let survey = Survey::of(debug);
        Join::new(debug, &survey, functions).absent(functions)
    }
}

/// Symbols and debug information while they are joined.
struct Join<'j, 'a> {
    debug: &'j Debug<'a>,
    survey: &'j Survey<'a>,
    /// Index of the debug information entry for each symbol.
    entries: Vec<Option<usize>>,
    copies: Copies<'a>,
    is_fortran: Vec<bool>,
}

impl<'j, 'a> Join<'j, 'a> {
    fn new(debug: &'j Debug<'a>, survey: &'j Survey<'a>, functions: &[Function]) -> Self {
        let placed = survey.functions.iter().enumerate();
        let by_address: HashMap<u64, usize> =
            placed.filter_map(|(idx, entry)| Some((entry.address?, idx))).collect();
        let entries: Vec<_> =
            functions.iter().map(|f| by_address.get(&f.address).copied()).collect();
        let mut positions = HashMap::new();
        for (position, entry) in entries.iter().enumerate() {
            entry.map(|entry| positions.entry(entry).or_insert(position));
        }
        let is_fortran =
            (0..debug.n_units()).map(|idx| debug.unit(idx).is_some_and(unit_is_fortran)).collect();
        let mut join = Self { debug, survey, entries, copies: HashMap::new(), is_fortran };
        for (origin, holder) in &survey.copies {
            // The linker kept one of several identical functions from different units; copies in it count once.
            if let (Some(position), Some(of)) = (positions.get(holder), survey.function_at(*origin))
            {
                let of = join.key(&survey.functions[of].declared);
                *join.copies.entry(of).or_default().entry(*position).or_default() += 1;
            }
        }
        join
    }

    fn key(&self, declared: &Declared<'a>) -> Key<'a> {
        let mut root = declared.offset;
        let mut at = *declared;
        for _ in 0..4 {
            let Some(next) = at.origin.and_then(|offset| self.survey.function_at(offset)) else {
                break;
            };
            at = self.survey.functions[next].declared;
            root = at.offset;
        }
        let whole = self.survey.whole_function(*declared);
        match (whole.linkage_name, whole.name) {
            (Some(name), _) => Key::Name(name),
            (None, Some(name)) if whole.is_external => Key::Name(name),
            _ => Key::Entry(root),
        }
    }

    fn complete(&self, position: usize, function: &mut Function, names: &[String]) {
        let entry = self.entries[position];
        let Some(declared) = entry.map(|idx| self.survey.functions[idx].declared) else { return };
        let whole = self.survey.whole_function(declared);
        if self.is_fortran[declared.unit_idx] {
            function.name = demangle_fortran(&function.symbol);
        }
        function.source = self.source(&whole);
        if function.is_copy {
            return;
        }
        function.entry = Some(declared.offset);
        function.inlined = self.inlined(&self.key(&declared), names);
        let (parameters, returns) = signature(self.debug, declared.offset, whole.type_offset);
        (function.parameters, function.returns) = (Some(parameters), Some(returns));
    }

    fn inlined(&self, key: &Key<'a>, names: &[String]) -> Vec<Inlined> {
        let copies = self.copies.get(key).into_iter().flatten();
        copies
            .map(|(holder, n)| Inlined { function: names[*holder].clone(), n_copies: *n })
            .collect()
    }

    fn source(&self, declared: &Declared<'a>) -> Option<SourceLine> {
        let unit = self.debug.unit(declared.unit_idx)?;
        Some(SourceLine { file: self.debug.file(unit, declared.file?)?, line: declared.line })
    }

    fn variables(&self) -> Vec<Global> {
        let found = self.survey.variables.iter().filter_map(|entry| self.variable(entry));
        let mut found: Vec<Global> = found.collect();
        found.sort_by(|a, b| (&a.name, &a.file).cmp(&(&b.name, &b.file)));
        found.dedup_by(|a, b| a.name == b.name && a.location == b.location && a.file == b.file);
        found
    }

    fn variable(&self, entry: &VariableEntry<'a>) -> Option<Global> {
        let declared = entry.declared;
        let is_placed = entry.location != Location::Elsewhere;
        // A variable that is only declared is defined elsewhere, or nowhere.
        if declared.is_declaration && !is_placed && !entry.is_constant {
            return None;
        }
        let whole = self.survey.whole_variable(declared);
        let name = whole.name.or_else(|| self.debug.die(declared.origin?)?.name())?;
        Some(Global {
            name: self.survey.full_name(whole.scope, name),
            linkage_name: whole.linkage_name.unwrap_or_default().to_owned(),
            file: self.source(&whole).map(|source| source.file).unwrap_or_default(),
            location: entry.location,
            type_offset: whole
                .type_offset
                .or_else(|| self.debug.die(declared.origin?)?.reference(gimli::DW_AT_type)),
            is_external: whole.is_external,
            is_fortran: self.is_fortran[declared.unit_idx],
        })
    }

    fn absent(&self, functions: &[Function]) -> Vec<Absent> {
        let names: Vec<String> = functions.iter().map(|function| function.name.clone()).collect();
        let present: std::collections::HashSet<Key<'a>> = self
            .entries
            .iter()
            .flatten()
            .map(|idx| self.key(&self.survey.functions[*idx].declared))
            .collect();
        let mut absent = BTreeMap::new();
        for entry in &self.survey.functions {
            let key = self.key(&entry.declared);
            let whole = self.survey.whole_function(entry.declared);
            if let (false, false, Some(name)) =
                (entry.declared.is_declaration, present.contains(&key), whole.name)
            {
                absent.entry(key).or_insert_with(|| Absent {
                    name: match whole.linkage_name {
                        Some(linkage) => demangle(linkage),
                        None => self.survey.full_name(whole.scope, name),
                    },
                    linkage_name: whole.linkage_name.unwrap_or(name).to_owned(),
                    inlined: self.inlined(&key, &names),
                });
            }
        }
        absent.into_values().collect()
    }
}
