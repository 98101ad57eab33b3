//! Counts the ways to place N queens on a board of N times N fields: each task makes those of the next row.
//!
//! Called as `queens N [OPTION...]`.

use master_worker::{Bag, Error, Options, bag};
use std::io::Write;

/// Rows from the last one on that a task does itself.
const N_ROWS_TOGETHER: u32 = 6;

/// Bits of the columns, and of the diagonals, that are taken in the next row.
type Taken = (u32, u32, u32);

fn main() -> Result<(), Error> {
    let (options, words) = Options::parse(std::env::args().skip(1));
    let n = words.first().and_then(|word| word.parse().ok()).unwrap_or(10_u32).clamp(1, 20);
    let place = move |taken: Taken, bag: &mut Bag<Taken>| {
        if n - taken.0.count_ones() <= N_ROWS_TOGETHER {
            return n_ways(n, taken);
        }
        next_rows(n, taken).for_each(|next| bag.add(next));
        0
    };
    if let Some(ways) = bag(vec![(0, 0, 0)], options, place)? {
        let (n_tasks, n_ways) = (ways.len(), ways.iter().sum::<u64>());
        // Ignored: nobody reads it.
        let _written =
            writeln!(std::io::stdout(), "{n_ways} ways to place {n} queens, in {n_tasks} tasks");
    }
    Ok(())
}

/// What is taken with a queen on each free field of the row.
fn next_rows(n: u32, (columns, left, right): Taken) -> impl Iterator<Item = Taken> {
    let free =
        (0..n).map(|column| 1 << column).filter(move |field| (columns | left | right) & field == 0);
    free.map(move |field| (columns | field, (left | field) << 1, (right | field) >> 1))
}

fn n_ways(n: u32, taken: Taken) -> u64 {
    if taken.0.count_ones() == n {
        return 1;
    }
    next_rows(n, taken).map(|next| n_ways(n, next)).sum()
}
