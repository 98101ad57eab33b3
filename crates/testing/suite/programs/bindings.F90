! The Fortran bindings: one program, compiled with BINDING = 1 (`mpif.h`), 2 (`use mpi`) or 3 (`use mpi_f08`).
!
!     bindings FOLDER
!
! Prints what it computed, and writes what an observer must have seen (operations/expect.c) to FOLDER.
#if BINDING == 3
#define HANDLE(kind) type(kind)
#define STATUS_TYPE type(MPI_Status)
#define SOURCE_OF(s) s%MPI_SOURCE
#define TAG_OF(s) s%MPI_TAG
#define STATUS_ARRAY(name, n) type(MPI_Status) :: name(n)
#else
#define HANDLE(kind) integer
#define STATUS_TYPE integer, dimension(MPI_STATUS_SIZE)
#define SOURCE_OF(s) s(MPI_SOURCE)
#define TAG_OF(s) s(MPI_TAG)
#define STATUS_ARRAY(name, n) integer :: name(MPI_STATUS_SIZE, n)
#endif

module expectation
    use, intrinsic :: iso_c_binding
    implicit none
    interface
        subroutine expect_c(operation, bytes) bind(c, name="expect")
            import
            character(kind=c_char), intent(in) :: operation(*)
            integer(c_long_long), value :: bytes
        end subroutine
        subroutine take_place_in_world() bind(c, name="take_place_in_world")
        end subroutine
        subroutine write_expectation_c(folder, name) bind(c, name="write_expectation")
            import
            character(kind=c_char), intent(in) :: folder(*), name(*)
        end subroutine
    end interface
contains
    subroutine expect(operation, bytes)
        character(*), intent(in) :: operation
        integer, intent(in) :: bytes
        call expect_c(names(operation), int(bytes, c_long_long))
    end subroutine

    ! The list keeps pointers: names live as long as the program.
    function names(operation) result(kept)
        character(*), intent(in) :: operation
        character(kind=c_char), pointer :: kept(:)
        integer :: i
        allocate (kept(len(operation) + 1))
        do i = 1, len(operation)
            kept(i) = operation(i:i)
        end do
        kept(len(operation) + 1) = c_null_char
    end function

    subroutine check(condition, what)
        logical, intent(in) :: condition
        character(*), intent(in) :: what
        if (.not. condition) then
            write (0, *) "not so: ", what
            error stop 9
        end if
    end subroutine
end module

program bindings
#if BINDING == 3
    use mpi_f08
#elif BINDING == 2
    use mpi
#endif
    use expectation
    implicit none
#if BINDING == 1
    include 'mpif.h'
#endif
    integer :: rank, size, left, right, error
    character(1000) :: folder

    call get_command_argument(1, folder)
    call expect("MPI_Init", 0)
    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call MPI_Comm_size(MPI_COMM_WORLD, size, error)
    left = modulo(rank - 1, size)
    right = modulo(rank + 1, size)
    call take_place_in_world()
    call messages()
    call sections()
    call requests()
    call absolute_addresses()
    call collectives()
    call topology()
    call one_file()
    call expect("MPI_Finalize", 0)
    call MPI_Finalize(error)
    call write_expectation_c(names(trim(folder)), names("world"))
