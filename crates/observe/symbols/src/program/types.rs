//! Types as described by debug information.

use super::debug::{Debug, Die};
use events::ValueType;
use gimli::constants as dw;

/// Maximum number of nested types that only wrap another; more is damage.
const N_WRAPPERS_MAX: usize = 32;

/// Type without typedefs and qualifiers.
pub(crate) struct Bare<'d, 'a> {
    pub(crate) die: Die<'d, 'a>,
    pub(crate) is_volatile: bool,
}

/// Returns the type at an offset without `typedef`, `const`, `volatile`; `None` for `void`.
pub(crate) fn bare<'d, 'a>(debug: &'d Debug<'a>, offset: usize) -> Option<Bare<'d, 'a>> {
    let mut is_volatile = false;
    let mut die = debug.die(offset)?;
    for _ in 0..N_WRAPPERS_MAX {
        // A type in a type unit is only declared where it is used.
        if let Some(whole) = die.follow(dw::DW_AT_signature) {
            die = whole;
        }
        match die.tag() {
            dw::DW_TAG_volatile_type => is_volatile = true,
            dw::DW_TAG_typedef
            | dw::DW_TAG_const_type
            | dw::DW_TAG_restrict_type
            | dw::DW_TAG_atomic_type => {}
            _ => return Some(Bare { die, is_volatile }),
        }
        die = die.follow(dw::DW_AT_type)?;
    }
    None
}

/// Returns the representation of a number of a bare type; `None` if it is not a number.
pub(crate) fn number(bare: &Die<'_, '_>) -> Option<ValueType> {
    let n_bytes = n_bytes(bare)?;
    match bare.tag() {
        dw::DW_TAG_base_type => {
            let encoding = match bare.value(dw::DW_AT_encoding)? {
                gimli::AttributeValue::Encoding(encoding) => encoding,
                value => gimli::DwAte(u8::try_from(value.udata_value()?).ok()?),
            };
            of_encoding(encoding, n_bytes)
        }
        dw::DW_TAG_enumeration_type => {
            let base = bare.reference(dw::DW_AT_type).and_then(|at| self::bare(bare.debug, at));
            base.map_or_else(
                || of_encoding(dw::DW_ATE_unsigned, n_bytes),
                |base| number(&base.die).filter(|kind| kind.n_bytes() as u64 == n_bytes),
            )
        }
        _ => None,
    }
}

fn of_encoding(encoding: gimli::DwAte, n_bytes: u64) -> Option<ValueType> {
    Some(match (encoding, n_bytes) {
        (dw::DW_ATE_boolean, 1) => ValueType::Bool,
        (dw::DW_ATE_signed | dw::DW_ATE_signed_char, 1) => ValueType::I8,
        (dw::DW_ATE_signed | dw::DW_ATE_boolean, 2) => ValueType::I16,
        // Fortran's `logical` has the size of its integers.
        (dw::DW_ATE_signed | dw::DW_ATE_boolean, 4) => ValueType::I32,
        (dw::DW_ATE_signed | dw::DW_ATE_boolean, 8) => ValueType::I64,
        (dw::DW_ATE_unsigned | dw::DW_ATE_unsigned_char | dw::DW_ATE_UTF, 1) => ValueType::U8,
        (dw::DW_ATE_unsigned | dw::DW_ATE_UTF, 2) => ValueType::U16,
        (dw::DW_ATE_unsigned | dw::DW_ATE_UTF, 4) => ValueType::U32,
        (dw::DW_ATE_unsigned, 8) => ValueType::U64,
        (dw::DW_ATE_float, 4) => ValueType::F32,
        (dw::DW_ATE_float, 8) => ValueType::F64,
        _ => return None,
    })
}

/// Returns whether a value of the bare type is an address.
pub(crate) fn is_pointer(bare: &Die<'_, '_>) -> bool {
    [dw::DW_TAG_pointer_type, dw::DW_TAG_reference_type, dw::DW_TAG_rvalue_reference_type]
        .contains(&bare.tag())
}

/// Returns the size of a bare type; `None` if it is known only at run time.
pub(crate) fn n_bytes(bare: &Die<'_, '_>) -> Option<u64> {
    n_bytes_within(bare, 0)
}

