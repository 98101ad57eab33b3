! Malleable programs in Fortran: data in allocatable arrays, procedures of the program with each size.
!
!   mpifort sintonia_malleable_arrays.f90 sintonia_malleable.f90 program.f90 -lsintonia_malleable
!
!   type(malleable_program) :: run
!   type(malleable_real64), target :: heat
!   type(malleable_share), target :: share
!   call run%begin()
!   call run%rows_of(n_rows, share)
!   call run%rows("heat", heat)
!   if (.not. run%is_new()) allocate (heat%values(share%n_rows), source=0.0_real64)
!   i = 0
!   do while (i < n)
!      if (run%resize_point(i) == malleable_left) exit
!      call step(heat%values, share, run%comm())
!      i = i + 1
!   end do
!   call run%finish()
!
! `malleable.h` says what each procedure does. Arrays are registered with their container, whose last dimension counts rows:
! the first dimensions of `malleable_real64_2d` and so on are set with `extents`. Containers and shares have the attribute
! `target`, and stay until the end. Rows are numbered from 1: this rank has those after the first `share%n_before`.
! Arguments of the command line that are not options of the library stay the program's, at their places.
module sintonia_malleable
   use, intrinsic :: iso_c_binding
   use, intrinsic :: iso_fortran_env, only: int64, error_unit
   use sintonia_malleable_arrays
   implicit none
   private
   public :: malleable_array, malleable_int32, malleable_int64, malleable_real64, malleable_real64_2d, malleable_real64_3d
   public :: malleable_block, malleable_block_of, malleable_pack, malleable_unpack

   integer, parameter, public :: malleable_continue = 0, malleable_resized = 1, malleable_left = 2
   integer, parameter, public :: malleable_even = 0, malleable_weighted = 1, malleable_aligned = 2, malleable_cyclic = 3, &
      malleable_blocks_2d = 4

   ! Rows of this rank.
   type, bind(c), public :: malleable_share
      ! Number of rows on the ranks before.
      integer(c_int64_t) :: n_before = 0
      ! Number of rows of this rank.
      integer(c_int64_t) :: n_rows = 0
   end type

   abstract interface
      ! Procedure that is called when a size begins or ends.
      subroutine malleable_hook()
      end subroutine
   end interface
   public :: malleable_hook

   ! Program that changes its number of ranks while it runs, as seen by one of its processes. A failure is a sentence on
   ! standard error and the end of this process, after which the launcher ends the others.
   type, public :: malleable_program
      private
      type(c_ptr) :: handle = c_null_ptr
   contains
      procedure :: begin
      procedure :: is_new
      procedure :: resize_point
      procedure :: comm
      procedure :: finish
      procedure :: constant
      procedure :: variable
      procedure :: rows_of
      procedure :: blocks_3d
      procedure :: rows
      procedure :: constant_rows
      procedure :: uneven_rows
      procedure :: constant_uneven_rows
      procedure :: packed_rows
      procedure :: each_size
   end type

   ! What the library gets with functions that are called with each size.
   type :: hook_box
      procedure(malleable_hook), pointer, nopass :: begins => null(), ends => null()
   end type

   interface
      function c_begin(words, argc, argv) bind(c, name="malleable_begin_with")
         import
         character(kind=c_char), intent(in) :: words(*)
         integer(c_int), intent(inout) :: argc
         type(c_ptr), intent(inout) :: argv
         type(c_ptr) :: c_begin
      end function
      function c_is_new(program) bind(c, name="malleable_is_new")
         import
         type(c_ptr), value :: program
         logical(c_bool) :: c_is_new
      end function
      function c_resize_point(program, iteration) bind(c, name="malleable_resize_point")
         import
         type(c_ptr), value :: program
         integer(c_int64_t), intent(inout) :: iteration
         integer(c_int) :: c_resize_point
      end function
      function c_comm(program) bind(c, name="malleable_fortran_comm")
         import
         type(c_ptr), value :: program
         integer(c_int) :: c_comm
      end function
      function c_end(program) bind(c, name="malleable_end")
         import
         type(c_ptr), value :: program
         integer(c_int) :: c_end
      end function
      function c_constant(program, called, place, n_bytes) bind(c, name="malleable_constant")
         import
         type(c_ptr), value :: program, place
         character(kind=c_char), intent(in) :: called(*)
         integer(c_size_t), value :: n_bytes
         integer(c_int) :: c_constant
      end function
      function c_variable(program, called, place, n_bytes) bind(c, name="malleable_variable")
         import
         type(c_ptr), value :: program, place
         character(kind=c_char), intent(in) :: called(*)
         integer(c_size_t), value :: n_bytes
         integer(c_int) :: c_variable
      end function
      function c_rows_of(program, n_rows, cut, with, share) bind(c, name="malleable_rows_of")
         import
         type(c_ptr), value :: program, share
         integer(c_int64_t), value :: n_rows, with
         integer(c_int), value :: cut
         integer(c_int) :: c_rows_of
      end function
      function c_blocks_3d(program, extents, share) bind(c, name="malleable_blocks_3d")
         import
         type(c_ptr), value :: program, share
         integer(c_int64_t), intent(in) :: extents(3)
         integer(c_int) :: c_blocks_3d
      end function
      function c_packed(program, called, pack, unpack, context) bind(c, name="malleable_packed_rows")
         import
         type(c_ptr), value :: program, context
         character(kind=c_char), intent(in) :: called(*)
         type(c_funptr), value :: pack, unpack
         integer(c_int) :: c_packed
      end function
      function c_rows(program, called, is_constant, rows) bind(c, name="malleable_contained_rows")
         import
         type(c_ptr), value :: program
         character(kind=c_char), intent(in) :: called(*)
         logical(c_bool), value :: is_constant
         type(container), intent(in) :: rows
         integer(c_int) :: c_rows
      end function
      function c_uneven(program, called, is_constant, lengths, entries, n_entries) bind(c, name="malleable_contained_uneven")
         import
         type(c_ptr), value :: program
         character(kind=c_char), intent(in) :: called(*)
         logical(c_bool), value :: is_constant
         type(container), intent(in) :: lengths, entries(*)
         integer(c_size_t), value :: n_entries
         integer(c_int) :: c_uneven
      end function
      function c_each_size(program, begins, ends, context) bind(c, name="malleable_each_size")
         import
         type(c_ptr), value :: program, context
         type(c_funptr), value :: begins, ends
         integer(c_int) :: c_each_size
      end function
      function c_message() bind(c, name="malleable_message")
         import
         type(c_ptr) :: c_message
      end function
   end interface

