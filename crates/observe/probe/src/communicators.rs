//! Properties of communicators and windows: size, and world rank of each of their ranks.
//!
//! Determined once per communicator with local MPI calls, then cached: in a table of the process, and in a
//! few entries per thread that are checked first during a call.

use crate::handle::Handle;
use crate::library::MpiLibrary;
use crate::{monitoring, pmpi};
use events::CommunicatorKey;
use mpi_abi::LibraryFamily;
use std::collections::{BTreeMap, HashMap};
use std::ffi::c_int;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, RwLock};

/// A communicator, or the group of a window.
#[derive(Debug, Default)]
pub(crate) struct Communicator {
    /// [`events::CommunicatorId`].
    pub(crate) id: u32,
    /// Rank of the calling process in the communicator.
    pub(crate) rank: i64,
    /// Number of ranks in the local group.
    pub(crate) n_ranks: u64,
    /// Number of ranks in the remote group if there is one, in the local group otherwise.
    pub(crate) n_peers: u64,
    /// Whether it is an intercommunicator.
    pub(crate) is_inter: bool,
    /// Number of neighbors that this rank sends to; 0 without a topology.
    pub(crate) outdegree: u64,
    /// [`events::CommunicatorKey::ordinal`].
    pub(crate) ordinal: u32,
    /// Place among those whose collective calls are counted; beyond the last place if there is none.
    pub(crate) slot: usize,
    /// World rank of each peer; `OUTSIDE` for ranks of another world.
    world_ranks: Box<[u32]>,
}

/// A rank outside this process's world.
const OUTSIDE: u32 = u32::MAX;

impl Communicator {
    /// Returns the world rank of a peer; negative if the peer is outside the world.
    pub(crate) fn world_rank(&self, peer: i64) -> i32 {
        let peer = usize::try_from(peer).ok().and_then(|peer| self.world_ranks.get(peer));
        peer.and_then(|rank| i32::try_from(*rank).ok()).unwrap_or(events::call::OUTSIDE_WORLD)
    }

    fn new(comm: usize, library: &MpiLibrary) -> Option<Self> {
        let is_inter = pmpi::comm_is_inter(comm)?;
        let group = pmpi::comm_peer_group(comm, is_inter)?;
        let world_ranks = world_ranks(group, library);
        pmpi::group_free(group);
        let rank = pmpi::comm_rank(comm)?;
        Some(Self {
            rank: rank.into(),
            n_ranks: count(pmpi::comm_size(comm)),
            is_inter,
            outdegree: outdegree(comm, rank, library.family),
            ..Self::of_ranks(world_ranks?)
        })
    }

    fn of_window(win: usize, library: &MpiLibrary) -> Option<Self> {
        let group = pmpi::win_group(win)?;
        let world_ranks = world_ranks(group, library);
        pmpi::group_free(group);
        Some(Self::of_ranks(world_ranks?))
    }

    fn of_ranks(world_ranks: Box<[u32]>) -> Self {
        let n_peers = world_ranks.len() as u64;
        Self {
            id: number_of(&world_ranks),
            n_ranks: n_peers,
            n_peers,
            world_ranks,
            ..Self::default()
        }
    }
}

/// Returns the world ranks of a group's members.
fn world_ranks(group: usize, library: &MpiLibrary) -> Option<Box<[u32]>> {
    let ranks: Vec<c_int> = (0..pmpi::group_size(group)?).collect();
    if !monitoring::has_world() {
        return Some(vec![OUTSIDE; ranks.len()].into());
    }
    let world_group = pmpi::comm_peer_group(library.world, false)?;
    let translated = pmpi::group_translate(group, &ranks, world_group);
    pmpi::group_free(world_group);
    Some(translated?.into_iter().map(|rank| u32::try_from(rank).unwrap_or(OUTSIDE)).collect())
}

fn count(count: Option<c_int>) -> u64 {
    count.and_then(|count| u64::try_from(count).ok()).unwrap_or(0)
}

fn outdegree(comm: usize, rank: c_int, library: LibraryFamily) -> u64 {
    let constants = library.constants();
    match pmpi::topology(comm) {
        Some(kind) if kind == constants.cart => 2 * count(pmpi::cart_n_dims(comm)),
        Some(kind) if kind == constants.graph => count(pmpi::graph_n_neighbors(comm, rank)),
        Some(kind) if kind == constants.dist_graph => count(pmpi::dist_graph_outdegree(comm)),
        _ => 0,
    }
}

/// Returns a number that all members compute alike (FNV-1a over their world ranks); never 0, the world's number.
fn number_of(world_ranks: &[u32]) -> u32 {
    let is_world = world_ranks.len() as u64 == u64::from(monitoring::world_size())
        && world_ranks.iter().enumerate().all(|(rank, world_rank)| rank == *world_rank as usize);
    if is_world {
        return 0;
    }
    let mut hash: u32 = 0x811c_9dc5;
    for byte in world_ranks.iter().flat_map(|rank| rank.to_le_bytes()) {
        hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    }
    hash.max(1)
}

/// Kind of object that a handle names; the same number may name one of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Scope {
    Communicator,
    Window,
}

type CommunicatorCache = HashMap<(Scope, usize), Arc<Communicator>>;

/// Number of communicators made so far, by [`Communicator::id`].
static N_MADE: Mutex<BTreeMap<u32, u32>> = Mutex::new(BTreeMap::new());
/// Places given so far; the first is the world's.
static N_SLOTS: AtomicUsize = AtomicUsize::new(1);

/// All communicators and windows seen so far, by C handle.
static CACHE: RwLock<Option<CommunicatorCache>> = RwLock::new(None);
/// Incremented whenever a handle is freed and may be reused.
static GENERATION: AtomicU32 = AtomicU32::new(0);

