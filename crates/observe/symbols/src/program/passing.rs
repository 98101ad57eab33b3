//! Places of arguments when a function is entered (System V ABI for x86-64, 3.2.3).

use super::debug::{Debug, Die};
use super::function::Passing;
use super::types::{bare, is_pointer, n_bytes};
use gimli::constants as dw;
use std::collections::HashSet;

const N_INTEGER: usize = 6;
const N_FLOAT: usize = 8;
const N_PARTS_MAX: u64 = 16;
/// Maximum nesting of structures; deeper nesting is damage.
const DEPTH_MAX: usize = 16;

/// Types already examined, each at an offset in the value; types that contain each other could otherwise take forever.
type Visited = HashSet<(usize, u64)>;

/// Register class of eight bytes of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Integer,
    Float,
}

/// Class of a value by the way in which it is passed.
#[derive(Clone, Debug, PartialEq, Eq)]
enum PassingClass {
    /// In registers of these classes, if enough are left.
    Registers(Vec<Class>),
    /// On the stack.
    Memory,
    /// Not at all, since the value has no bytes.
    Nothing,
}

/// Registers and stack slots used by the arguments so far.
#[derive(Debug, Default)]
pub(crate) struct ArgumentAllocator {
    n_integer: usize,
    n_float: usize,
    n_stack: usize,
}

impl ArgumentAllocator {
    /// Returns the state before the first argument of a function that returns a value of this type.
    pub(crate) fn after_return(debug: &Debug<'_>, returned: Option<usize>) -> Self {
        let class = returned.and_then(|offset| bare(debug, offset)).map(|bare| {
            // An x87 number is returned in its own register.
            let is_structure = !is_scalar(&bare.die);
            is_structure
                && (passing_class(&bare.die) == PassingClass::Memory || is_by_address(&bare.die))
        });
        // For a value too large for registers, the caller passes an address.
        Self { n_integer: usize::from(class == Some(true)), ..Self::default() }
    }

    /// Assigns a place to an address or integer.
    pub(crate) fn address(&mut self) -> Passing {
        self.place(&PassingClass::Registers(vec![Class::Integer]), 1)
    }

    /// Assigns a place to the next argument, which has this type.
    pub(crate) fn argument(&mut self, debug: &Debug<'_>, type_offset: usize) -> Passing {
        let Some(bare) = bare(debug, type_offset) else { return Passing::Parts };
        if is_by_address(&bare.die) {
            self.address();
            return Passing::Parts;
        }
        let n_stack = n_bytes(&bare.die).unwrap_or(8).div_ceil(8);
        let is_aligned = is_scalar(&bare.die) && n_stack == 2;
        if is_aligned && passing_class(&bare.die) == PassingClass::Memory {
            self.n_stack = self.n_stack.checked_next_multiple_of(2).unwrap_or(usize::MAX);
        }
        let place =
            self.place(&passing_class(&bare.die), usize::try_from(n_stack).unwrap_or(usize::MAX));
        if is_scalar(&bare.die) { place } else { Passing::Parts }
    }

    fn place(&mut self, class: &PassingClass, n_stack: usize) -> Passing {
        let PassingClass::Registers(classes) = class else {
            if *class == PassingClass::Memory {
                self.n_stack = self.n_stack.saturating_add(n_stack);
            }
            return Passing::Parts;
        };
        let n = |class| classes.iter().filter(|found| **found == class).count();
        let (n_integer, n_float) = (n(Class::Integer), n(Class::Float));
        if N_INTEGER < self.n_integer + n_integer && 0 < n_integer
            || N_FLOAT < self.n_float + n_float && 0 < n_float
        {
            let at = self.n_stack;
            self.n_stack = self.n_stack.saturating_add(n_stack);
            return if n_stack == 1 { numbered(Passing::Stack, at) } else { Passing::Parts };
        }
        let (integer, float) = (self.n_integer, self.n_float);
        self.n_integer += n_integer;
        self.n_float += n_float;
        match classes.as_slice() {
            [Class::Integer] => numbered(Passing::Integer, integer),
            [Class::Float] => numbered(Passing::Float, float),
            _ => Passing::Parts,
        }
    }
}

fn numbered(place: impl FnOnce(u8) -> Passing, n: usize) -> Passing {
    u8::try_from(n).map_or(Passing::Parts, place)
}

fn is_scalar(bare: &Die<'_, '_>) -> bool {
    is_pointer(bare)
        || [dw::DW_TAG_base_type, dw::DW_TAG_enumeration_type, dw::DW_TAG_ptr_to_member_type]
            .contains(&bare.tag())
}

