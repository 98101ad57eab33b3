! Procedures of a module between MPI calls. Says at its end how often all ranks called what.
module heat
  implicit none
  integer :: chunk = 4, n_advance = 0, n_factorial = 0, n_blend = 0
  real(8) :: total = 0
contains
  subroutine advance(k)
    integer, intent(in) :: k
    n_advance = n_advance + 1
    total = total + k*chunk*0.1d0
  end subroutine

  recursive function factorial(n) result(r)
    integer, intent(in) :: n
    real(8) :: r
    n_factorial = n_factorial + 1
    r = 1
    if (1 < n) r = n*factorial(n - 1)
  end function

  function blend(a, b, label) result(r)
    real(8), intent(in) :: a(:), b(:)
    character(len=*), intent(in) :: label
    real(8) :: r
    n_blend = n_blend + 1
    r = sum(a*b) + len(label)
  end function
end module

program calls
  use mpi
  use heat
  implicit none
  integer :: rank, ierror, i
  real(8) :: whole, field(8)
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  do i = 1, 10
    call advance(i + rank)
    field = i*0.3d0
    call MPI_Allreduce(total, whole, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierror)
    whole = whole + factorial(i) + blend(field, field, 'round')
    if (rank == 0) print '(i0,1x,z16)', i, whole
  end do
  call say('heat::advance', n_advance)
  call say('heat::factorial', n_factorial)
  call say('heat::blend', n_blend)
  flush (6)
  call MPI_Finalize(ierror)
  if (rank == 0) stop 5
contains
  subroutine say(name, n_own)
    character(len=*), intent(in) :: name
    integer, intent(in) :: n_own
    integer :: n
    call MPI_Reduce(n_own, n, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, ierror)
    if (rank == 0) print '(a,i0,1x,a)', 'called ', n, name
  end subroutine
end program