contains

    subroutine print_sum(what, value)
        character(*), intent(in) :: what
        double precision, intent(in) :: value
        double precision :: all
        call expect("MPI_Reduce", 8)
        call MPI_Reduce(value, all, 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD, error)
        if (rank == 0) print '(a, 1x, z16.16)', what, all
    end subroutine

    subroutine messages()
        double precision :: out(10), in(10)
        integer :: whole(4), n, i
        STATUS_TYPE :: status
        out = [(rank + i / 7d0, i = 1, 10)]
        in = 0
        ! Rank 0 sends first, the others receive first.
        if (rank == 0) call send(out)
        call expect("MPI_Recv", 8 * 10)
        call MPI_Recv(in, 10, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, status, error)
        if (rank /= 0) call send(out)
        call MPI_Get_count(status, MPI_DOUBLE_PRECISION, n, error)
        call check(SOURCE_OF(status) == left .and. TAG_OF(status) == 5 .and. n == 10, "the status is filled")
        call print_sum("send", sum(in))

        whole = rank
        call expect("MPI_Sendrecv_replace", 2 * 4 * 4)
        call MPI_Sendrecv_replace(whole, 4, MPI_INTEGER, right, 1, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
        call check(all(whole == left), "Sendrecv_replace")
        call expect("MPI_Sendrecv", 2 * 8)
        call MPI_Sendrecv(out(3), 1, MPI_DOUBLE_PRECISION, right, 2, in(7), 1, MPI_DOUBLE_PRECISION, left, 2, &
                          MPI_COMM_WORLD, status, error)
        call check(TAG_OF(status) == 2, "the status of Sendrecv")
        call print_sum("sendrecv", in(7))
        call expect("MPI_Recv", 0)
        call MPI_Recv(whole, 4, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
    end subroutine

    ! A row of a matrix is not contiguous: `mpi_f08` may pass its descriptor, the others copy it.
    subroutine sections()
        double precision :: table(4, 6), row(6)
        integer :: i
        table = reshape([(rank + i / 3d0, i = 1, 24)], [4, 6])
        call expect("MPI_Sendrecv", 2 * 8 * 6)
        call MPI_Sendrecv(table(2, :), 6, MPI_DOUBLE_PRECISION, right, 4, row, 6, MPI_DOUBLE_PRECISION, left, 4, &
                          MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
        table(3, :) = row
        call expect("MPI_Bcast", 8 * 3)
        call MPI_Bcast(table(3, 1:5:2), 3, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, error)
#if BINDING == 3
        ! Only here may the error be left out.
        call expect("MPI_Barrier", 0)
        call MPI_Barrier(MPI_COMM_WORLD)
#endif
        call print_sum("sections", sum(table))
    end subroutine

    subroutine send(values)
        double precision, intent(in) :: values(:)
        call expect("MPI_Send", 8 * 10)
        call MPI_Send(values, 10, MPI_DOUBLE_PRECISION, right, 5, MPI_COMM_WORLD, error)
    end subroutine

    subroutine requests()
        integer, parameter :: n = 3
        double precision, asynchronous :: out(n), in(n)
        HANDLE(MPI_Request) :: pending(2 * n), one
        STATUS_ARRAY(statuses, 2 * n)
        STATUS_TYPE :: status
        integer :: i, idx
        logical :: done
        do i = 1, n
            out(i) = rank * 10 + i
            call expect("MPI_Irecv", 8)
            call MPI_Irecv(in(i), 1, MPI_DOUBLE_PRECISION, left, i, MPI_COMM_WORLD, pending(i), error)
            call expect("MPI_Isend", 8)
            call MPI_Isend(out(i), 1, MPI_DOUBLE_PRECISION, right, i, MPI_COMM_WORLD, pending(n + i), error)
        end do
        call MPI_Waitany(n, pending, idx, status, error)
        ! MPICH 4.0 counts from 0 under `mpi_f08`: the receive before the completed one, if any, is taken for it.
        call check(TAG_OF(status) == idx .or. TAG_OF(status) == idx + 1, "the index fits the status")
        call expect("MPI_Waitany", merge(0, 8, idx == 0))
        call expect("MPI_Waitall", 8 * merge(n - 2, n - 1, TAG_OF(status) == idx + 1 .and. idx /= 0))
        call MPI_Waitall(2 * n, pending, statuses, error)
        call check(all(in == [(left * 10 + i, i = 1, n)]), "all arrived")
        call print_sum("waitall", sum(in))

        call expect("MPI_Irecv", 8)
        call MPI_Irecv(in(1), 1, MPI_DOUBLE_PRECISION, left, 9, MPI_COMM_WORLD, one, error)
        call expect("MPI_Isend", 8)
        call MPI_Isend(out(2), 1, MPI_DOUBLE_PRECISION, right, 9, MPI_COMM_WORLD, pending(1), error)
        done = .false.
        do while (.not. done)
            call MPI_Test(one, done, status, error)
            call expect("MPI_Test", merge(8, 0, done))
        end do
        call expect("MPI_Waitall", 0)
        call MPI_Waitall(1, pending, MPI_STATUSES_IGNORE, error)
        call print_sum("test", in(1))
    end subroutine

    ! A structure of two variables by their addresses, sent from MPI_BOTTOM.
    subroutine absolute_addresses()
        ! Volatile: MPICH 4.0 lacks a working MPI_F_sync_reg.
        double precision, volatile :: a, c
        integer, volatile :: b(2), d(2)
        HANDLE(MPI_Datatype) :: out_type, in_type
        a = rank + 0.25d0
        b = [rank, 7]
        out_type = pair_type(a, b)
        in_type = pair_type(c, d)
        call expect("MPI_Sendrecv", 2 * 16)
        call MPI_Sendrecv(MPI_BOTTOM, 1, out_type, right, 3, MPI_BOTTOM, 1, in_type, left, 3, MPI_COMM_WORLD, &
                          MPI_STATUS_IGNORE, error)
        call expect("MPI_Type_free", 0)
        call MPI_Type_free(out_type, error)
        call expect("MPI_Type_free", 0)
        call MPI_Type_free(in_type, error)
        call print_sum("bottom", c + d(1) + d(2))
    end subroutine

    function pair_type(real_part, integers) result(made)
        double precision, volatile :: real_part
        integer, volatile :: integers(2)
        HANDLE(MPI_Datatype) :: made
        integer(MPI_ADDRESS_KIND) :: places(2)
        call MPI_Get_address(real_part, places(1), error)
        call MPI_Get_address(integers, places(2), error)
        call MPI_Type_create_struct(2, [1, 2], places, [MPI_DOUBLE_PRECISION, MPI_INTEGER], made, error)
        call MPI_Type_commit(made, error)
    end function

    subroutine collectives()
        double precision :: values(8), all(8, 64)
        integer :: i, counts(64), places(64)
        HANDLE(MPI_Request) :: request
        values = [(rank * 8 + i, i = 1, 8)]
        call expect("MPI_Bcast", 8 * 2)
        call MPI_Bcast(values, 2, MPI_DOUBLE_PRECISION, size - 1, MPI_COMM_WORLD, error)
        call expect("MPI_Allreduce", 8 * 8)
        call MPI_Allreduce(MPI_IN_PLACE, values, 8, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
        call print_sum("allreduce", sum(values))
        call expect("MPI_Gather", 8 * 8)
        call MPI_Gather(values + rank, 8, MPI_DOUBLE_PRECISION, all, 8, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, &
                        error)
        call expect("MPI_Scatter", merge(8 * 4 * size, 8 * 4, rank == 0))
        call MPI_Scatter(all, 4, MPI_DOUBLE_PRECISION, values, 4, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, error)
        call print_sum("scatter", sum(values))
        all = 0
        all(:, rank + 1) = values
        call expect("MPI_Allgather", 8 * 8)
        call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 8, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, error)
        call print_sum("allgather", sum(all(:, 1:size)))
        counts = 1
        places = [(i, i = 0, 63)]
        call expect("MPI_Alltoallv", 8 * size)
        call MPI_Alltoallv(all, counts, places, MPI_DOUBLE_PRECISION, all(1, 30), counts, places, &
                           MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, error)
        call print_sum("alltoallv", sum(all(1:size, 30)))
        call expect("MPI_Alltoall", 8 * size)
        call MPI_Alltoall(all(1, 30), 1, MPI_DOUBLE_PRECISION, values, 1, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, error)
        call expect("MPI_Ibarrier", 0)
        call MPI_Ibarrier(MPI_COMM_WORLD, request, error)
        call expect("MPI_Wait", 0)
        call MPI_Wait(request, MPI_STATUS_IGNORE, error)
        call expect("MPI_Barrier", 0)
        call MPI_Barrier(MPI_COMM_WORLD, error)
        call print_sum("alltoall", values(1) + values(2))
    end subroutine

    ! Logicals, and the constants that stand for an absent array.
    subroutine topology()
        HANDLE(MPI_Comm) :: ring, graph
        integer :: from, to, got(2)
        logical :: periods(1)
        periods = .true.
        call expect("MPI_Cart_create", 0)
        call MPI_Cart_create(MPI_COMM_WORLD, 1, [size], periods, .false., ring, error)
        call MPI_Cart_shift(ring, 0, 1, from, to, error)
        call check(from == left .and. to == right, "the ring is periodic")
        call expect("MPI_Comm_free", 0)
        call MPI_Comm_free(ring, error)
        call expect("MPI_Dist_graph_create_adjacent", 0)
        call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, [left], MPI_UNWEIGHTED, 1, [right], MPI_UNWEIGHTED, &
                                            MPI_INFO_NULL, .false., graph, error)
        call expect("MPI_Neighbor_allgather", 4 * 2)
        call MPI_Neighbor_allgather([rank, 3], 2, MPI_INTEGER, got, 2, MPI_INTEGER, graph, error)
        call check(got(1) == left, "Neighbor_allgather")
        call expect("MPI_Comm_free", 0)
        call MPI_Comm_free(graph, error)
        call print_sum("neighbor", dble(sum(got)))
    end subroutine

    ! Strings, with their hidden lengths.
    subroutine one_file()
        HANDLE(MPI_File) :: file
        STATUS_TYPE :: status
        integer :: out(4), in(4)
        integer(MPI_OFFSET_KIND) :: place
        out = rank
        place = 16 * rank
        call expect("MPI_File_open", 0)
        call MPI_File_open(MPI_COMM_WORLD, trim(folder)//"/fortran.bin", MPI_MODE_CREATE + MPI_MODE_RDWR, &
                           MPI_INFO_NULL, file, error)
        call check(error == MPI_SUCCESS, "the file opens")
        call expect("MPI_File_write_at_all", 16)
        call MPI_File_write_at_all(file, place, out, 4, MPI_INTEGER, status, error)
        ! Another rank may have written for this one.
        call expect("MPI_File_sync", 0)
        call MPI_File_sync(file, error)
        call expect("MPI_Barrier", 0)
        call MPI_Barrier(MPI_COMM_WORLD, error)
        call expect("MPI_File_read_at", 16)
        call MPI_File_read_at(file, place, in, 4, MPI_INTEGER, MPI_STATUS_IGNORE, error)
        call check(all(in == rank), "what is read was written")
        call expect("MPI_File_close", 0)
        call MPI_File_close(file, error)
        call print_sum("file", dble(sum(in)))
    end subroutine
end program
