//! Instructions that read or write a variable, and loops that keep using a value read before them.
//!
//! # Invariants
//! - Only direct accesses are listed: an access through a pointer appears as the place where the address is
//!   taken, once.
//! - Only the variable's own file is searched.

use super::function::Function;
use super::globals::Variable;
use super::image::Image;
use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess,
    OpKind, Register,
};
use object::{
    Object, ObjectSection, ObjectSymbol, ObjectSymbolTable, Relocation, RelocationTarget,
    SectionKind,
};
use std::ops::Range;

/// Instruction that refers to a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// Function that contains the instruction.
    pub function: String,
    /// Virtual address of the instruction.
    pub address: u64,
    /// Kind of access.
    pub kind: AccessKind,
}

/// Kind of access to a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccessKind {
    /// Reads the variable.
    Read,
    /// Writes the variable.
    Write,
    /// Reads and writes the variable.
    Update,
    /// Takes the address of the variable, or of the object that contains it; its uses are unknown.
    Address,
}

/// Loop that does not read a variable again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cached {
    /// Name of the variable.
    pub variable: String,
    /// Function that contains the loop.
    pub function: String,
    /// Function called by the loop, at which the variable is to be set.
    pub sync_function: String,
}

impl std::fmt::Display for Cached {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { variable, function, sync_function } = self;
        write!(
            to,
            "`{function}` reads `{variable}` before its loop that calls `{sync_function}` and not in it: a value \
             set there may not be seen; make `{variable}` non-static or `volatile`, or set it at a function \
             that is called outside the loop"
        )
    }
}

/// Addresses of a variable in code.
struct Target {
    /// Bytes of the variable.
    own: Range<u64>,
    /// Bytes of the object that contains the variable.
    whole: Range<u64>,
    /// Slots into which the loader writes its address.
    slots: Vec<u64>,
}

/// Code of a file.
struct Code<'a> {
    sections: Vec<(u64, &'a [u8])>,
}

/// Returns all instructions in `functions` that refer to the variable, by address.
pub(crate) fn accesses(image: &Image, functions: &[Function], variable: &Variable) -> Vec<Access> {
    let Some(code) = Code::of(image) else { return Vec::new() };
    let target = Target::of(image, variable);
    let mut accesses = Vec::new();
    let mut info = InstructionInfoFactory::new();
    for function in at_different_places(functions) {
        code.instructions(function, |instruction| {
            if let Some(kind) = target.access(instruction, &mut info) {
                let (function, address) = (function.name.clone(), instruction.ip());
                accesses.push(Access { function, address, kind });
            }
        });
    }
    accesses
}

/// Returns the loops that call `sync` and keep using a value of the variable read before.
pub(crate) fn cached_across(
    image: &Image,
    functions: &[Function],
    variable: &Variable,
    sync: &Function,
) -> Vec<Cached> {
    let Some(code) = Code::of(image).filter(|_| !variable.is_volatile) else { return Vec::new() };
    let accesses = accesses(image, functions, variable);
    let is_read = |access: &&Access| matches!(access.kind, AccessKind::Read | AccessKind::Update);
    let reads: Vec<u64> = accesses.iter().filter(is_read).map(|read| read.address).collect();
    let reads_in = |range: &Range<u64>| reads.iter().any(|address| range.contains(address));
    let is_cached = |function: &&Function| {
        let first = function.address;
        // Only a function that reads the variable can have kept its value.
        if !reads_in(&(first..first + function.n_bytes)) {
            return false;
        }
        let (calls, loops) = calls_and_loops(&code, function);
        let sites = calls.iter().filter(|(_, to)| *to == sync.address).map(|(from, _)| *from);
        sites.into_iter().any(|site| {
            let around = loops.iter().filter(|span| span.contains(&site));
            let Some(outermost) = around.max_by_key(|span| span.end - span.start) else {
                return false;
            };
            let is_read_below = calls.iter().any(|(from, to)| {
                let called = functions.iter().find(|function| function.address == *to);
                let body = called.map(|called| called.address..called.address + called.n_bytes);
                outermost.contains(from)
                    && *to != sync.address
                    && body.as_ref().is_some_and(reads_in)
            });
            reads_in(&(first..outermost.start)) && !reads_in(outermost) && !is_read_below
        })
    };
    let cached = at_different_places(functions).filter(is_cached);
    let say = |function: &Function| Cached {
        variable: variable.name.clone(),
        function: function.name.clone(),
        sync_function: sync.name.clone(),
    };
    cached.map(say).collect()
}

/// Returns the functions without further names for the same code.
fn at_different_places(functions: &[Function]) -> impl Iterator<Item = &Function> {
    let mut last = None;
    functions
        .iter()
        .filter(move |function| last.replace(function.address) != Some(function.address))
}

