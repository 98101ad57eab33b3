! Containers of arrays and packed rows that move between ranks, and blocks of bodies, for programs in Fortran:
! `sintonia_malleable.f90` shows their use.
module sintonia_malleable_arrays
   use, intrinsic :: iso_c_binding
   use, intrinsic :: iso_fortran_env, only: int8, int32, int64, real64
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
      ! Procedure that makes the bytes of a row, by its position on this rank, from 1. It is called twice for each row.
      subroutine malleable_pack(row, bytes)
         import
         integer(int64), intent(in) :: row
         integer(int8), allocatable, intent(out) :: bytes(:)
      end subroutine
      ! Procedure that makes a row of these bytes, at its new position on this rank, from 1.
      subroutine malleable_unpack(row, bytes)
         import
         integer(int64), intent(in) :: row
         integer(int8), intent(in) :: bytes(:)
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

   ! What the library gets as the address of a container.
   type :: array_box
      class(malleable_array), pointer :: array => null()
   end type

   ! Container as the library sees it; not for programs.
   type, bind(c), public :: container
      type(c_ptr) :: address = c_null_ptr
      integer(c_size_t) :: element_bytes = 0
      type(c_funptr) :: start = c_null_funptr, length = c_null_funptr, resize = c_null_funptr
   end type

   ! Block of the cells of a body. Axes are those of an array: along the first one neighbors lie side by side.
   type, public :: malleable_block
      ! Number of cells along each axis before this block.
      integer(int64) :: n_before(3) = 0
      ! Number of cells along each axis.
      integer(int64) :: extents(3) = 0
      ! Number of blocks along each axis.
      integer :: n_blocks(3) = 0
      ! Number of blocks along each axis before this one; the rank is `place(1) + n_blocks(1)*(place(2) + n_blocks(2)*place(3))`.
      integer :: place(3) = 0
   end type
   public :: malleable_pack, malleable_unpack, malleable_block_of, contained, pack_row, unpack_row

   ! What the library gets with functions that pack rows; not for programs.
   type, public :: packing_box
      procedure(malleable_pack), pointer, nopass :: pack => null()
      procedure(malleable_unpack), pointer, nopass :: unpack => null()
   end type

   type, bind(c) :: c_block
      integer(c_int64_t) :: first(3) = 0, extents(3) = 0
      integer(c_int32_t) :: n_blocks(3) = 0, place(3) = 0
   end type

   interface
      function c_block_of(extents, n_ranks, rank, block) bind(c, name="malleable_block_of")
         import
         integer(c_int64_t), intent(in) :: extents(3)
         integer(c_int32_t), value :: n_ranks, rank
         type(c_block), intent(out) :: block
         integer(c_int) :: c_block_of
      end function
   end interface

contains

   ! Block that a rank, from 0, has of a body with these extents, as `blocks_3d` cuts it. Procedures of `each_size` may call it.
   function malleable_block_of(extents, n_ranks, rank) result(block)
      integer(int64), intent(in) :: extents(3)
      integer, intent(in) :: n_ranks, rank
      type(malleable_block) :: block
      type(c_block) :: found
      if (c_block_of(extents(3:1:-1), n_ranks, rank, found) /= 0) error stop "sintonia_malleable: no such body, or no such rank"
      block%n_before = found%first(3:1:-1)
      block%extents = found%extents(3:1:-1)
      block%n_blocks = found%n_blocks(3:1:-1)
      block%place = found%place(3:1:-1)
   end function

   ! Describes a container for the library.
   function contained(array)
      class(malleable_array), intent(inout), target :: array
      type(container) :: contained
      type(array_box), pointer :: box
      allocate (box)
      box%array => array
      contained%address = c_loc(box)
      contained%element_bytes = array%row_bytes()
      contained%start = c_funloc(start_in)
      contained%length = c_funloc(length_in)
      contained%resize = c_funloc(resize_in)
   end function

   function start_in(address) bind(c)
      type(c_ptr), value :: address
      type(c_ptr) :: start_in
      type(array_box), pointer :: box
      call c_f_pointer(address, box)
      start_in = box%array%start()
   end function

   function length_in(address) bind(c)
      type(c_ptr), value :: address
      integer(c_size_t) :: length_in
      type(array_box), pointer :: box
      call c_f_pointer(address, box)
      length_in = box%array%n_rows()
   end function

   function resize_in(address, n_rows) bind(c)
      type(c_ptr), value :: address
      integer(c_size_t), value :: n_rows
      type(c_ptr) :: resize_in
      type(array_box), pointer :: box
      call c_f_pointer(address, box)
      call box%array%resize(n_rows)
      resize_in = box%array%start()
   end function

   function pack_row(row, place, context) bind(c) result(n_bytes)
      integer(c_int64_t), value :: row
      type(c_ptr), value :: place, context
      integer(c_size_t) :: n_bytes
      integer(int8), allocatable :: bytes(:)
      integer(int8), pointer :: room(:)
      type(packing_box), pointer :: box
      call c_f_pointer(context, box)
      call box%pack(row + 1, bytes)
      n_bytes = size(bytes, kind=c_size_t)
      if (.not. c_associated(place)) return
      call c_f_pointer(place, room, [n_bytes])
      room = bytes
   end function

   subroutine unpack_row(row, place, n_bytes, context) bind(c)
      integer(c_int64_t), value :: row
      type(c_ptr), value :: place, context
      integer(c_size_t), value :: n_bytes
      integer(int8), pointer :: bytes(:)
      type(packing_box), pointer :: box
      call c_f_pointer(context, box)
      call c_f_pointer(place, bytes, [n_bytes])
      call box%unpack(row + 1, bytes)
   end subroutine

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
