module halo
  use iso_c_binding
  interface
    subroutine report(what) bind(c)
      import :: c_char
      character(kind=c_char) :: what(*)
    end subroutine
    subroutine report_and_exit(what) bind(c)
      import :: c_char
      character(kind=c_char) :: what(*)
    end subroutine
  end interface
contains
  subroutine exchange(n)
    integer, intent(inout) :: n
    call report("module" // c_null_char) ! line 16
    n = n + 1
  end subroutine
end module

subroutine outside(n)
  use halo
  integer, intent(inout) :: n
  call report("external" // c_null_char) ! line 24
  n = n + 1
end subroutine

program fire
  use halo
  integer :: n = 1
  call exchange(n)
  call outside(n)
  call report_and_exit("program" // c_null_char) ! line 33
end program