/// Returns calls (from, to) and the spans of backward jumps.
fn calls_and_loops(code: &Code<'_>, function: &Function) -> (Vec<(u64, u64)>, Vec<Range<u64>>) {
    let (mut calls, mut loops) = (Vec::new(), Vec::new());
    code.instructions(function, |instruction| {
        let (from, to) = (instruction.ip(), instruction.near_branch_target());
        match instruction.flow_control() {
            FlowControl::Call => calls.push((from, to)),
            FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch
                if (function.address..=from).contains(&to) =>
            {
                loops.push(to..instruction.next_ip());
            }
            _ => {}
        }
    });
    (calls, loops)
}

impl<'a> Code<'a> {
    fn of(image: &'a Image) -> Option<Self> {
        let file = image.file()?;
        let code = file.sections().filter(|section| section.kind() == SectionKind::Text);
        // In a debug file these sections have no bytes.
        let sections = code.filter_map(|section| Some((section.address(), section.data().ok()?)));
        Some(Self { sections: sections.collect() })
    }

    fn instructions(&self, function: &Function, mut visit: impl FnMut(&Instruction)) {
        let Some(bytes) = self.bytes(function) else { return };
        let mut decoder = Decoder::with_ip(64, bytes, function.address, DecoderOptions::NONE);
        let mut instruction = Instruction::default();
        while decoder.can_decode() {
            decoder.decode_out(&mut instruction);
            visit(&instruction);
        }
    }

    fn bytes(&self, function: &Function) -> Option<&'a [u8]> {
        let holds = |section: &&(u64, &'a [u8])| {
            function.address.checked_sub(section.0).is_some_and(|at| at < section.1.len() as u64)
        };
        let (start, bytes) = self.sections.iter().find(holds)?;
        let from = usize::try_from(function.address - start).ok()?;
        let n_bytes = usize::try_from(function.n_bytes).ok()?;
        Some(&bytes[from..from.saturating_add(n_bytes).min(bytes.len())])
    }
}

impl Target {
    fn of(image: &Image, variable: &Variable) -> Self {
        let end = |address: u64, n_bytes: u64| address.saturating_add(n_bytes);
        let own = variable.address..end(variable.address, variable.n_bytes.max(1));
        let holds = |range: &Range<u64>| range.contains(&variable.address);
        let objects = image.objects().iter();
        let whole = objects.map(|object| object.address..end(object.address, object.n_bytes));
        let whole = whole.filter(|range| holds(range)).max_by_key(|range| range.end - range.start);
        let whole = whole.unwrap_or_else(|| own.clone());
        Self { slots: slots(image, &whole).unwrap_or_default(), own, whole }
    }

    fn access(
        &self,
        instruction: &Instruction,
        info: &mut InstructionInfoFactory,
    ) -> Option<AccessKind> {
        let is_absolute = instruction.memory_base() == Register::None
            && instruction.memory_displ_size() != 0
            && [Register::None, Register::RIP].contains(&instruction.memory_index());
        let at = if instruction.is_ip_rel_memory_operand() {
            instruction.ip_rel_memory_address()
        } else if is_absolute {
            instruction.memory_displacement64()
        } else {
            // In position-dependent code an address may be an immediate operand.
            return self.is_number(instruction).then_some(AccessKind::Address);
        };
        if self.slots.contains(&at) {
            return Some(AccessKind::Address);
        }
        if instruction.mnemonic() == Mnemonic::Lea {
            return self.whole.contains(&at).then_some(AccessKind::Address);
        }
        let n_bytes = (instruction.memory_size().size() as u64).max(1);
        if !(at < self.own.end && self.own.start < at.saturating_add(n_bytes)) {
            return None;
        }
        let used = info.info(instruction).used_memory().first()?.access();
        Some(match used {
            OpAccess::Write | OpAccess::CondWrite => AccessKind::Write,
            OpAccess::ReadWrite | OpAccess::ReadCondWrite => AccessKind::Update,
            _ => AccessKind::Read,
        })
    }

    fn is_number(&self, instruction: &Instruction) -> bool {
        let is_wide = |kind: OpKind| {
            [OpKind::Immediate32, OpKind::Immediate64, OpKind::Immediate32to64].contains(&kind)
        };
        let is_move = instruction.mnemonic() == Mnemonic::Mov && instruction.op_count() == 2;
        is_move && is_wide(instruction.op1_kind()) && self.whole.contains(&instruction.immediate(1))
    }
}

/// Returns the slots that the loader fills with an address inside `whole`.
fn slots(image: &Image, whole: &Range<u64>) -> Option<Vec<u64>> {
    let file = image.file()?;
    let symbols = file.dynamic_symbol_table()?;
    let is_it = |to: &Relocation| match to.target() {
        RelocationTarget::Symbol(index) => symbols
            .symbol_by_index(index)
            .is_ok_and(|symbol| !symbol.is_undefined() && whole.contains(&symbol.address())),
        // Used where no other file can replace the symbol, as in most Rust programs.
        RelocationTarget::Absolute => {
            u64::try_from(to.addend()).is_ok_and(|address| whole.contains(&address))
        }
        _ => false,
    };
    let relocations = file.dynamic_relocations()?;
    Some(relocations.filter(|(_, to)| is_it(to)).map(|(at, _)| at).collect())
}