contains

   ! Begins the program; `words` are its own defaults of options, such as "--sizes 2:8".
   subroutine begin(program, words)
      class(malleable_program), intent(inout) :: program
      character(*), intent(in), optional :: words
      character(:, kind=c_char), allocatable, target, save :: texts(:)
      type(c_ptr), allocatable, target, save :: argv(:)
      type(c_ptr) :: address
      integer(c_int) :: argc
      integer :: i, longest, length
      longest = 1
      do i = 0, command_argument_count()
         call get_command_argument(i, length=length)
         longest = max(longest, length + 1)
      end do
      argc = int(command_argument_count() + 1, c_int)
      allocate (character(longest, kind=c_char) :: texts(0:argc - 1))
      allocate (argv(0:argc))
      argv = c_null_ptr
      do i = 0, argc - 1
         call get_command_argument(i, texts(i), length)
         texts(i)(length + 1:length + 1) = c_null_char
         argv(i) = c_loc(texts(i))
      end do
      address = c_loc(argv)
      if (present(words)) then
         program%handle = c_begin(words//c_null_char, argc, address)
      else
         program%handle = c_begin(""//c_null_char, argc, address)
      end if
      if (.not. c_associated(program%handle)) call fail()
   end subroutine

   ! Whether the data arrive at the first resize point, so that this process must not create them.
   logical function is_new(program)
      class(malleable_program), intent(in) :: program
      is_new = c_is_new(program%handle)
   end function

   ! Point at which the size may change, before the iteration after `iteration` ones.
   integer function resize_point(program, iteration)
      class(malleable_program), intent(in) :: program
      integer(int64), intent(inout) :: iteration
      resize_point = c_resize_point(program%handle, iteration)
      if (resize_point > malleable_left) call fail()
   end function

   ! Communicator of the present ranks; a resize replaces it.
   integer function comm(program)
      class(malleable_program), intent(in) :: program
      comm = c_comm(program%handle)
   end function

   subroutine finish(program)
      class(malleable_program), intent(inout) :: program
      integer(c_int) :: code
      code = c_end(program%handle)
      program%handle = c_null_ptr
      call check(code)
   end subroutine

   ! Registers bytes that are the same on every rank and never change: `run%constant("n", c_loc(n), c_sizeof(n))`.
   subroutine constant(program, called, place, n_bytes)
      class(malleable_program), intent(in) :: program
      character(*), intent(in) :: called
      type(c_ptr), intent(in) :: place
      integer(c_size_t), intent(in) :: n_bytes
      call check(c_constant(program%handle, called//c_null_char, place, n_bytes))
   end subroutine

   ! The same for bytes that change between iterations.
   subroutine variable(program, called, place, n_bytes)
      class(malleable_program), intent(in) :: program
      character(*), intent(in) :: called
      type(c_ptr), intent(in) :: place
      integer(c_size_t), intent(in) :: n_bytes
      call check(c_variable(program%handle, called//c_null_char, place, n_bytes))
   end subroutine

   ! Sets the partition of the rows that are registered next.
   subroutine rows_of(program, n_rows, share, cut, with)
      class(malleable_program), intent(in) :: program
      integer(int64), intent(in) :: n_rows
      type(malleable_share), intent(inout), target :: share
      integer, intent(in), optional :: cut
      integer(int64), intent(in), optional :: with
      integer(c_int) :: rule
      integer(c_int64_t) :: parameter
      rule = malleable_even
      parameter = 0
      if (present(cut)) rule = int(cut, c_int)
      if (present(with)) parameter = with
      call check(c_rows_of(program%handle, n_rows, rule, parameter, c_loc(share)))
   end subroutine

   ! Sets the partition of the cells of a body into blocks: `extents` are its numbers of cells along each axis, and that of the
   ! first axis varies fastest, as in an array. `malleable_block_of` describes the blocks.
   subroutine blocks_3d(program, extents, share)
      class(malleable_program), intent(in) :: program
      integer(int64), intent(in) :: extents(3)
      type(malleable_share), intent(inout), target :: share
      call check(c_blocks_3d(program%handle, extents(3:1:-1), c_loc(share)))
   end subroutine

   ! Registers an array with an element, a column or a slice for each row.
   subroutine rows(program, called, array)
      class(malleable_program), intent(in) :: program
      character(*), intent(in) :: called
      class(malleable_array), intent(inout), target :: array
      call check(c_rows(program%handle, called//c_null_char, .false._c_bool, contained(array)))
   end subroutine

   ! The same for one that never changes.
   subroutine constant_rows(program, called, array)
      class(malleable_program), intent(in) :: program
      character(*), intent(in) :: called
      class(malleable_array), intent(inout), target :: array
      call check(c_rows(program%handle, called//c_null_char, .true._c_bool, contained(array)))
   end subroutine

   ! Registers an array whose rows have different numbers of elements, which `lengths` has.
   subroutine uneven_rows(program, called, lengths, array)
      class(malleable_program), intent(in) :: program
      character(*), intent(in) :: called
      type(malleable_int32), intent(inout), target :: lengths
      class(malleable_array), intent(inout), target :: array
      call check(c_uneven(program%handle, called//c_null_char, .false._c_bool, contained(lengths), [contained(array)], &
         1_c_size_t))
   end subroutine

   ! Registers arrays that never change, such as the columns and the values of a sparse matrix.
   subroutine constant_uneven_rows(program, called, lengths, columns, values)
      class(malleable_program), intent(in) :: program
      character(*), intent(in) :: called
      type(malleable_int32), intent(inout), target :: lengths
      class(malleable_array), intent(inout), target :: columns, values
      call check(c_uneven(program%handle, called//c_null_char, .true._c_bool, contained(lengths), &
         [contained(columns), contained(values)], 2_c_size_t))
   end subroutine

   ! Registers rows that are structures of the program, such as lists: `pack` makes the bytes of one, and `unpack` makes one of
   ! them. After a resize `unpack` is called for each row that this rank has then; the share has the number of them before.
   subroutine packed_rows(program, called, pack, unpack)
      class(malleable_program), intent(in) :: program
      character(*), intent(in) :: called
      procedure(malleable_pack) :: pack
      procedure(malleable_unpack) :: unpack
      type(packing_box), pointer :: box
      allocate (box)
      box%pack => pack
      box%unpack => unpack
      call check(c_packed(program%handle, called//c_null_char, c_funloc(pack_row), c_funloc(unpack_row), c_loc(box)))
   end subroutine

   ! Has procedures called with each size, by all ranks together: when a number of ranks begins, and when it ends.
   subroutine each_size(program, begins, ends)
      class(malleable_program), intent(in) :: program
      procedure(malleable_hook) :: begins
      procedure(malleable_hook), optional :: ends
      type(hook_box), pointer :: box
      allocate (box)
      box%begins => begins
      if (present(ends)) box%ends => ends
      call check(c_each_size(program%handle, c_funloc(begin_size), c_funloc(end_size), c_loc(box)))
   end subroutine

   subroutine begin_size(program, context) bind(c)
      type(c_ptr), value :: program, context
      type(hook_box), pointer :: box
      if (.not. c_associated(program)) return
      call c_f_pointer(context, box)
      call box%begins()
   end subroutine

   subroutine end_size(program, context) bind(c)
      type(c_ptr), value :: program, context
      type(hook_box), pointer :: box
      if (.not. c_associated(program)) return
      call c_f_pointer(context, box)
      if (associated(box%ends)) call box%ends()
   end subroutine

   subroutine check(code)
      integer(c_int), intent(in) :: code
      if (code /= 0) call fail()
   end subroutine

   subroutine fail()
      character(kind=c_char), pointer :: text(:)
      type(c_ptr) :: message
      integer :: n
      message = c_message()
      call c_f_pointer(message, text, [4096])
      n = 0
      do while (text(n + 1) /= c_null_char)
         n = n + 1
      end do
      write (error_unit, "(*(a))") "sintonia_malleable: ", text(1:n)
      error stop 1
   end subroutine

end module
