//! Connections that have not proved the key: few, and the oldest goes when there is no room.
//!
//! Who has the key says so within milliseconds. Who connects and says nothing goes first, then who has been there
//! longest. Connections of one address take only a part of the room, so that a flood from there drives out nobody
//! but itself. When many come at once from everywhere, as the collectors of a large job do, they wait for each other.

use std::net::{IpAddr, Ipv6Addr, Shutdown, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A connection is not driven out in its first moments, by others of its address: in them who has the key proves it.
const GRACE: Duration = Duration::from_millis(20);
/// The same by others from elsewhere, who wait so long.
const SETTLED: Duration = Duration::from_millis(250);
/// Longest time between two looks for room.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// One of so many files that this process may open is a stranger's.
const FILES_PER_STRANGER: u64 = 8;

/// How many strangers there may be at the same time.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// In all.
    pub n_max: usize,
    /// Of one address; an IPv6 network of 64 bits counts as one.
    pub n_per_address_max: usize,
}

impl Limits {
    fn within_files(self) -> Self {
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        let n_files = limit.map_or(u64::MAX, |limit| limit / FILES_PER_STRANGER);
        let n_files = usize::try_from(n_files).unwrap_or(usize::MAX).max(1);
        Self {
            n_max: self.n_max.min(n_files),
            n_per_address_max: self.n_per_address_max.min(n_files),
        }
    }
}

/// The connections of a listener that have not proved the key.
#[derive(Debug)]
pub struct Strangers {
    limits: Limits,
    table: Mutex<Table<Arc<TcpStream>>>,
    /// Somebody has left.
    left: Condvar,
}

/// The place of one of them; without [`Seat::prove`] it is counted as a stranger's when it ends.
#[derive(Debug)]
pub struct Seat {
    strangers: Arc<Strangers>,
    number: u64,
    is_proved: bool,
}

impl Strangers {
    /// Nobody yet; fewer at a time than the limits say where this process may open few files.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            limits: limits.within_files(),
            table: Mutex::new(Table::default()),
            left: Condvar::new(),
        }
    }

    /// A place for a connection; none when there is no room. May end another connection, and wait for a moment.
    pub(crate) fn admit(self: &Arc<Self>, from: IpAddr, stream: &Arc<TcpStream>) -> Option<Seat> {
        let (from, deadline) = (origin(from), Instant::now() + SETTLED);
        let mut table = self.table();
        loop {
            let now = Instant::now();
            match table.make_room(from, now, self.limits) {
                Room::Free => break,
                Room::Soon if now < deadline => {
                    let waited = self.left.wait_timeout(table, LOOK_EVERY);
                    table = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
                Room::Soon | Room::None => {
                    table.n_unproved += 1;
                    return None;
                }
            }
        }
        let number = table.enter(from, Instant::now(), Arc::clone(stream));
        table.drop_driven_out(end);
        Some(Seat { strangers: Arc::clone(self), number, is_proved: false })
    }

    /// Ends the connection that is worth least, but not that of `kept`; false when there is none.
    pub(crate) fn drop_one(&self, kept: Option<u64>) -> bool {
        let mut table = self.table();
        let least = table.least(|row| Some(row.number) != kept);
        if let Some(at) = least {
            table.drive_out(at);
        }
        table.drop_driven_out(end);
        least.is_some()
    }

    /// Waits until somebody leaves, or so long.
    pub(crate) fn wait_for_leaver(&self, patience: Duration) {
        // Woken or not: what is waited for is tried again.
        drop(self.left.wait_timeout(self.table(), patience));
    }

    /// Connections that ended, or were not let in, without having proved the key.
    #[must_use]
    pub fn n_unproved(&self) -> u64 {
        self.table().n_unproved
    }

    fn table(&self) -> MutexGuard<'_, Table<Arc<TcpStream>>> {
        // Every change of the table is whole before anything can panic.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seat {
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// It has begun to speak as who has the key would.
    pub fn has_spoken(&self) {
        self.strangers.table().has_spoken(self.number);
    }

    /// It has proved the key, and is a stranger no more.
    pub fn prove(mut self) {
        self.is_proved = true;
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.strangers.table().leave(self.number, self.is_proved);
        self.strangers.left.notify_all();
    }
}

#[expect(clippy::needless_pass_by_value, reason = "what is driven out is let go")]
fn end(stream: Arc<TcpStream>) {
    // Who has gone already needs no end.
    stream.shutdown(Shutdown::Both).ok();
}

/// What counts as one address.
fn origin(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let network = u128::from(address) & !u128::from(u64::MAX);
            IpAddr::V6(Ipv6Addr::from(network))
        }
        address @ IpAddr::V4(_) => address,
    }
}

/// Whether there is room for one more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Room {
    Free,
    /// When others have proved the key or settled.
    Soon,
    None,
}

#[derive(Debug)]
struct Row<S> {
    number: u64,
    from: IpAddr,
    since: Instant,
    has_spoken: bool,
    stream: S,
}

/// Who is there, the oldest first; without sockets.
#[derive(Debug)]
struct Table<S> {
    rows: Vec<Row<S>>,
    n_ever: u64,
    n_unproved: u64,
    /// Driven out, and to be told so.
    driven_out: Vec<Row<S>>,
    /// Driven out whose seats are not yet given back: their threads are about to end.
    n_ending: usize,
}

impl<S> Default for Table<S> {
    fn default() -> Self {
        Self { rows: Vec::new(), n_ever: 0, n_unproved: 0, driven_out: Vec::new(), n_ending: 0 }
    }
}

