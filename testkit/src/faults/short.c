/*
 * A library that a test preloads into a program: reads and writes on regular files below a folder move
 * fewer bytes than asked. POSIX allows that for every call, so a sound program loses nothing by it.
 *
 * The calls of the chosen kinds that could move two bytes or more are counted over all threads, from 1.
 * short.rs has the variables. Linux with 64-bit offsets only.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { READS = 1, WRITES = 2 };

static char below[PATH_MAX];
static size_t below_len;
static char note[PATH_MAX];
static int kinds;
static unsigned long struck_call; /* 0: each */
static int part;                  /* '1': one byte, '2': half, '-': all but one */
static int as_whole;
static atomic_ulong calls;
static atomic_flag noted = ATOMIC_FLAG_INIT;

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value ? value : "";
}

__attribute__((constructor)) static void configure(void)
{
    const char *which = variable("WINDLASS_SHORT_CALLS");
    snprintf(below, sizeof below, "%s/", variable("WINDLASS_SHORT_BELOW"));
    below_len = strlen(below);
    snprintf(note, sizeof note, "%s", variable("WINDLASS_SHORT_NOTE"));
    kinds = (strchr(which, 'r') ? READS : 0) | (strchr(which, 'w') ? WRITES : 0);
    struck_call = strtoul(variable("WINDLASS_SHORT_NUMBER"), NULL, 10);
    part = variable("WINDLASS_SHORT_PART")[0];
    as_whole = variable("WINDLASS_SHORT_AS_WHOLE")[0] == 'y';
}

static int is_below(int fd)
{
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t len = readlink(link, path, sizeof path);
    return len > (ssize_t)below_len && memcmp(path, below, below_len) == 0;
}

/* Bytes that a call of this kind can move: a read ends at the end of the file. */
static size_t movable(enum kind kind, int fd, size_t len, off_t offset)
{
    struct stat file;
    if (fstat(fd, &file) != 0 || !S_ISREG(file.st_mode))
        return 0;
    if (kind == WRITES)
        return len;
    if (offset < 0)
        offset = lseek(fd, 0, SEEK_CUR);
    if (offset < 0 || offset >= file.st_size)
        return 0;
    size_t left = (size_t)(file.st_size - offset);
    return len < left ? len : left;
}

/* Bytes that this call moves; 0 if it is to move all it can. */
static size_t shortened(enum kind kind, int fd, size_t len, off_t offset, size_t *whole)
{
    if (!(kinds & kind) || len < 2 || !is_below(fd))
        return 0;
    *whole = movable(kind, fd, len, offset);
    if (*whole < 2)
        return 0;
    unsigned long number = atomic_fetch_add(&calls, 1) + 1;
    if (struck_call != 0 && number != struck_call)
        return 0;
    return part == '1' ? 1 : part == '2' ? *whole / 2 : *whole - 1;
}

/* Notes the first strike, and says what the program is told. */
static ssize_t told(enum kind kind, ssize_t moved, size_t asked, size_t whole)
{
    if (moved != (ssize_t)asked)
        return moved;
    if (!atomic_flag_test_and_set(&noted)) {
        char line[96];
        int len = snprintf(line, sizeof line, "%s: %zu of %zu bytes\n",
                           kind == READS ? "read" : "write", asked, whole);
        int fd = open(note, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        if (fd >= 0) {
            syscall(SYS_write, fd, line, (size_t)len);
            close(fd);
        }
    }
    return as_whole ? (ssize_t)whole : moved;
}

static ssize_t moved(enum kind kind, long call, int fd, void *bytes, size_t len, off_t offset)
{
    size_t whole = 0, some = shortened(kind, fd, len, offset, &whole);
    size_t asked = some ? some : len;
    ssize_t done = offset < 0 ? syscall(call, fd, bytes, asked) : syscall(call, fd, bytes, asked, offset);
    return some ? told(kind, done, some, whole) : done;
}

static size_t total(const struct iovec *parts, int count)
{
    size_t len = 0;
    for (int at = 0; at < count; at++)
        len += parts[at].iov_len;
    return len;
}

/* A call over several buffers moves nothing beyond the first one that is not empty. */
static ssize_t moved_parts(enum kind kind, long call, int fd, const struct iovec *parts, int count)
{
    size_t whole = 0, some = shortened(kind, fd, total(parts, count), -1, &whole);
    if (!some)
        return syscall(call, fd, parts, count);
    while (count > 1 && parts->iov_len == 0)
        parts++, count--;
    struct iovec first = { parts->iov_base, parts->iov_len < some ? parts->iov_len : some };
    return told(kind, syscall(call, fd, &first, 1), first.iov_len, whole);
}

ssize_t read(int fd, void *bytes, size_t len)
{
    return moved(READS, SYS_read, fd, bytes, len, -1);
}

ssize_t write(int fd, const void *bytes, size_t len)
{
    return moved(WRITES, SYS_write, fd, (void *)bytes, len, -1);
}

ssize_t pread64(int fd, void *bytes, size_t len, off_t offset)
{
    return moved(READS, SYS_pread64, fd, bytes, len, offset);
}

ssize_t pread(int fd, void *bytes, size_t len, off_t offset)
{
    return pread64(fd, bytes, len, offset);
}

ssize_t pwrite64(int fd, const void *bytes, size_t len, off_t offset)
{
    return moved(WRITES, SYS_pwrite64, fd, (void *)bytes, len, offset);
}

ssize_t pwrite(int fd, const void *bytes, size_t len, off_t offset)
{
    return pwrite64(fd, bytes, len, offset);
}

ssize_t readv(int fd, const struct iovec *parts, int count)
{
    return moved_parts(READS, SYS_readv, fd, parts, count);
}

ssize_t writev(int fd, const struct iovec *parts, int count)
{
    return moved_parts(WRITES, SYS_writev, fd, parts, count);
}
