//! Messages that remain valid, repeated to collectors that reconnect.

use events::ProcessKey;
use std::collections::HashMap;
use wire::ToCollector;

/// Shapes of events, and requested sums, by node.
#[derive(Debug, Default)]
pub(crate) struct ReplayedMessages {
    nodes: HashMap<String, Node>,
}

#[derive(Debug, Default)]
struct Node {
    events: Option<ToCollector>,
    requests: HashMap<Option<ProcessKey>, ToCollector>,
}

impl ReplayedMessages {
    /// Remembers a message that remains valid.
    pub(crate) fn take(&mut self, node: &str, message: &ToCollector) {
        match message {
            ToCollector::Events { .. } => {
                self.nodes.entry(node.to_owned()).or_default().events = Some(message.clone());
            }
            ToCollector::Summarize { process, .. } => {
                let requests = &mut self.nodes.entry(node.to_owned()).or_default().requests;
                requests.insert(*process, message.clone());
            }
            _ => {}
        }
    }

    /// Returns the first messages for a collector of the node.
    pub(crate) fn of(&self, node: &str) -> Vec<ToCollector> {
        let Some(node) = self.nodes.get(node) else { return Vec::new() };
        node.events.iter().chain(node.requests.values()).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_about_a_process_stands() {
        let mut replayed = ReplayedMessages::default();
        let process = Some(ProcessKey { pid: 1, started: 2 });
        let request = |events: &[u32]| ToCollector::Summarize { process, events: events.to_vec() };
        let shapes =
            ToCollector::Events { shapes: Vec::new(), flush_every_ms: 7, read_every_ms: 5 };
        for message in [request(&[1]), ToCollector::Finish, request(&[2]), shapes.clone()] {
            replayed.take("n", &message);
        }
        assert_eq!(replayed.of("n"), [shapes, request(&[2])]);
        assert_eq!(replayed.of("other"), []);
    }
}
