//! Board: memory that the ranks of a node share, on which they agree about algorithms of collective operations.
//!
//! A communicator has a *table* there, and each of its ranks a *seat*. No message is sent and nobody waits: a rank writes
//! how many synchronizing calls of the communicator it has entered, and reads at which of them something changes
//! (`agreement`). One rank decides from the times that all have written (`trials`).
//!
//! # Invariants
//! - Zeros are a valid board, so that whoever comes first makes it.
//! - Memory is reserved before it is touched: a full file system refuses a board and never raises SIGBUS.
//! - A table is used only where every rank of the communicator has taken its seat.
//!
//! # Not here
//! Communicators and calls of MPI (`probe`).

mod agreement;
mod trials;

pub use agreement::{Change, Standing};
pub use trials::{Choice, Next, Trials};

use std::fs::OpenOptions;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU64, Ordering};

/// Largest number of ranks of a communicator.
pub const N_SEATS: usize = 64;
/// Largest number of communicators at a time.
const N_TABLES: usize = 16;
/// Kinds of operations.
pub const N_KINDS: usize = 4;
/// Classes of sizes: each holds sizes up to four times the smallest.
pub const N_CLASSES: usize = 12;
/// Pairs of a kind of operation and a class of sizes.
pub const N_CELLS: usize = N_KINDS * N_CLASSES;
/// Algorithms of a cell: the first is that of the library.
pub const N_ARMS: usize = 5;

/// Memory that the ranks of a node share.
#[derive(Debug)]
#[repr(C)]
pub struct Board {
    tables: [RankTable; N_TABLES],
}

/// A communicator on the board.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct RankTable {
    /// Number that all ranks of the communicator compute alike; 0 if the table is free.
    key: AtomicU64,
    /// Latest change, and the call at which it happens (`agreement`).
    change: AtomicU64,
    /// Ranks that have left their seats for good.
    n_left: AtomicU64,
    /// Not 0 once ranks have counted differently.
    is_broken: AtomicU64,
    /// Number of cells with another algorithm than the library's.
    n_choices: AtomicU64,
    /// Algorithm of each cell.
    choices: [AtomicU8; N_CELLS],
    /// Its time in thousandths of that of the library's algorithm.
    times: [AtomicU16; N_CELLS],
    seats: [Seat; N_SEATS],
}

/// A rank's part of a table.
#[derive(Debug)]
#[repr(C, align(128))]
struct Seat {
    /// Number of synchronizing calls entered, with the rank's [`Standing`].
    progress: AtomicU64,
    /// Call at which the latest change was made.
    adopted: AtomicU64,
    /// Ticks at which the latest two calls were entered.
    entered: [AtomicU64; 2],
    /// Time and number of calls by cell, since the latest change.
    cells: [AtomicU64; N_CELLS],
}

/// Bits of a cell for the number of calls; the others hold their ticks.
const CALL_BITS: u32 = 16;
/// Calls of a rank in a block from which on their mean counts.
const N_CALLS_MIN: u64 = 2;

impl Board {
    /// Opens or makes the board of this name; it stays for the life of the process.
    ///
    /// # Errors
    /// The system has no room, or forbids it.
    pub fn open(path: &Path) -> std::io::Result<&'static Self> {
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let file = file.open(path)?;
        let len = size_of::<Self>();
        let end = i64::try_from(len).map_err(std::io::Error::other)?;
        // SAFETY: a system call on a file we hold open.
        let code = unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, end) };
        if code != 0 {
            return Err(std::io::Error::from_raw_os_error(code));
        }
        let rights = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping of a file we hold open, at an address the kernel chooses.
        let start =
            unsafe { libc::mmap(null_mut(), len, rights, libc::MAP_SHARED, file.as_raw_fd(), 0) };
        if start == libc::MAP_FAILED {
            return Err(std::io::Error::last_os_error());
        }
        // SAFETY: the mapping is as long as a board, is never unmapped, and holds atomics, of which any bytes are valid.
        Ok(unsafe { &*start.cast::<Self>() })
    }

    /// Returns the table with this key, taken now if nobody has done so; `None` if all are taken.
    pub fn table(&self, key: u64) -> Option<&RankTable> {
        let holds = |table: &&RankTable| table.key.load(Ordering::SeqCst) == key;
        self.tables.iter().find(holds).or_else(|| {
            self.tables.iter().find(|table| {
                let (new, now) = (Ordering::SeqCst, Ordering::SeqCst);
                table.key.compare_exchange(0, key, new, now).is_ok() || holds(table)
            })
        })
    }

    /// Cells of all communicators for which a faster algorithm than the library's was found.
    pub fn choices(&self) -> Vec<Choice> {
        let found = self.tables.iter().filter(|table| table.n_choices.load(Ordering::Acquire) != 0);
        found.flat_map(RankTable::found).collect()
    }
}

impl RankTable {
    /// Adds the time of a call to a cell of a rank.
    pub fn add(&self, rank: usize, cell: usize, ticks: u64) {
        let Some(cell) = self.seats.get(rank).and_then(|seat| seat.cells.get(cell)) else { return };
        let old = cell.load(Ordering::Relaxed);
        let is_full = old & ((1 << CALL_BITS) - 1) == (1 << CALL_BITS) - 1;
        let ticks = ticks.min(1 << 40);
        if let (false, Some(new)) = (is_full, old.checked_add((ticks << CALL_BITS) + 1)) {
            cell.store(new, Ordering::Relaxed);
        }
    }

