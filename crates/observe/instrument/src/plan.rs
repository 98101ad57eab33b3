//! Plan of a probe in a function: which bytes change, and which instructions move.
//!
//! A jump of 5 bytes replaces the first instructions. If a branch or return arrives inside of them, a jump of 2 bytes
//! leads to one of 5 in the padding behind the function; without such padding, an int3 does, which is slow.
//!
//! # Invariants
//! - Nothing jumps or returns into the middle of the replaced bytes, as far as the function itself shows.
//! - Padding is `nop`, `int3` or zero up to the next function.

use crate::site::Refusal;
use iced_x86::{
    Code, Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind, Register,
};

const JUMP_BYTES: usize = 5;
const SHORT_JUMP_BYTES: usize = 2;
const TRAP_BYTES: usize = 1;
/// Reach of a jump of 2 bytes.
const SHORT_JUMP_REACH_BYTES: usize = 127;

/// Instruction by which the function is left for the stub.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryPatch {
    /// A jump of 5 bytes.
    Jump,
    /// A jump of 2 bytes to one of 5 at this address.
    ShortJump(usize),
    /// An int3.
    Trap,
}

/// Plan of a probe.
#[derive(Debug)]
pub(crate) struct ProbePlan {
    /// The first byte that changes.
    pub(crate) address: usize,
    /// Instruction by which the function is left.
    pub(crate) entry_patch: EntryPatch,
    /// Instructions that move.
    pub(crate) displaced: Vec<Instruction>,
    /// Address at which the function continues after them, if it does.
    pub(crate) back: Option<usize>,
    /// Warning to the user, if there is one.
    pub(crate) warning: Option<String>,
}

/// Code of a function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Body<'a> {
    /// Address of the first byte.
    pub(crate) address: usize,
    /// Bytes of the function and of the padding up to the next one.
    pub(crate) bytes: &'a [u8],
    /// Number of bytes of the function itself.
    pub(crate) n_bytes: usize,
}

/// Makes the plan.
///
/// # Errors
/// With the reason why the function cannot have probes.
pub(crate) fn plan(body: Body) -> Result<ProbePlan, Refusal> {
    let address = body.address;
    let n_bytes = body.n_bytes.min(body.bytes.len());
    let decoder =
        Decoder::with_ip(64, &body.bytes[..n_bytes], address as u64, DecoderOptions::NONE);
    let instructions: Vec<_> = decoder.into_iter().collect();
    let is_marked = instructions.first().is_some_and(|it| it.mnemonic() == Mnemonic::Endbr64);
    let n_kept = usize::from(is_marked);
    let first = instructions.get(n_kept).ok_or(Refusal::Empty(address))?;
    if first.mnemonic() == Mnemonic::Ud2 {
        return Err(Refusal::NeverRuns(address));
    }
    let start = at(first.ip());
    let targets = targets(&instructions, start);
    let padding = Padding::of(body, n_bytes);
    let code = FunctionCode {
        instructions: &instructions[n_kept..],
        end: address + n_bytes,
        targets: &targets,
        start,
    };
    let choice = code
        .displace(JUMP_BYTES, padding)
        .map(|taken| (EntryPatch::Jump, taken))
        .or_else(|| {
            Some((
                EntryPatch::ShortJump(padding.short_jump(start)?),
                code.displace(SHORT_JUMP_BYTES, Padding::NONE)?,
            ))
        })
        .or_else(|| Some((EntryPatch::Trap, code.displace(TRAP_BYTES, Padding::NONE)?)));
    let (entry_patch, taken) = choice.ok_or(Refusal::Empty(address))?;
    let displaced = code.instructions[..taken].to_vec();
    if let Some(wrong) = displaced.iter().find(|moved| moved.is_invalid()) {
        return Err(Refusal::Undecodable { address, at: at(wrong.ip()) });
    }
    let back = displaced.last().filter(|last| goes_on(last)).map(|last| at(last.next_ip()));
    let warning = warning(address, entry_patch, &code);
    Ok(ProbePlan { address: start, entry_patch, displaced, back, warning })
}

fn warning(address: usize, entry_patch: EntryPatch, code: &FunctionCode) -> Option<String> {
    if entry_patch == EntryPatch::Trap {
        return Some(format!(
            "slow probe: the function at `{address:#x}` has no room for a jump, so every hit takes a trap (2.4 us)"
        ));
    }
    if code.targets.contains(&code.start) {
        return Some(format!(
            "the function at `{address:#x}` begins with a loop: every round counts as a call of it"
        ));
    }
    reads_own_return(code.instructions).then(|| {
        format!(
            "the function at `{address:#x}` reads its own return address, which is not its caller's while its exit is probed: probe its entry only"
        )
    })
}

/// Instructions of a function that may move.
struct FunctionCode<'a> {
    instructions: &'a [Instruction],
    /// End of the function.
    end: usize,
    targets: &'a [usize],
    start: usize,
}

