//! State of the registers at one instruction.

use super::Entry;
use super::residue::Residue;
use iced_x86::{
    Code, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register,
};

/// Registers that a called function may change (System V ABI).
const CLOBBERED: [Register; 9] = [
    Register::RAX,
    Register::RCX,
    Register::RDX,
    Register::RSI,
    Register::RDI,
    Register::R8,
    Register::R9,
    Register::R10,
    Register::R11,
];

/// What is known of the general registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RegisterState {
    registers: [Residue; 16],
}

impl RegisterState {
    /// State at the first instruction of a function.
    pub(super) fn at(entry: Entry) -> Self {
        let mut state = Self { registers: [Residue::UNKNOWN; 16] };
        let rsp = match entry {
            Entry::Called => Residue::of(8, 16),
            Entry::Program => Residue::of(0, 16),
        };
        state.set(Register::RSP, rsp);
        state
    }

    /// State that holds on both paths to an instruction.
    pub(super) fn join(mut self, other: Self) -> Self {
        for (own, other) in self.registers.iter_mut().zip(other.registers) {
            *own = own.join(other);
        }
        self
    }

    /// Address of the operand in memory.
    pub(super) fn operand(&self, instruction: &Instruction) -> Residue {
        let base = match instruction.memory_base() {
            // The linker decides where code and constants will lie.
            Register::RIP | Register::EIP => return Residue::UNKNOWN,
            Register::None => Residue::exact(0),
            base => self.get(base),
        };
        let index = match instruction.memory_index() {
            Register::None => Residue::exact(0),
            index => self.get(index).scaled(u64::from(instruction.memory_index_scale())),
        };
        let displacement = Residue::exact(instruction.memory_displacement64());
        if matches!(instruction.memory_segment(), Register::FS | Register::GS) {
            return Residue::UNKNOWN;
        }
        base.plus(index).plus(displacement)
    }

    /// State after an instruction; after a call, when it has returned.
    pub(super) fn step(
        mut self,
        instruction: &Instruction,
        info: &mut InstructionInfoFactory,
    ) -> Self {
        let rsp = self.get(Register::RSP);
        let result = self.result(instruction);
        let is_call =
            matches!(instruction.flow_control(), FlowControl::Call | FlowControl::IndirectCall);
        if is_call {
            CLOBBERED.into_iter().for_each(|register| self.set(register, Residue::UNKNOWN));
            return self;
        }
        for used in info.info(instruction).used_registers() {
            let is_written = matches!(
                used.access(),
                OpAccess::Write
                    | OpAccess::CondWrite
                    | OpAccess::ReadWrite
                    | OpAccess::ReadCondWrite
            );
            if is_written {
                self.set(used.register(), Residue::UNKNOWN);
            }
        }
        if instruction.is_stack_instruction() && instruction.code() != Code::Leaveq {
            self.set(Register::RSP, rsp.moved(instruction.stack_pointer_increment().into()));
        }
        if let Some((register, residue)) = result {
            self.set(register, residue);
        }
        self
    }

    /// First operand of an instruction, and the value written to it, if that is known.
    fn result(&self, instruction: &Instruction) -> Option<(Register, Residue)> {
        if instruction.code() == Code::Leaveq {
            return Some((Register::RSP, self.get(Register::RBP).moved(8)));
        }
        let to = instruction.op0_register();
        if instruction.op0_kind() != OpKind::Register || !to.is_gpr64() && !to.is_gpr32() {
            return None;
        }
        let residue = match instruction.mnemonic() {
            Mnemonic::Xor if self.is_same(instruction) => Residue::exact(0),
            Mnemonic::Mov => self.source(instruction)?,
            // An address of 32 bits is not on the stack.
            _ if !to.is_gpr64() => return None,
            Mnemonic::Lea => self.operand(instruction),
            Mnemonic::Add => self.get(to).plus(self.source(instruction)?),
            Mnemonic::Sub => self.get(to).moved(immediate(instruction)?.wrapping_neg()),
            Mnemonic::And => self.get(to).masked(immediate(instruction)?.cast_unsigned()),
            _ => return None,
        };
        Some((to, residue))
    }

    fn is_same(&self, instruction: &Instruction) -> bool {
        instruction.op1_kind() == OpKind::Register
            && instruction.op0_register() == instruction.op1_register()
    }

    fn source(&self, instruction: &Instruction) -> Option<Residue> {
        match instruction.op1_kind() {
            OpKind::Register if instruction.op1_register().is_gpr64() => {
                Some(self.get(instruction.op1_register()))
            }
            OpKind::Register | OpKind::Memory => None,
            _ => immediate(instruction).map(|value| Residue::exact(value.cast_unsigned())),
        }
    }

    fn get(&self, register: Register) -> Residue {
        let place = place(register).filter(|_| register.is_gpr64());
        place.map_or(Residue::UNKNOWN, |place| self.registers[place])
    }

    fn set(&mut self, register: Register, residue: Residue) {
        if let Some(place) = place(register) {
            self.registers[place] = residue;
        }
    }
}

/// Second operand, if it is a number.
fn immediate(instruction: &Instruction) -> Option<i64> {
    let value = instruction.try_immediate(1).ok()?;
    Some(value.cast_signed())
}

/// Index of the general register that a register is, or is a part of.
fn place(register: Register) -> Option<usize> {
    register.is_gpr().then(|| register.full_register().number())
}
