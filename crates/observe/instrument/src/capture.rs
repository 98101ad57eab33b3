//! Generates machine code that reads the attributes of a point into its records.
//!
//! The code is called with rbx at the record, rbp the record's number, r11 the ring and r10 the context; rax and
//! rdx are free. All other registers hold the program's values.

use crate::asm::{GATHER_RAX, GATHER_RDX, GATHER_STACK_ARGUMENTS};
use crate::site::{Attribute, ValueSource, Way, WayStart};
use events::function::N_VALUES;
use events::{EventRecord, FunctionKind};
use iced_x86::{Code, IcedError, Instruction, MemoryOperand, Register};
use ring::RingCursor;
use std::mem::offset_of;

/// Moment of a passage, which decides whether there is a return value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// At an entry.
    Entered,
    /// After a return.
    Returned,
    /// At a tail call.
    Jumped,
}

/// Code that reads attributes.
#[derive(Debug, Default)]
pub(crate) struct Capture {
    /// Instructions; none without attributes.
    pub(crate) code: Vec<Instruction>,
    /// Positions of loads into rax that may fault: rax is 0 then.
    pub(crate) guarded: Vec<usize>,
}

/// Returns the code.
pub(crate) fn capture(
    attributes: &[Attribute],
    event: u32,
    moment: Moment,
) -> Result<Capture, IcedError> {
    let Capture { mut code, mut guarded } = Capture::default();
    for (idx, values) in attributes.chunks(N_VALUES).enumerate() {
        if idx != 0 {
            next_record(&mut code, event)?;
        }
        for (position, attribute) in values.iter().enumerate() {
            match attribute.source {
                ValueSource::Reached(way) => {
                    reach(&mut code, &mut guarded, way, attribute.kind.n_bytes())?;
                    let place = record(value_offset(position));
                    code.push(Instruction::with2(Code::Mov_rm64_r64, place, Register::RAX)?);
                }
                _ => value(&mut code, *attribute, value_offset(position), moment)?,
            }
        }
        for position in values.len()..N_VALUES {
            code.push(Instruction::with2(Code::Mov_rm64_imm32, record(value_offset(position)), 0)?);
        }
    }
    if !code.is_empty() {
        code.push(Instruction::with(Code::Retnq));
    }
    Ok(Capture { code, guarded })
}

/// Loads the number at the end of a way into rax: 0 if an address on the way is null, or a load faults.
fn reach(
    code: &mut Vec<Instruction>,
    guarded: &mut Vec<usize>,
    way: Way,
    n_bytes: usize,
) -> Result<(), IcedError> {
    code.push(match way.start {
        WayStart::Argument(number) => argument(number)?,
        WayStart::Address(address) => {
            Instruction::with2(Code::Mov_r64_imm64, Register::RAX, address as u64)?
        }
    });
    let offsets = way.offsets();
    for (step, offset) in offsets.iter().enumerate() {
        let n_bytes = if step + 1 == offsets.len() { n_bytes } else { size_of::<usize>() };
        code.extend(unless_null(i64::from(*offset))?);
        guarded.push(code.len());
        code.push(load(n_bytes, i64::from(*offset))?);
    }
    Ok(())
}

/// Offset of the n-th value in a record.
fn value_offset(position: usize) -> usize {
    if position + 1 < N_VALUES {
        offset_of!(EventRecord, values) + size_of::<u64>() * position
    } else {
        offset_of!(EventRecord, last_value)
    }
}

/// Continues with the next record, of the same time.
fn next_record(code: &mut Vec<Instruction>, event: u32) -> Result<(), IcedError> {
    let shift = size_of::<EventRecord>().trailing_zeros();
    let kind = i32::from(FunctionKind::MoreValues as i16) << 16;
    let ticks = record(offset_of!(EventRecord, ticks));
    let hit = record(offset_of!(EventRecord, hit));
    let number = record(offset_of!(EventRecord, event));
    let exit_kind = record(offset_of!(EventRecord, exit_kind));
    let spare = record(offset_of!(EventRecord, spare));
    let mask = cursor(offset_of!(RingCursor, mask));
    let records = cursor(offset_of!(RingCursor, records));
    code.extend([
        Instruction::with2(Code::Mov_r64_rm64, Register::RAX, ticks)?,
        Instruction::with2(Code::Mov_r32_rm32, Register::EDX, hit)?,
        Instruction::with1(Code::Inc_rm64, Register::RBP)?,
        Instruction::with2(Code::Mov_r64_rm64, Register::RBX, Register::RBP)?,
        Instruction::with2(Code::And_r64_rm64, Register::RBX, mask)?,
        Instruction::with2(Code::Shl_rm64_imm8, Register::RBX, shift)?,
        Instruction::with2(Code::Add_r64_rm64, Register::RBX, records)?,
        Instruction::with2(Code::Mov_rm64_r64, ticks, Register::RAX)?,
        Instruction::with2(Code::Mov_rm32_r32, hit, Register::EDX)?,
        Instruction::with2(Code::Mov_rm32_imm32, number, event)?,
        Instruction::with2(Code::Mov_rm32_imm32, exit_kind, 0)?,
        Instruction::with2(Code::Mov_rm32_imm32, spare, kind)?,
    ]);
    Ok(())
}