impl FunctionCode<'_> {
    /// Returns how many instructions have to move to free `n_bytes`, if that is possible.
    fn displace(&self, n_bytes: usize, padding: Padding) -> Option<usize> {
        let free = self.start..self.start + n_bytes;
        let is_entered = |target: &usize| free.contains(target) && *target != self.start;
        if self.targets.iter().any(is_entered) {
            return None;
        }
        let mut taken = 0;
        for instruction in self.instructions {
            taken += 1;
            let end = at(instruction.next_ip());
            if free.end <= end {
                return Some(taken);
            }
            if !goes_on(instruction) {
                // The bytes after it are never executed, or only by a jump to them, and there is none.
                let rest = &self.instructions[taken..];
                let is_dead =
                    rest.iter().take_while(|next| at(next.ip()) < free.end).all(is_filler);
                let reach = padding.start == self.end && free.end <= padding.end;
                return (is_dead && (free.end <= self.end || reach)).then_some(taken);
            }
        }
        None
    }
}

fn is_filler(instruction: &Instruction) -> bool {
    matches!(instruction.mnemonic(), Mnemonic::Nop | Mnemonic::Int3)
}

/// Verified padding behind a function.
#[derive(Clone, Copy)]
struct Padding {
    start: usize,
    end: usize,
}

impl Padding {
    const NONE: Self = Self { start: 0, end: 0 };

    fn of(body: Body, n_bytes: usize) -> Self {
        let behind = &body.bytes[n_bytes..];
        let start = body.address + n_bytes;
        let filler = Decoder::with_ip(64, behind, start as u64, DecoderOptions::NONE).into_iter();
        let is_padding = |next: &Instruction| {
            let first = at(next.ip()) - start;
            is_filler(next) || behind[first..first + next.len()].iter().all(|byte| *byte == 0)
        };
        let end = filler.take_while(is_padding).last().map_or(start, |last| at(last.next_ip()));
        Self { start, end }
    }

    /// Returns the address of room for a 5-byte jump within reach of a 2-byte jump at `from`.
    fn short_jump(self, from: usize) -> Option<usize> {
        let is_room = self.start + JUMP_BYTES <= self.end;
        (is_room && self.start <= from + SHORT_JUMP_BYTES + SHORT_JUMP_REACH_BYTES)
            .then_some(self.start)
    }
}

/// Returns the addresses near the start at which the function's own branches and calls arrive or return.
fn targets(instructions: &[Instruction], start: usize) -> Vec<usize> {
    let near = start..start + 16;
    let branch = |each: &Instruction| {
        let kind = each.op0_kind();
        let is_near =
            matches!(kind, OpKind::NearBranch64 | OpKind::NearBranch32 | OpKind::NearBranch16);
        let target = is_near.then(|| at(each.near_branch_target()))?;
        // A recursive call is not a loop.
        (!is_call(each) || target != start).then_some(target)
    };
    let returns = instructions.iter().filter(|each| is_call(each)).map(|each| at(each.next_ip()));
    let mut all: Vec<_> = instructions.iter().filter_map(branch).chain(returns).collect();
    all.retain(|target| near.contains(target));
    all
}

pub(crate) fn is_call(instruction: &Instruction) -> bool {
    matches!(instruction.flow_control(), FlowControl::Call | FlowControl::IndirectCall)
        && instruction.code() != Code::Syscall
}

/// Returns whether the next instruction may be reached from this one. After a moved call it is not: the called
/// function returns to the original code.
fn goes_on(instruction: &Instruction) -> bool {
    let ends = matches!(
        instruction.flow_control(),
        FlowControl::UnconditionalBranch
            | FlowControl::IndirectBranch
            | FlowControl::Return
            | FlowControl::Exception
    );
    !ends && !is_call(instruction)
}

#[expect(clippy::cast_possible_truncation, reason = "addresses of this process")]
fn at(ip: u64) -> usize {
    ip as usize
}

