//! One pass over all debug information, which collects functions, variables, and inlined copies of functions.
//!
//! # Invariants
//! - Entries are in the order of the section, so that a binary search finds an entry by its offset.

use super::debug::{Debug, Location, Slice, Value};
use gimli::constants as dw;
use gimli::{Abbreviation, AttributeValue, EntriesRaw, Unit};

/// Result of the pass.
#[derive(Default)]
pub(crate) struct Survey<'a> {
    pub(crate) functions: Vec<FunctionEntry<'a>>,
    pub(crate) variables: Vec<VariableEntry<'a>>,
    /// Offset of an abstract function, and index in `functions` of a function that contains a copy of it.
    pub(crate) copies: Vec<(usize, usize)>,
    /// Scopes of names: parent and name.
    scopes: Vec<(usize, &'a str)>,
}

/// Common attributes of functions and variables.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Declared<'a> {
    pub(crate) offset: usize,
    pub(crate) unit_idx: usize,
    /// Index of the scope; 0 is the file.
    pub(crate) scope: usize,
    pub(crate) name: Option<&'a str>,
    pub(crate) linkage_name: Option<&'a str>,
    /// Offset of the entry with the remaining attributes.
    pub(crate) origin: Option<usize>,
    pub(crate) type_offset: Option<usize>,
    pub(crate) file: Option<u64>,
    pub(crate) line: u32,
    pub(crate) is_external: bool,
    pub(crate) is_declaration: bool,
}

pub(crate) struct FunctionEntry<'a> {
    pub(crate) declared: Declared<'a>,
    pub(crate) address: Option<u64>,
}

pub(crate) struct VariableEntry<'a> {
    pub(crate) declared: Declared<'a>,
    pub(crate) location: Location,
    /// Whether only its value is recorded.
    pub(crate) is_constant: bool,
}

/// Enclosing entry whose children are being read.
struct Open {
    depth: isize,
    scope: usize,
    function: Option<usize>,
}

/// State of the pass.
struct Walk<'d, 'a> {
    debug: &'d Debug<'a>,
    unit: &'d Unit<Slice<'a>>,
    unit_idx: usize,
    open: Vec<Open>,
    attributes: Vec<gimli::Attribute<Slice<'a>>>,
}

impl<'a> Survey<'a> {
    pub(crate) fn of(debug: &Debug<'a>) -> Self {
        let mut survey = Self { scopes: vec![(0, "")], ..Self::default() };
        for unit_idx in 0..debug.n_units() {
            if let Some(unit) = debug.unit(unit_idx) {
                let walk = Walk { debug, unit, unit_idx, open: Vec::new(), attributes: Vec::new() };
                // After damage, the rest of a unit is left out; other units are complete.
                survey.unit(walk).ok();
            }
        }
        survey
    }

    /// Returns the index of the function at an offset of the section.
    pub(crate) fn function_at(&self, offset: usize) -> Option<usize> {
        self.functions.binary_search_by_key(&offset, |entry| entry.declared.offset).ok()
    }

    /// Returns the index of the variable at an offset of the section.
    fn variable_at(&self, offset: usize) -> Option<usize> {
        self.variables.binary_search_by_key(&offset, |entry| entry.declared.offset).ok()
    }

