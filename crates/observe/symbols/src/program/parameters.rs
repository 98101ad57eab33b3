//! Parameters and return value of a function.

use super::debug::{Debug, Die};
use super::function::{Parameter, Passing, Returned};
use super::passing::ArgumentAllocator;
use super::types::{bare, is_fortran, is_pointer, name, number};
use events::ValueType;
use gimli::constants as dw;

/// Returns parameters and return value of the function at `offset`.
pub(crate) fn signature(
    debug: &Debug<'_>,
    offset: usize,
    returned: Option<usize>,
) -> (Vec<Parameter>, Returned) {
    let returns = Returned { type_name: name(debug, returned), kind: kind(debug, returned) };
    let mut allocator = ArgumentAllocator::after_return(debug, returned);
    let mut parameters = Vec::new();
    for_each(debug, offset, |child| parameters.push(parameter(debug, child, &mut allocator)));
    (parameters, returns)
}

/// Type of a parameter as declared.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeclaredType {
    /// Offset of the type in debug information.
    pub(crate) offset: Option<usize>,
    /// Whether the address of such a value is passed, which the type does not say.
    pub(crate) is_implicit: bool,
}

/// Returns the declared types of the parameters of the function at `offset`, in their order.
pub(crate) fn declared_types(debug: &Debug<'_>, offset: usize) -> Vec<DeclaredType> {
    let mut types = Vec::new();
    for_each(debug, offset, |child| types.push(declared_type(debug, child)));
    types
}

fn for_each(debug: &Debug<'_>, offset: usize, mut visit: impl FnMut(&Die<'_, '_>)) {
    let Some(function) = debug.die(offset) else { return };
    function.children(|child| {
        if child.tag() == dw::DW_TAG_formal_parameter {
            visit(&child);
        } else if child.tag() == dw::DW_TAG_GNU_formal_parameter_pack {
            child.children(|member| {
                visit(&member);
                true
            });
        }
        !ENDS.contains(&child.tag())
    });
}

/// Tags of the entries that come after the parameters.
const ENDS: [gimli::DwTag; 4] = [
    dw::DW_TAG_lexical_block,
    dw::DW_TAG_inlined_subroutine,
    dw::DW_TAG_call_site,
    dw::DW_TAG_GNU_call_site,
];

fn declared_type(debug: &Debug<'_>, die: &Die<'_, '_>) -> DeclaredType {
    let origin = die.follow(dw::DW_AT_abstract_origin);
    let offset =
        die.reference(dw::DW_AT_type).or_else(|| origin.as_ref()?.reference(dw::DW_AT_type));
    let is_artificial = die.value(dw::DW_AT_artificial).is_some();
    let is_implicit = is_fortran(die) && is_by_reference(debug, die).unwrap_or(!is_artificial);
    DeclaredType { offset, is_implicit }
}

fn parameter(debug: &Debug<'_>, die: &Die<'_, '_>, allocator: &mut ArgumentAllocator) -> Parameter {
    let origin = die.follow(dw::DW_AT_abstract_origin);
    let label = die.name().or_else(|| origin.as_ref()?.name()).unwrap_or_default().to_owned();
    let DeclaredType { offset: type_offset, is_implicit } = declared_type(debug, die);
    let passing = match type_offset {
        Some(at) if !is_implicit => allocator.argument(debug, at),
        _ => allocator.address(),
    };
    let referred = type_offset.and_then(|at| referred(debug, at));
    let is_by_reference = is_implicit || referred.is_some();
    let kind = referred.or_else(|| kind(debug, type_offset));
    let kind = kind.filter(|_| passing != Passing::Parts);
    Parameter { name: label, type_name: name(debug, type_offset), kind, passing, is_by_reference }
}

/// Returns the type of the number in a register for a value of this type.
fn kind(debug: &Debug<'_>, type_offset: Option<usize>) -> Option<ValueType> {
    let bare = bare(debug, type_offset?)?;
    if is_pointer(&bare.die) { Some(ValueType::U64) } else { number(&bare.die) }
}

/// Returns the type of the number that a C++ reference refers to.
fn referred(debug: &Debug<'_>, type_offset: usize) -> Option<ValueType> {
    let reference = bare(debug, type_offset)?.die;
    let is_reference =
        [dw::DW_TAG_reference_type, dw::DW_TAG_rvalue_reference_type].contains(&reference.tag());
    let target = reference.reference(dw::DW_AT_type).filter(|_| is_reference)?;
    kind(debug, Some(target))
}

/// Returns whether a Fortran parameter is passed by reference, according to its location; `None` if it has none.
fn is_by_reference(debug: &Debug<'_>, die: &Die<'_, '_>) -> Option<bool> {
    let location = die.value(dw::DW_AT_location)?;
    let expression = match location {
        gimli::AttributeValue::Exprloc(expression) => expression,
        list => debug.dwarf.attr_locations(die.unit, list).ok()??.next().ok()??.data,
    };
    let bytes = expression.0.slice();
    let first = gimli::DwOp(*bytes.first()?);
    let is_in_register = (dw::DW_OP_reg0.0..=dw::DW_OP_reg31.0).contains(&first.0);
    // The frame and stack pointers address the argument itself.
    let is_at_register = (dw::DW_OP_breg0.0..=dw::DW_OP_breg31.0).contains(&first.0)
        && ![dw::DW_OP_breg6, dw::DW_OP_breg7].contains(&first);
    let last = gimli::DwOp(*bytes.last()?);
    Some(!is_in_register && (is_at_register || last == dw::DW_OP_deref))
}
