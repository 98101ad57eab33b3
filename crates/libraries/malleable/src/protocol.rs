//! Phases of a resize, as rank 0 sees them.
//!
//! ```text
//! Idle -> Deciding -> Spawning -> Connecting -> MovingConstant -> MovingVariable -> Releasing -> Idle
//! ```
//!
//! Every phase has a deadline. Until data move, a resize can be given up, and the program continues at its old size.
//! Once constant data move, their deadline only ends the overlap with computing: the rest of them moves while the
//! program waits. Processes that are not gone in time are named in the record.
//!
//! # Invariants
//! - Pure: time is an argument.
//! - One resize at a time; each ends with an outcome and an explanation.

use resize_api::{Resize, ResizeOutcome, ResizeState, Started};
use serde::{Deserialize, Serialize};

/// Resize under way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ActiveResize {
    /// Present phase.
    pub(crate) phase: ResizeState,
    /// Start of the phase, in seconds.
    since_s: f64,
    /// Id of the resize request, if its sender waits for an answer.
    pub(crate) wish: Option<u64>,
    /// Hosts on which ranks are to start, if requested.
    pub(crate) hosts: Vec<String>,
    /// Ranks that have to leave; any may if empty.
    #[serde(default)]
    pub(crate) leavers: Vec<u32>,
    /// Whether constant data move while the program computes.
    pub(crate) is_overlapping: bool,
    /// Record of the resize, as far as it is known.
    pub(crate) resize: Resize,
}

/// Origin of a resize, and its wishes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Origin {
    /// Id of the resize request, if its sender waits for an answer.
    pub(crate) wish: Option<u64>,
    /// Hosts on which ranks are to start, if requested.
    pub(crate) hosts: Vec<String>,
    /// Ranks that have to leave; any may if empty.
    pub(crate) leavers: Vec<u32>,
}

/// Observations of rank 0 in the present phase.
#[expect(clippy::struct_excessive_bools, reason = "observations that do not depend on each other")]
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PhaseInput {
    /// Permission or the reason for its refusal, once known.
    pub(crate) permission: Option<Result<(), String>>,
    /// Whether all new processes are started.
    pub(crate) is_spawned: bool,
    /// Result of joining them, once known.
    pub(crate) joined: Option<Result<(), String>>,
    /// Whether joining failed because a process was late.
    pub(crate) is_late: bool,
    /// Whether constant data have arrived everywhere.
    pub(crate) has_constant: bool,
    /// Whether the processes that left are gone.
    pub(crate) are_gone: bool,
}

/// Action of all ranks at the next resize point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ResizeAction {
    /// Compute.
    #[default]
    GoOn,
    /// Begin to start and join processes.
    Start,
    /// Begin to move constant data, and compute.
    Move,
    /// Move the remaining data, and take the new size.
    Switch,
    /// Give up the new processes.
    GiveUp,
}

/// State machine of a program's resizes.
#[derive(Clone, Debug)]
pub(crate) struct Protocol {
    deadline_s: f64,
    /// Limit on the phase `Deciding`, in seconds: a manager may have to wait for nodes.
    patience_s: f64,
    /// Present resize.
    pub(crate) active: Option<ActiveResize>,
}

impl Protocol {
    pub(crate) fn new(deadline_s: f64, patience_s: f64) -> Self {
        Self { deadline_s, patience_s, active: None }
    }

    /// Continues after another rank 0, which has just switched.
    pub(crate) fn go_on(&mut self, mut active: ActiveResize, now_s: f64) {
        active.since_s = now_s;
        active.phase = ResizeState::Releasing;
        self.active = Some(active);
    }

    /// Begins a resize; none may be under way.
    pub(crate) fn begin(&mut self, resize: Resize, origin: Origin, now_s: f64) {
        let Origin { wish, hosts, leavers } = origin;
        let (phase, since_s, is_overlapping) = (ResizeState::Deciding, now_s, false);
        self.active =
            Some(ActiveResize { phase, since_s, wish, hosts, leavers, is_overlapping, resize });
    }

