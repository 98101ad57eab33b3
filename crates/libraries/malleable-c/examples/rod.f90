! Heat spreads along a rod, on a number of ranks that may change meanwhile.
!
!   mpifort sintonia_malleable_arrays.f90 sintonia_malleable.f90 rod.f90 -lsintonia_malleable -o rod
!   mpirun -n 4 ./rod --preferred 2 --schedule 100:4,200:1 --explain
module rod_parts
   use, intrinsic :: iso_fortran_env, only: int64, real64
   use mpi
   use sintonia_malleable
   implicit none

   integer(int64), parameter :: n_cells = 1000, n_iterations = 300

   type(malleable_program) :: run
   type(malleable_share), target :: share
   type(malleable_real64), target :: heat
   ! Neighbors of this rank, found anew for each size, and a communicator to talk to them.
   integer :: links, left, right

contains

   subroutine size_begins()
      integer :: rank, n_ranks, error
      call MPI_Comm_dup(run%comm(), links, error)
      call MPI_Comm_rank(links, rank, error)
      call MPI_Comm_size(links, n_ranks, error)
      left = merge(rank - 1, MPI_PROC_NULL, rank > 0)
      right = merge(rank + 1, MPI_PROC_NULL, rank + 1 < n_ranks)
   end subroutine

   subroutine size_ends()
      integer :: error
      call MPI_Comm_free(links, error)
   end subroutine

   subroutine step(cells)
      real(real64), intent(inout) :: cells(:)
      real(real64) :: before(0:size(cells) + 1)
      integer :: n, error
      n = size(cells)
      before(1:n) = cells
      ! Beyond the rod it is as warm as at its end.
      before(0) = cells(1)
      before(n + 1) = cells(n)
      call MPI_Sendrecv(before(1), 1, MPI_DOUBLE_PRECISION, left, 0, before(n + 1), 1, MPI_DOUBLE_PRECISION, right, 0, links, &
         MPI_STATUS_IGNORE, error)
      call MPI_Sendrecv(before(n), 1, MPI_DOUBLE_PRECISION, right, 1, before(0), 1, MPI_DOUBLE_PRECISION, left, 1, links, &
         MPI_STATUS_IGNORE, error)
      cells = (before(0:n - 1) + before(1:n) + before(2:n + 1))/3
   end subroutine

   ! Prints a digest; a sum of integers that cannot overflow does not depend on the order of adding.
   subroutine tell()
      integer(int64) :: own, all, cell
      integer :: rank, n_ranks, error
      own = 0
      do cell = 1, share%n_rows
         own = own + iand(transfer(heat%values(cell), own), int(z'ffffffff', int64))*(share%n_before + cell)
      end do
      call MPI_Comm_rank(run%comm(), rank, error)
      call MPI_Comm_size(run%comm(), n_ranks, error)
      call MPI_Reduce(own, all, 1, MPI_INTEGER8, MPI_SUM, 0, run%comm(), error)
      if (rank == 0) print "(a, z16.16, a, i0, a)", "digest ", all, " on ", n_ranks, " ranks"
   end subroutine
end module

program rod
   use rod_parts
   implicit none
   integer(int64) :: iteration
   logical :: has_left
   call run%begin()
   call run%rows_of(n_cells, share)
   call run%rows("heat", heat)
   call run%each_size(size_begins, size_ends)
   if (.not. run%is_new()) then
      allocate (heat%values(share%n_rows), source=0.0_real64)
      if (share%n_before == 0) heat%values(1) = 100
   end if
   iteration = 0
   has_left = .false.
   do while (iteration < n_iterations)
      has_left = run%resize_point(iteration) == malleable_left
      if (has_left) exit
      call step(heat%values)
      iteration = iteration + 1
   end do
   if (.not. has_left) call tell()
   call run%finish()
end program
