//! Steps from a variable, or from an argument, to one of its parts: members, elements, and what pointers point to.

use super::debug::{Debug, Die};
use super::errors::LookupError;
use super::path::{AccessStep, PathStep};
use super::types::{self, Bare, bare};
use events::ValueType;
use gimli::constants as dw;
use std::collections::HashSet;

/// Maximum nesting of unnamed structures; deeper nesting is damage.
const DEPTH_MAX: usize = 16;

/// Part of a variable.
#[derive(Debug)]
pub(crate) struct Part {
    /// Offsets in bytes: the first from the start of the variable, each further one from what the pointer there points to.
    pub(crate) offsets: Vec<i64>,
    /// Offset of its type in debug information.
    pub(crate) type_offset: usize,
    pub(crate) is_volatile: bool,
    /// First pointer on the way, as in the name, and what it is.
    pointer: Option<(String, &'static str)>,
}

impl Part {
    /// Error where pointers cannot be followed.
    pub(crate) fn indirect(&self, name: &str) -> LookupError {
        let (part, what) = self.pointer.clone().unwrap_or((name.to_owned(), "a pointer"));
        LookupError::Indirect { name: name.to_owned(), part, what }
    }

    /// Returns the type of the number that it is.
    pub(crate) fn kind(&self, debug: &Debug<'_>, name: &str) -> Result<ValueType, LookupError> {
        let bare = bare(debug, self.type_offset).ok_or_else(|| untyped(name))?;
        refuse_indirect(&bare.die, name, name)?;
        let type_name = types::name(debug, Some(self.type_offset));
        types::number(&bare.die)
            .ok_or_else(|| not_a_number(name, &type_name, hint(&bare.die, name)))
    }

    fn follow(&mut self, pointer: &Die<'_, '_>, part: &str) -> Option<()> {
        self.pointer.get_or_insert((part.to_owned(), indirection(pointer).unwrap_or("a pointer")));
        self.type_offset = pointer.reference(dw::DW_AT_type)?;
        self.offsets.push(0);
        Some(())
    }
}

/// Error of a part whose type is not known.
pub(crate) fn untyped(name: &str) -> LookupError {
    not_a_number(name, "?", ": its debug information does not tell its type".to_owned())
}

/// Follows the steps of a name, from something of the type at `type_offset`.
pub(crate) fn walk(
    debug: &Debug<'_>,
    name: &str,
    type_offset: usize,
    steps: &[PathStep<'_>],
) -> Result<Part, LookupError> {
    let mut part = Part { offsets: vec![0], type_offset, is_volatile: false, pointer: None };
    for PathStep { of, step } in steps {
        let unknown = || untyped(name);
        let mut at = bare(debug, part.type_offset).ok_or_else(unknown)?;
        if let AccessStep::Pointee = step {
            if at.die.tag() != dw::DW_TAG_pointer_type {
                let type_name = types::name(debug, Some(part.type_offset));
                return Err(LookupError::NoPointer { part: (*of).to_owned(), type_name });
            }
            part.follow(&at.die, of).ok_or_else(unknown)?;
            continue;
        }
        let is_reference = types::is_pointer(&at.die) && at.die.tag() != dw::DW_TAG_pointer_type;
        let is_followed = is_reference
            || at.die.tag() == dw::DW_TAG_pointer_type
                && (types::is_fortran(&at.die) || matches!(step, AccessStep::Element(_)));
        let pointer = is_followed.then(|| at.die.tag());
        if is_followed {
            part.follow(&at.die, of).ok_or_else(unknown)?;
            at = bare(debug, part.type_offset).ok_or_else(unknown)?;
        }
        refuse_indirect(&at.die, name, of)?;
        let is_array = at.die.tag() == dw::DW_TAG_array_type;
        let (offset, inner) = match step {
            AccessStep::Element(indices) if pointer.is_some() && !is_array => {
                (element_at(&at, of, indices)?, part.type_offset)
            }
            AccessStep::Element(indices) => element(debug, &at, of, indices)?,
            AccessStep::Member(member) => self::member(debug, &at, of, member)?,
            AccessStep::Pointee => continue,
        };
        part.is_volatile |= at.is_volatile;
        if let Some(last) = part.offsets.last_mut() {
            *last = last.wrapping_add(offset);
        }
        part.type_offset = inner;
    }
    let last = bare(debug, part.type_offset);
    part.is_volatile |= last.is_some_and(|last| last.is_volatile);
    Ok(part)
}

/// Offset of an element behind a pointer, whose number of elements is not known.
fn element_at(target: &Bare<'_, '_>, part: &str, indices: &[i64]) -> Result<i64, LookupError> {
    let n_bytes = types::n_bytes(&target.die).and_then(|n| i64::try_from(n).ok());
    let (Some(n_bytes), [index]) = (n_bytes, indices) else {
        let type_name = types::name(target.die.debug, Some(target.die.offset()));
        return Err(not_a_number(
            part,
            &type_name,
            ": it has no elements at fixed places".to_owned(),
        ));
    };
    Ok(index.wrapping_mul(n_bytes))
}

/// What kind of indirection a type is, in words.
fn indirection(bare: &Die<'_, '_>) -> Option<&'static str> {
    let is_dynamic = [dw::DW_AT_data_location, dw::DW_AT_allocated, dw::DW_AT_associated]
        .into_iter()
        .any(|attribute| bare.value(attribute).is_some());
    match bare.tag() {
        dw::DW_TAG_pointer_type => Some("a pointer"),
        dw::DW_TAG_reference_type | dw::DW_TAG_rvalue_reference_type => Some("a reference"),
        _ if is_dynamic => Some("an allocatable or pointer array"),
        _ => None,
    }
}

fn refuse_indirect(bare: &Die<'_, '_>, name: &str, part: &str) -> Result<(), LookupError> {
    match indirection(bare) {
        Some(what) => {
            Err(LookupError::Indirect { name: name.to_owned(), part: part.to_owned(), what })
        }
        None => Ok(()),
    }
}

/// Returns the names of the members of a structure; none of anything else.
pub(crate) fn member_names(debug: &Debug<'_>, type_offset: usize) -> Vec<String> {
    bare(debug, type_offset).map(|bare| members(&bare.die)).unwrap_or_default()
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