    /// Ends a resize that has not been decided, in favor of ranks that have to leave.
    pub(crate) fn give_way(&mut self, now_s: f64) -> Option<ActiveResize> {
        let mut active = self.active.take_if(|active| active.phase == ResizeState::Deciding)?;
        active.note_time(now_s);
        active.resize.outcome = ResizeOutcome::Refused;
        "other ranks have to leave first".clone_into(&mut active.resize.sentence);
        Some(active)
    }

    /// Phase of the present resize.
    pub(crate) fn phase(&self) -> ResizeState {
        self.active.as_ref().map_or(ResizeState::Idle, |active| active.phase)
    }

    /// Advances by the observations; returns the next action, and the resize when it has ended.
    pub(crate) fn advance(
        &mut self,
        input: &PhaseInput,
        now_s: f64,
    ) -> (ResizeAction, Option<ActiveResize>) {
        let Some(active) = &mut self.active else { return (ResizeAction::GoOn, None) };
        let limit_s =
            if active.phase == ResizeState::Deciding { self.patience_s } else { self.deadline_s };
        let is_late = active.since_s + limit_s <= now_s;
        let next = active.next(input, is_late);
        match next {
            Next::Stay => (ResizeAction::GoOn, None),
            Next::To(phase, action) => {
                active.enter(phase, now_s);
                (action, None)
            }
            Next::End(outcome, sentence, action) => {
                active.note_time(now_s);
                (active.resize.outcome, active.resize.sentence) = (outcome, sentence);
                (action, self.active.take())
            }
        }
    }

    /// Ends the resize under way because the program ends.
    pub(crate) fn break_off(&mut self, now_s: f64) -> Option<ActiveResize> {
        let mut active = self.active.take()?;
        active.note_time(now_s);
        let (from, to) = (active.resize.from, active.resize.to);
        (active.resize.outcome, active.resize.sentence) = match active.phase {
            ResizeState::Releasing => {
                (ResizeOutcome::Done, format!("{from} ranks became {to}, and the program ended"))
            }
            ResizeState::Deciding => {
                (ResizeOutcome::Refused, "the program ended before it was decided".to_owned())
            }
            _ => (ResizeOutcome::Failed, format!("the program ended before it had {to} ranks")),
        };
        Some(active)
    }

    /// Enters the phase `Releasing`, once all data have moved.
    pub(crate) fn switched(&mut self, now_s: f64) {
        if let Some(active) = &mut self.active {
            active.enter(ResizeState::Releasing, now_s);
        }
    }
}

/// Transition from a phase.
enum Next {
    Stay,
    To(ResizeState, ResizeAction),
    End(ResizeOutcome, String, ResizeAction),
}

impl ActiveResize {
    fn next(&self, input: &PhaseInput, is_late: bool) -> Next {
        use Next::{End, Stay, To};
        let (from, to) = (self.resize.from, self.resize.to);
        match self.phase {
            ResizeState::Deciding => match &input.permission {
                Some(Ok(())) => To(ResizeState::Spawning, ResizeAction::Start),
                Some(Err(why)) => End(ResizeOutcome::Refused, why.clone(), ResizeAction::GoOn),
                None if is_late => {
                    let why = "no decision was made in time; the program keeps its size";
                    End(ResizeOutcome::TimedOut, why.to_owned(), ResizeAction::GoOn)
                }
                None => Stay,
            },
            ResizeState::Spawning | ResizeState::Connecting => match &input.joined {
                Some(Ok(())) if self.is_overlapping => {
                    To(ResizeState::MovingConstant, ResizeAction::Move)
                }
                Some(Ok(())) => To(ResizeState::MovingVariable, ResizeAction::Switch),
                Some(Err(why)) => {
                    let outcome =
                        if input.is_late { ResizeOutcome::TimedOut } else { ResizeOutcome::Failed };
                    End(outcome, why.clone(), ResizeAction::GiveUp)
                }
                None if is_late => {
                    let why = self.late_sentence(input.is_spawned);
                    End(ResizeOutcome::TimedOut, why, ResizeAction::GiveUp)
                }
                None if input.is_spawned && self.phase == ResizeState::Spawning => {
                    To(ResizeState::Connecting, ResizeAction::GoOn)
                }
                None => Stay,
            },
            ResizeState::MovingConstant if input.has_constant || is_late => {
                To(ResizeState::MovingVariable, ResizeAction::Switch)
            }
            ResizeState::Releasing if input.are_gone => {
                let is_parked = self.resize.started == Started::Parked && to < from;
                let how =
                    if is_parked { "; the ranks that left sleep and keep their slots" } else { "" };
                let sentence = format!("{from} ranks became {to}{how}");
                End(ResizeOutcome::Done, sentence, ResizeAction::GoOn)
            }
            ResizeState::Releasing if is_late => {
                let why =
                    format!("{from} ranks became {to}; not all processes that left are gone yet");
                End(ResizeOutcome::Done, why, ResizeAction::GoOn)
            }
            _ => Stay,
        }
    }

