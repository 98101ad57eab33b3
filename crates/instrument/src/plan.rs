//! How a probe can be put into a function: which bytes change, and which instructions move.
//!
//! A jump of 5 bytes is put on the first instructions. Where something arrives inside of them, a jump of 2 bytes leads
//! to one of 5 in the padding behind the function; where there is none either, an int3 does, which is slow.
//!
//! # Invariants
//! - Nothing jumps or returns into the middle of what is replaced, as far as the function itself shows.
//! - Padding is `nop`, `int3` or zero up to the next function.
//!
//! # Not here
//! Where the moved instructions go (`stub`), when the bytes are written (`live`).

use crate::site::Refusal;
use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind};

const JUMP_BYTES: usize = 5;
const HOP_BYTES: usize = 2;
const TRAP_BYTES: usize = 1;
/// A jump of 2 bytes ends within so many bytes.
const HOP_REACH_BYTES: usize = 127;

/// How the function is left for the stub.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Departure {
    /// A jump of 5 bytes.
    Jump,
    /// A jump of 2 bytes to one of 5 at this address.
    Hop(usize),
    /// An int3.
    Trap,
}

/// What is to be done.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The first byte that changes.
    pub(crate) address: usize,
    /// How the function is left.
    pub(crate) departure: Departure,
    /// The instructions that move.
    pub(crate) displaced: Vec<Instruction>,
    /// Where the function goes on after them, if it does.
    pub(crate) back: Option<usize>,
    /// What there is to know.
    pub(crate) warning: Option<String>,
}

/// The code of a function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Body<'a> {
    /// Its first byte.
    pub(crate) address: usize,
    /// Its bytes and those up to the next function.
    pub(crate) bytes: &'a [u8],
    /// How many are its own.
    pub(crate) n_bytes: usize,
}

/// Makes the plan.
///
/// # Errors
/// Why the function cannot have probes.
pub(crate) fn plan(body: Body) -> Result<Plan, Refusal> {
    let address = body.address;
    let n_bytes = body.n_bytes.min(body.bytes.len());
    let instructions: Vec<_> =
        Decoder::with_ip(64, &body.bytes[..n_bytes], address as u64, DecoderOptions::NONE)
            .into_iter()
            .collect();
    let n_kept = instructions
        .iter()
        .take_while(|first| first.mnemonic() == Mnemonic::Endbr64)
        .count()
        .min(1);
    let first = instructions.get(n_kept).ok_or(Refusal::Empty { address })?;
    if first.mnemonic() == Mnemonic::Ud2 {
        return Err(Refusal::NeverRuns { address });
    }
    let start = at(first.ip());
    let targets = targets(&instructions, start);
    let padding = Padding::of(body, n_bytes);
    let own = Own {
        instructions: &instructions[n_kept..],
        end: address + n_bytes,
        targets: &targets,
        start,
    };
    let way = own
        .displace(JUMP_BYTES, padding)
        .map(|taken| (Departure::Jump, taken))
        .or_else(|| {
            Some((Departure::Hop(padding.hop(start)?), own.displace(HOP_BYTES, Padding::NONE)?))
        })
        .or_else(|| Some((Departure::Trap, own.displace(TRAP_BYTES, Padding::NONE)?)));
    let (departure, taken) = way.ok_or(Refusal::Empty { address })?;
    let displaced = own.instructions[..taken].to_vec();
    if let Some(wrong) = displaced.iter().find(|moved| moved.is_invalid()) {
        return Err(Refusal::Undecodable { address, at: at(wrong.ip()) });
    }
    let back = displaced.last().filter(|last| goes_on(last)).map(|last| at(last.next_ip()));
    let warning = warning(address, departure, targets.contains(&start));
    Ok(Plan { address: start, departure, displaced, back, warning })
}

fn warning(address: usize, departure: Departure, is_loop: bool) -> Option<String> {
    if departure == Departure::Trap {
        return Some(format!(
            "slow probe: the function at `{address:#x}` has no room for a jump, every passage traps (2.4 us)"
        ));
    }
    is_loop.then(|| {
        format!(
            "the function at `{address:#x}` begins with a loop: every round counts as a call of it"
        )
    })
}

/// The instructions of a function that may move.
struct Own<'a> {
    instructions: &'a [Instruction],
    /// Behind the function.
    end: usize,
    targets: &'a [usize],
    start: usize,
}

impl Own<'_> {
    /// How many instructions move so that `n_bytes` are free, if that many can.
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
                // What follows belongs to nobody, or only to whoever jumps there, and nobody does.
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

    /// Room for a jump within reach of one of 2 bytes at `from`.
    fn hop(self, from: usize) -> Option<usize> {
        let is_room = self.start + JUMP_BYTES <= self.end;
        (is_room && self.start <= from + HOP_BYTES + HOP_REACH_BYTES).then_some(self.start)
    }
}

/// Where the function's own branches and calls arrive or return to, near its start.
fn targets(instructions: &[Instruction], start: usize) -> Vec<usize> {
    let near = start..start + 16;
    let branch = |each: &Instruction| {
        let kind = each.op0_kind();
        let is_near =
            matches!(kind, OpKind::NearBranch64 | OpKind::NearBranch32 | OpKind::NearBranch16);
        let target = is_near.then(|| at(each.near_branch_target()))?;
        // A call of itself is no loop.
        (!is_call(each) || target != start).then_some(target)
    };
    let returns = instructions.iter().filter(|each| is_call(each)).map(|each| at(each.next_ip()));
    let mut all: Vec<_> = instructions.iter().filter_map(branch).chain(returns).collect();
    all.retain(|target| near.contains(target));
    all
}

/// Whether the instruction is a call.
pub(crate) fn is_call(instruction: &Instruction) -> bool {
    matches!(instruction.flow_control(), FlowControl::Call | FlowControl::IndirectCall)
        && instruction.code() != Code::Syscall
}

/// Whether what follows the instruction may be reached from it. After a moved call it is not: the called function
/// returns to the original code.
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
