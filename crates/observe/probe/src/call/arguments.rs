//! Arguments of a call, and amounts that follow from them: functions that the generated accounting calls.
#![allow(unsafe_code, reason = "reads arguments of the program's MPI calls")]

use crate::communicators::{Communicator, Scope};
use crate::handle::Handle;
use crate::library::MpiLibrary;
use crate::pmpi;
use crate::thread::Thread;
use events::call::OUTSIDE_WORLD;
use mpi_abi::LibraryFamily;
use std::ffi::c_void;

/// Array of counts.
#[derive(Clone, Copy)]
pub(crate) enum CountArray {
    /// Of `int`.
    Small(usize),
    /// Of `MPI_Count`.
    Large(usize),
}

impl CountArray {
    #[inline(always)]
    fn at(self, position: usize) -> u64 {
        let count = match self {
            Self::Small(0) | Self::Large(0) => return 0,
            // SAFETY: MPI reads the same entry of the program's array.
            Self::Small(array) => unsafe {
                ((array + 4 * position) as *const i32).read_unaligned().into()
            },
            // SAFETY: as above.
            Self::Large(array) => unsafe {
                ((array + 8 * position) as *const i64).read_unaligned()
            },
        };
        u64::try_from(count).unwrap_or(0)
    }
}

/// The probe's own status, used where the program ignores the status.
#[repr(C, align(8))]
pub(crate) struct OwnStatus(std::mem::MaybeUninit<[u64; 4]>);

impl OwnStatus {
    /// Makes an uninitialized status.
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Self(std::mem::MaybeUninit::uninit())
    }
}

/// Arguments of the call in progress.
pub(crate) struct Arguments {
    pub(super) thread: *mut Thread,
    /// Whether they are Fortran's: handles are 32-bit numbers, indices start at 1.
    pub(super) is_fortran: bool,
    pub(super) scope: Option<(Scope, Handle)>,
}

impl Arguments {
    /// State of the thread.
    #[inline(always)]
    pub(super) fn thread(&mut self) -> &mut Thread {
        // SAFETY: the calling thread's own state; the reference ends before the next one is made.
        unsafe { &mut *self.thread }
    }

    /// Width of a handle in memory.
    #[inline(always)]
    pub(super) fn request_bytes(&mut self) -> usize {
        if self.is_fortran { 4 } else { self.thread().library.request_bytes }
    }

    /// Sets the communicator of the call.
    #[inline(always)]
    pub(crate) fn in_communicator(&mut self, comm: Handle) {
        self.scope = Some((Scope::Communicator, comm));
    }

    /// Sets the window of the call.
    #[inline(always)]
    pub(crate) fn in_window(&mut self, win: Handle) {
        self.scope = Some((Scope::Window, win));
    }

    #[inline(always)]
    fn is_in_world(&mut self) -> bool {
        match self.scope {
            Some((Scope::Communicator, comm)) => {
                let is_fortran = self.is_fortran;
                self.thread().library.is_world(comm, is_fortran)
            }
            _ => false,
        }
    }

    #[inline(always)]
    fn communicator(&mut self) -> Option<&Communicator> {
        let (scope, handle) = self.scope?;
        let thread = self.thread();
        thread.communicators.get(scope, handle, &thread.library)
    }

    /// [`events::CommunicatorId`] of the scope.
    #[inline(always)]
    pub(crate) fn communicator_id(&mut self) -> u32 {
        if self.scope.is_none() || self.is_in_world() {
            return 0;
        }
        self.communicator().map_or(0, |communicator| communicator.id)
    }

    #[inline(always)]
    pub(super) fn world_rank(&mut self, rank: i64) -> i32 {
        if self.is_in_world() {
            return i32::try_from(rank).unwrap_or(OUTSIDE_WORLD);
        }
        self.communicator().map_or(OUTSIDE_WORLD, |communicator| communicator.world_rank(rank))
    }

    /// Number of ranks in the remote group, or in the communicator.
    #[inline(always)]
    pub(crate) fn n_peers(&mut self) -> u64 {
        self.communicator().map_or(0, |communicator| communicator.n_peers)
    }

    /// Number of ranks in the local group.
    #[inline(always)]
    pub(crate) fn n_ranks(&mut self) -> u64 {
        self.communicator().map_or(0, |communicator| communicator.n_ranks)
    }

    /// Number of neighbors that this rank sends to.
    #[inline(always)]
    pub(crate) fn outdegree(&mut self) -> u64 {
        self.communicator().map_or(0, |communicator| communicator.outdegree)
    }

    /// Returns whether this rank is the root of an intracommunicator, or passes `MPI_ROOT`.
    #[inline(always)]
    pub(crate) fn is_root(&mut self, root: i64) -> bool {
        let is_own = self
            .communicator()
            .is_some_and(|communicator| !communicator.is_inter && communicator.rank == root);
        is_own || self.is_remote_root(root)
    }

    /// Returns whether this rank passes `MPI_PROC_NULL`: it is in the root's group, but not the root.
    #[inline(always)]
    pub(crate) fn is_bystander(&mut self, root: i64) -> bool {
        root == self.thread().library.proc_null
    }

