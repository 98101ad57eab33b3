/* One file read and written by every operation on files. */
#include "expect.h"

#include <stdio.h>

#define N 4
#define BLOCK (4 * N)

static int out[N], in[N];
static MPI_Status status;

static MPI_File open_file(const char *folder, char path[4096])
{
    MPI_File file;
    snprintf(path, 4096, "%s/data.bin", folder);
    CALL(MPI_File_open, 0, MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    for (int i = 0; i < N; i++) {
        out[i] = 10 * rank + i;
        in[i] = -1;
    }
    return file;
}

/* The file view, through which each rank sees its own blocks. */
static void set_view(MPI_File file)
{
    MPI_Datatype block, mine;
    MPI_Type_contiguous(N, MPI_INT, &block);
    MPI_Type_create_resized(block, 0, (MPI_Aint)BLOCK * size, &mine);
    MPI_Type_commit(&mine);
    CALL(MPI_File_set_view, 0, file, (MPI_Offset)BLOCK * rank, MPI_INT, mine, "native", MPI_INFO_NULL);
    CALL(MPI_Type_free, 0, &block);
    CALL(MPI_Type_free, 0, &mine);
}

static void check_read(const char *what)
{
    for (int i = 0; i < N; i++) {
        check(in[i] == out[i], what);
        in[i] = -1;
    }
}

static void individual(MPI_File file)
{
    MPI_Request request;
    CALL_C(MPI_File_write, BLOCK, file, out, N, MPI_INT, &status);
    MPI_File_seek(file, 0, MPI_SEEK_SET);
    CALL_C(MPI_File_read, BLOCK, file, in, N, MPI_INT, &status);
    check_read("File_read");
    CALL_C(MPI_File_write_at, BLOCK, file, N, out, N, MPI_INT, MPI_STATUS_IGNORE);
    CALL_C(MPI_File_read_at, BLOCK, file, N, in, N, MPI_INT, MPI_STATUS_IGNORE);
    check_read("File_read_at");
    CALL_C(MPI_File_iwrite_at, BLOCK, file, 2 * N, out, N, MPI_INT, &request);
    WAIT(&request);
    CALL_C(MPI_File_iread_at, BLOCK, file, 2 * N, in, N, MPI_INT, &request);
    WAIT(&request);
    check_read("File_iread_at");
    MPI_File_seek(file, 3 * N, MPI_SEEK_SET);
    CALL_C(MPI_File_iwrite, BLOCK, file, out, N, MPI_INT, &request);
    WAIT(&request);
    MPI_File_seek(file, 3 * N, MPI_SEEK_SET);
    CALL_C(MPI_File_iread, BLOCK, file, in, N, MPI_INT, &request);
    WAIT(&request);
    check_read("File_iread");
}

static void together(MPI_File file)
{
    MPI_Request request;
    MPI_File_seek(file, 0, MPI_SEEK_SET);
    CALL_C(MPI_File_write_all, BLOCK, file, out, N, MPI_INT, &status);
    CALL_C(MPI_File_write_at_all, BLOCK, file, N, out, N, MPI_INT, &status);
    MPI_File_seek(file, 0, MPI_SEEK_SET);
    CALL_C(MPI_File_read_all, BLOCK, file, in, N, MPI_INT, &status);
    check_read("File_read_all");
    CALL_C(MPI_File_read_at_all, BLOCK, file, N, in, N, MPI_INT, &status);
    check_read("File_read_at_all");
    CALL_C(MPI_File_iwrite_at_all, BLOCK, file, 2 * N, out, N, MPI_INT, &request);
    WAIT(&request);
    CALL_C(MPI_File_iread_at_all, BLOCK, file, 2 * N, in, N, MPI_INT, &request);
    WAIT(&request);
    check_read("File_iread_at_all");
    MPI_File_seek(file, 3 * N, MPI_SEEK_SET);
    CALL_C(MPI_File_iwrite_all, BLOCK, file, out, N, MPI_INT, &request);
    WAIT(&request);
    MPI_File_seek(file, 3 * N, MPI_SEEK_SET);
    CALL_C(MPI_File_iread_all, BLOCK, file, in, N, MPI_INT, &request);
    WAIT(&request);
    check_read("File_iread_all");
}

/* The begin of a split operation counts its bytes, the end none. */
static void split(MPI_File file)
{
    MPI_File_seek(file, 0, MPI_SEEK_SET);
    CALL_C(MPI_File_write_all_begin, BLOCK, file, out, N, MPI_INT);
    CALL(MPI_File_write_all_end, 0, file, out, &status);
    CALL_C(MPI_File_write_at_all_begin, BLOCK, file, N, out, N, MPI_INT);
    CALL(MPI_File_write_at_all_end, 0, file, out, &status);
    MPI_File_seek(file, 0, MPI_SEEK_SET);
    CALL_C(MPI_File_read_all_begin, BLOCK, file, in, N, MPI_INT);
    CALL(MPI_File_read_all_end, 0, file, in, &status);
    check_read("File_read_all_end");
    CALL_C(MPI_File_read_at_all_begin, BLOCK, file, N, in, N, MPI_INT);
    CALL(MPI_File_read_at_all_end, 0, file, in, &status);
    check_read("File_read_at_all_end");
}

/* Through the shared pointer ranks read each other's blocks, except those in the order of ranks. */
static void shared(MPI_File file)
{
    MPI_Request request;
    CALL(MPI_File_set_view, 0, file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    CALL(MPI_File_seek_shared, 0, file, 0, MPI_SEEK_SET);
    CALL_C(MPI_File_write_shared, BLOCK, file, out, N, MPI_INT, &status);
    CALL_C(MPI_File_iwrite_shared, BLOCK, file, out, N, MPI_INT, &request);
    WAIT(&request);
    BARRIER();
    CALL_C(MPI_File_write_ordered, BLOCK, file, out, N, MPI_INT, &status);
    CALL(MPI_File_sync, 0, file);
    BARRIER();
    CALL(MPI_File_seek_shared, 0, file, 0, MPI_SEEK_SET);
    CALL_C(MPI_File_read_shared, BLOCK, file, in, N, MPI_INT, &status);
    CALL_C(MPI_File_iread_shared, BLOCK, file, in, N, MPI_INT, &request);
    WAIT(&request);
    BARRIER();
    CALL_C(MPI_File_read_ordered, BLOCK, file, in, N, MPI_INT, &status);
    check_read("File_read_ordered");
}

static void shared_split(MPI_File file)
{
    CALL(MPI_File_seek_shared, 0, file, 0, MPI_SEEK_SET);
    CALL_C(MPI_File_write_ordered_begin, BLOCK, file, out, N, MPI_INT);
    CALL(MPI_File_write_ordered_end, 0, file, out, &status);
    CALL(MPI_File_seek_shared, 0, file, 0, MPI_SEEK_SET);
    CALL_C(MPI_File_read_ordered_begin, BLOCK, file, in, N, MPI_INT);
    CALL(MPI_File_read_ordered_end, 0, file, in, &status);
    check_read("File_read_ordered_end");
}

/* One file, opened once: Open MPI 4 and 5 may hang when a process opens a second one. */
void io(const char *folder)
{
    char path[4096];
    MPI_File file = open_file(folder, path);
    CALL(MPI_File_set_size, 0, file, 4 * BLOCK);
    CALL(MPI_File_preallocate, 0, file, 4 * BLOCK);
    MPI_Info info;
    MPI_Info_create(&info);
    CALL(MPI_File_set_info, 0, file, info);
    MPI_Info_free(&info);
    set_view(file);
    individual(file);
    together(file);
    split(file);
    shared(file);
    shared_split(file);
    CALL(MPI_File_set_atomicity, 0, file, 0);
    CALL(MPI_File_close, 0, &file);
    if (rank == 0)
        CALL(MPI_File_delete, 0, path, MPI_INFO_NULL);
}
