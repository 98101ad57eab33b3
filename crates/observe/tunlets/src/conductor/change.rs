//! A decision being carried out, and how it ends with the run.

use super::action::{Action, Ending};
use events::tuning::{TuningEvent, TuningLine};
use events::{Rank, Value};

/// Decision being carried out.
#[derive(Debug)]
pub(super) struct ChangeInProgress {
    pub(super) decision: u64,
    pub(super) point: usize,
    /// Time at which it was decided, in s.
    pub(super) decided_s: f64,
    /// Value that was set at every passage before this decision.
    pub(super) held: Option<Value>,
    /// Sentence of a rank about what is done; else empty.
    pub(super) note: String,
    /// Line of a decision that ranks have refused before: not recorded unless more comes of it than the same refusal.
    pub(super) unsaid: Option<TuningLine>,
    pub(super) state: ChangeState,
}

/// State of a change.
#[derive(Debug)]
pub(super) enum ChangeState {
    /// It is being carried out.
    Doing(Action),
    /// It holds on all ranks: their old values, and the times of the first and the last change.
    Applied {
        old: Vec<(Rank, Value)>,
        at_s: (f64, f64),
    },
    /// It took effect on some ranks, which are being restored.
    SettingBack {
        action: Action,
        reason: String,
    },
    /// It is being undone.
    Undoing {
        action: Action,
        reason: String,
    },
    Over,
}

impl ChangeState {
    pub(super) fn action(&mut self) -> Option<&mut Action> {
        match self {
            Self::Doing(action)
            | Self::SettingBack { action, .. }
            | Self::Undoing { action, .. } => Some(action),
            Self::Applied { .. } | Self::Over => None,
        }
    }
}

impl ChangeInProgress {
    pub(super) fn holds(&self) -> bool {
        matches!(self.state, ChangeState::Applied { .. })
    }

    /// Ends the change at the end of the run.
    pub(super) fn finish(self) -> Option<TuningEvent> {
        let decision = self.decision;
        let unmeasured = || "the run ended before its effect was measured".to_owned();
        match self.state {
            ChangeState::Doing(action) => Some(match action.ending_now() {
                // No line says that it was applied, so it counts as lost.
                Ending::Done(_) | Ending::Partial { .. } => {
                    TuningEvent::Lost { decision, reason: unmeasured() }
                }
                Ending::Declined { reason } => TuningEvent::Declined { decision, reason },
                Ending::Lost { reason } => TuningEvent::Lost { decision, reason },
            }),
            ChangeState::Applied { .. } => {
                Some(TuningEvent::Kept { decision, reason: unmeasured() })
            }
            ChangeState::SettingBack { reason, .. } | ChangeState::Undoing { reason, .. } => {
                let reason = format!("{reason}; the run ended while it was taken back");
                Some(TuningEvent::Lost { decision, reason })
            }
            ChangeState::Over => None,
        }
    }
}
