//! Laws that hold for all partitions, plans and nodes.

use proptest::prelude::*;
use resize_plan::{JobNode, MovePlan, Partition, RowBytes, TargetProcess, place_where_found, stay};
use std::collections::BTreeSet;

fn partition(n_rows: u64) -> impl Strategy<Value = Partition> {
    let parts = 1..9_u32;
    let bounds = prop::collection::vec(0..=n_rows, 0..8).prop_map(move |mut bounds| {
        bounds.sort_unstable();
        bounds.insert(0, 0);
        bounds.push(n_rows);
        Partition::given(bounds).expect("bounds")
    });
    let weighted = (prop::collection::vec(0..50_u64, n_rows as usize), parts.clone())
        .prop_map(|(weights, parts)| Partition::weighted(&weights, parts).expect("weights"));
    prop_oneof![
        parts.clone().prop_map(move |parts| Partition::even(n_rows, parts).expect("parts")),
        (parts.clone(), 1..6_u64)
            .prop_map(move |(parts, block)| Partition::aligned(n_rows, parts, block).expect("parts")),
        (parts.clone(), 1..9_u64).prop_map(move |(parts, n_columns)| {
            // The nearest width that divides the cells into whole rows.
            let n_columns = (1..=n_columns).rev().find(|n| n_rows.is_multiple_of(*n)).expect("1 does");
            Partition::blocks_2d(n_rows / n_columns, n_columns, parts).expect("parts")
        }),
        (parts.clone(), 1..5_u64, 1..5_u64).prop_map(move |(parts, n_planes, n_lines)| {
            let of = |n: u64, most| (1..=most).rev().find(|part| n.is_multiple_of(*part)).expect("1 does");
            let n_planes = of(n_rows, n_planes);
            let n_lines = of(n_rows / n_planes, n_lines);
            let extents = [n_planes, n_lines, n_rows / n_planes / n_lines];
            Partition::blocks_3d(extents, parts).expect("parts")
        }),
        (parts, 1..6_u64)
            .prop_map(move |(parts, block)| Partition::cyclic(n_rows, parts, block).expect("parts")),
        bounds,
        weighted,
    ]
}

/// Two partitions of the same rows, and the bytes of each row.
fn two() -> impl Strategy<Value = ([Partition; 2], Vec<u64>)> {
    (0..60_u64).prop_flat_map(|n_rows| {
        let rows = prop::collection::vec(0..100_u64, n_rows as usize);
        ([partition(n_rows), partition(n_rows)], rows)
    })
}

/// Part that holds each row.
fn owners(partition: &Partition) -> Vec<u32> {
    let mut owners = vec![u32::MAX; partition.n_rows() as usize];
    for part in 0..partition.n_parts() {
        for row in partition.rows_of(part).flatten() {
            assert_eq!(owners[row as usize], u32::MAX, "row {row} has two owners");
            owners[row as usize] = part;
        }
    }
    owners
}

/// Exhaustive search over the sources that stay.
struct Choices<'a> {
    plan: &'a MovePlan,
    of: &'a RowBytes,
    bound: &'a [bool],
}

impl Choices<'_> {
    /// Largest number of bytes that any choice keeps in place.
    fn most_kept(&self) -> u64 {
        let n_stay = self.plan.n_sources().min(self.plan.n_targets());
        let free = (0..self.plan.n_targets()).collect();
        self.most_from(0, &free, n_stay).expect("somebody stays")
    }

    fn most_from(&self, source: u32, free: &BTreeSet<u32>, n_left: u32) -> Option<u64> {
        if source == self.plan.n_sources() {
            return (n_left == 0).then_some(0);
        }
        let leaves = || self.most_from(source + 1, free, n_left);
        let mut best = if self.bound[source as usize] { None } else { leaves() };
        for seat in free.iter().copied().filter(|_| 0 < n_left) {
            let rest = free.iter().copied().filter(|other| *other != seat).collect();
            let kept = self.most_from(source + 1, &rest, n_left - 1);
            best = best.max(kept.map(|kept| kept + self.shared(source, seat)));
        }
        best
    }

    fn shared(&self, from: u32, to: u32) -> u64 {
        self.plan
            .given_by(from)
            .filter(|step| step.to == to)
            .map(|step| self.of.of(&step.rows))
            .sum()
    }
}

