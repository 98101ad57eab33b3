! Members of arguments of derived types.
module md
  implicit none
  type box_type
    real(8) :: cutoff = 2.5d0
  end type
  type sim_type
    integer :: rows = 3
    type(box_type) :: box
    type(box_type), pointer :: far
  end type
contains
  subroutine step(n, sim)
    integer, intent(in) :: n
    type(sim_type), intent(inout) :: sim
    sim%rows = sim%rows + n
    sim%box%cutoff = sim%box%cutoff + sim%far%cutoff
  end subroutine
end module

program main
  use md
  type(sim_type) :: sim
  allocate(sim%far)
  call step(1, sim)
  print *, sim%rows
end program
