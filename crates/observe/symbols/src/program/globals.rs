//! Variables, and their lookup by name in one file.

use super::debug::{Debug, Die, Location};
use super::errors::LookupError;
use super::index::Global;
use super::module::{Module, best, is_file};
use super::names::{Fit, fit, loose_fit};
use super::path::{AccessStep, PathStep, VariablePath};
use super::types::{self, Bare, bare};
use events::ValueType;
use gimli::constants as dw;
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

/// Maximum nesting of unnamed structures; deeper nesting is damage.
const DEPTH_MAX: usize = 16;

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
                return self.walk(name, global, &[]).map(Some);
            }
        }
        let path = VariablePath::parse(name).ok_or_else(|| LookupError::Syntax(name.to_owned()))?;
        match self.choose(name, &path)? {
            Some(global) => self.walk(name, global, &path.steps).map(Some),
            None => Ok(None),
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

    fn choose(&self, name: &str, path: &VariablePath<'_>) -> Result<Option<&Global>, LookupError> {
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
    fn walk(
        &self,
        name: &str,
        global: &Global,
        steps: &[PathStep<'_>],
    ) -> Result<Variable, LookupError> {
        let Location::Address(mut address) = global.location else {
            return Err(LookupError::ThreadLocal(name.to_owned()));
        };
        let debug = self.debug();
        let unknown =
            || not_a_number(name, "?", ": its debug information does not tell its type".to_owned());
        let (Some(debug), Some(mut type_offset)) = (&debug, global.type_offset) else {
            return Err(unknown());
        };
        let mut is_volatile = false;
        for PathStep { of, step } in steps {
            let bare = bare(debug, type_offset).ok_or_else(unknown)?;
            refuse_indirect(&bare.die, name, of)?;
            let (offset, inner) = match step {
                AccessStep::Member(member) => self::member(debug, &bare, of, member)?,
                AccessStep::Element(indices) => element(debug, &bare, of, indices)?,
            };
            is_volatile |= bare.is_volatile;
            address = address.wrapping_add_signed(offset);
            type_offset = inner;
        }
        let bare = bare(debug, type_offset).ok_or_else(unknown)?;
        refuse_indirect(&bare.die, name, name)?;
        let type_name = types::name(debug, Some(type_offset));
        let kind = types::number(&bare.die)
            .ok_or_else(|| not_a_number(name, &type_name, hint(&bare.die, name)))?;
        Ok(Variable {
            kind: Some(kind),
            n_bytes: kind.n_bytes() as u64,
            type_name,
            is_static: !global.is_external,
            is_volatile: is_volatile || bare.is_volatile,
            ..self.at(name, address)
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

fn refuse_indirect(bare: &Die<'_, '_>, name: &str, part: &str) -> Result<(), LookupError> {
    let is_dynamic = [dw::DW_AT_data_location, dw::DW_AT_allocated, dw::DW_AT_associated]
        .into_iter()
        .any(|attribute| bare.value(attribute).is_some());
    let what = match bare.tag() {
        dw::DW_TAG_pointer_type => "a pointer",
        dw::DW_TAG_reference_type | dw::DW_TAG_rvalue_reference_type => "a reference",
        _ if is_dynamic => "an allocatable or pointer array",
        _ => return Ok(()),
    };
    Err(LookupError::Indirect { name: name.to_owned(), part: part.to_owned(), what })
}

fn not_a_number(name: &str, type_name: &str, hint: String) -> LookupError {
    LookupError::NotANumber { name: name.to_owned(), type_name: type_name.to_owned(), hint }
}

/// Suggests what to name instead.
fn hint(bare: &Die<'_, '_>, name: &str) -> String {
    const SHOWN: usize = 4;
    let members = members(bare);
    if let Some(bounds) = types::dimensions(bare).and_then(|all| all.first().copied()) {
        format!(": name one of its elements, such as `{name}[{}]`", bounds.first)
    } else if members.is_empty() {
        String::new()
    } else {
        let shown: Vec<_> =
            members.iter().take(SHOWN).map(|member| format!("`{name}.{member}`")).collect();
        format!(": name one of its members, such as {}", shown.join(", "))
    }
}

fn members(bare: &Die<'_, '_>) -> Vec<String> {
    let mut names = Vec::new();
    bare.children(|child| {
        let name = child.name().filter(|_| child.tag() == dw::DW_TAG_member);
        names.extend(name.map(str::to_owned));
        true
    });
    names
}

/// Returns offset and type of a member in a structure.
fn member(
    debug: &Debug<'_>,
    bare: &Bare<'_, '_>,
    part: &str,
    name: &str,
) -> Result<(i64, usize), LookupError> {
    let found = find_member(&bare.die, name, &mut HashSet::new(), 0);
    let (offset, type_offset, n_bits) = found.ok_or_else(|| LookupError::NoMember {
        part: part.to_owned(),
        type_name: types::name(debug, Some(bare.die.offset())),
        member: name.to_owned(),
        near: members(&bare.die),
    })?;
    if let Some(n_bits) = n_bits {
        let (name, type_name) = (format!("{part}.{name}"), format!("bit field of {n_bits} bits"));
        return Err(not_a_number(
            &name,
            &type_name,
            ": it shares its bytes with others".to_owned(),
        ));
    }
    Ok((offset, type_offset))
}

/// Returns offset, type and, for a bit field, number of bits of a member, inherited ones included. Structures in
/// `looked` are not searched again: parts that contain each other repeatedly could take forever.
pub(crate) fn find_member(
    structure: &Die<'_, '_>,
    name: &str,
    looked: &mut HashSet<usize>,
    depth: usize,
) -> Option<(i64, usize, Option<u64>)> {
    if DEPTH_MAX < depth || !looked.insert(structure.offset()) {
        return None;
    }
    let mut found = None;
    structure.children(|child| {
        let is_member = child.tag() == dw::DW_TAG_member;
        let is_part = child.tag() == dw::DW_TAG_inheritance || is_member && child.name().is_none();
        let offset = child.number(dw::DW_AT_data_member_location);
        let offset = offset.and_then(|offset| i64::try_from(offset).ok()).unwrap_or_default();
        let type_offset = child.reference(dw::DW_AT_type);
        if is_member && is_same(&child, name) {
            found = type_offset.map(|at| (offset, at, child.number(dw::DW_AT_bit_size)));
        } else if let (true, Some(at)) = (is_part, type_offset) {
            let inner = bare(structure.debug, at);
            let inner = inner.and_then(|inner| find_member(&inner.die, name, looked, depth + 1));
            found = inner.map(|(inner, at, n_bits)| (offset.wrapping_add(inner), at, n_bits));
        }
        found.is_none()
    });
    found
}

fn is_same(member: &Die<'_, '_>, name: &str) -> bool {
    let is_fortran = types::is_fortran(member);
    member.name().is_some_and(|own| own == name || is_fortran && own.eq_ignore_ascii_case(name))
}

/// Returns offset and type of an element in an array.
fn element(
    debug: &Debug<'_>,
    bare: &Bare<'_, '_>,
    part: &str,
    indices: &[i64],
) -> Result<(i64, usize), LookupError> {
    let type_name = || types::name(debug, Some(bare.die.offset()));
    let no_array =
        || not_a_number(part, &type_name(), ": it has no elements at fixed places".to_owned());
    let dimensions = types::dimensions(&bare.die).ok_or_else(no_array)?;
    let type_offset = bare.die.reference(dw::DW_AT_type).ok_or_else(no_array)?;
    let inner = types::bare(debug, type_offset).ok_or_else(no_array)?;
    let n_bytes = types::n_bytes(&inner.die).and_then(|n| i64::try_from(n).ok());
    let mut stride = n_bytes.ok_or_else(no_array)?;
    if indices.len() < dimensions.len() {
        let hint = format!(": give {} indices, such as `{part}[1,2]`", dimensions.len());
        return Err(not_a_number(part, &type_name(), hint));
    }
    let (indices, inner_indices) = indices.split_at(dimensions.len());
    let mut pairs: Vec<_> = dimensions.into_iter().zip(indices.iter().copied()).collect();
    // The last index varies fastest in C, the first in Fortran.
    if !types::is_fortran(&bare.die) {
        pairs.reverse();
    }
    let mut offset = 0;
    for (bounds, index) in pairs {
        if index < bounds.first || bounds.last < index {
            let (first, last) = (bounds.first, bounds.last);
            return Err(LookupError::OutOfBounds { part: part.to_owned(), index, first, last });
        }
        // Damaged information may have any bounds; the address is then meaningless.
        let place = index.wrapping_sub(bounds.first).wrapping_mul(stride);
        offset = i64::wrapping_add(offset, place);
        stride = stride.wrapping_mul(bounds.n_elements().map_or(0, u64::cast_signed));
    }
    if inner_indices.is_empty() {
        return Ok((offset, type_offset));
    }
    let (further, type_offset) = element(debug, &inner, part, inner_indices)?;
    Ok((offset.wrapping_add(further), type_offset))
}
