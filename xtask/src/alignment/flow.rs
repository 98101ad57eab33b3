//! Follows all paths through a function.

use super::Entry;
use super::frame::Frame;
use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory};

/// Decodes the instructions of a function, in the order of their addresses.
pub(super) fn decode(code: &[u8], address: u64) -> Vec<Instruction> {
    Decoder::with_ip(64, code, address, DecoderOptions::NONE).into_iter().collect()
}

/// State of the registers before each instruction; `None` if no path leads there.
pub(super) fn frames(instructions: &[Instruction], entry: Entry) -> Vec<Option<Frame>> {
    let mut flow = Flow {
        instructions,
        frames: vec![None; instructions.len()],
        open: Vec::new(),
        hidden: Vec::new(),
        elsewhere: None,
        info: InstructionInfoFactory::new(),
    };
    flow.reach(0, Frame::at(entry));
    flow.run();
    flow.frames
}

struct Flow<'a> {
    instructions: &'a [Instruction],
    frames: Vec<Option<Frame>>,
    /// Instructions from which paths are still to be followed.
    open: Vec<usize>,
    /// Instructions to which no visible path leads: cases of a `match`, or landing pads after a panic.
    hidden: Vec<usize>,
    /// State that holds at these: joined from all jumps to computed addresses and all calls.
    elsewhere: Option<Frame>,
    info: InstructionInfoFactory,
}

impl Flow<'_> {
    fn run(&mut self) {
        self.exhaust();
        for at in 0..self.instructions.len() {
            if self.frames[at].is_none()
                && let Some(frame) = self.elsewhere
            {
                self.hidden.push(at);
                self.reach(at, frame);
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
        let Some(frame) = self.frames[at] else { return };
        let instruction = &self.instructions[at];
        let after = frame.step(instruction, &mut self.info);
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

    fn jump(&mut self, target: u64, frame: Frame) {
        let found = self.instructions.binary_search_by_key(&target, Instruction::ip);
        if let Ok(at) = found {
            self.reach(at, frame);
        }
    }

    fn reach(&mut self, at: usize, frame: Frame) {
        let Some(known) = self.frames.get_mut(at) else { return };
        let joined = known.map_or(frame, |known| known.join(frame));
        if *known != Some(joined) {
            *known = Some(joined);
            self.open.push(at);
        }
    }

    fn leave(&mut self, frame: Frame) {
        let joined = self.elsewhere.map_or(frame, |known| known.join(frame));
        if self.elsewhere != Some(joined) {
            self.elsewhere = Some(joined);
            for at in self.hidden.clone() {
                self.reach(at, joined);
            }
        }
    }
}