    /// Forgets the times of a rank.
    pub fn clear(&self, rank: usize) {
        let cells = self.seats.get(rank).into_iter().flat_map(|seat| &seat.cells);
        cells.for_each(|cell| cell.store(0, Ordering::Relaxed));
    }

    /// Ticks of a call for each cell, by the slowest rank; `None` where a rank made too few calls.
    pub fn times(&self, n_ranks: usize) -> [Option<f64>; N_CELLS] {
        std::array::from_fn(|cell| {
            let word = |seat: &Seat| seat.cells[cell].load(Ordering::Relaxed);
            let mean = |word: u64| {
                let n_calls = word & ((1 << CALL_BITS) - 1);
                (N_CALLS_MIN <= n_calls).then(|| (word >> CALL_BITS) as f64 / n_calls as f64)
            };
            let mut means = self.seats.iter().take(n_ranks).map(|seat| mean(word(seat)));
            means.try_fold(0.0_f64, |slowest, mean| Some(slowest.max(mean?)))
        })
    }

    /// Notes when a rank has entered a call.
    pub fn note_entry(&self, rank: usize, count: u64, ticks: u64) {
        if let Some(seat) = self.seats.get(rank) {
            seat.entered[usize::from(count % 2 == 1)].store(ticks, Ordering::Release);
        }
    }

    /// Ticks at which the last rank has entered a call that has ended.
    pub fn last_entry(&self, n_ranks: usize, count: u64) -> u64 {
        let idx = usize::from(count % 2 == 1);
        let entered = |seat: &Seat| seat.entered[idx].load(Ordering::Acquire);
        self.seats.iter().take(n_ranks).map(entered).max().unwrap_or_default()
    }

    /// Writes the algorithms that were chosen.
    pub fn choose(&self, choices: &[Choice]) {
        self.choices.iter().for_each(|arm| arm.store(0, Ordering::Relaxed));
        for choice in choices {
            self.choices[choice.cell].store(choice.arm, Ordering::Relaxed);
            #[expect(clippy::cast_possible_truncation, reason = "a ratio below 1")]
            #[expect(clippy::cast_sign_loss, reason = "times are positive")]
            let time = (choice.ratio * 1e3) as u16;
            self.times[choice.cell].store(time, Ordering::Relaxed);
        }
        self.n_choices.store(choices.len() as u64, Ordering::Release);
    }

    fn found(&self) -> impl Iterator<Item = Choice> {
        (0..N_CELLS).filter_map(|cell| {
            let ratio = f64::from(self.times[cell].load(Ordering::Relaxed)) / 1e3;
            let arm = self.choice(cell);
            (arm != 0).then_some(Choice { cell, arm, ratio })
        })
    }

    /// Algorithm of a cell.
    pub fn choice(&self, cell: usize) -> u8 {
        self.choices.get(cell).map_or(0, |arm| arm.load(Ordering::Relaxed))
    }

    /// Leaves a seat for good; the last rank to do so frees the table.
    pub fn leave(&self, n_ranks: usize) {
        if self.n_left.fetch_add(1, Ordering::SeqCst) + 1 < n_ranks as u64 {
            return;
        }
        for seat in &self.seats {
            seat.progress.store(0, Ordering::Relaxed);
            seat.adopted.store(0, Ordering::Relaxed);
            seat.entered.iter().for_each(|ticks| ticks.store(0, Ordering::Relaxed));
            seat.cells.iter().for_each(|cell| cell.store(0, Ordering::Relaxed));
        }
        self.choose(&[]);
        for word in [&self.change, &self.n_left, &self.is_broken] {
            word.store(0, Ordering::Relaxed);
        }
        self.key.store(0, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a board of its own for a test.
    pub(super) fn board() -> &'static Board {
        // SAFETY: zeros are a valid board.
        let board = unsafe { Box::<Board>::new_zeroed().assume_init() };
        Box::leak(board)
    }

    #[test]
    fn ranks_find_the_same_table_until_all_have_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("board");
        let (one, other) = (Board::open(&path).unwrap(), Board::open(&path).unwrap());
        one.table(7).unwrap().add(0, 3, 100);
        one.table(7).unwrap().add(0, 3, 300);
        other.table(7).unwrap().add(1, 3, 100);
        other.table(7).unwrap().add(1, 3, 100);
        assert_eq!(other.table(7).unwrap().times(2)[3], Some(200.0));
        assert_eq!(other.table(7).unwrap().times(3)[3], None);
        assert_eq!(other.table(8).unwrap().times(1)[3], None);
        one.table(7).unwrap().leave(2);
        assert!(one.table(7).unwrap().times(2)[3].is_some());
        other.table(7).unwrap().leave(2);
        assert_eq!(one.table(7).unwrap().times(2)[3], None);
    }

    #[test]
    fn a_full_board_refuses() {
        let board = board();
        let taken = (1..100).filter(|key| board.table(*key).is_some()).count();
        assert_eq!(taken, N_TABLES);
    }
}
