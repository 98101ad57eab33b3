//! Aligned accesses of compiled code to its stack that must fault.
//!
//! A function begins with a stack pointer of 8 modulo 16 (System V ABI). From there on, what each register is
//! modulo a power of two is followed along all ways through the function; an instruction that faults unless its
//! operand is aligned, at a place known not to be, is what a compiler got wrong. Record 0022 has the case that it was
//! written for: one such instruction, in release builds only, on a way that is taken when a rank died.
//!
//! # Invariants
//! - What is reported faults wherever it is executed, given the ABI: places that are not known for sure pass.
//! - Pure: bytes in, findings out.
//!
//! # Not here
//! Data on the heap and behind pointers that were handed in: nothing is known of them.

mod flow;
mod frame;
mod functions;
mod operand;
mod residue;

use iced_x86::Instruction;
use std::fmt;

/// A file of code could not be looked at.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CodeError {
    /// It is no ELF file or archive, or a damaged one.
    #[error(
        "it is no ELF file and no archive of some, or a damaged one: name what the linker wrote"
    )]
    Format(#[from] object::Error),
    /// It is for another processor.
    #[error("it is for `{0:?}`: name a file for x86-64")]
    Processor(object::Architecture),
    /// Nothing says where functions begin.
    #[error("it names no function: look at it before `strip`")]
    NoFunctions,
}

/// An instruction that faults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misaligned {
    /// Symbol of the function.
    pub function: String,
    /// Address of its first such instruction, in the file's own terms.
    pub address: u64,
    /// Name of the instruction.
    pub instruction: String,
    /// How many bytes too far its operand begins.
    pub off_by: u64,
    /// The alignment it wants, in bytes.
    pub wanted: u64,
}

impl fmt::Display for Misaligned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { function, address, instruction, off_by, wanted } = self;
        write!(
            f,
            "`{function}` faults at {address:#x}: the operand of `{instruction}` lies {off_by} bytes behind a \
             multiple of {wanted}; avoid values aligned beyond a word there, see docs/decisions/0022"
        )
    }
}

/// What was found in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Findings {
    /// Functions that were looked at.
    pub n_functions: usize,
    /// The first fault of each that has one.
    pub misaligned: Vec<Misaligned>,
}

/// Looks at all functions of an ELF file, or of all those in an archive.
///
/// # Errors
/// When it cannot be read, is for another processor, or names no function.
pub fn findings(file: &[u8]) -> Result<Findings, CodeError> {
    let mut findings = Findings { n_functions: 0, misaligned: Vec::new() };
    functions::each(file, |function| {
        findings.n_functions += 1;
        let found = first_fault(function.code, function.address, function.entry);
        findings.misaligned.extend(found.map(|fault| fault.in_function(function.name)));
    })?;
    if findings.n_functions == 0 { Err(CodeError::NoFunctions) } else { Ok(findings) }
}

/// How a function is entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entry {
    /// By `call`.
    Called,
    /// By the kernel, with an aligned stack.
    Program,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fault {
    instruction: Instruction,
    off_by: u64,
    wanted: u64,
}

impl Fault {
    fn in_function(self, name: &str) -> Misaligned {
        let Self { instruction, off_by, wanted } = self;
        let word = format!("{:?}", instruction.mnemonic()).to_lowercase();
        let (function, address) = (name.to_owned(), instruction.ip());
        Misaligned { function, address, instruction: word, off_by, wanted }
    }
}

/// The first fault of a function by its address.
fn first_fault(code: &[u8], address: u64, entry: Entry) -> Option<Fault> {
    let instructions = flow::decode(code, address);
    // Few functions have such instructions at all.
    if !instructions.iter().any(|instruction| operand::wanted(instruction).is_some()) {
        return None;
    }
    let frames = flow::frames(&instructions, entry);
    let faults = instructions.iter().zip(frames).filter_map(|(instruction, frame)| {
        let (frame, wanted) = (frame?, operand::wanted(instruction)?);
        let off_by = frame.operand(instruction).off_by(wanted);
        (off_by != 0).then_some(Fault { instruction: *instruction, off_by, wanted })
    });
    faults.into_iter().next()
}

#[cfg(test)]
mod tests;