fn value(
    code: &mut Vec<Instruction>,
    attribute: Attribute,
    offset: usize,
    moment: Moment,
) -> Result<(), IcedError> {
    let n_bytes = attribute.kind.n_bytes();
    match attribute.source {
        ValueSource::Global(address) => {
            code.push(Instruction::with2(Code::Mov_r64_imm64, Register::RAX, address as u64)?);
            code.push(load(n_bytes, 0)?);
        }
        ValueSource::Float(number) => return float(code, number, n_bytes, offset),
        ValueSource::Returned if moment != Moment::Returned => {
            code.push(Instruction::with2(Code::Mov_rm64_imm32, record(offset), 0)?);
            return Ok(());
        }
        ValueSource::Returned if attribute.kind.is_float() => {
            return float(code, 0, n_bytes, offset);
        }
        ValueSource::Returned => {
            code.push(Instruction::with2(Code::Mov_r64_rm64, Register::RAX, at_sp(GATHER_RAX))?);
            code.extend(narrow(n_bytes)?);
        }
        ValueSource::Integer(number) => {
            code.push(argument(number)?);
            code.extend(narrow(n_bytes)?);
        }
        ValueSource::Referred(number) => {
            code.push(argument(number)?);
            code.extend(unless_null(0)?);
            code.push(load(n_bytes, 0)?);
        }
        ValueSource::Reached(_) => {}
    }
    code.push(Instruction::with2(Code::Mov_rm64_r64, record(offset), Register::RAX)?);
    Ok(())
}

/// Loads the value at the address in rax plus an offset.
fn load(n_bytes: usize, offset: i64) -> Result<Instruction, IcedError> {
    let (load, to) = match n_bytes {
        1 => (Code::Movzx_r32_rm8, Register::EAX),
        2 => (Code::Movzx_r32_rm16, Register::EAX),
        4 => (Code::Mov_r32_rm32, Register::EAX),
        _ => (Code::Mov_r64_rm64, Register::RAX),
    };
    Instruction::with2(load, to, MemoryOperand::with_base_displ(Register::RAX, offset))
}

/// Loads the integer argument of this number.
fn argument(number: u8) -> Result<Instruction, IcedError> {
    const REGISTERS: [Register; 6] =
        [Register::RDI, Register::RSI, Register::RDX, Register::RCX, Register::R8, Register::R9];
    let offset = match number {
        2 => GATHER_RDX,
        0..6 => {
            let from = REGISTERS[usize::from(number)];
            return Instruction::with2(Code::Mov_r64_rm64, Register::RAX, from);
        }
        _ => GATHER_STACK_ARGUMENTS + 8 * (i64::from(number) - 6),
    };
    Instruction::with2(Code::Mov_r64_rm64, Register::RAX, at_sp(offset))
}

/// Makes rax plus an offset point to a zero if rax is null, as for an optional argument that is absent.
fn unless_null(offset: i64) -> Result<[Instruction; 3], IcedError> {
    static ZERO: u64 = 0;
    let zero = ((&raw const ZERO).expose_provenance() as u64).wrapping_add_signed(-offset);
    Ok([
        Instruction::with2(Code::Mov_r64_imm64, Register::RDX, zero)?,
        Instruction::with2(Code::Test_rm64_r64, Register::RAX, Register::RAX)?,
        Instruction::with2(Code::Cmove_r64_rm64, Register::RAX, Register::RDX)?,
    ])
}

fn at_sp(offset: i64) -> MemoryOperand {
    MemoryOperand::with_base_displ(Register::RSP, offset)
}

/// Clears the bits above a narrow value in a register.
fn narrow(n_bytes: usize) -> Result<Option<Instruction>, IcedError> {
    let (code, from) = match n_bytes {
        1 => (Code::Movzx_r32_rm8, Register::AL),
        2 => (Code::Movzx_r32_rm16, Register::AX),
        4 => (Code::Mov_r32_rm32, Register::EAX),
        _ => return Ok(None),
    };
    Instruction::with2(code, Register::EAX, from).map(Some)
}

fn float(
    code: &mut Vec<Instruction>,
    number: u8,
    n_bytes: usize,
    offset: usize,
) -> Result<(), IcedError> {
    let register = Register::XMM0 + u32::from(number & 7);
    if n_bytes == 4 {
        code.push(Instruction::with2(Code::Mov_rm64_imm32, record(offset), 0)?);
        code.push(Instruction::with2(Code::Movd_rm32_xmm, record(offset), register)?);
    } else {
        code.push(Instruction::with2(Code::Movq_rm64_xmm, record(offset), register)?);
    }
    Ok(())
}

fn record(offset: usize) -> MemoryOperand {
    MemoryOperand::with_base_displ(Register::RBX, offset.cast_signed() as i64)
}

fn cursor(offset: usize) -> MemoryOperand {
    MemoryOperand::with_base_displ(Register::R11, offset.cast_signed() as i64)
}