fn blocks(n_rows: u64) -> impl Strategy<Value = Partition> {
    prop::collection::vec(0..=n_rows, 0..4).prop_map(move |mut bounds| {
        bounds.sort_unstable();
        bounds.insert(0, 0);
        bounds.push(n_rows);
        Partition::given(bounds).expect("bounds")
    })
}

proptest! {
    #[test]
    fn every_row_moves_once((([sources, targets], _), part) in (two(), 0..9_u32)) {
        let plan = MovePlan::between(&sources, &targets).unwrap();
        let (before, after) = (owners(&sources), owners(&targets));
        let mut row = 0;
        for step in plan.moves() {
            prop_assert_eq!(step.rows.start, row);
            prop_assert!(step.rows.start < step.rows.end);
            for one in step.rows.clone() {
                prop_assert_eq!((step.from, step.to), (before[one as usize], after[one as usize]));
            }
            row = step.rows.end;
        }
        prop_assert_eq!(row, sources.n_rows());
        let given = plan.given_by(part).map(|step| step.rows.end - step.rows.start).sum::<u64>();
        prop_assert_eq!(given, sources.n_rows_of(part));
        let got = plan.moves().iter().filter(|step| step.to == part);
        let n_got = got.map(|step| step.rows.end - step.rows.start).sum::<u64>();
        prop_assert_eq!(n_got, targets.n_rows_of(part));
    }

    #[test]
    fn the_same_partition_moves_nothing((parts, rows) in two()) {
        let plan = MovePlan::between(&parts[0], &parts[0]).unwrap();
        prop_assert!(plan.moves().iter().all(|step| step.from == step.to));
        let of = RowBytes::of_rows(rows);
        let seats = stay(&plan, &of, &[]).unwrap();
        prop_assert_eq!(plan.bytes_moved(&of, &seats), 0);
    }

    #[test]
    fn a_part_has_its_share_and_a_row_at_most(weights in prop::collection::vec(0..50_u64, 1..60), parts in 1..9_u32) {
        let partition = Partition::weighted(&weights, parts).unwrap();
        let total = weights.iter().sum::<u64>() as f64;
        let heaviest = *weights.iter().max().unwrap() as f64;
        for part in 0..parts {
            let rows = partition.rows_of(part).flatten();
            let weight = rows.map(|row| weights[row as usize]).sum::<u64>() as f64;
            prop_assert!(weight <= total / f64::from(parts) + heaviest + 1e-9, "{part}: {weight}");
        }
    }

    #[test]
    fn holders_of_rows_find_the_same_cuts(
        (weights, bounds) in (0..60_u64).prop_flat_map(|n_rows| (
            prop::collection::vec(0..50_u64, n_rows as usize),
            blocks(n_rows),
        )),
        parts in 1..9_u32,
    ) {
        let total = weights.iter().copied().map(u128::from).sum::<u128>();
        let mut sums = vec![0; parts as usize];
        for (_, rows) in bounds.runs() {
            let before = weights[..rows.start as usize].iter().copied().map(u128::from).sum();
            let own = weights[rows.start as usize..rows.end as usize].iter().copied();
            let cuts = Partition::weighted_cuts(own, before, total, parts).unwrap();
            sums.iter_mut().zip(cuts).for_each(|(sum, cut)| *sum += cut);
        }
        sums.push(bounds.n_rows());
        let whole = Partition::weighted(&weights, parts).unwrap();
        prop_assert_eq!(whole, Partition::given(sums).unwrap());
    }

    #[test]
    fn rectangles_are_whole(n_rows in 0..12_u64, n_columns in 1..12_u64, parts in 1..9_u32) {
        let partition = Partition::blocks_2d(n_rows, n_columns, parts).unwrap();
        for part in 0..parts {
            let cells = partition.rows_of(part).flatten().collect::<Vec<_>>();
            if u64::from(parts) <= n_rows.min(n_columns) {
                prop_assert!(!cells.is_empty());
            }
            let extent = |places: BTreeSet<u64>| {
                places.first().zip(places.last()).map_or(0, |(first, last)| last + 1 - first)
            };
            let n_down = extent(cells.iter().map(|cell| cell / n_columns).collect());
            let n_across = extent(cells.iter().map(|cell| cell % n_columns).collect());
            prop_assert_eq!(cells.len() as u64, n_down * n_across);
        }
        prop_assert!(owners(&partition).iter().all(|part| *part < parts));
    }

    #[test]
    fn cuboids_are_whole(extents in [0..8_u64, 0..8_u64, 0..8_u64], parts in 1..13_u32) {
        let partition = Partition::blocks_3d(extents, parts).unwrap();
        let [_, n_rows, n_columns] = extents;
        for part in 0..parts {
            let [planes, rows, columns] = partition.block(part).unwrap();
            let row = |plane: u64, row: u64| {
                columns.clone().map(move |column| (plane * n_rows + row) * n_columns + column)
            };
            let rows = |plane| rows.clone().flat_map(move |number| row(plane, number)).collect::<Vec<_>>();
            let cells = planes.flat_map(rows).collect::<Vec<_>>();
            prop_assert_eq!(partition.rows_of(part).flatten().collect::<Vec<_>>(), cells);
        }
        prop_assert!(owners(&partition).iter().all(|part| *part < parts));
    }

    #[test]
    fn nobody_could_keep_more(
        (sources, targets, rows, bound) in (0..30_u64).prop_flat_map(|n_rows| (
            blocks(n_rows),
            blocks(n_rows),
            prop::collection::vec(0..20_u64, n_rows as usize),
            prop::collection::vec(any::<bool>(), 5),
        ))
    ) {
        let plan = MovePlan::between(&sources, &targets).unwrap();
        let of = RowBytes::of_rows(rows);
        let bound = &bound[..plan.n_sources() as usize];
        let n_bound = bound.iter().filter(|bound| **bound).count();
        let seats = stay(&plan, &of, bound);
        prop_assert_eq!(seats.is_err(), (plan.n_targets() as usize) < n_bound);
        if let Ok(seats) = seats {
            let staying = seats.iter().filter_map(|seat| match seat {
                TargetProcess::Stays { source } => Some(*source),
                TargetProcess::New => None,
            });
            let staying = staying.collect::<BTreeSet<_>>();
            prop_assert_eq!(staying.len() as u32, plan.n_sources().min(plan.n_targets()));
            prop_assert!((0..).zip(bound).all(|(source, bound)| !bound || staying.contains(&source)));
            let choices = Choices { plan: &plan, of: &of, bound };
            let all = of.of(&(0..plan.n_rows()));
            prop_assert_eq!(all - plan.bytes_moved(&of, &seats), choices.most_kept());
        }
    }

    #[test]
    fn no_other_nodes_would_be_nearer(
        found in prop::collection::vec(prop::collection::vec(0..900_u64, 3), 0..8),
        cores in prop::collection::vec(0..6_u32, 3),
    ) {
        let nodes = cores.iter().map(|n_cores| JobNode { n_cores: *n_cores, n_busy: 0 }).collect::<Vec<_>>();
        let node_of = place_where_found(&found, &nodes);
        prop_assert_eq!(node_of.is_err(), (cores.iter().sum::<u32>() as usize) < found.len());
        if let Ok(node_of) = node_of {
            let kept = |node_of: &[usize]| found.iter().zip(node_of).map(|(on, node)| on[*node]).sum::<u64>();
            let fits = |node_of: &[usize]| (0..3).all(|node| {
                node_of.iter().filter(|one| **one == node).count() <= cores[node] as usize
            });
            prop_assert!(fits(&node_of));
            let mut other = vec![0; node_of.len()];
            let mut most = 0;
            'all: loop {
                if fits(&other) {
                    most = most.max(kept(&other));
                }
                for place in 0..=other.len() {
                    if place == other.len() {
                        break 'all;
                    }
                    other[place] += 1;
                    if other[place] < 3 {
                        break;
                    }
                    other[place] = 0;
                }
            }
            prop_assert_eq!(kept(&node_of), most);
        }
    }
}