    /// Returns whether this rank passes `MPI_ROOT`.
    #[inline(always)]
    pub(crate) fn is_remote_root(&mut self, root: i64) -> bool {
        root < 0 && root == self.thread().library.root
    }

    /// Returns whether a buffer is `MPI_IN_PLACE`.
    #[inline(always)]
    pub(crate) fn is_in_place(&mut self, buffer: usize) -> bool {
        let language = usize::from(self.is_fortran);
        let in_place = self.thread().library.in_place[language];
        in_place != 0 && buffer == in_place
    }

    /// Returns the bytes of `count` elements of a datatype.
    #[inline(always)]
    pub(crate) fn elements(&mut self, count: impl TryInto<u64>, datatype: Handle) -> u64 {
        let thread = self.thread();
        thread.sizes.bytes_of(count.try_into().unwrap_or(0), datatype, &thread.library)
    }

    /// Returns the entry of this rank in an array of counts.
    #[inline(always)]
    pub(crate) fn own_count(&mut self, counts: CountArray) -> u64 {
        let rank =
            self.communicator().and_then(|communicator| usize::try_from(communicator.rank).ok());
        rank.map_or(0, |rank| counts.at(rank))
    }

    /// Returns the bytes of the first `n` entries of an array of counts.
    #[inline(always)]
    pub(crate) fn sum(&mut self, counts: CountArray, datatype: Handle, n: u64) -> u64 {
        let n = usize::try_from(n).unwrap_or(0);
        let count: u64 = (0..n).map(|position| counts.at(position)).sum();
        self.elements(count, datatype)
    }

    /// Returns the bytes of the first `n` entries of an array of counts, each with its own datatype.
    #[inline(always)]
    pub(crate) fn sum_of_products(&mut self, counts: CountArray, datatypes: usize, n: u64) -> u64 {
        let is_fortran = self.is_fortran;
        sum_of_products(self.thread(), counts, (datatypes, is_fortran), n)
    }

    /// Returns the address of the status to pass to MPI: the program's own, or ours if the program ignores it.
    #[inline(always)]
    pub(crate) fn status_or(&mut self, status: usize, own: &mut OwnStatus) -> usize {
        let language = usize::from(self.is_fortran);
        let ignored = self.thread().library.status_ignore[language];
        // 0 means: in C, the value in some libraries; in Fortran, an address that was not found.
        let is_ignored = status == ignored && (language == 0 || ignored != 0);
        if is_ignored { std::ptr::from_mut(own).addr() } else { status }
    }
}

/// Reads source, tag and bytes of a status.
///
/// # Safety
/// `status` is the address of a status that MPI has filled.
#[inline(always)]
#[allow(clippy::multiple_unsafe_ops_per_block, reason = "three fields of one status")]
pub(super) unsafe fn read_status(library: &MpiLibrary, status: usize) -> (i32, i32, u64) {
    let words = status as *const i32;
    match library.family {
        // SAFETY: SOURCE, TAG, ERROR, canceled, then the count as a `size_t`.
        LibraryFamily::OpenMpi => unsafe {
            (*words, *words.add(1), words.add(4).cast::<u64>().read_unaligned())
        },
        // SAFETY: low count, high count and canceled, SOURCE, TAG, ERROR.
        LibraryFamily::Mpich => unsafe {
            let low = u64::from((*words).cast_unsigned());
            let high = (*words.add(1)).cast_unsigned();
            // A receive that was canceled leaves the count as it was found.
            let bytes = if high & 1 == 0 { u64::from(high >> 1) << 32 | low } else { 0 };
            (*words.add(2), *words.add(3), bytes)
        },
        // SAFETY: SOURCE and TAG first; the library tells the count.
        _ => unsafe {
            let bytes = pmpi::status_bytes(words.cast::<c_void>(), library.byte).unwrap_or(0);
            (*words, *words.add(1), bytes)
        },
    }
}

#[inline(never)]
fn sum_of_products(
    thread: &mut Thread,
    counts: CountArray,
    (datatypes, is_fortran): (usize, bool),
    n: u64,
) -> u64 {
    if datatypes == 0 {
        return 0;
    }
    let handle_bytes = if is_fortran { 4 } else { thread.library.request_bytes };
    (0..usize::try_from(n).unwrap_or(0))
        .map(|position| {
            let address = datatypes + position * handle_bytes;
            let datatype = if is_fortran {
                Handle::fortran_at(address)
            } else {
                // SAFETY: MPI reads the same entry of the program's array.
                Handle::c(unsafe { read_handle(address, handle_bytes) })
            };
            thread.sizes.bytes_of(counts.at(position), datatype, &thread.library)
        })
        .sum()
}

/// Reads the handle at an address.
///
/// # Safety
/// The address holds a handle of this width.
#[inline(always)]
pub(crate) unsafe fn read_handle(address: usize, handle_bytes: usize) -> usize {
    if handle_bytes == 8 {
        // SAFETY: as the caller says.
        unsafe { (address as *const usize).read_unaligned() }
    } else {
        // SAFETY: as the caller says.
        unsafe { (address as *const u32).read_unaligned() as usize }
    }
}