/// Forgets a handle that is about to be freed.
pub(crate) fn forget(scope: Scope, handle: Handle) {
    let handle = monitoring::library().and_then(|library| c_handle(scope, handle, library));
    if let (Some(handle), Ok(mut known)) = (handle, CACHE.write())
        && let Some(known) = known.as_mut()
    {
        known.remove(&(scope, handle));
    }
    GENERATION.fetch_add(1, Ordering::Release);
}

/// Forgets all handles: from now on the program's frees are not intercepted.
pub(crate) fn forget_all() {
    if let Ok(mut known) = CACHE.write() {
        *known = None;
    }
    GENERATION.fetch_add(1, Ordering::Release);
}

fn c_handle(scope: Scope, handle: Handle, library: &MpiLibrary) -> Option<usize> {
    library.c_handle(
        handle,
        match scope {
            Scope::Communicator => pmpi::comm_from_fortran,
            Scope::Window => pmpi::win_from_fortran,
        },
    )
}

fn find(scope: Scope, handle: Handle, library: &MpiLibrary) -> Option<Arc<Communicator>> {
    let key = (scope, c_handle(scope, handle, library)?);
    if let Some(found) = CACHE.read().ok()?.as_ref().and_then(|known| known.get(&key)) {
        return Some(Arc::clone(found));
    }
    add(key, CommunicatorKey::NOT_SEEN, library)
}

/// Determines the properties of a communicator or window, and keeps them.
fn add(key: (Scope, usize), ordinal: u32, library: &MpiLibrary) -> Option<Arc<Communicator>> {
    let mut made = match key.0 {
        Scope::Communicator => Communicator::new(key.1, library)?,
        Scope::Window => Communicator::of_window(key.1, library)?,
    };
    made.ordinal = ordinal;
    if ordinal != CommunicatorKey::NOT_SEEN {
        let mut n_made = N_MADE.lock().ok()?;
        let last = n_made.entry(made.id).or_default();
        *last += 1;
        made.ordinal = *last;
    }
    let is_counted = key.0 == Scope::Communicator && 1 < made.n_ranks;
    made.slot = if is_counted { N_SLOTS.fetch_add(1, Ordering::Relaxed) } else { usize::MAX };
    let made = Arc::new(made);
    CACHE.write().ok()?.get_or_insert_default().insert(key, Arc::clone(&made));
    monitoring::define_communicator(made.id, &made.world_ranks);
    Some(made)
}

/// Returns a communicator with its C handle; `None` for none, and where MPI does not tell.
pub(crate) fn look_up(handle: Handle, library: &MpiLibrary) -> Option<(usize, Arc<Communicator>)> {
    let handle = c_handle(Scope::Communicator, handle, library)? & library.handle_mask;
    let is_one = handle != 0 && handle != library.comm_null;
    is_one.then_some(())?;
    Some((handle, find(Scope::Communicator, Handle::c(handle), library)?))
}

/// Determines the properties of a communicator that was just made. All its members make those with the same members in
/// the same order, so that its number among them is the same in all.
pub(crate) fn created(handle: Handle, library: &MpiLibrary) {
    let handle = c_handle(Scope::Communicator, handle, library);
    let handle = handle.map(|handle| handle & library.handle_mask);
    if let Some(handle) = handle.filter(|handle| *handle != 0 && *handle != library.comm_null) {
        add((Scope::Communicator, handle), 0, library);
    }
}

/// Returns a communicator or window if it is known.
fn find_known(scope: Scope, handle: Handle, library: &MpiLibrary) -> Option<Arc<Communicator>> {
    let key = (scope, c_handle(scope, handle, library)?);
    CACHE.read().ok()?.as_ref()?.get(&key).map(Arc::clone)
}

/// A thread's most recent communicators, found without a lock.
#[derive(Debug, Default)]
pub(crate) struct Recent {
    generation: u32,
    entries: [Option<(Scope, Handle, Arc<Communicator>)>; N_RECENT],
}

const N_RECENT: usize = 8;

impl Recent {
    /// Returns the communicator behind a handle; `None` if MPI does not tell.
    #[inline(never)]
    pub(crate) fn get(
        &mut self,
        scope: Scope,
        handle: Handle,
        library: &MpiLibrary,
    ) -> Option<&Communicator> {
        self.get_with(find, (scope, handle), library)
    }

    /// Returns the communicator behind a handle if it is known; never asks MPI.
    #[inline(never)]
    pub(crate) fn known(
        &mut self,
        scope: Scope,
        handle: Handle,
        library: &MpiLibrary,
    ) -> Option<&Communicator> {
        self.get_with(find_known, (scope, handle), library)
    }

    #[inline(always)]
    fn get_with(
        &mut self,
        find: fn(Scope, Handle, &MpiLibrary) -> Option<Arc<Communicator>>,
        (scope, handle): (Scope, Handle),
        library: &MpiLibrary,
    ) -> Option<&Communicator> {
        let generation = GENERATION.load(Ordering::Acquire);
        if self.generation != generation {
            self.entries = Default::default();
            self.generation = generation;
        }
        let mixed = handle.masked(library.handle_mask).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let place = mixed >> (usize::BITS - N_RECENT.trailing_zeros());
        let entry = self.entries.get_mut(place)?;
        let is_hit = matches!(entry, Some((known, of, _)) if (*known, *of) == (scope, handle));
        if !is_hit {
            *entry = Some((scope, handle, find(scope, handle, library)?));
        }
        entry.as_ref().map(|(.., communicator)| &**communicator)
    }
}
