//! Follows all paths through a function.

use super::Entry;
use super::registers::RegisterState;
use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory};

/// Decodes the instructions of a function, in the order of their addresses.
pub(super) fn decode(code: &[u8], address: u64) -> Vec<Instruction> {
    Decoder::with_ip(64, code, address, DecoderOptions::NONE).into_iter().collect()
}

/// State of the registers before each instruction; `None` if no path leads there.
pub(super) fn states(instructions: &[Instruction], entry: Entry) -> Vec<Option<RegisterState>> {
    let mut flow = Flow {
        instructions,
        states: vec![None; instructions.len()],
        open: Vec::new(),
        unreached: Vec::new(),
        fallback: None,
        info: InstructionInfoFactory::new(),
    };
    flow.reach(0, RegisterState::at(entry));
    flow.run();
    flow.states
}

struct Flow<'a> {
    instructions: &'a [Instruction],
    states: Vec<Option<RegisterState>>,
    /// Instructions from which paths are still to be followed.
    open: Vec<usize>,
    /// Instructions to which no visible path leads: cases of a `match`, or landing pads after a panic.
    unreached: Vec<usize>,
    /// State that holds at these: joined from all jumps to computed addresses and all calls.
    fallback: Option<RegisterState>,
    info: InstructionInfoFactory,
}

impl Flow<'_> {
    fn run(&mut self) {
        self.exhaust();
        for at in 0..self.instructions.len() {
            if self.states[at].is_none()
                && let Some(state) = self.fallback
            {
                self.unreached.push(at);
                self.reach(at, state);
                self.exhaust();
            }
        }
    }

    fn exhaust(&mut self) {
        while let Some(at) = self.open.pop() {
            self.follow(at);
        }
    }

    fn follow(&mut self, at: usize) {
        let Some(state) = self.states[at] else { return };
        let instruction = &self.instructions[at];
        let after = state.step(instruction, &mut self.info);
        match instruction.flow_control() {
            FlowControl::Next | FlowControl::Interrupt | FlowControl::XbeginXabortXend => {
                self.reach(at + 1, after);
            }
            FlowControl::ConditionalBranch => {
                self.reach(at + 1, after);
                self.jump(instruction.near_branch_target(), after);
            }
            FlowControl::UnconditionalBranch => self.jump(instruction.near_branch_target(), after),
            FlowControl::IndirectBranch => self.leave(after),
            FlowControl::Call | FlowControl::IndirectCall => {
                self.leave(after);
                self.reach(at + 1, after);
            }
            FlowControl::Return | FlowControl::Exception => {}
        }
    }

    fn jump(&mut self, target: u64, state: RegisterState) {
        let found = self.instructions.binary_search_by_key(&target, Instruction::ip);
        if let Ok(at) = found {
            self.reach(at, state);
        }
    }

    fn reach(&mut self, at: usize, state: RegisterState) {
        let Some(known) = self.states.get_mut(at) else { return };
        let joined = known.map_or(state, |known| known.join(state));
        if *known != Some(joined) {
            *known = Some(joined);
            self.open.push(at);
        }
    }

    fn leave(&mut self, state: RegisterState) {
        let joined = self.fallback.map_or(state, |known| known.join(state));
        if self.fallback != Some(joined) {
            self.fallback = Some(joined);
            for at in self.unreached.clone() {
                self.reach(at, joined);
            }
        }
    }
}
