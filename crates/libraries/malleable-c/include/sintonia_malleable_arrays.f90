! Containers of arrays that move between ranks, for programs in Fortran: `sintonia_malleable.f90` shows their use.
module sintonia_malleable_arrays
   use, intrinsic :: iso_c_binding
   use, intrinsic :: iso_fortran_env, only: int32, int64, real64
   implicit none
   private

   ! Container of an array. A program may extend it by its own types.
   type, abstract, public :: malleable_array
   contains
      ! Size of a row in bytes.
      procedure(width_of), deferred :: row_bytes
      ! Number of rows.
      procedure(length_of), deferred :: n_rows
      ! Address of the first element; null where there is none.
      procedure(start_of), deferred :: start
      ! Gives the container so many rows, with any contents.
      procedure(resize_to), deferred :: resize
   end type

   abstract interface
      function width_of(array)
         import
         class(malleable_array), intent(in) :: array
         integer(c_size_t) :: width_of
      end function
      function length_of(array)
         import
         class(malleable_array), intent(in) :: array
         integer(c_size_t) :: length_of
      end function
      function start_of(array)
         import
         class(malleable_array), intent(in), target :: array
         type(c_ptr) :: start_of
      end function
      subroutine resize_to(array, n_rows)
         import
         class(malleable_array), intent(inout) :: array
         integer(c_size_t), intent(in) :: n_rows
      end subroutine
   end interface

   type, extends(malleable_array), public :: malleable_int32
      integer(int32), allocatable :: values(:)
   contains
      procedure :: row_bytes => width_int32
      procedure :: n_rows => length_int32
      procedure :: start => start_int32
      procedure :: resize => resize_int32
   end type

   type, extends(malleable_array), public :: malleable_int64
      integer(int64), allocatable :: values(:)
   contains
      procedure :: row_bytes => width_int64
      procedure :: n_rows => length_int64
      procedure :: start => start_int64
      procedure :: resize => resize_int64
   end type

   type, extends(malleable_array), public :: malleable_real64
      real(real64), allocatable :: values(:)
   contains
      procedure :: row_bytes => width_real64
      procedure :: n_rows => length_real64
      procedure :: start => start_real64
      procedure :: resize => resize_real64
   end type

   type, extends(malleable_array), public :: malleable_real64_2d
      integer :: extents(1) = 1
      real(real64), allocatable :: values(:, :)
   contains
      procedure :: row_bytes => width_real64_2d
      procedure :: n_rows => length_real64_2d
      procedure :: start => start_real64_2d
      procedure :: resize => resize_real64_2d
   end type

   type, extends(malleable_array), public :: malleable_real64_3d
      integer :: extents(2) = 1
      real(real64), allocatable :: values(:, :, :)
   contains
      procedure :: row_bytes => width_real64_3d
      procedure :: n_rows => length_real64_3d
      procedure :: start => start_real64_3d
      procedure :: resize => resize_real64_3d
   end type

contains

   function width_int32(array) result(width)
      class(malleable_int32), intent(in) :: array
      integer(c_size_t) :: width
      width = 4_c_size_t
   end function

   function length_int32(array) result(length)
      class(malleable_int32), intent(in) :: array
      integer(c_size_t) :: length
      length = 0
      if (allocated(array%values)) length = size(array%values, 1, c_size_t)
   end function

   function start_int32(array) result(start)
      class(malleable_int32), intent(in), target :: array
      type(c_ptr) :: start
      start = c_null_ptr
      if (allocated(array%values)) then
         if (size(array%values) > 0) start = c_loc(array%values)
      end if
   end function

   subroutine resize_int32(array, n_rows)
      class(malleable_int32), intent(inout) :: array
      integer(c_size_t), intent(in) :: n_rows
      if (allocated(array%values)) deallocate (array%values)
      allocate (array%values(n_rows))
   end subroutine

   function width_int64(array) result(width)
      class(malleable_int64), intent(in) :: array
      integer(c_size_t) :: width
      width = 8_c_size_t
   end function

   function length_int64(array) result(length)
      class(malleable_int64), intent(in) :: array
      integer(c_size_t) :: length
      length = 0
      if (allocated(array%values)) length = size(array%values, 1, c_size_t)
   end function

   function start_int64(array) result(start)
      class(malleable_int64), intent(in), target :: array
      type(c_ptr) :: start
      start = c_null_ptr
      if (allocated(array%values)) then
         if (size(array%values) > 0) start = c_loc(array%values)
      end if
   end function

   subroutine resize_int64(array, n_rows)
      class(malleable_int64), intent(inout) :: array
      integer(c_size_t), intent(in) :: n_rows
      if (allocated(array%values)) deallocate (array%values)
      allocate (array%values(n_rows))
   end subroutine

   function width_real64(array) result(width)
      class(malleable_real64), intent(in) :: array
      integer(c_size_t) :: width
      width = 8_c_size_t
   end function

   function length_real64(array) result(length)
      class(malleable_real64), intent(in) :: array
      integer(c_size_t) :: length
      length = 0
      if (allocated(array%values)) length = size(array%values, 1, c_size_t)
   end function

   function start_real64(array) result(start)
      class(malleable_real64), intent(in), target :: array
      type(c_ptr) :: start
      start = c_null_ptr
      if (allocated(array%values)) then
         if (size(array%values) > 0) start = c_loc(array%values)
      end if
   end function

   subroutine resize_real64(array, n_rows)
      class(malleable_real64), intent(inout) :: array
      integer(c_size_t), intent(in) :: n_rows
      if (allocated(array%values)) deallocate (array%values)
      allocate (array%values(n_rows))
   end subroutine

   function width_real64_2d(array) result(width)
      class(malleable_real64_2d), intent(in) :: array
      integer(c_size_t) :: width
      width = 8_c_size_t*array%extents(1)
   end function

   function length_real64_2d(array) result(length)
      class(malleable_real64_2d), intent(in) :: array
      integer(c_size_t) :: length
      length = 0
      if (allocated(array%values)) length = size(array%values, 2, c_size_t)
   end function

   function start_real64_2d(array) result(start)
      class(malleable_real64_2d), intent(in), target :: array
      type(c_ptr) :: start
      start = c_null_ptr
      if (allocated(array%values)) then
         if (size(array%values) > 0) start = c_loc(array%values)
      end if
   end function

   subroutine resize_real64_2d(array, n_rows)
      class(malleable_real64_2d), intent(inout) :: array
      integer(c_size_t), intent(in) :: n_rows
      if (allocated(array%values)) deallocate (array%values)
      allocate (array%values(array%extents(1), n_rows))
   end subroutine

   function width_real64_3d(array) result(width)
      class(malleable_real64_3d), intent(in) :: array
      integer(c_size_t) :: width
      width = 8_c_size_t*product(array%extents)
   end function

   function length_real64_3d(array) result(length)
      class(malleable_real64_3d), intent(in) :: array
      integer(c_size_t) :: length
      length = 0
      if (allocated(array%values)) length = size(array%values, 3, c_size_t)
   end function

   function start_real64_3d(array) result(start)
      class(malleable_real64_3d), intent(in), target :: array
      type(c_ptr) :: start
      start = c_null_ptr
      if (allocated(array%values)) then
         if (size(array%values) > 0) start = c_loc(array%values)
      end if
   end function

   subroutine resize_real64_3d(array, n_rows)
      class(malleable_real64_3d), intent(inout) :: array
      integer(c_size_t), intent(in) :: n_rows
      if (allocated(array%values)) deallocate (array%values)
      allocate (array%values(array%extents(1), array%extents(2), n_rows))
   end subroutine

end module
