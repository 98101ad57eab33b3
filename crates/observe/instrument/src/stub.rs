//! Generated code of a site, in near memory: the stub, which jumps to the routine, executes the displaced instructions
//! and jumps back; and the code that reads the attributes.

use crate::capture::{Capture, Moment, capture};
use crate::live;
use crate::near::Arena;
use crate::plan::{ProbePlan, is_call};
use crate::site::{Attribute, N_WAY_STEPS_MAX, Refusal, Site, ValueSource};
use iced_x86::{
    BlockEncoder, BlockEncoderOptions, Code, IcedError, Instruction, InstructionBlock,
    MemoryOperand, Register,
};

/// Upper bound of the size of a stub and of three times the code for this many attributes, in bytes.
pub(crate) fn n_code_bytes_max(site: &Site) -> usize {
    let points = [&site.entry, &site.exit].into_iter().flatten();
    let n_attributes: usize = points.map(|point| point.attributes.len()).sum();
    let attributes = [&site.entry, &site.exit].into_iter().flatten();
    let attributes = attributes.flat_map(|point| &point.attributes);
    let is_reached = |it: &&Attribute| matches!(it.source, ValueSource::Reached(_));
    512 + 64 * (n_attributes + 16) + N_REACH_BYTES * attributes.filter(is_reached).count()
}

/// Upper bound of three times the code that follows pointers to an attribute, in bytes.
const N_REACH_BYTES: usize = 3 * (16 + 32 * N_WAY_STEPS_MAX);

/// Addresses of the code that reads the attributes of a site; 0 without attributes.
#[derive(Debug)]
pub(crate) struct CaptureCode {
    pub(crate) at_entry: usize,
    pub(crate) at_exit: usize,
    /// For a tail call, which has no return value.
    pub(crate) at_jump: usize,
}

#[derive(Debug)]
pub(crate) struct Stub {
    /// Address of the first byte.
    pub(crate) address: usize,
    /// Address of the displaced instructions.
    pub(crate) displaced: usize,
    /// Address of each displaced instruction and of its copy.
    pub(crate) moved: Vec<(usize, usize)>,
}

/// Writes the code that reads the attributes of a site.
pub(crate) fn write_capture_code(site: &Site, arena: &mut Arena) -> Result<CaptureCode, Refusal> {
    let mut write = |point: &Option<crate::site::SiteEvent>, moment| {
        let Some(point) = point else { return Ok(0) };
        let capture = capture(&point.attributes, point.event, moment)
            .map_err(|error| immovable(site.function, &error))?;
        if capture.code.is_empty() {
            return Ok(0);
        }
        let address = arena.next_code();
        let (bytes, loads) =
            encode_guarded(&capture, address).map_err(|error| immovable(site.function, &error))?;
        live::guard_loads(&loads)?;
        arena.add_code(&bytes);
        Ok(address)
    };
    Ok(CaptureCode {
        at_entry: write(&site.entry, Moment::Entered)?,
        at_exit: write(&site.exit, Moment::Returned)?,
        at_jump: write(&site.exit, Moment::Jumped)?,
    })
}

pub(crate) fn write_stub(
    plan: &ProbePlan,
    context: usize,
    arena: &mut Arena,
) -> Result<Stub, Refusal> {
    let address = arena.next_code();
    let (stub, bytes) =
        stub(plan, context, address).map_err(|error| immovable(plan.address, &error))?;
    arena.add_code(&bytes);
    Ok(stub)
}

fn immovable(address: usize, error: &IcedError) -> Refusal {
    Refusal::Immovable { address, reason: error.to_string() }
}

fn stub(plan: &ProbePlan, context: usize, address: usize) -> Result<(Stub, Vec<u8>), IcedError> {
    let context = MemoryOperand::with_base_displ(Register::RIP, context.cast_signed() as i64);
    let call = [
        Instruction::with1(Code::Push_r64, Register::RAX)?,
        Instruction::with2(Code::Lea_r64_m, Register::RAX, context)?,
        Instruction::with1(Code::Jmp_rm64, MemoryOperand::with_base(Register::RAX))?,
        Instruction::with1(Code::Pop_r64, Register::RAX)?,
    ];
    let mut bytes = encode(&call, address)?;
    let mut moved = Vec::new();
    for instruction in &plan.displaced {
        let copy = address + bytes.len();
        #[expect(clippy::cast_possible_truncation, reason = "an address of this process")]
        moved.push((instruction.ip() as usize, copy));
        let code = if is_call(instruction) { as_jump(instruction)? } else { vec![*instruction] };
        bytes.extend(encode(&code, copy)?);
    }
    if let Some(back) = plan.back {
        let jump = Instruction::with_branch(Code::Jmp_rel32_64, back as u64)?;
        bytes.extend(encode(&[jump], address + bytes.len())?);
    }
    let displaced = moved.first().map_or(address, |(_, copy)| *copy);
    Ok((Stub { address, displaced, moved }, bytes))
}

/// Converts a call into a jump with the original return address, so that no unwinder ever sees the stub.
/// Preserves flags.
fn as_jump(call: &Instruction) -> Result<Vec<Instruction>, IcedError> {
    let back = call.next_ip();
    let word = |displacement| MemoryOperand::with_base_displ(Register::RSP, displacement);
    let down = MemoryOperand::with_base_displ(Register::RSP, -8);
    #[expect(clippy::cast_possible_truncation, reason = "the two halves of an address")]
    let (low, high) = (back as u32, (back >> 32) as u32);
    let mut code = vec![
        Instruction::with2(Code::Lea_r64_m, Register::RSP, down)?,
        Instruction::with2(Code::Mov_rm32_imm32, word(0), low)?,
        Instruction::with2(Code::Mov_rm32_imm32, word(4), high)?,
    ];
    if call.is_call_near() {
        code.push(Instruction::with_branch(Code::Jmp_rel32_64, call.near_branch_target())?);
    } else {
        let mut jump = *call;
        jump.set_code(Code::Jmp_rm64);
        if jump.memory_base() == Register::RSP {
            jump.set_memory_displacement64(jump.memory_displacement64().wrapping_add(8));
            // Lets the encoder choose the shortest form.
            jump.set_memory_displ_size(8);
        }
        code.push(jump);
    }
    Ok(code)
}

/// Address of a load that may fault, and of the instruction after it.
type GuardedLoad = (usize, usize);

/// Encodes; also returns the address of each load that may fault, and of the instruction after it.
fn encode_guarded(
    capture: &Capture,
    address: usize,
) -> Result<(Vec<u8>, Vec<GuardedLoad>), IcedError> {
    let block = InstructionBlock::new(&capture.code, address as u64);
    let options = BlockEncoderOptions::RETURN_NEW_INSTRUCTION_OFFSETS;
    let encoded = BlockEncoder::encode(64, block, options)?;
    let place =
        |at: usize| encoded.new_instruction_offsets.get(at).map(|at| address + *at as usize);
    let guarded = capture.guarded.iter();
    let loads = guarded.filter_map(|at| Some((place(*at)?, place(*at + 1)?))).collect();
    Ok((encoded.code_buffer, loads))
}

fn encode(code: &[Instruction], address: usize) -> Result<Vec<u8>, IcedError> {
    let block = InstructionBlock::new(code, address as u64);
    Ok(BlockEncoder::encode(64, block, BlockEncoderOptions::NONE)?.code_buffer)
}
