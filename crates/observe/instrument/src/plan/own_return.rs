//! Detection of functions that read their own return address: while their exit is probed, the address is
//! not the caller's.

use iced_x86::{Instruction, Mnemonic, OpKind, Register};

/// Returns the warning about a function that does so.
pub(super) fn warning(address: usize, instructions: &[Instruction]) -> Option<String> {
    reads(instructions).then(|| {
        format!(
            "the function at `{address:#x}` reads its own return address, which is not its caller's while its exit is probed: probe its entry only"
        )
    })
}

/// Follows the stack pointer as long as it changes by constants; the frame pointer equals it from `mov rbp, rsp` on.
fn reads(instructions: &[Instruction]) -> bool {
    let mut depth_bytes = Some(0);
    let mut frame_bytes = None;
    for instruction in instructions {
        let place = |base, depth: Option<i64>| {
            depth.is_some_and(|depth| is_load(instruction, base, depth.cast_unsigned()))
        };
        if place(Register::RSP, depth_bytes) || place(Register::RBP, frame_bytes) {
            return true;
        }
        if is_frame_set(instruction) {
            frame_bytes = depth_bytes;
        }
        // After an end of the function, the depth is unknown without following branches.
        let goes_on = instruction.is_jmp_short_or_near() || instruction.mnemonic() == Mnemonic::Ret;
        depth_bytes = if goes_on { None } else { after(instruction, depth_bytes) };
    }
    false
}

fn is_load(instruction: &Instruction, base: Register, displacement: u64) -> bool {
    instruction.mnemonic() == Mnemonic::Mov
        && instruction.op1_kind() == OpKind::Memory
        && instruction.memory_base() == base
        && instruction.memory_index() == Register::None
        && instruction.memory_displacement64() == displacement
}

fn is_frame_set(instruction: &Instruction) -> bool {
    instruction.mnemonic() == Mnemonic::Mov
        && instruction.op0_register() == Register::RBP
        && instruction.op1_register() == Register::RSP
}

/// Returns the bytes between the stack pointer and the return address after an instruction.
fn after(instruction: &Instruction, depth_bytes: Option<i64>) -> Option<i64> {
    let depth_bytes = depth_bytes?;
    let is_stack = instruction.op0_register() == Register::RSP;
    let by_constant = || instruction.try_immediate(1).ok().map(u64::cast_signed);
    match instruction.mnemonic() {
        Mnemonic::Call => Some(depth_bytes),
        Mnemonic::Sub if is_stack => Some(depth_bytes + by_constant()?),
        Mnemonic::Add if is_stack => Some(depth_bytes - by_constant()?),
        _ if is_stack
            && instruction.mnemonic() != Mnemonic::Cmp
            && instruction.mnemonic() != Mnemonic::Test =>
        {
            None
        }
        _ => Some(depth_bytes - i64::from(instruction.stack_pointer_increment())),
    }
}
