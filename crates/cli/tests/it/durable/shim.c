/* Stands between the program and the disk, for files in one folder.
 *
 * Every call that changes a file or its name is counted. The call of number SHIM_AT fails (SHIM_HOW=fail: once; SHIM_HOW=full: it
 * and all later ones), or the process dies in its place (SHIM_HOW=kill). With SHIM_LOG each call that succeeds is written to
 * a log, from which the state after a power cut can be made: what was written and not synchronised is lost.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *folder = NULL;
static long chosen = -1;
static char how = 'n';
static long count = 0;
static int records = -1;
static int counts = -1;

__attribute__((constructor)) static void begin(void) {
    folder = getenv("SHIM_FOLDER");
    const char *at = getenv("SHIM_AT"), *kind = getenv("SHIM_HOW"), *log = getenv("SHIM_LOG"), *number = getenv("SHIM_COUNT");
    if (at) chosen = atol(at);
    if (kind) how = strcmp(kind, "fail") == 0 ? 'f' : strcmp(kind, "full") == 0 ? 'a' : 'k';
    if (log) records = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (number) counts = syscall(SYS_openat, AT_FDCWD, number, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
}

static int in_folder(const char *path) {
    return folder && path && strncmp(path, folder, strlen(folder)) == 0;
}

static int is_ours(int fd) {
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return in_folder(path);
}

/* Counts a call, and decides what becomes of it. */
static int fails(int error) {
    long number = __atomic_add_fetch(&count, 1, __ATOMIC_SEQ_CST);
    if (counts >= 0) {
        char text[32];
        int length = snprintf(text, sizeof text, "%ld\n", number);
        syscall(SYS_pwrite64, counts, text, length, 0);
    }
    if (how == 'k' && number == chosen) {
        kill(getpid(), SIGKILL);
        for (;;) pause();
    }
    if ((how == 'f' && number == chosen) || (how == 'a' && number >= chosen && chosen > 0)) {
        errno = error;
        return 1;
    }
    return 0;
}

static void note(const char *line, const void *bytes, size_t length) {
    if (records < 0) return;
    int kept = errno;
    syscall(SYS_write, records, line, strlen(line));
    if (length) syscall(SYS_write, records, bytes, length);
    errno = kept;
}

static unsigned long node(int fd) {
    struct stat s;
    return fstat(fd, &s) == 0 ? (unsigned long)s.st_ino : 0;
}

static void note_created(const char *path) {
    struct stat s;
    char line[PATH_MAX + 64];
    if (stat(path, &s) != 0) return;
    snprintf(line, sizeof line, "C %lu %s\n", (unsigned long)s.st_ino, path);
    note(line, NULL, 0);
}

static int open_any(int dir, const char *path, int flags, mode_t mode) {
    int ours = in_folder(path) && (flags & (O_CREAT | O_WRONLY | O_RDWR | O_TRUNC));
    if (!ours) return syscall(SYS_openat, dir, path, flags, mode);
    struct stat s;
    int is_new = (flags & O_CREAT) && stat(path, &s) != 0;
    if (fails(EACCES)) return -1;
    int fd = syscall(SYS_openat, dir, path, flags, mode);
    if (fd >= 0 && is_new) note_created(path);
    return fd;
}

#define OPEN(name)                                                   \
    int name(const char *path, int flags, ...) {                     \
        va_list rest;                                                \
        va_start(rest, flags);                                       \
        mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;    \
        va_end(rest);                                                \
        return open_any(AT_FDCWD, path, flags, mode);                \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                 \
    int name(int dir, const char *path, int flags, ...) {            \
        va_list rest;                                                \
        va_start(rest, flags);                                       \
        mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;    \
        va_end(rest);                                                \
        return open_any(dir, path, flags, mode);                     \
    }
OPENAT(openat)
OPENAT(openat64)

int mknod(const char *path, mode_t mode, dev_t device) {
    int ours = in_folder(path);
    if (ours && fails(ENOSPC)) return -1;
    int result = syscall(SYS_mknodat, AT_FDCWD, path, mode, device);
    if (ours && result == 0) note_created(path);
    return result;
}

static void note_written(int fd, const void *bytes, off_t offset, ssize_t length) {
    char line[96];
    if (length <= 0) return;
    snprintf(line, sizeof line, "W %lu %ld %ld\n", node(fd), (long)offset, (long)length);
    note(line, bytes, length);
}

ssize_t write(int fd, const void *bytes, size_t length) {
    if (!is_ours(fd)) return syscall(SYS_write, fd, bytes, length);
    if (fails(ENOSPC)) return -1;
    off_t offset = lseek(fd, 0, SEEK_CUR);
    ssize_t result = syscall(SYS_write, fd, bytes, length);
    note_written(fd, bytes, offset, result);
    return result;
}

#define PWRITE(name, type)                                                     \
    ssize_t name(int fd, const void *bytes, size_t length, type offset) {      \
        if (!is_ours(fd)) return syscall(SYS_pwrite64, fd, bytes, length, offset); \
        if (fails(ENOSPC)) return -1;                                          \
        ssize_t result = syscall(SYS_pwrite64, fd, bytes, length, offset);     \
        note_written(fd, bytes, offset, result);                               \
        return result;                                                         \
    }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

static int sync_any(int fd, long number) {
    if (!is_ours(fd)) return syscall(number, fd);
    if (fails(EIO)) return -1;
    int result = syscall(number, fd);
    struct stat s;
    if (result == 0 && fstat(fd, &s) == 0) {
        char line[64];
        snprintf(line, sizeof line, "%c %lu\n", S_ISDIR(s.st_mode) ? 'D' : 'S', (unsigned long)s.st_ino);
        note(line, NULL, 0);
    }
    return result;
}

int fsync(int fd) { return sync_any(fd, SYS_fsync); }
int fdatasync(int fd) { return sync_any(fd, SYS_fdatasync); }

#define TRUNCATE(name, type)                                              \
    int name(int fd, type length) {                                       \
        if (!is_ours(fd)) return syscall(SYS_ftruncate, fd, length);      \
        if (fails(EIO)) return -1;                                        \
        int result = syscall(SYS_ftruncate, fd, length);                  \
        char line[64];                                                    \
        snprintf(line, sizeof line, "T %lu %ld\n", node(fd), (long)length); \
        if (result == 0) note(line, NULL, 0);                             \
        return result;                                                    \
    }
TRUNCATE(ftruncate, off_t)
TRUNCATE(ftruncate64, off64_t)

static void note_names(char kind, const char *from, const char *to) {
    char line[2 * PATH_MAX + 16];
    snprintf(line, sizeof line, "%c %s\t%s\n", kind, from, to);
    note(line, NULL, 0);
}

int rename(const char *from, const char *to) {
    int ours = in_folder(to);
    if (ours && fails(EIO)) return -1;
    int result = syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to);
    if (ours && result == 0) note_names('R', from, to);
    return result;
}

int linkat(int old, const char *from, int new, const char *to, int flags) {
    int ours = in_folder(to);
    if (ours && fails(EIO)) return -1;
    int result = syscall(SYS_linkat, old, from, new, to, flags);
    if (ours && result == 0) note_names('L', from, to);
    return result;
}

int unlink(const char *path) {
    int ours = in_folder(path);
    if (ours && fails(EIO)) return -1;
    int result = syscall(SYS_unlinkat, AT_FDCWD, path, 0);
    if (ours && result == 0) note_names('U', path, "");
    return result;
}
