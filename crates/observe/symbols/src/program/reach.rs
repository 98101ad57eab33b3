//! Numbers that are reached through pointers: from an argument of a function, or from a pointer variable.

use super::debug::Location;
use super::errors::LookupError;
use super::function::{Function, Passing};
use super::globals::Variable;
use super::module::Module;
use super::parameters::declared_types;
use super::path::{AccessStep, VariablePath};
use super::types;
use super::walk::{Part, member_names, walk};
use events::ValueType;
use gimli::constants as dw;

/// Largest number of addresses that are loaded on the way to a number.
pub const N_STEPS_MAX: usize = 4;
/// Maximum nesting of structures whose members are listed.
const MEMBER_DEPTH_MAX: usize = 3;
/// Maximum number of members that are listed of a function's arguments.
const N_MEMBERS_MAX: usize = 4096;

/// Number reached through a pointer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reached {
    /// Name as requested.
    pub name: String,
    /// Start of the way.
    pub base: ReachedBase,
    /// Bytes to add to the first address; where there are more, the address of the next step lies there, and so on.
    pub offsets: Vec<i64>,
    /// Type.
    pub kind: ValueType,
    /// Type in the source.
    pub type_name: String,
}

/// First address on the way to a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReachedBase {
    /// Argument that is an address, at an entry.
    Argument(Passing),
    /// Pointer variable, whose own address is the first one.
    Variable(Variable),
}

impl Module {
    /// Returns the number reached from an argument of a function of this file; `None` if the function has no such
    /// argument, or the name has no steps.
    pub(crate) fn reached_from_argument(
        &self,
        function: &Function,
        name: &str,
    ) -> Result<Option<Reached>, LookupError> {
        let path = VariablePath::parse(name).ok_or_else(|| LookupError::Syntax(name.to_owned()))?;
        let (Some(debug), Some(entry), Some(parameters)) =
            (&self.debug(), function.entry, &function.parameters)
        else {
            return Ok(None);
        };
        let is_fortran = debug.die(entry).is_some_and(|die| types::is_fortran(&die));
        let is_it =
            |own: &str| own == path.base || is_fortran && own.eq_ignore_ascii_case(path.base);
        let Some(at) = parameters.iter().position(|parameter| is_it(&parameter.name)) else {
            return Ok(None);
        };
        let declared = declared_types(debug, entry).get(at).copied();
        let Some((declared, type_offset)) = declared.and_then(|it| Some((it, it.offset?))) else {
            return Ok(None);
        };
        if path.steps.is_empty() {
            return Ok(None);
        }
        let mut part = walk(debug, name, type_offset, &path.steps)?;
        if !declared.is_implicit {
            // The register holds the first pointer.
            let bare = types::bare(debug, type_offset);
            if !bare.is_some_and(|bare| types::is_pointer(&bare.die)) || part.offsets.len() < 2 {
                return Err(LookupError::ByValue(path.base.to_owned()));
            }
            part.offsets.remove(0);
        }
        let passing = parameters[at].passing;
        let base = ReachedBase::Argument(if declared.is_implicit || passing != Passing::Parts {
            passing
        } else {
            return Err(LookupError::ByValue(path.base.to_owned()));
        });
        self.reached(name, base, part).map(Some)
    }

    /// Returns the number reached from a pointer variable of this file; `None` if there is no such variable, or no pointer
    /// on the way.
    pub(crate) fn reached_from_variable(&self, name: &str) -> Result<Option<Reached>, LookupError> {
        let path = VariablePath::parse(name).ok_or_else(|| LookupError::Syntax(name.to_owned()))?;
        if !path.steps.iter().any(|step| step.step == AccessStep::Pointee) {
            return Ok(None);
        }
        let Some(global) = self.choose(name, &path)? else { return Ok(None) };
        let Location::Address(address) = global.location else {
            return Err(LookupError::ThreadLocal(name.to_owned()));
        };
        let (Some(debug), Some(type_offset)) = (&self.debug(), global.type_offset) else {
            return Ok(None);
        };
        let part = walk(debug, name, type_offset, &path.steps)?;
        self.reached(name, ReachedBase::Variable(self.at(path.base, address)), part).map(Some)
    }

    fn reached(&self, name: &str, base: ReachedBase, part: Part) -> Result<Reached, LookupError> {
        let debug = self.debug();
        let Some(debug) = &debug else { return Err(super::walk::untyped(name)) };
        let kind = part.kind(debug, name)?;
        if N_STEPS_MAX < part.offsets.len() {
            return Err(LookupError::TooFar(name.to_owned(), N_STEPS_MAX));
        }
        let type_name = types::name(debug, Some(part.type_offset));
        Ok(Reached { name: name.to_owned(), base, offsets: part.offsets, kind, type_name })
    }

    /// Returns the numbers in the structures that arguments of a function of this file point to.
    pub(crate) fn members_of_arguments(&self, function: &Function) -> Vec<Reached> {
        let (Some(debug), Some(entry), Some(parameters)) =
            (&self.debug(), function.entry, &function.parameters)
        else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for (parameter, declared) in parameters.iter().zip(declared_types(debug, entry)) {
            let Some(bare) = declared.offset.and_then(|offset| types::bare(debug, offset)) else {
                continue;
            };
            let target = match bare.die.tag() {
                _ if declared.is_implicit => declared.offset,
                _ if types::is_pointer(&bare.die) => bare.die.reference(dw::DW_AT_type),
                _ => None,
            };
            let is_pointer = bare.die.tag() == dw::DW_TAG_pointer_type && !declared.is_implicit;
            let step = if is_pointer { "->" } else { "." };
            let (name, step) = (&parameter.name, if declared.is_implicit { "%" } else { step });
            if let (Some(target), false) = (target, name.is_empty()) {
                self.add_members(&mut found, function, (&format!("{name}{step}"), target), 0);
            }
        }
        found
    }

    fn add_members(
        &self,
        found: &mut Vec<Reached>,
        function: &Function,
        (start, type_offset): (&str, usize),
        depth: usize,
    ) {
        let debug = self.debug();
        let Some(debug) = &debug else { return };
        for member in member_names(debug, type_offset) {
            let name = format!("{start}{member}");
            if N_MEMBERS_MAX <= found.len() {
                return;
            }
            if let Ok(Some(number)) = self.reached_from_argument(function, &name) {
                found.push(number);
                continue;
            }
            let step = if start.ends_with('%') { "%" } else { "." };
            if depth < MEMBER_DEPTH_MAX
                && let Some(inner) = member_type(debug, type_offset, &member)
            {
                self.add_members(found, function, (&format!("{name}{step}"), inner), depth + 1);
            }
        }
    }
}

/// Returns the type of a member that is a structure itself.
fn member_type(debug: &super::debug::Debug<'_>, type_offset: usize, name: &str) -> Option<usize> {
    let bare = types::bare(debug, type_offset)?;
    let mut found = None;
    bare.die.children(|child| {
        if child.tag() == dw::DW_TAG_member && child.name() == Some(name) {
            found = child.reference(dw::DW_AT_type);
        }
        found.is_none()
    });
    let inner = types::bare(debug, found?)?;
    [dw::DW_TAG_structure_type, dw::DW_TAG_class_type, dw::DW_TAG_union_type]
        .contains(&inner.die.tag())
        .then_some(found?)
}
