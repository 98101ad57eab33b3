! As joined.c, in Fortran.
program joined
  use mpi
  implicit none
  integer :: rank, n_ranks, ierror, n_wrong
  integer(8) :: expected, answer, total
  logical :: is_there
  character(len=1024) :: file
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, n_ranks, ierror)
  call get_command_argument(1, file)
  n_wrong = 0
  expected = step()
  if (rank == 0) then
    print '(a)', 'ready'
    flush(6)
  end if
  is_there = .false.
  do while (.not. is_there)
    answer = step()
    call MPI_Allreduce(answer, total, 1, MPI_INTEGER8, MPI_SUM, MPI_COMM_WORLD, ierror)
    if (total /= n_ranks * expected) n_wrong = n_wrong + 1
    if (rank == 0) inquire(file=trim(file), exist=is_there)
    call MPI_Bcast(is_there, 1, MPI_LOGICAL, 0, MPI_COMM_WORLD, ierror)
  end do
  if (rank == 0) print '(i0, a, i0, a)', n_wrong, ' wrong, ', expected, ', factor 1'
  call MPI_Finalize(ierror)
contains
  integer(8) function step()
    integer(8) :: i
    step = 0
    do i = 0, 19999
      step = step + mod(i * i, 7_8)
    end do
  end function step
end program joined