/// Returns whether an object is passed by address: in C++, one with its own copy constructor or destructor.
fn is_by_address(bare: &Die<'_, '_>) -> bool {
    match bare.value(dw::DW_AT_calling_convention) {
        Some(gimli::AttributeValue::CallingConvention(convention)) => {
            convention == dw::DW_CC_pass_by_reference
        }
        _ => has_own_copying(bare, &mut Visited::default(), 0),
    }
}

/// Returns whether a class has its own copying, by its members, since not all compilers record the convention.
fn has_own_copying(class: &Die<'_, '_>, visited: &mut Visited, depth: usize) -> bool {
    let is_class = [dw::DW_TAG_class_type, dw::DW_TAG_structure_type].contains(&class.tag());
    let mut is_own = false;
    if !is_class || DEPTH_MAX < depth || !visited.insert((class.offset(), 0)) {
        return false;
    }
    class.children(|child| {
        is_own = match child.tag() {
            dw::DW_TAG_subprogram => is_own_copying(class, &child),
            // A class with a virtual function is not copied byte by byte.
            dw::DW_TAG_member if child.name().is_some_and(|name| name.starts_with("_vptr")) => true,
            dw::DW_TAG_member | dw::DW_TAG_inheritance => {
                let inner = child.reference(dw::DW_AT_type).and_then(|at| bare(class.debug, at));
                child.value(dw::DW_AT_external).is_none()
                    && inner.is_some_and(|inner| has_own_copying(&inner.die, visited, depth + 1))
            }
            _ => false,
        };
        !is_own
    });
    is_own
}

/// Returns whether a member function is a destructor or a copy (or move) constructor written in the program.
fn is_own_copying(class: &Die<'_, '_>, function: &Die<'_, '_>) -> bool {
    let is_the_compilers = [dw::DW_AT_artificial, dw::DW_AT_defaulted, dw::DW_AT_deleted]
        .into_iter()
        .any(|attribute| function.value(attribute).is_some());
    let Some(name) = function.name().filter(|_| !is_the_compilers) else { return false };
    if name.starts_with('~') {
        return true;
    }
    let mut copied = None;
    function.children(|child| {
        let is_given = child.tag() == dw::DW_TAG_formal_parameter
            && child.value(dw::DW_AT_artificial).is_none();
        if is_given {
            copied = child.reference(dw::DW_AT_type);
        }
        !is_given
    });
    let reference = copied.and_then(|at| bare(class.debug, at));
    let reference = reference.filter(|reference| {
        [dw::DW_TAG_reference_type, dw::DW_TAG_rvalue_reference_type].contains(&reference.die.tag())
    });
    let object = reference.and_then(|reference| reference.die.reference(dw::DW_AT_type));
    let object = object.and_then(|at| bare(class.debug, at));
    // Constructors of templates are named without the template arguments.
    let own = class.name().and_then(|own| own.split('<').next());
    own == name.split('<').next()
        && object.is_some_and(|object| object.die.offset() == class.offset())
}

fn passing_class(bare: &Die<'_, '_>) -> PassingClass {
    // A vector is in one register as a whole.
    if bare.value(dw::DW_AT_GNU_vector).is_some() {
        return PassingClass::Registers(vec![Class::Float]);
    }
    let mut eightbytes = Eightbytes::default();
    let n_bytes = n_bytes(bare).unwrap_or(u64::MAX);
    if n_bytes <= N_PARTS_MAX && fill(bare, 0, &mut eightbytes, 0).is_some() {
        let classes: Vec<Class> = eightbytes.classes.into_iter().flatten().collect();
        if classes.is_empty() { PassingClass::Nothing } else { PassingClass::Registers(classes) }
    } else {
        PassingClass::Memory
    }
}

/// Classes of the eightbytes of a value, as determined by its members.
#[derive(Debug, Default)]
struct Eightbytes {
    classes: [Option<Class>; 2],
    visited: Visited,
}

