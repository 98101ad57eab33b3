//! Processing of the processes' answers to orders.

use super::Runtime;
use crate::directory::Key;
use crate::order_queue::Collectors;
use std::time::Instant;
use tunlets::conductor::Input;
use wire::Answer;

impl<C: Collectors> Runtime<C> {
    pub(super) fn take_answer(&mut self, key: &Key, answer: Answer) {
        self.order_queue.hear(key, &answer);
        match answer {
            Answer::Installed { refused, warnings, .. } => {
                for (site, reason) in refused.iter().chain(&warnings) {
                    self.hear_of_site(key, *site, reason);
                }
                if let Some(rank) = self.directory.rank(key) {
                    let refused = refused.into_iter().map(|(site, why)| ((site, rank), why));
                    self.failed.extend(refused);
                }
            }
            Answer::Values { values } => {
                let values = self.value_reader.hear(&values, &self.plan);
                self.feed(Input::Values(values));
                self.open();
            }
            Answer::Detached { refused } => {
                refused.iter().for_each(|(site, reason)| self.hear_of_site(key, *site, reason));
            }
            answer => self.take_action_answer(key, answer),
        }
    }

    pub(super) fn hear_of_site(&mut self, key: &Key, site: u32, reason: &str) {
        self.aggregator.add(site, reason, self.directory.rank(key), Instant::now());
    }

    pub(super) fn warn_of_sites(&mut self, messages: Vec<(u32, String)>) {
        for (site, reason) in messages {
            let name = self.plan.function_of(site);
            let now_s = self.now_s();
            self.lines.warn(now_s, format!("`{name}`: {reason}"));
        }
    }

    fn take_action_answer(&mut self, key: &Key, answer: Answer) {
        let Some(rank) = self.directory.rank(key) else { return };
        match answer {
            Answer::Ready { action, n_hits, old } => {
                if let Some(old) = self.value(action, rank, old) {
                    self.feed(Input::Ready { action, rank, n_hits, old });
                }
            }
            Answer::Refused { action, reason } => {
                self.feed(Input::Refused { action, rank, reason });
            }
            Answer::Withdrawn { action, n_done } => {
                self.feed(Input::Withdrawn { action, rank, n_done });
            }
            Answer::Installed { .. } | Answer::Detached { .. } | Answer::Values { .. } => {}
        }
    }
}
