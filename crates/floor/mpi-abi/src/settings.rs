//! Settings with which MPI libraries start processes reliably: environment variables, which libraries read when they are
//! initialized.
//!
//! | library | setting | why |
//! |---|---|---|
//! | Open MPI 5, where processes may be started | `coll=^han` | operations over merged communicators hang otherwise |
//! | Open MPI 5 | `pml=ob1`, `btl=self,sm,tcp` | with Ethernet only, it hangs otherwise and sleeps a second at its start |
//! | | `mpi_yield_when_idle=1`, for crowded nodes | ranks that wait take the cores of those that compute |
//! | MPICH | `MPIR_CVAR_ENABLE_HEAVY_YIELD=1`, for crowded nodes | the same: 14 ms per iteration of 4 ranks on 2 cores, not 83 |
//! | MPICH 5, where processes may be started | `MPIR_CVAR_CH4_NETMOD=ofi` | UCX fails in the three ways below |
//! | | `FI_PROVIDER=tcp;ofi_rxm`, with it where there is Ethernet only | `tcp` alone drops connections |
//!
//! Over UCX, with any transport, MPICH 5 fails in three ways: a receive from `MPI_ANY_SOURCE` on a communicator with
//! processes that were started later sometimes waits forever; processes that are started on two nodes do not find each
//! other; `MPI_Comm_disconnect` from a process that ends at once may wait forever.
//!
//! libfabric's provider `tcp` (2.5.1) leaves the process number of a closed connection in the memory that the next one reuses.
//! Where two processes then connect to each other at the same time, one mistakes the other's request for that of a
//! restarted process, and drops the connection, with the data in transit. Processes that come and go make this
//! happen; the provider `ofi_rxm` over it connects in another way.

/// A variable and its value.
pub type Setting = (&'static str, &'static str);

/// All settings of Open MPI 5: those for programs that start processes, for Ethernet, and for crowded nodes.
pub const OPEN_MPI_SETTINGS: [Setting; 4] = [
    ("OMPI_MCA_coll", "^han"),
    ("OMPI_MCA_pml", "ob1"),
    ("OMPI_MCA_btl", "self,sm,tcp"),
    ("OMPI_MCA_mpi_yield_when_idle", "1"),
];

/// All settings of MPICH 5: those for programs that start processes, for Ethernet, and for crowded nodes.
pub const MPICH_SETTINGS: [Setting; 3] = [
    ("MPIR_CVAR_CH4_NETMOD", "ofi"),
    ("FI_PROVIDER", "tcp;ofi_rxm"),
    ("MPIR_CVAR_ENABLE_HEAVY_YIELD", "1"),
];
