//! One client that waits for tasks of another node, as long as that takes.

use std::collections::VecDeque;

use balanced::{Answer, Request};
use balancing::Moment;

/// How often the question is repeated while nothing is heard.
const REPEAT_MS: u64 = 5_000;
/// How long the other node may be silent.
const SILENT_MS: u64 = 30_000;

#[derive(Debug)]
pub(super) struct Waiting {
    request: Request,
    /// When something was said or heard last.
    since: Moment,
    /// Whether the client has taken the last answer.
    is_ready: bool,
    /// Whether the last word was that it is ready for more, and not the question itself.
    said_more: bool,
    /// Answers to a question that was repeated although the first answer was on its way: at most one for each
    /// repetition.
    early: VecDeque<Answer>,
    silent: Option<Moment>,
}

impl Waiting {
    pub(super) fn new(request: Request, now: Moment) -> Self {
        let early = VecDeque::new();
        Self { request, since: now, is_ready: true, said_more: false, early, silent: None }
    }

    /// The client has taken the last answer; an answer that is there already is its next.
    pub(super) fn client_is_ready(&mut self, now: Moment) -> Option<Answer> {
        let early = self.early.pop_front();
        if early.is_none() {
            (self.is_ready, self.said_more, self.since) = (true, true, now);
        }
        early
    }

    /// An answer, to be passed on if the client is ready.
    pub(super) fn answered(&mut self, answer: Answer, now: Moment) -> Option<Answer> {
        self.since = now;
        if std::mem::take(&mut self.is_ready) {
            return Some(answer);
        }
        self.early.push_back(answer);
        None
    }

    /// Whether the other node says that it knows nothing of a question that it had been asked.
    pub(super) fn is_forgotten(&self, answer: &Answer) -> bool {
        self.said_more && matches!(answer, Answer::Refused { .. })
    }

    /// The question, to be asked once more.
    pub(super) fn ask_again(&mut self, now: Moment) -> Request {
        (self.since, self.said_more, self.silent) = (now, false, None);
        self.request.clone()
    }

    pub(super) fn is_to_be_repeated(&self, now: Moment) -> bool {
        self.is_ready && self.silent.is_none() && REPEAT_MS <= now.ms_since(self.since)
    }

    /// The other node cannot be heard now.
    pub(super) fn is_silent(&mut self, now: Moment) {
        self.silent.get_or_insert(now);
    }

    pub(super) fn was_silent(&self) -> bool {
        self.silent.is_some()
    }

    /// Whether it has been silent for too long.
    pub(super) fn is_lost(&self, now: Moment) -> bool {
        self.silent.is_some_and(|since| SILENT_MS <= now.ms_since(since))
    }
}
