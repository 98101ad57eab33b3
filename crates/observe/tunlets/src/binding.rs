//! `binding`: ranks are bound to the same core while others are free, in any program.
//!
//! Happens where two launchers bind from the first core on, or a wrapper script binds. The ranks of each node are spread
//! over the cores that their job has there. Where the job has no other cores, the ranks say so, and nothing is changed.

use crate::lookup::{KnownPoint, Lookup};
use crate::tunlet::{
    Decision, Detail, Guide, News, Performance, PointNeed, RankUsage, Requests, Tunlet,
    TunletError, TunletSpec, World,
};
use app_description::Application;

pub(crate) const NAME: &str = "binding";

/// Guide for users of [`BindingRepair`].
pub(crate) const GUIDE: Guide = Guide {
    remedy: "spreads the ranks of a node over the cores that the job has there",
    iteration: "none, and no description: `sintonia run --tune=binding`",
    events: &[],
    points: &[PointNeed { name: NAME, meaning: "a lever of `--tune`: 1 spreads the ranks" }],
};

/// Ranks per core from which on they are bound to the same ones.
const DOUBLED: f64 = 1.05;

/// The `binding` tunlet; see the module documentation.
#[derive(Debug, Default)]
pub struct BindingRepair {
    point: Option<KnownPoint>,
    /// True after an attempt: what ranks may use changes rarely.
    is_over: bool,
}

impl Tunlet for BindingRepair {
    fn spec(&self) -> TunletSpec {
        GUIDE.spec(NAME, "ranks are bound to the same cores while others are free", &[])
    }

    fn begin(&mut self, application: &Application, world: &World) -> Result<Requests, TunletError> {
        let point = Lookup { tunlet: NAME, application, world }.point(NAME)?;
        let points = vec![point.position];
        *self = Self { point: Some(point), is_over: false };
        let events = vec![Detail::None; application.events.len()];
        Ok(Requests { events, performance: true, points })
    }

    fn hear(&mut self, news: &News, decisions: &mut Vec<Decision>) {
        let Some(point) = &mut self.point else { return };
        match news {
            News::Performance(performance) if !self.is_over => {
                if let Some(reason) = doubled(performance) {
                    self.is_over = true;
                    decisions.push(point.ask(1.0, &reason));
                }
            }
            News::Applied(applied) if applied.point == point.position => point.applied(applied.new),
            News::Declined { point: declined, .. } if *declined == point.position => {
                point.declined();
            }
            _ => {}
        }
    }
}

/// Sentence about ranks that share cores on a node that has one for each.
fn doubled(performance: &Performance) -> Option<String> {
    let on_node = |node| performance.usage.iter().filter(move |rank| rank.node == node);
    let is_doubled = |rank: &&RankUsage| {
        let n_ranks = on_node(rank.node).count();
        let is_bound = rank.cores_bound < f64::from(rank.cores_online);
        DOUBLED < rank.ranks_per_bound_core() && is_bound && n_ranks <= rank.cores_online as usize
    };
    let rank = performance.usage.iter().find(is_doubled)?;
    let (n, online) = (rank.rank.0, rank.cores_online);
    Some(format!("rank {n} shares its core with another rank, on a node with {online} cores"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(ranks: &[(f64, f64)], cores_online: u32, expected: bool) {
        let usage = ranks.iter().map(|(cores_bound, ranks_per_core)| RankUsage {
            cores_allowed: *cores_bound,
            cores_bound: *cores_bound,
            ranks_per_core: *ranks_per_core,
            cores_online,
            ..RankUsage::default()
        });
        let performance = Performance { usage: usage.collect(), ..Performance::default() };
        assert_eq!(doubled(&performance).is_some(), expected, "{ranks:?}");
    }

    #[test]
    fn ranks_on_one_core_beside_a_free_one_are_doubled() {
        check(&[(1.0, 2.0), (1.0, 2.0)], 2, true);
        check(&[(1.0, 1.0), (1.0, 1.0)], 2, false);
        check(&[(1.0, 2.0), (1.0, 2.0)], 1, false);
        check(&[(2.0, 1.5), (2.0, 1.5), (2.0, 1.5)], 2, false);
    }

    #[test]
    fn a_quota_doubles_nothing() {
        let rank = RankUsage { cores_allowed: 1.0, cores_bound: 2.0, ..RankUsage::default() };
        let usage = vec![RankUsage { ranks_per_core: 2.0, cores_online: 4, ..rank }; 2];
        assert_eq!(doubled(&Performance { usage, ..Performance::default() }), None);
    }
}
