//! Stretches of arrays that travel as one message, and windows that other ranks read.

use crate::{Outcome, SOON, equal};
use mpi::{
    Bundle, ByteRange, Comm, Exchange, Fetch, Memory, MpiError, SharedBuffer, VecBuffer, Window,
};
use std::sync::Arc;

/// Length of an array, in bytes.
const N: usize = 64;

pub(crate) fn all(world: &Comm) -> Outcome {
    for way in [Comm::start_exchange, Comm::exchange_now] {
        check(world, &mut |bundle| way(world, bundle))?;
    }
    check(world, &mut |bundle| world.start_messages(bundle, 4))?;
    rows(world, &mut |bundle| world.start_exchange_of_rows(bundle, 4))?;
    rows(world, &mut |bundle| world.exchange_rows_now(bundle, 4))?;
    common(world)?;
    nothing(world)?;
    windows(world)
}

/// Returns the bytes of the `number`th array of a rank.
fn content(rank: u32, number: u8) -> Vec<u8> {
    let first = u8::try_from(rank * 90).unwrap_or(u8::MAX).wrapping_add(number * 17);
    (0..N).map(|at| first.wrapping_add(at.to_le_bytes()[0])).collect()
}

fn lent(rank: u32, number: u8) -> SharedBuffer {
    Arc::new(VecBuffer(content(rank, number)))
}

type Begin<'a> = &'a mut dyn FnMut(Bundle) -> Result<Exchange, MpiError>;

/// Waits for an exchange, and returns its arrays.
fn arrays(mut exchange: Exchange) -> Result<Vec<Vec<u8>>, Box<dyn std::error::Error>> {
    let began = std::time::Instant::now();
    while !exchange.is_complete()? {
        if SOON < began.elapsed() {
            return Err("an exchange does not end".into());
        }
        std::thread::yield_now();
    }
    let bundle = exchange.finished().ok_or("complete and not finished")?;
    let arrays = bundle.received.into_iter().map(|(array, _)| array.into_any().downcast());
    arrays.map(|array| Ok(*array.map_err(|_| "other memory")?)).collect()
}

/// Sends two stretches of one array and one of another to the next rank, in one message.
fn check(world: &Comm, begin: Begin<'_>) -> Outcome {
    let (own, n) = (world.rank(), world.size());
    let (next, before) = ((own + 1) % n, (own + n - 1) % n);
    let stretch = |peer, start, n_bytes| ByteRange { peer, start, n_bytes };
    let empty = || -> Box<dyn Memory> { Box::new(VecBuffer(vec![0_u8; N])) };
    let exchange = begin(Bundle {
        sent: vec![
            (lent(own, 0), vec![stretch(next, 3, 10), stretch(next, 20, 1)]),
            (lent(own, 1), vec![stretch(next, 60, 4)]),
        ],
        received: vec![
            (empty(), vec![stretch(before, 5, 10)]),
            (empty(), vec![stretch(before, 0, 1), stretch(before, 1, 4)]),
        ],
    })?;
    let (first, second) = (content(before, 0), content(before, 1));
    let mut expected = vec![vec![0; N]; 2];
    expected[0][5..15].copy_from_slice(&first[3..13]);
    expected[1][0] = first[20];
    expected[1][1..5].copy_from_slice(&second[60..]);
    equal(arrays(exchange)?, expected)?;
    let beyond = vec![(lent(own, 0), vec![stretch(next, 60, 5)])];
    let refused = begin(Bundle { sent: beyond, received: Vec::new() });
    equal(matches!(refused, Err(MpiError::Length { given: N, wanted: 65, .. })), true)
}

/// Rank 0 sends each rank its rows of 4 bytes, in reverse order of ranks.
fn rows(world: &Comm, begin: Begin<'_>) -> Outcome {
    let (own, n) = (world.rank(), world.size());
    let start = |peer: u32| 8 * (n - 1 - peer) as usize;
    let stretch = |peer| ByteRange { peer, start: start(peer), n_bytes: 8 };
    let ranges = if own == 0 { (0..n).map(stretch).collect() } else { Vec::new() };
    let memory: Box<dyn Memory> = Box::new(VecBuffer(vec![0_u8; 8]));
    let exchange = begin(Bundle {
        sent: vec![(lent(own, 0), ranges)],
        received: vec![(memory, vec![ByteRange { peer: 0, start: 0, n_bytes: 8 }])],
    })?;
    equal(arrays(exchange)?, vec![content(0, 0)[start(own)..][..8].to_vec()])
}

fn common(world: &Comm) -> Outcome {
    let last = world.size() - 1;
    let own = if world.rank() == last { content(last, 3) } else { vec![0; N] };
    equal(arrays(world.start_broadcast(Box::new(VecBuffer(own)), last)?)?, vec![content(last, 3)])?;
    equal(arrays(world.start_barrier()?)?.len(), 0)
}

/// Exchanges without bytes on all ranks: the address of an empty array may equal `MPI_IN_PLACE`.
fn nothing(world: &Comm) -> Outcome {
    let begun = [
        world.start_exchange(Bundle::default())?,
        world.exchange_now(Bundle::default())?,
        world.start_exchange_of_rows(Bundle::default(), 4)?,
        world.exchange_rows_now(Bundle::default(), 4)?,
    ];
    for exchange in begun {
        equal(arrays(exchange)?.len(), 0)?;
    }
    let empty = Box::new(VecBuffer(Vec::<u8>::new()));
    equal(arrays(world.start_broadcast(empty, 0)?)?, vec![Vec::new()])
}

/// All ranks read a part of the memory that rank 0 and their neighbor expose; the last rank exposes
/// nothing.
fn windows(world: &Comm) -> Outcome {
    let (own, n) = (world.rank(), world.size());
    let is_empty = |rank: u32| 0 < rank && rank == n - 1;
    let exposed = (!is_empty(own)).then(|| lent(own, 2));
    let window = match Window::expose(world, exposed) {
        // Open MPI 4 supports no window on a single rank.
        Err(MpiError::Call { call: "MPI_Win_create", .. }) if n == 1 => return Ok(()),
        window => window?,
    };
    let mut fetch = Fetch::into(world.mpi(), Box::new(VecBuffer(vec![0_u8; N])));
    window.get(&mut fetch, 0, (0, 7), 20)?;
    let next = if is_empty((own + 1) % n) { own } else { (own + 1) % n };
    let from = if is_empty(next) { 0 } else { next };
    window.get(&mut fetch, 30, (from, 0), 34)?;
    let beyond = window.get(&mut fetch, 0, (0, 60), 5);
    equal(beyond, Err(MpiError::Length { call: "MPI_Rget", given: N, wanted: 65 }))?;
    let nobody = window.get(&mut fetch, 0, (n, 0), 1);
    equal(nobody, Err(MpiError::NoRank { rank: n, n_ranks: n }))?;
    while !fetch.is_complete()? {
        std::thread::yield_now();
    }
    let fetched = fetch.finished().ok_or("complete and not finished")?;
    let fetched: Box<Vec<u8>> = fetched.into_any().downcast().map_err(|_| "other memory")?;
    equal(&fetched[..20], &content(0, 2)[7..27])?;
    equal(&fetched[30..], &content(from, 2)[..34])?;
    world.barrier()?;
    Ok(window.close()?)
}
