//! First come, first served, with EASY backfilling (Lifka 1995): a later job starts earlier if the first one that waits is
//! not delayed by that, for all that limits of time tell.

/// Job that waits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Waiting {
    /// Fewest and most nodes with which it starts.
    pub(super) least: u32,
    pub(super) most: u32,
}

/// Nodes of a running job, and when its limit of time ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Held {
    pub(super) n_nodes: u32,
    pub(super) until_s: f64,
}

/// Places of the jobs that start now, with their nodes; `limit_s` is the limit of the job at a place on some nodes.
pub(super) fn starts(
    waiting: &[Waiting],
    mut held: Vec<Held>,
    mut n_free: u32,
    now_s: f64,
    limit_s: impl Fn(usize, u32) -> f64,
) -> Vec<(usize, u32)> {
    let mut started = Vec::new();
    let mut rest = waiting.iter().enumerate();
    let first = loop {
        let Some((place, job)) = rest.next() else { return started };
        if n_free < job.least {
            break job;
        }
        let n_nodes = job.most.min(n_free);
        started.push((place, n_nodes));
        held.push(Held { n_nodes, until_s: now_s + limit_s(place, n_nodes) });
        n_free -= n_nodes;
    };
    let (shadow_s, mut n_extra) = reservation(first.least, held, n_free);
    for (place, job) in rest {
        let most = job.most.min(n_free);
        if most < job.least {
            continue;
        }
        if now_s + limit_s(place, most) <= shadow_s {
            started.push((place, most));
            n_free -= most;
        } else if job.least <= n_extra {
            let n_nodes = most.min(n_extra);
            started.push((place, n_nodes));
            n_free -= n_nodes;
            n_extra -= n_nodes;
        }
    }
    started
}

/// Time at which the first job that waits starts at the latest, and the number of nodes that it leaves.
fn reservation(wanted: u32, mut held: Vec<Held>, mut n_free: u32) -> (f64, u32) {
    held.sort_by(|a, b| a.until_s.total_cmp(&b.until_s));
    for job in held {
        n_free += job.n_nodes;
        if wanted <= n_free {
            return (job.until_s, n_free - wanted);
        }
    }
    (f64::INFINITY, n_free.saturating_sub(wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Jobs that wait have nodes and a limit; those that run, nodes and an end.
    #[track_caller]
    fn check(waiting: &[(u32, f64)], held: &[(u32, f64)], n_free: u32, expected: &[usize]) {
        let jobs = waiting.iter().map(|(n, _)| Waiting { least: *n, most: *n });
        let held =
            held.iter().map(|(n_nodes, until_s)| Held { n_nodes: *n_nodes, until_s: *until_s });
        let found =
            starts(&jobs.collect::<Vec<_>>(), held.collect(), n_free, 0.0, |at, _| waiting[at].1);
        assert_eq!(found.iter().map(|(place, _)| *place).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn the_first_ones_start_in_order() {
        check(&[(2, 9.0), (1, 9.0), (1, 9.0)], &[], 3, &[0, 1]);
        check(&[(4, 9.0), (1, 21.0)], &[(1, 20.0)], 3, &[]);
    }

    #[test]
    fn a_later_job_does_not_delay_the_first() {
        // The first waits for 4 nodes until 10 s.
        check(&[(4, 9.0), (1, 10.0)], &[(3, 10.0)], 1, &[1]);
        check(&[(4, 9.0), (1, 11.0)], &[(3, 10.0)], 1, &[]);
        // One node is left then.
        check(&[(4, 9.0), (1, 11.0)], &[(4, 10.0)], 1, &[1]);
        check(&[(4, 9.0), (1, 11.0), (1, 11.0)], &[(4, 10.0)], 2, &[1, 2]);
        check(&[(4, 9.0), (1, 11.0), (1, 11.0)], &[(3, 10.0)], 2, &[1]);
        // What starts first is held until its limit.
        check(&[(2, 5.0), (4, 9.0), (1, 6.0), (1, 5.0)], &[(1, 1.0)], 3, &[0, 3]);
    }

    #[test]
    fn a_range_takes_what_is_free() {
        let range = Waiting { least: 1, most: 4 };
        let limit_s = |_, n: u32| 12.0 / f64::from(n);
        assert_eq!(starts(&[range, range], vec![], 3, 0.0, limit_s), [(0, 3)]);
        let held = vec![Held { n_nodes: 2, until_s: 7.0 }];
        let first = Waiting { least: 4, most: 4 };
        assert_eq!(starts(&[first, range], held, 2, 0.0, limit_s), [(1, 2)]);
    }
}
