//! Instructions that fault unless their operand in memory is aligned.

use iced_x86::{EncodingKind, Instruction, Mnemonic, OpKind};

/// Alignment that an instruction requires of its operand in memory, in bytes.
pub(super) fn wanted(instruction: &Instruction) -> Option<u64> {
    let has_memory = instruction.op_kinds().any(|kind| kind == OpKind::Memory);
    if !has_memory || !is_strict(instruction) {
        return None;
    }
    let n_bytes = instruction.memory_size().size() as u64;
    (16..=64).contains(&n_bytes).then_some(n_bytes)
}

fn is_strict(instruction: &Instruction) -> bool {
    use Mnemonic::{
        Lddqu, Movdqu, Movupd, Movups, Pcmpestri, Pcmpestrm, Pcmpistri, Pcmpistrm, Vmovapd,
        Vmovaps, Vmovdqa, Vmovdqa32, Vmovdqa64, Vmovntdq, Vmovntdqa, Vmovntpd, Vmovntps,
    };
    let mnemonic = instruction.mnemonic();
    if instruction.encoding() == EncodingKind::Legacy {
        // All instructions of SSE are strict with 16 bytes, except for these.
        let lenient = [Lddqu, Movdqu, Movupd, Movups, Pcmpestri, Pcmpestrm, Pcmpistri, Pcmpistrm];
        return instruction.memory_size().size() == 16 && !lenient.contains(&mnemonic);
    }
    let strict =
        [Vmovapd, Vmovaps, Vmovdqa, Vmovdqa32, Vmovdqa64, Vmovntdq, Vmovntdqa, Vmovntpd, Vmovntps];
    strict.contains(&mnemonic)
}
