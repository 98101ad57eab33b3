//! `threads`: OpenMP threads that wait occupy cores that other threads need, in any program.
//!
//! Where threads stand in line for a core, waiting OpenMP threads sleep, and ranks with more threads than cores borrow cores of
//! ranks that wait in MPI. A rank without OpenMP, or on a node with a core for each thread, refuses, and nothing is changed.

use crate::lookup::{KnownPoint, Lookup};
use crate::rest::Rest;
use crate::tunlet::{
    Decision, Detail, Guide, News, Performance, PointNeed, RankUsage, Requests, Tunlet,
    TunletError, TunletSpec, World,
};
use crate::waiting::LONG_IN_LINE;
use app_description::Application;

pub(crate) const NAME: &str = "threads";

/// Guide for users of [`Threads`].
pub(crate) const GUIDE: Guide = Guide {
    remedy: "lets OpenMP threads that wait sleep, and use cores of ranks that wait in MPI",
    iteration: "none, and no description: `sintonia run --tune=threads`",
    events: &[],
    points: &[PointNeed {
        name: NAME,
        meaning: "a lever of `--tune`: 1 lets waiting threads sleep",
    }],
};

/// Reports in a row that have to tell the same.
const N_SEEN: u32 = 2;
/// Threads of a rank that stand in line for a core on average, from which on that is a shortage.
const IN_LINE: f64 = 0.1;

/// The `threads` tunlet; see the module documentation.
#[derive(Debug, Default)]
pub struct Threads {
    point: Option<KnownPoint>,
    n_short: u32,
    rest: Rest,
}

impl Tunlet for Threads {
    fn spec(&self) -> TunletSpec {
        GUIDE.spec(NAME, "OpenMP threads that wait occupy cores that other threads need", &[])
    }

    fn begin(&mut self, application: &Application, world: &World) -> Result<Requests, TunletError> {
        let point = Lookup { tunlet: NAME, application, world }.point(NAME)?;
        let (points, rest) = (vec![point.position], Rest::first(point.past));
        *self = Self { point: Some(point), rest, ..Self::default() };
        let events = vec![Detail::None; application.events.len()];
        Ok(Requests { events, performance: true, points })
    }

    fn hear(&mut self, news: &News, decisions: &mut Vec<Decision>) {
        let Some(point) = &mut self.point else { return };
        match news {
            News::Performance(performance) => decisions.extend(self.judge(performance)),
            News::Applied(applied) if applied.point == point.position => point.applied(applied.new),
            News::Declined { point: declined, .. } if *declined == point.position => {
                point.declined();
                self.rest.begin();
            }
            _ => {}
        }
    }
}

impl Threads {
    fn judge(&mut self, performance: &Performance) -> Option<Decision> {
        self.rest.pass();
        let point = self.point.as_mut().filter(|point| !point.is_waiting)?;
        let Some((reason, n_seen)) = shortage(&performance.usage) else {
            self.n_short = 0;
            return None;
        };
        self.n_short += 1;
        if self.n_short < n_seen || point.value == Some(1.0) || self.rest.is_resting() {
            return None;
        }
        self.n_short = 0;
        Some(point.ask(1.0, &reason))
    }
}

/// Sentence about threads that stand in line for a core, and the number of reports in a row that have to tell it.
fn shortage(usage: &[RankUsage]) -> Option<(String, u32)> {
    let several = usage.iter().filter(|rank| 1 < rank.n_threads);
    let most = several.max_by(|a, b| a.runqueue.total_cmp(&b.runqueue))?;
    let (rank, n_threads, in_line) = (most.rank.0, most.n_threads, most.runqueue);
    (IN_LINE < in_line).then(|| {
        let reason = format!(
            "{in_line:.1} of the {n_threads} threads of rank {rank} stand in line for a core on average"
        );
        (reason, if LONG_IN_LINE < in_line { 1 } else { N_SEEN })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use events::Lever;

    /// Checks how often the tunlet asks in this many reports of a rank.
    #[track_caller]
    fn check(n_threads: u64, runqueue: f64, n_reports: usize, n_asked: usize) {
        let mut application = Application::default();
        application.add_levers(&[Lever::Threads]);
        let mut tunlet = Threads::default();
        tunlet.begin(&application, &World::default()).unwrap();
        let usage = vec![RankUsage { n_threads, runqueue, ..RankUsage::default() }];
        let news = News::Performance(Performance { usage, ..Performance::default() });
        let mut decisions = Vec::new();
        for _ in 0..n_reports {
            tunlet.hear(&news, &mut decisions);
        }
        assert_eq!(decisions.len(), n_asked);
    }

    #[test]
    fn threads_that_stand_in_line_are_a_shortage_if_it_lasts() {
        check(4, 0.3, 1, 0);
        check(4, 0.3, 2, 1);
        check(4, 0.5, 1, 1);
        check(4, 0.0, 9, 0);
        check(1, 0.5, 9, 0);
    }
}
