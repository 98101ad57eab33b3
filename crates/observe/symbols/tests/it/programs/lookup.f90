! Procedures and variables in the ways in which Fortran programs have them.
module params
  implicit none
  integer :: chunk = 4
  real(8) :: Share = 0.5d0
  logical :: flag = .true.
  real(8), allocatable :: field(:)
  integer, pointer :: there
  integer :: table(2:5, 0:2)
  type grid_type
    integer :: rows = 3
    real(8) :: dx(4)
  end type
  type(grid_type) :: grid
contains
  subroutine step(n, x, label, y)
    integer, intent(in) :: n
    real(8), intent(inout) :: x
    character(*), intent(in) :: label
    integer, value :: y
    real(8) :: total
    integer :: turns
    common /shared/ total, turns
    x = x + n * share + chunk + y + len(label) + grid%rows + table(3, 1)
    total = total + x
    turns = turns + 1
    if (flag) table(4, 2) = n
  end subroutine
end module

subroutine solve(x)
  real(8) :: x
  x = x * 2
  print *, x
end subroutine

program main
  use params
  integer, save :: round = 0
  real(8) :: z
  real(8) :: total
  integer :: turns
  common /shared/ total, turns
  z = 1
  total = 0
  turns = 0
  allocate(field(10))
  allocate(there)
  field = 1
  there = 2
  do round = 1, 3
    call step(round, z, 'abc', 4)
    call solve(z)
  end do
  if (turns == -1) print *, total, field, there
end program
