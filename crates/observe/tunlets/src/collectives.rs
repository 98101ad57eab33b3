//! `collectives`: the MPI library's algorithm of a collective operation is not the fastest one here, in any program.
//!
//! Where ranks spend much of their time in MPI, algorithms are tried in short blocks of the program's own calls; once
//! faster ones were found, they are used, and the program's iterations tell whether that helps.
//!
//! # Not here
//! Trying and choosing an algorithm for each communicator, operation and size (`probe`, `ring::board`).

use crate::lookup::{KnownPoint, Lookup};
use crate::rest::Rest;
use crate::tunlet::{
    Decision, Detail, Guide, News, Performance, PointNeed, Requests, Tunlet, TunletError,
    TunletSpec, World,
};
use app_description::Application;
use display::units::percent;

pub(crate) const NAME: &str = "collectives";

/// Guide for users of [`Collectives`].
pub(crate) const GUIDE: Guide = Guide {
    remedy: "tries the MPI library's algorithms in the program's own calls, and uses the fastest ones",
    iteration: "none, and no description: `sintonia run --tune=collectives`",
    events: &[],
    points: &[PointNeed {
        name: NAME,
        meaning: "a lever of `--tune`: 1 tries algorithms, 2 uses the fastest ones",
    }],
};

/// Values of the lever.
const OFF: f64 = 0.0;
const TRY: f64 = 1.0;
const USE: f64 = 2.0;
/// Share of the ranks' time in MPI from which on algorithms are tried.
const IN_MPI: f64 = 0.1;
/// Reports in a row that have to tell the same.
const N_SEEN: u32 = 4;
/// Reports for which algorithms are tried before they are to be used.
const N_TRIED: u32 = 5;
/// Refusals to use them after which they are tried no longer.
const N_REFUSED_MAX: u32 = 5;

/// The `collectives` tunlet; see the module documentation.
#[derive(Debug, Default)]
pub struct Collectives {
    point: Option<KnownPoint>,
    n_seen: u32,
    n_tried: u32,
    n_refused: u32,
    rest: Rest,
}

impl Tunlet for Collectives {
    fn spec(&self) -> TunletSpec {
        GUIDE.spec(NAME, "collective operations use an algorithm that is not the fastest", &[])
    }

    fn begin(&mut self, application: &Application, world: &World) -> Result<Requests, TunletError> {
        let point = Lookup { tunlet: NAME, application, world }.point(NAME)?;
        let points = vec![point.position];
        *self = Self { point: Some(point), ..Self::default() };
        let events = vec![Detail::None; application.events.len()];
        Ok(Requests { events, performance: true, points })
    }

    fn hear(&mut self, news: &News, decisions: &mut Vec<Decision>) {
        let Some(point) = &mut self.point else { return };
        match news {
            News::Performance(performance) => decisions.extend(self.judge(performance)),
            News::Applied(applied) if applied.point == point.position => {
                point.applied(applied.new);
                self.n_tried = 0;
                if applied.old.as_f64() == OFF {
                    self.n_refused = 0;
                }
            }
            News::Declined { point: declined, .. } if *declined == point.position => {
                point.declined();
                self.n_refused += 1;
                self.rest.begin();
            }
            _ => {}
        }
    }
}

impl Collectives {
    fn judge(&mut self, performance: &Performance) -> Option<Decision> {
        self.rest.pass();
        let point = self.point.as_mut().filter(|point| !point.is_waiting)?;
        if self.rest.is_resting() {
            return None;
        }
        let value = point.value.unwrap_or(OFF);
        if value == TRY {
            self.n_tried += 1;
            let is_over = N_REFUSED_MAX <= self.n_refused;
            if is_over {
                self.n_refused = 0;
                return Some(point.ask(OFF, "no algorithm was found that helps"));
            }
            let reason = "the library's algorithms have been tried";
            return (N_TRIED <= self.n_tried).then(|| point.ask(USE, reason));
        }
        let n_ranks = performance.usage.len().max(1) as f64;
        let share = performance.usage.iter().map(|rank| rank.mpi).sum::<f64>() / n_ranks;
        self.n_seen = if IN_MPI < share { self.n_seen + 1 } else { 0 };
        let is_due = value == OFF && N_SEEN <= self.n_seen;
        let in_mpi = percent(share);
        is_due.then(|| point.ask(TRY, &format!("ranks spend {in_mpi} of their time in MPI")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Applied, RankUsage};
    use events::{Lever, Value};

    /// Returns the values that are asked for in reports of a rank, each of which is set, or declined from `limit` on.
    fn asked(mpi: f64, n_reports: u32, limit: f64) -> Vec<f64> {
        let mut application = Application::default();
        application.add_levers(&[Lever::Collectives]);
        let mut tunlet = Collectives::default();
        tunlet.begin(&application, &World::default()).unwrap();
        let usage = vec![RankUsage { mpi, ..RankUsage::default() }];
        let report = News::Performance(Performance { usage, ..Performance::default() });
        let mut asked = Vec::new();
        for _ in 0..n_reports {
            let mut decisions = Vec::new();
            tunlet.hear(&report, &mut decisions);
            for Decision { point, value, .. } in decisions {
                let wanted = value.as_f64();
                asked.push(wanted);
                let (old, new) = (Value::Int(0), value);
                let applied = Applied { point, old, new, time_s: 0.0, hit: 0, is_own: true };
                let declined = News::Declined { point, reason: "none is faster".to_owned() };
                let news = if limit <= wanted { declined } else { News::Applied(applied) };
                tunlet.hear(&news, &mut Vec::new());
            }
        }
        asked
    }

    #[test]
    fn algorithms_are_tried_before_they_are_used() {
        assert_eq!(asked(0.05, 50, 3.0), [0.0; 0]);
        assert_eq!(asked(0.5, N_SEEN - 1, 3.0), [0.0; 0]);
        assert_eq!(asked(0.5, N_SEEN, 3.0), [TRY]);
        assert_eq!(asked(0.5, 50, 3.0), [TRY, USE]);
    }

    #[test]
    fn trials_end_where_nothing_is_found() {
        let asked = asked(0.5, 500, USE);
        assert_eq!(asked[..7], [TRY, USE, USE, USE, USE, USE, OFF]);
    }
}