/// Bounded, since damaged information may make an array its own element.
fn n_bytes_within(bare: &Die<'_, '_>, depth: usize) -> Option<u64> {
    if N_WRAPPERS_MAX < depth {
        return None;
    }
    if let Some(n_bytes) = bare.number(dw::DW_AT_byte_size) {
        return Some(n_bytes);
    }
    match bare.tag() {
        dw::DW_TAG_array_type => {
            let element = self::bare(bare.debug, bare.reference(dw::DW_AT_type)?)?;
            let n_elements = dimensions(bare)?
                .iter()
                .try_fold(1_u64, |all, bounds| all.checked_mul(bounds.n_elements()?))?;
            n_bytes_within(&element.die, depth + 1)?.checked_mul(n_elements)
        }
        _ if is_pointer(bare) => Some(8),
        _ => None,
    }
}

/// First and last index of one dimension of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    pub(crate) first: i64,
    pub(crate) last: i64,
}

impl Bounds {
    pub(crate) fn n_elements(self) -> Option<u64> {
        u64::try_from(self.last.checked_sub(self.first)?.checked_add(1)?).ok()
    }
}

/// Returns the dimensions of an array as in the source; `None` if they are known only at run time.
pub(crate) fn dimensions(array: &Die<'_, '_>) -> Option<Vec<Bounds>> {
    let mut dimensions = Some(Vec::new());
    array.children(|child| {
        if child.tag() == dw::DW_TAG_subrange_type {
            let bounds = bounds(&child);
            dimensions = dimensions.take().and_then(|mut all| {
                all.push(bounds?);
                Some(all)
            });
        }
        true
    });
    dimensions.filter(|all| !all.is_empty())
}

fn bounds(range: &Die<'_, '_>) -> Option<Bounds> {
    let first = match range.value(dw::DW_AT_lower_bound) {
        Some(value) => value.sdata_value()?,
        None => i64::from(is_fortran(range)),
    };
    let last = match range.value(dw::DW_AT_upper_bound) {
        Some(value) => value.sdata_value()?,
        None => {
            let n_elements = i64::try_from(range.number(dw::DW_AT_count)?).ok()?;
            first.checked_add(n_elements)?.checked_sub(1)?
        }
    };
    Some(Bounds { first, last })
}

/// Returns whether the unit of an entry is written in Fortran.
pub(crate) fn is_fortran(die: &Die<'_, '_>) -> bool {
    unit_is_fortran(die.unit)
}

/// Returns whether a unit is written in Fortran.
pub(crate) fn unit_is_fortran(unit: &gimli::Unit<super::debug::Slice<'_>>) -> bool {
    let root = unit.entry(unit.header.root_offset()).ok();
    match root.and_then(|root| root.attr_value(dw::DW_AT_language)) {
        Some(gimli::AttributeValue::Language(language)) => crate::resolver::is_fortran(language),
        _ => false,
    }
}

/// Returns the name of a type in the source.
pub(crate) fn name(debug: &Debug<'_>, offset: Option<usize>) -> String {
    named(debug, offset, 0)
}

fn named(debug: &Debug<'_>, offset: Option<usize>, depth: usize) -> String {
    let Some(offset) = offset else { return "void".to_owned() };
    let Some(die) = debug.die(offset).filter(|_| depth < N_WRAPPERS_MAX) else {
        return "?".to_owned();
    };
    let inner = || named(debug, die.reference(dw::DW_AT_type), depth + 1);
    match die.tag() {
        dw::DW_TAG_pointer_type => format!("{}*", inner()),
        dw::DW_TAG_reference_type => format!("{}&", inner()),
        dw::DW_TAG_rvalue_reference_type => format!("{}&&", inner()),
        dw::DW_TAG_const_type => format!("const {}", inner()),
        dw::DW_TAG_volatile_type => format!("volatile {}", inner()),
        dw::DW_TAG_atomic_type => format!("_Atomic {}", inner()),
        dw::DW_TAG_restrict_type => inner(),
        dw::DW_TAG_subroutine_type => format!("{}()", inner()),
        dw::DW_TAG_array_type => format!("{}{}", inner(), extents(&die)),
        dw::DW_TAG_string_type => "character".to_owned(),
        tag => die.name().map_or_else(|| unnamed(tag).to_owned(), str::to_owned),
    }
}

fn unnamed(tag: gimli::DwTag) -> &'static str {
    match tag {
        dw::DW_TAG_structure_type | dw::DW_TAG_class_type => "struct",
        dw::DW_TAG_union_type => "union",
        dw::DW_TAG_enumeration_type => "enum",
        _ => "?",
    }
}

fn extents(array: &Die<'_, '_>) -> String {
    let Some(dimensions) = dimensions(array) else { return "[]".to_owned() };
    let of = |bounds: &Bounds| match bounds.first {
        _ if !is_fortran(array) => format!("[{}]", bounds.n_elements().unwrap_or_default()),
        _ => format!("[{}:{}]", bounds.first, bounds.last),
    };
    dimensions.iter().map(of).collect()
}
