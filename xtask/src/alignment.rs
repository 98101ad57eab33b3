//! Finds aligned accesses of compiled code to its stack that must fault.
//!
//! A function begins with a stack pointer of 8 modulo 16 (System V ABI). From there on, the remainder of each register
//! modulo a power of two is tracked along all paths through the function. An instruction that requires an aligned
//! operand, but whose operand is known to be misaligned, is a mistake of the compiler. Record 0022 has the case for
//! which this was written: one such instruction, in release builds only, on a path taken when a rank died.
//!
//! # Invariants
//! - Every reported instruction faults wherever it is executed, given the ABI: addresses that are not known pass.
//! - Pure: bytes in, findings out.
//!
//! # Not here
//! Data on the heap and behind pointers that are passed in: nothing is known of their addresses.

mod flow;
mod functions;
mod operand;
mod registers;
mod residue;

use iced_x86::Instruction;
use std::fmt;

/// Error of reading a file of code.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CodeError {
    /// The file is no ELF file or archive, or a damaged one.
    #[error(
        "it is no ELF file and no archive of some, or a damaged one: name what the linker wrote"
    )]
    Format(#[from] object::Error),
    /// The file is for another processor.
    #[error("it is for `{0:?}`: name a file for x86-64")]
    Processor(object::Architecture),
    /// The file does not tell where functions begin.
    #[error("it names no function: look at it before `strip`")]
    NoFunctions,
}

/// Instruction that faults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misaligned {
    /// Symbol of the function.
    pub function: String,
    /// Address of the first such instruction of the function, as the file has it.
    pub address: u64,
    /// Mnemonic of the instruction.
    pub instruction: String,
    /// Bytes by which the operand begins too late.
    pub off_by: u64,
    /// Alignment that the instruction requires, in bytes.
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

/// Results for a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Findings {
    /// Number of functions that were examined.
    pub n_functions: usize,
    /// First fault of each function that has one.
    pub misaligned: Vec<Misaligned>,
}

/// Examines all functions of an ELF file, or of all ELF files in an archive.
///
/// # Errors
/// If the file cannot be read, is for another processor, or names no function.
pub fn findings(file: &[u8]) -> Result<Findings, CodeError> {
    let mut findings = Findings { n_functions: 0, misaligned: Vec::new() };
    functions::each(file, |function| {
        findings.n_functions += 1;
        let found = first_fault(function.code, function.address, function.entry);
        findings.misaligned.extend(found.map(|fault| fault.in_function(function.name)));
    })?;
    if findings.n_functions == 0 { Err(CodeError::NoFunctions) } else { Ok(findings) }
}

/// Way in which a function is entered.
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

/// First fault of a function, by address.
fn first_fault(code: &[u8], address: u64, entry: Entry) -> Option<Fault> {
    let instructions = flow::decode(code, address);
    // Few functions have such instructions.
    if !instructions.iter().any(|instruction| operand::wanted(instruction).is_some()) {
        return None;
    }
    let states = flow::states(&instructions, entry);
    let faults = instructions.iter().zip(states).filter_map(|(instruction, state)| {
        let (state, wanted) = (state?, operand::wanted(instruction)?);
        let off_by = state.operand(instruction).off_by(wanted);
        (off_by != 0).then_some(Fault { instruction: *instruction, off_by, wanted })
    });
    faults.into_iter().next()
}

#[cfg(test)]
mod tests;
