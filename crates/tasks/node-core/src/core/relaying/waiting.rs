//! Wait of one client for tasks of another node.

use std::collections::VecDeque;

use balancing_policies::Moment;
use task_api::{Answer, Request};

/// Time between two repetitions of the question while no answer arrives, in ms.
const REPEAT_MS: u64 = 5_000;
/// Longest time that the other node may be unreachable, in ms.
const SILENT_MS: u64 = 30_000;

#[derive(Debug)]
pub(super) struct Waiting {
    request: Request,
    /// Moment of the last message in either direction.
    since: Moment,
    /// True if the client has taken the last answer.
    is_ready: bool,
    /// True if the last message was a `More`, and not the question itself.
    said_more: bool,
    /// Answers to a question that was repeated while the first answer was on its way: at most one for each
    /// repetition.
    early: VecDeque<Answer>,
    silent: Option<Moment>,
}

impl Waiting {
    pub(super) fn new(request: Request, now: Moment) -> Self {
        let early = VecDeque::new();
        Self { request, since: now, is_ready: true, said_more: false, early, silent: None }
    }

    /// Notes that the client has taken the last answer; returns its next one if that has already arrived.
    pub(super) fn client_is_ready(&mut self, now: Moment) -> Option<Answer> {
        let early = self.early.pop_front();
        if early.is_none() {
            (self.is_ready, self.said_more, self.since) = (true, true, now);
        }
        early
    }

    /// Handles an answer; returns it if the client is ready for it.
    pub(super) fn answered(&mut self, answer: Answer, now: Moment) -> Option<Answer> {
        self.since = now;
        if std::mem::take(&mut self.is_ready) {
            return Some(answer);
        }
        self.early.push_back(answer);
        None
    }

    /// Returns whether the other node does not know the question that it had been asked.
    pub(super) fn is_forgotten(&self, answer: &Answer) -> bool {
        self.said_more && matches!(answer, Answer::Refused { .. })
    }

    /// The question, to be asked again.
    pub(super) fn ask_again(&mut self, now: Moment) -> Request {
        (self.since, self.said_more, self.silent) = (now, false, None);
        self.request.clone()
    }

    pub(super) fn is_to_be_repeated(&self, now: Moment) -> bool {
        self.is_ready && self.silent.is_none() && REPEAT_MS <= now.ms_since(self.since)
    }

    /// Notes that the other node cannot be reached now.
    pub(super) fn is_silent(&mut self, now: Moment) {
        self.silent.get_or_insert(now);
    }

    pub(super) fn was_silent(&self) -> bool {
        self.silent.is_some()
    }

    /// Returns whether the other node has been unreachable for too long.
    pub(super) fn is_lost(&self, now: Moment) -> bool {
        self.silent.is_some_and(|since| SILENT_MS <= now.ms_since(since))
    }
}
