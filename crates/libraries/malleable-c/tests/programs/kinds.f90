! Packed rows and blocks of a body in Fortran, with contents that encode their positions, which each iteration checks.
!
!   kinds [--schedule ...]     exits with 1 on an error
module kinds_parts
   use, intrinsic :: iso_fortran_env, only: int8, int64
   use mpi
   use sintonia_malleable
   implicit none

   integer(int64), parameter :: n_chains = 100, extents(3) = [6_int64, 8_int64, 5_int64]

   ! List whose length depends on its number.
   type :: chain
      integer(int64), allocatable :: links(:)
   end type

   type(malleable_program) :: run
   type(malleable_share), target :: share, cells
   type(malleable_int64), target :: numbers
   type(chain), allocatable :: chains(:)
   integer :: n_wrong = 0

contains

   subroutine pack(row, bytes)
      integer(int64), intent(in) :: row
      integer(int8), allocatable, intent(out) :: bytes(:)
      bytes = transfer(chains(row)%links, [0_int8])
   end subroutine

   subroutine unpack(row, bytes)
      integer(int64), intent(in) :: row
      integer(int8), intent(in) :: bytes(:)
      if (row == 1) then
         if (allocated(chains)) deallocate (chains)
         allocate (chains(share%n_rows))
      end if
      chains(row)%links = transfer(bytes, [0_int64])
   end subroutine

   ! Links of a chain by its number among all.
   function links_of(number) result(links)
      integer(int64), intent(in) :: number
      integer(int64), allocatable :: links(:)
      allocate (links(mod(number, 4_int64)), source=number)
   end function

   ! Numbers of the cells that this rank has, found from its block.
   function cells_of() result(found)
      integer(int64), allocatable :: found(:)
      type(malleable_block) :: block
      integer(int64) :: x, y, z
      integer :: rank, n_ranks, error
      call MPI_Comm_rank(run%comm(), rank, error)
      call MPI_Comm_size(run%comm(), n_ranks, error)
      block = malleable_block_of(extents, n_ranks, rank)
      allocate (found(0))
      do z = block%n_before(3), block%n_before(3) + block%extents(3) - 1
         do y = block%n_before(2), block%n_before(2) + block%extents(2) - 1
            found = [found, (x + extents(1)*(y + extents(2)*z), x=block%n_before(1), block%n_before(1) + block%extents(1) - 1)]
         end do
      end do
   end function

   subroutine check()
      integer(int64) :: row
      if (size(chains) /= share%n_rows) n_wrong = n_wrong + 1
      do row = 1, share%n_rows
         if (any(chains(row)%links /= links_of(share%n_before + row))) n_wrong = n_wrong + 1
         if (size(chains(row)%links) /= size(links_of(share%n_before + row))) n_wrong = n_wrong + 1
      end do
      if (size(numbers%values) /= cells%n_rows) n_wrong = n_wrong + 1
      if (any(numbers%values /= cells_of())) n_wrong = n_wrong + 1
   end subroutine
end module

program kinds
   use kinds_parts
   implicit none
   integer(int64) :: iteration, row
   integer :: n_resized, code, rank, n_ranks, error
   call run%begin("--foreground --check-every 1 --redistribution sync")
   call run%rows_of(n_chains, share)
   call run%packed_rows("chains", pack, unpack)
   call run%blocks_3d(extents, cells)
   call run%rows("numbers", numbers)
   if (.not. run%is_new()) then
      allocate (chains(share%n_rows))
      do row = 1, share%n_rows
         chains(row)%links = links_of(share%n_before + row)
      end do
      numbers%values = cells_of()
   end if
   iteration = 0
   n_resized = 0
   code = malleable_continue
   do while (iteration < 60)
      code = run%resize_point(iteration)
      if (code == malleable_left) exit
      if (code == malleable_resized) n_resized = n_resized + 1
      call check()
      iteration = iteration + 1
   end do
   if (code /= malleable_left) then
      call MPI_Comm_rank(run%comm(), rank, error)
      call MPI_Comm_size(run%comm(), n_ranks, error)
      call MPI_Allreduce(MPI_IN_PLACE, n_wrong, 1, MPI_INTEGER, MPI_SUM, run%comm(), error)
      if (rank == 0) print "(i0, a, i0, a, i0, a)", n_resized, " resizes, ", n_ranks, " ranks, ", n_wrong, " wrong"
   end if
   call run%finish()
   if (n_wrong /= 0) error stop 1
end program
