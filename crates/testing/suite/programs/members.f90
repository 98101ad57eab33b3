! Variables of a module and of a common block that a tunlet changes; rank 0 prints them at every iteration.
module settings
  implicit none
  integer :: chunk = 4
  real(8), volatile :: weight = 0.5d0
contains
  subroutine advance(iteration)
    use mpi
    integer, intent(in) :: iteration
    integer :: rank, ierror, total, turns
    common /shared/ total, turns
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
    call sleep_a_little()
    if (rank == 0) print '(i0,a,i0,a,i0,a,f0.2)', iteration, ' chunk=', chunk, ' turns=', turns, ' weight=', weight
  end subroutine

  subroutine sleep_a_little()
    use iso_c_binding
    interface
      integer(c_int) function usleep(us) bind(c)
        import
        integer(c_int), value :: us
      end function
    end interface
    integer(c_int) :: code
    code = usleep(5000_c_int)
  end subroutine
end module

program members
  use mpi
  use settings
  implicit none
  integer :: ierror, i, n, total, turns
  character(len=16) :: text
  common /shared/ total, turns
  call MPI_Init(ierror)
  call get_command_argument(1, text)
  read (text, *) n
  total = 0
  turns = 8
  do i = 1, n
    call advance(i)
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
  end do
  call MPI_Finalize(ierror)
end program