/// Adds a type at `offset` of the value; `None` if the value is passed in memory.
fn fill(bare: &Die<'_, '_>, offset: u64, eightbytes: &mut Eightbytes, depth: usize) -> Option<()> {
    if DEPTH_MAX < depth || N_PARTS_MAX < offset {
        return None;
    }
    if !eightbytes.visited.insert((bare.offset(), offset)) {
        return Some(());
    }
    match bare.tag() {
        dw::DW_TAG_structure_type | dw::DW_TAG_class_type | dw::DW_TAG_union_type => {
            let mut filled = Some(());
            bare.children(|child| {
                if [dw::DW_TAG_member, dw::DW_TAG_inheritance].contains(&child.tag()) {
                    filled = member(&child, offset, eightbytes, depth);
                }
                filled.is_some()
            });
            filled
        }
        dw::DW_TAG_array_type => {
            let element = self::bare(bare.debug, bare.reference(dw::DW_AT_type)?)?;
            let n_bytes_each = n_bytes(&element.die)?.max(1);
            let n_elements = n_bytes(bare)? / n_bytes_each;
            (0..n_elements.min(N_PARTS_MAX)).try_for_each(|n| {
                let at = offset.checked_add(n.checked_mul(n_bytes_each)?)?;
                fill(&element.die, at, eightbytes, depth + 1)
            })
        }
        _ => scalar(bare, offset, eightbytes),
    }
}

fn member(
    member: &Die<'_, '_>,
    offset: u64,
    eightbytes: &mut Eightbytes,
    depth: usize,
) -> Option<()> {
    // Static members are not part of the value.
    if member.value(dw::DW_AT_external).is_some() {
        return Some(());
    }
    let bits = member.number(dw::DW_AT_data_bit_offset).map(|bits| bits / 8);
    let at = member.number(dw::DW_AT_data_member_location).or(bits).unwrap_or_default();
    let bare = bare(member.debug, member.reference(dw::DW_AT_type)?)?;
    fill(&bare.die, offset.checked_add(at)?, eightbytes, depth + 1)
}

fn scalar(bare: &Die<'_, '_>, offset: u64, eightbytes: &mut Eightbytes) -> Option<()> {
    let encoding = match bare.value(dw::DW_AT_encoding) {
        Some(gimli::AttributeValue::Encoding(encoding)) => Some(encoding),
        _ => None,
    };
    let n_bytes = n_bytes(bare)?;
    let is_float = [Some(dw::DW_ATE_float), Some(dw::DW_ATE_complex_float)].contains(&encoding);
    // x87; `__float128` is in one register, but not a supported number either.
    if encoding == Some(dw::DW_ATE_float) && 8 < n_bytes {
        let is_x87 = bare.name().is_some_and(|name| name.contains("long") || name.contains("=10"));
        eightbytes.classes[0] = Some(Class::Float);
        return (!is_x87).then_some(());
    }
    let class = if is_float { Class::Float } else { Class::Integer };
    for part in offset / 8..offset.checked_add(n_bytes)?.div_ceil(8) {
        let part = eightbytes.classes.get_mut(usize::try_from(part).ok()?)?;
        // One integer makes the class of its eight bytes integer.
        *part = Some(if *part == Some(Class::Integer) { Class::Integer } else { class });
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::super::module::Module;
    use super::{PassingClass, is_by_address, passing_class};
    use crate::program::types::bare;
    use crate::program::walk::find_member;
    use std::collections::HashSet;
    use std::process::Command;

    /// Upper bound of the entries read for eight structures of which each contains the previous one four times;
    /// 4^8 and more if each occurrence is examined.
    const N_READ_MAX: u64 = 500;

    /// Regression: `sintonia run --app` and `sintonia functions` never finished on a program with nested structures.
    #[test]
    fn structures_that_hold_each_other_several_times_are_looked_through_once() {
        let mut source = "struct s0 {};\n".to_owned();
        for n in 1..=8 {
            let part = format!("struct s{};", n - 1).repeat(4);
            source += &format!("struct s{n} {{ {part} }};\n");
        }
        source += "struct s8 whole;\nint main(void) { return 0; }\n";
        let dir = tempfile::tempdir().expect("a temporary folder");
        let (text, program) = (dir.path().join("deep.c"), dir.path().join("deep"));
        std::fs::write(&text, source).expect("room for it");
        let flags = ["-g", "-O0", "-fms-extensions"];
        let built = Command::new("gcc").args(flags).arg(&text).arg("-o").arg(&program).status();
        assert!(built.expect("gcc is installed").success());

        let module = Module::open(&program).expect("a program");
        let global = module.index().variables.iter().find(|global| global.name == "whole");
        let whole = global.and_then(|global| global.type_offset).expect("its type");
        let debug = module.debug().expect("it was compiled with -g");
        let bare = bare(&debug, whole).expect("its type");
        assert_eq!(passing_class(&bare.die), PassingClass::Nothing);
        assert!(!is_by_address(&bare.die));
        assert_eq!(find_member(&bare.die, "nothing", &mut HashSet::new(), 0), None);
        assert!(debug.n_read() < N_READ_MAX, "{} entries were read", debug.n_read());
    }
}