    fn late_sentence(&self, is_spawned: bool) -> String {
        let what = if is_spawned { "did not join" } else { "were not started" };
        format!("new processes {what} in time; the program keeps its {} ranks", self.resize.from)
    }

    fn enter(&mut self, phase: ResizeState, now_s: f64) {
        self.note_time(now_s);
        (self.phase, self.since_s) = (phase, now_s);
    }

    /// Records the time of the phase, unless another place measures it more closely.
    fn note_time(&mut self, now_s: f64) {
        let (seconds, phase_s) = (&mut self.resize.seconds, now_s - self.since_s);
        match self.phase {
            ResizeState::Deciding => seconds.decide = phase_s,
            ResizeState::Spawning => seconds.spawn = phase_s,
            ResizeState::Connecting => seconds.connect = phase_s,
            ResizeState::MovingConstant => seconds.constant = phase_s,
            ResizeState::Releasing => seconds.release = phase_s,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed() -> PhaseInput {
        PhaseInput { permission: Some(Ok(())), ..PhaseInput::default() }
    }

    fn spawned() -> PhaseInput {
        PhaseInput { is_spawned: true, ..PhaseInput::default() }
    }

    fn joined(result: Result<(), &str>) -> PhaseInput {
        PhaseInput { joined: Some(result.map_err(str::to_owned)), ..spawned() }
    }

    fn begun(is_overlapping: bool) -> Protocol {
        let mut protocol = Protocol::new(10.0, 100.0);
        let resize = Resize { from: 4, to: 8, ..Resize::default() };
        protocol.begin(resize, Origin { wish: Some(1), ..Origin::default() }, 0.0);
        protocol.active.as_mut().unwrap().is_overlapping = is_overlapping;
        protocol
    }

    /// Runs steps, each with a time, observations, and the expected action and phase.
    #[track_caller]
    fn check(
        protocol: &mut Protocol,
        steps: &[(f64, PhaseInput, ResizeAction, ResizeState)],
    ) -> Option<ActiveResize> {
        let mut ended = None;
        for (now_s, input, action, phase) in steps {
            assert_eq!(ended, None);
            let (found, end) = protocol.advance(input, *now_s);
            assert_eq!((found, protocol.phase()), (*action, *phase), "at {now_s} s");
            ended = end;
            if *action == ResizeAction::Switch {
                protocol.switched(*now_s);
            }
        }
        ended
    }

    #[test]
    fn a_resize_goes_through_its_phases() {
        use ResizeAction::{GoOn, Move, Start, Switch};
        use ResizeState::{
            Connecting, Deciding, Idle, MovingConstant, MovingVariable, Releasing, Spawning,
        };
        let none = PhaseInput::default;
        let here = PhaseInput { has_constant: true, ..none() };
        let gone = PhaseInput { are_gone: true, ..none() };
        let steps = [
            (1.0, none(), GoOn, Deciding),
            (2.0, allowed(), Start, Spawning),
            (3.0, none(), GoOn, Spawning),
            (3.5, spawned(), GoOn, Connecting),
            (4.0, joined(Ok(())), Move, MovingConstant),
            (5.0, none(), GoOn, MovingConstant),
            (7.0, here, Switch, MovingVariable),
            (7.5, none(), GoOn, Releasing),
            (8.0, gone, GoOn, Idle),
        ];
        let end = check(&mut begun(true), &steps);
        let resize = end.unwrap().resize;
        assert_eq!((resize.outcome, &*resize.sentence), (ResizeOutcome::Done, "4 ranks became 8"));
        let seconds = resize.seconds;
        assert_eq!((seconds.decide, seconds.constant, seconds.release), (2.0, 3.0, 1.0));
    }

    #[test]
    fn without_overlap_all_moves_at_once() {
        let steps = [
            (0.0, allowed(), ResizeAction::Start, ResizeState::Spawning),
            (1.0, joined(Ok(())), ResizeAction::Switch, ResizeState::MovingVariable),
        ];
        check(&mut begun(false), &steps);
    }

    #[test]
    fn an_end_of_the_program_ends_its_resize() {
        let mut protocol = begun(true);
        protocol.advance(&allowed(), 1.0);
        protocol.advance(&joined(Ok(())), 3.0);
        let resize = protocol.break_off(8.0).unwrap().resize;
        assert_eq!(resize.outcome, ResizeOutcome::Failed);
        assert_eq!(resize.sentence, "the program ended before it had 8 ranks");
        assert_eq!((resize.seconds.spawn, resize.seconds.constant), (2.0, 5.0));
        assert_eq!(protocol.break_off(9.0), None);
        assert_eq!(begun(true).break_off(1.0).unwrap().resize.outcome, ResizeOutcome::Refused);
    }

    #[test]
    fn only_what_is_undecided_gives_way() {
        let mut protocol = begun(true);
        let resize = protocol.give_way(1.0).unwrap().resize;
        assert_eq!((resize.outcome, resize.seconds.decide), (ResizeOutcome::Refused, 1.0));
        assert_eq!(protocol.phase(), ResizeState::Idle);
        let mut protocol = begun(true);
        protocol.advance(&allowed(), 1.0);
        assert_eq!(protocol.give_way(2.0), None);
        assert_eq!(protocol.phase(), ResizeState::Spawning);
    }

    #[track_caller]
    fn check_end(
        inputs: &[(f64, PhaseInput)],
        action: ResizeAction,
        outcome: ResizeOutcome,
        part: &str,
    ) {
        let mut protocol = begun(true);
        let mut last = (ResizeAction::GoOn, None);
        for (now_s, input) in inputs {
            assert_eq!(last.1, None);
            last = protocol.advance(input, *now_s);
            if last.0 == ResizeAction::Switch {
                protocol.switched(*now_s);
            }
        }
        let resize = last.1.unwrap().resize;
        assert_eq!((last.0, resize.outcome), (action, outcome));
        assert!(resize.sentence.contains(part), "{}", resize.sentence);
        assert_eq!(protocol.phase(), ResizeState::Idle);
    }

    #[test]
    fn a_resize_that_is_not_to_be_ends() {
        let none = PhaseInput::default;
        let refused = PhaseInput { permission: Some(Err("no nodes".to_owned())), ..none() };
        check_end(&[(1.0, refused)], ResizeAction::GoOn, ResizeOutcome::Refused, "no nodes");
        let undecided = [(99.0, none()), (100.0, none())];
        check_end(&undecided, ResizeAction::GoOn, ResizeOutcome::TimedOut, "no decision");
        let late = [(0.0, allowed()), (9.9, none()), (10.0, none())];
        check_end(&late, ResizeAction::GiveUp, ResizeOutcome::TimedOut, "were not started");
        let late = [(0.0, allowed()), (9.9, spawned()), (19.8, spawned()), (19.9, spawned())];
        check_end(&late, ResizeAction::GiveUp, ResizeOutcome::TimedOut, "did not join");
        let failed = [(0.0, allowed()), (1.0, joined(Err("`MPI_Comm_spawn` failed")))];
        check_end(&failed, ResizeAction::GiveUp, ResizeOutcome::Failed, "MPI_Comm_spawn");
    }

    #[test]
    fn what_has_begun_to_move_arrives() {
        let none = PhaseInput::default;
        let steps = [(0.0, allowed()), (1.0, joined(Ok(()))), (11.0, none()), (21.0, none())];
        let left = "not all processes that left are gone";
        check_end(&steps, ResizeAction::GoOn, ResizeOutcome::Done, left);
    }
}