impl<S> Table<S> {
    /// Makes room for one more from there.
    fn make_room(&mut self, from: IpAddr, now: Instant, limits: Limits) -> Room {
        if limits.n_max <= self.n_ending {
            return Room::Soon;
        }
        let n_from = self.rows.iter().filter(|row| row.from == from).count();
        let (least, safe_for, otherwise) = match () {
            () if limits.n_per_address_max <= n_from => {
                (self.least(|row| row.from == from), GRACE, Room::None)
            }
            () if limits.n_max <= self.rows.len() => (self.least(|_| true), SETTLED, Room::Soon),
            () => return Room::Free,
        };
        match least {
            Some(at) if self.rows[at].since + safe_for <= now => {
                self.drive_out(at);
                Room::Free
            }
            _ => otherwise,
        }
    }

    fn enter(&mut self, from: IpAddr, now: Instant, stream: S) -> u64 {
        self.n_ever += 1;
        let row = Row { number: self.n_ever, from, since: now, has_spoken: false, stream };
        self.rows.push(row);
        self.n_ever
    }

    /// Silent ones before others, old ones before new ones.
    fn least(&self, may_go: impl Fn(&Row<S>) -> bool) -> Option<usize> {
        let rows = || self.rows.iter().enumerate().filter(|(_, row)| may_go(row));
        let silent = rows().find(|(_, row)| !row.has_spoken);
        silent.or_else(|| rows().next()).map(|(at, _)| at)
    }

    fn drive_out(&mut self, at: usize) {
        let row = self.rows.remove(at);
        self.driven_out.push(row);
        self.n_unproved += 1;
        self.n_ending += 1;
    }

    fn drop_driven_out(&mut self, end: impl Fn(S)) {
        self.driven_out.drain(..).for_each(|row| end(row.stream));
    }

    fn has_spoken(&mut self, number: u64) {
        if let Some(row) = self.rows.iter_mut().find(|row| row.number == number) {
            row.has_spoken = true;
        }
    }

    fn leave(&mut self, number: u64, is_proved: bool) {
        match self.rows.iter().position(|row| row.number == number) {
            Some(at) => {
                self.rows.remove(at);
                self.n_unproved += u64::from(!is_proved);
            }
            None => self.n_ending -= 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { n_max: 4, n_per_address_max: 2 };

    /// Connections come one after the other, from hosts of these numbers (those that have spoken are negative), and
    /// each takes a second; the hosts of those that are there then.
    #[track_caller]
    fn check(arriving: &[i8], expected: &[u8]) {
        let mut table = Table::default();
        let mut now = Instant::now();
        for host in arriving {
            now += Duration::from_secs(1);
            let from = IpAddr::from([10, 0, 0, host.unsigned_abs()]);
            assert_eq!(table.make_room(from, now, LIMITS), Room::Free);
            let number = table.enter(from, now, ());
            if *host < 0 {
                table.has_spoken(number);
            }
            // Threads of those that were driven out end.
            let ending: Vec<_> = table.driven_out.iter().map(|row| row.number).collect();
            ending.into_iter().for_each(|number| table.leave(number, false));
            table.drop_driven_out(|()| ());
        }
        let there: Vec<_> = table.rows.iter().map(|row| row.from).collect();
        let expected: Vec<_> =
            expected.iter().map(|host| IpAddr::from([10, 0, 0, *host])).collect();
        assert_eq!(there, expected);
        assert_eq!(table.n_unproved, (arriving.len() - expected.len()) as u64);
    }

    #[test]
    fn the_oldest_silent_connection_goes_first() {
        check(&[1, 2, 3, 4], &[1, 2, 3, 4]);
        check(&[1, 2, 3, 4, 5, 6], &[3, 4, 5, 6]);
        check(&[-1, 2, -3, 4, 5], &[1, 3, 4, 5]);
        check(&[-1, -2, -3, -4, 5], &[2, 3, 4, 5]);
    }

    #[test]
    fn a_flood_from_one_address_drives_out_itself_only() {
        check(&[1, 2, 9, 9, 9, 9, 9, 9, 9], &[1, 2, 9, 9]);
        check(&[9, 9, 9, 9, 1, 9, 2, 9], &[1, 9, 2, 9]);
    }

    #[test]
    fn who_has_just_come_stays_and_who_ends_slowly_holds_up_others() {
        let (mut table, now) = (Table::default(), Instant::now());
        let from = |host| IpAddr::from([10, 0, 0, host]);
        let enter = |table: &mut Table<()>, host: u8, at: Instant| {
            let room = table.make_room(from(host), at, LIMITS);
            if room == Room::Free {
                table.enter(from(host), at, ());
            }
            room
        };
        for host in [1, 1, 2, 3] {
            assert_eq!(enter(&mut table, host, now), Room::Free);
        }
        assert_eq!(enter(&mut table, 1, now), Room::None, "a flood is not waited for");
        assert_eq!(enter(&mut table, 4, now + GRACE), Room::Soon, "others wait");
        let mut later = now;
        for host in 4..=7 {
            later += SETTLED;
            assert_eq!(enter(&mut table, host, later), Room::Free);
        }
        // Four threads are about to end: a fifth one has to wait for them.
        assert_eq!(enter(&mut table, 8, later + SETTLED), Room::Soon);
        table.leave(1, false);
        assert_eq!(enter(&mut table, 8, later + SETTLED), Room::Free);
        assert_eq!(table.n_unproved, 5);
    }

    #[test]
    fn a_network_of_ipv6_is_one_address() {
        let check = |address: &str, expected: &str| {
            assert_eq!(origin(address.parse().unwrap()), expected.parse::<IpAddr>().unwrap());
        };
        check("10.1.2.3", "10.1.2.3");
        check("::ffff:10.1.2.3", "10.1.2.3");
        check("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::");
        check("::1", "::");
    }
}