/// Returns whether a function reads its own return address: follows the stack pointer as long as it changes by
/// constants; the frame pointer equals it from `mov rbp, rsp` on.
fn reads_own_return(instructions: &[Instruction]) -> bool {
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
        depth_bytes = if goes_on { None } else { depth_after(instruction, depth_bytes) };
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
fn depth_after(instruction: &Instruction, depth_bytes: Option<i64>) -> Option<i64> {
    let depth_bytes = depth_bytes?;
    let is_stack = instruction.op0_register() == Register::RSP;
    let by_constant = || instruction.try_immediate(1).ok().map(u64::cast_signed);
    match instruction.mnemonic() {
        Mnemonic::Call | Mnemonic::Cmp | Mnemonic::Test => Some(depth_bytes),
        Mnemonic::Sub if is_stack => Some(depth_bytes + by_constant()?),
        Mnemonic::Add if is_stack => Some(depth_bytes - by_constant()?),
        _ if is_stack => None,
        _ => Some(depth_bytes - i64::from(instruction.stack_pointer_increment())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDRESS: usize = 0x40_1000;

    /// Checks the departure, the number of bytes displaced, and the offset at which the function continues.
    #[track_caller]
    fn check(own: &[u8], behind: &[u8], expected: (EntryPatch, usize, Option<usize>)) {
        let bytes = [own, behind].concat();
        let plan = plan(Body { address: ADDRESS, bytes: &bytes, n_bytes: own.len() }).unwrap();
        let displaced = plan.displaced.iter().map(Instruction::len).sum();
        assert_eq!((plan.entry_patch, displaced, plan.back.map(|back| back - ADDRESS)), expected);
    }

    #[track_caller]
    fn check_refused(own: &[u8], expected: &Refusal) {
        let refusal = plan(Body { address: ADDRESS, bytes: own, n_bytes: own.len() }).unwrap_err();
        assert_eq!(refusal, *expected);
    }

    const NOPS: [u8; 8] = [0x90; 8];
    /// `xor eax, eax; 1: add eax, edi; dec edi; jne 1b; ret`
    const LOOP: [u8; 9] = [0x31, 0xc0, 0x01, 0xf8, 0xff, 0xcf, 0x75, 0xfa, 0xc3];

    #[test]
    fn a_jump_of_five_bytes_is_taken_where_it_fits() {
        use EntryPatch::Jump;
        // push rbp; mov rbp, rsp; sub rsp, 8
        check(&[0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 8], &[], (Jump, 8, Some(8)));
        // mov eax, 1; ret
        check(&[0xb8, 1, 0, 0, 0, 0xc3], &[], (Jump, 5, Some(5)));
        // endbr64; mov eax, 1; ret
        check(&[0xf3, 0x0f, 0x1e, 0xfa, 0xb8, 1, 0, 0, 0, 0xc3], &[], (Jump, 5, Some(9)));
        // call +0; ret: comes back behind the jump
        check(&[0xe8, 0, 0, 0, 0, 0xc3], &[], (Jump, 5, None));
    }

    #[test]
    fn a_short_function_reaches_into_padding_that_is_none() {
        use EntryPatch::{Jump, Trap};
        check(&[0xc3], &NOPS, (Jump, 1, None));
        check(&[0xc3], &[0xcc; 4], (Jump, 1, None));
        check(&[0xc3], &[0; 4], (Jump, 1, None));
        check(&[0xc3], &NOPS[..3], (Trap, 1, None));
        check(&[0xc3], &[0x55; 8], (Trap, 1, None));
    }

    #[test]
    fn what_arrives_inside_of_a_jump_forbids_it() {
        use EntryPatch::{ShortJump, Trap};
        check(&LOOP, &NOPS, (ShortJump(ADDRESS + LOOP.len()), 2, Some(2)));
        check(&LOOP, &[], (Trap, 2, Some(2)));
        // push rdi; call rdi; pop rdi; jmp rdi: the call returns to byte 3
        let returns = [0x57, 0xff, 0xd7, 0x5f, 0xff, 0xe7];
        check(&returns, &NOPS, (ShortJump(ADDRESS + returns.len()), 3, None));
    }

    #[test]
    fn what_is_no_function_is_refused() {
        check_refused(&[], &Refusal::Empty(ADDRESS));
        check_refused(&[0xf3, 0x0f, 0x1e, 0xfa], &Refusal::Empty(ADDRESS));
        check_refused(&[0x0f, 0x0b], &Refusal::NeverRuns(ADDRESS));
        check_refused(&[0x06, 0x07], &Refusal::Undecodable { address: ADDRESS, at: ADDRESS });
    }

    #[test]
    fn what_slows_or_miscounts_is_said() {
        let warning = |own: &[u8]| {
            plan(Body { address: ADDRESS, bytes: own, n_bytes: own.len() }).unwrap().warning
        };
        assert!(warning(&LOOP).unwrap().starts_with("slow probe"));
        // dec edi; jne 0; mov eax, 1; ret
        let starts_with_loop = [0xff, 0xcf, 0x75, 0xfc, 0xb8, 1, 0, 0, 0, 0xc3];
        assert!(warning(&starts_with_loop).unwrap().contains("begins with a loop"));
        // sub rsp, 8; mov rax, [rsp + 8]; add rsp, 8; ret
        let reads = [0x48, 0x83, 0xec, 8, 0x48, 0x8b, 0x44, 0x24, 8, 0x48, 0x83, 0xc4, 8, 0xc3];
        assert!(warning(&reads).unwrap().contains("its own return address"));
        // push rbp; mov rbp, rsp; mov rax, [rbp + 8]; pop rbp; ret
        let reads = [0x55, 0x48, 0x89, 0xe5, 0x48, 0x8b, 0x45, 8, 0x5d, 0xc3];
        assert!(warning(&reads).unwrap().contains("its own return address"));
        // sub rsp, 8; mov rax, [rsp]; add rsp, 8; ret
        let does_not = [0x48, 0x83, 0xec, 8, 0x48, 0x8b, 0x04, 0x24, 0x48, 0x83, 0xc4, 8, 0xc3];
        assert_eq!(warning(&does_not), None);
    }
}
