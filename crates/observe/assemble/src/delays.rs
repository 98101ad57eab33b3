//! Causes of waiting of all worlds of a traced run.

use models::delays::{self, Place};
use run_record::summary::{Delays, Doing, RankTime};

/// Maximum number of causes, and of parts of the critical path.
const N_MAX: usize = 100;

/// Joins the causes of each world; `None` if none could be computed.
pub(super) fn joined(worlds: &[Option<delays::Delays>]) -> Option<Delays> {
    let known = || worlds.iter().enumerate().filter_map(|(world, it)| Some((world, it.as_ref()?)));
    known().next()?;
    let causes = known().flat_map(|(world, it)| times(world, &it.causes));
    let path = known().flat_map(|(world, it)| times(world, &it.critical_path));
    Some(Delays {
        waiting_s: known().map(|(_, it)| seconds(it.waiting_ns)).sum(),
        causes: longest(causes.collect()),
        critical_path: longest(path.collect()),
    })
}

fn times(world: usize, times: &[delays::PlaceTime]) -> impl Iterator<Item = RankTime> {
    times.iter().map(move |time| {
        let (doing, from, to) = match time.place {
            Place::Computing(from, to) => (Doing::Computing, from, to),
            Place::Calling(site) => (Doing::Calling, None, site),
        };
        let id = |site: Option<u32>| site.map(|site| site as usize);
        let (from, to) = (id(from), id(to));
        RankTime { world, rank: time.rank, doing, from, to, time_s: seconds(time.time_ns) }
    })
}

fn longest(mut times: Vec<RankTime>) -> Vec<RankTime> {
    times.sort_by(|a, b| b.time_s.total_cmp(&a.time_s));
    times.truncate(N_MAX);
    times
}

fn seconds(ns: u64) -> f64 {
    ns as f64 * 1e-9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worlds_are_told_apart_and_the_longest_come_first() {
        assert_eq!(joined(&[None]), None);
        let time = |place, time_ns| delays::PlaceTime { rank: 2, place, time_ns };
        let world = |ns: u64| {
            Some(delays::Delays {
                waiting_ns: ns,
                causes: vec![time(Place::Computing(None, Some(4)), ns)],
                critical_path: vec![time(Place::Calling(Some(3)), ns)],
            })
        };
        let found = joined(&[world(1_000_000_000), None, world(2_000_000_000)]).unwrap();
        assert!((found.waiting_s - 3.0).abs() < 1e-9);
        let worlds: Vec<usize> = found.causes.iter().map(|it| it.world).collect();
        assert_eq!(worlds, [2, 0]);
        let part = found.critical_path[0];
        assert_eq!((part.doing, part.from, part.to), (Doing::Calling, None, Some(3)));
    }
}