    /// Completes a function by the entries it refers to.
    pub(crate) fn whole_function(&self, declared: Declared<'a>) -> Declared<'a> {
        declared.whole(|offset| Some(self.functions[self.function_at(offset)?].declared))
    }

    /// Completes a variable by the entries it refers to.
    pub(crate) fn whole_variable(&self, declared: Declared<'a>) -> Declared<'a> {
        declared.whole(|offset| Some(self.variables[self.variable_at(offset)?].declared))
    }

    /// Returns the qualified name: `a::b::name`.
    pub(crate) fn full_name(&self, mut scope: usize, name: &str) -> String {
        let mut parts = vec![name];
        while scope != 0 {
            let (parent, part) = self.scopes[scope];
            if !part.is_empty() {
                parts.push(part);
            }
            scope = parent;
        }
        parts.reverse();
        parts.join("::")
    }

    fn unit(&mut self, mut walk: Walk<'_, 'a>) -> gimli::Result<()> {
        let unit = walk.unit;
        let mut entries = unit.entries_raw(None)?;
        while !entries.is_empty() {
            let start = walk.debug.start(walk.unit_idx);
            let offset = start.saturating_add(entries.next_offset().0);
            let depth = entries.next_depth();
            while walk.open.last().is_some_and(|open| depth <= open.depth) {
                walk.open.pop();
            }
            if let Some(abbreviation) = entries.read_abbreviation()? {
                self.entry(&mut walk, &mut entries, abbreviation, (offset, depth))?;
            }
        }
        Ok(())
    }

    fn entry(
        &mut self,
        walk: &mut Walk<'_, 'a>,
        entries: &mut EntriesRaw<'_, Slice<'a>>,
        abbreviation: &Abbreviation,
        (offset, depth): (usize, isize),
    ) -> gimli::Result<()> {
        let tag = abbreviation.tag();
        if !is_wanted(tag, abbreviation) {
            return entries.skip_attributes(abbreviation.attributes());
        }
        entries.read_attributes(abbreviation.attributes(), &mut walk.attributes)?;
        let (scope, function) = match tag {
            dw::DW_TAG_inlined_subroutine => {
                self.copy(walk);
                return Ok(());
            }
            dw::DW_TAG_variable | dw::DW_TAG_member => {
                self.variable(walk, offset);
                return Ok(());
            }
            dw::DW_TAG_subprogram => {
                let declared = walk.declared(offset);
                let address = walk.address();
                self.functions.push(FunctionEntry { declared, address });
                (declared.name.unwrap_or_default(), Some(self.functions.len() - 1))
            }
            _ => (walk.name().unwrap_or_default(), walk.function()),
        };
        if abbreviation.has_children() {
            // A common block is the same in all procedures.
            let parent = if tag == dw::DW_TAG_common_block { 0 } else { walk.scope() };
            self.scopes.push((parent, scope));
            walk.open.push(Open { depth, scope: self.scopes.len() - 1, function });
        }
        Ok(())
    }

    fn copy(&mut self, walk: &Walk<'_, 'a>) {
        let origin = walk.value(dw::DW_AT_abstract_origin);
        let origin = origin.and_then(|value| walk.debug.reference(walk.unit_idx, &value));
        if let (Some(origin), Some(function)) = (origin, walk.function()) {
            self.copies.push((origin, function));
        }
    }

    fn variable(&mut self, walk: &Walk<'_, 'a>, offset: usize) {
        let location = walk.value(dw::DW_AT_location);
        let location =
            location.map_or(Location::Elsewhere, |value| walk.debug.location(walk.unit, &value));
        if walk.function().is_some() && location == Location::Elsewhere {
            return;
        }
        let is_constant = walk.value(dw::DW_AT_const_value).is_some();
        let declared = walk.declared(offset);
        self.variables.push(VariableEntry { declared, location, is_constant });
    }
}

/// Returns whether an entry is read; a member only if it is static.
fn is_wanted(tag: gimli::DwTag, abbreviation: &Abbreviation) -> bool {
    let has = |name| abbreviation.attributes().iter().any(|attribute| attribute.name() == name);
    match tag {
        dw::DW_TAG_subprogram
        | dw::DW_TAG_inlined_subroutine
        | dw::DW_TAG_namespace
        | dw::DW_TAG_module
        | dw::DW_TAG_common_block => true,
        dw::DW_TAG_structure_type | dw::DW_TAG_class_type | dw::DW_TAG_union_type => {
            abbreviation.has_children()
        }
        dw::DW_TAG_variable => {
            has(dw::DW_AT_location) || has(dw::DW_AT_name) || has(dw::DW_AT_specification)
        }
        dw::DW_TAG_member => has(dw::DW_AT_external),
        _ => false,
    }
}

impl<'a> Declared<'a> {
    /// Returns the declaration, completed by those it refers to; `at` finds them by offset.
    fn whole(mut self, at: impl Fn(usize) -> Option<Self>) -> Self {
        // Bounded, since damaged information may contain a cycle.
        for _ in 0..4 {
            let Some(origin) = self.origin.and_then(&at) else { break };
            self = self.with(&origin);
        }
        self
    }

    /// Returns the declaration, completed by `origin`.
    fn with(self, origin: &Self) -> Self {
        Self {
            scope: origin.scope,
            name: self.name.or(origin.name),
            linkage_name: self.linkage_name.or(origin.linkage_name),
            origin: origin.origin,
            type_offset: self.type_offset.or(origin.type_offset),
            // File numbers are relative to their unit.
            unit_idx: if self.file.is_some() { self.unit_idx } else { origin.unit_idx },
            file: self.file.or(origin.file),
            line: if self.line == 0 { origin.line } else { self.line },
            is_external: self.is_external || origin.is_external,
            ..self
        }
    }
}

impl<'a> Walk<'_, 'a> {
    fn value(&self, name: gimli::DwAt) -> Option<Value<'a>> {
        self.attributes.iter().find(|found| found.name() == name).map(gimli::Attribute::value)
    }

    fn name(&self) -> Option<&'a str> {
        self.debug.text(self.unit, self.value(dw::DW_AT_name)?)
    }

    fn scope(&self) -> usize {
        self.open.last().map_or(0, |open| open.scope)
    }

    fn function(&self) -> Option<usize> {
        self.open.last().and_then(|open| open.function)
    }

    fn reference(&self, name: gimli::DwAt) -> Option<usize> {
        self.debug.reference(self.unit_idx, &self.value(name)?)
    }

    fn flag(&self, name: gimli::DwAt) -> bool {
        self.value(name) == Some(AttributeValue::Flag(true))
    }

    fn declared(&self, offset: usize) -> Declared<'a> {
        let linkage =
            self.value(dw::DW_AT_linkage_name).or_else(|| self.value(dw::DW_AT_MIPS_linkage_name));
        let line = self.value(dw::DW_AT_decl_line).and_then(|line| line.udata_value());
        Declared {
            offset,
            unit_idx: self.unit_idx,
            scope: self.scope(),
            name: self.name(),
            linkage_name: linkage.and_then(|value| self.debug.text(self.unit, value)),
            origin: self
                .reference(dw::DW_AT_abstract_origin)
                .or_else(|| self.reference(dw::DW_AT_specification)),
            type_offset: self.reference(dw::DW_AT_type),
            file: self.value(dw::DW_AT_decl_file).and_then(file_number),
            line: line.and_then(|line| u32::try_from(line).ok()).unwrap_or_default(),
            is_external: self.flag(dw::DW_AT_external),
            is_declaration: self.flag(dw::DW_AT_declaration),
        }
    }

    /// Returns the first address of the code, or of its part with the entry point if it has several parts.
    fn address(&self) -> Option<u64> {
        let dwarf = &self.debug.dwarf;
        if let Some(low) = self.value(dw::DW_AT_low_pc) {
            return dwarf.attr_address(self.unit, low).ok()?;
        }
        let ranges = self.value(dw::DW_AT_ranges)?;
        Some(dwarf.attr_ranges(self.unit, ranges).ok()??.next().ok()??.begin)
    }
}

fn file_number(value: Value<'_>) -> Option<u64> {
    match value {
        AttributeValue::FileIndex(number) => Some(number),
        value => value.udata_value(),
    }
}
