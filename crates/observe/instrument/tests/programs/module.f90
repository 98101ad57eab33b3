module params
  integer :: chunk = 4
  real(8) :: total = 0
contains
  subroutine step(k)
    integer, intent(in) :: k
    total = total + k*chunk
  end subroutine
  recursive function fact(n) result(r)
    integer, intent(in) :: n
    real(8) :: r
    if (n<=1) then; r=1; else; r=n*fact(n-1); end if
  end function
end module
program main
  use params
  integer :: i
  do i=1,10
    call step(i)
  end do
  print *, total, fact(10)
end program
