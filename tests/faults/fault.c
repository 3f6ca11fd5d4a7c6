// Makes one call of the system fail: LD_PRELOAD for any dynamically linked program.
//
// FAULT_ROOT   only calls on files below this directory, and on pipes, are counted
// FAULT_CALL   open read write seek rename mkdir unlink rmdir stat truncate sync lock chmod list;
//              allocate: memory of at least 4 KiB; socket: always counted, for a program that needs none;
//              clock: the time of day and the monotonic clock
// FAULT_NTH    the call that fails, from 1; 0 only counts
// FAULT_MODE   a number: that errno, once; "+number": that errno from there on; "short": half of the bytes; "eof": no bytes;
//              of clocks, from that call on: "back": an hour earlier; "+back": each time another hour earlier; "1969": before 1970
// FAULT_COUNTS file to which "call count" lines are appended at the end
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { OPEN, READ, WRITE, SEEK, RENAME, MKDIR, UNLINK, RMDIR, STAT, TRUNCATE, SYNC, LOCK, CHMOD, LIST, ALLOCATE, SOCKET, CLOCK, NCALLS };
static const char *NAMES[NCALLS] = {"open",   "read",  "write",    "seek", "rename", "mkdir", "unlink",
                                    "rmdir", "stat", "truncate", "sync", "lock",   "chmod", "list", "allocate", "socket", "clock"};
enum { PASS, FAIL, SHORT, END, BACK, BEFORE_1970 };

static atomic_long counts[NCALLS];
static const char *root;
static int chosen = -1, error, is_lasting, kind = FAIL;
static long nth;

__attribute__((constructor)) static void begin(void) {
    const char *call = getenv("FAULT_CALL"), *mode = getenv("FAULT_MODE"), *number = getenv("FAULT_NTH");
    root = getenv("FAULT_ROOT");
    nth = number ? atol(number) : 0;
    for (int i = 0; call && i < NCALLS; i++)
        if (strcmp(call, NAMES[i]) == 0) chosen = i;
    if (!mode) return;
    if (strcmp(mode, "short") == 0) kind = SHORT;
    else if (strcmp(mode, "eof") == 0) kind = END;
    else if (strcmp(mode, "back") == 0 || strcmp(mode, "+back") == 0) kind = BACK, is_lasting = mode[0] == '+';
    else if (strcmp(mode, "1969") == 0) kind = BEFORE_1970;
    else {
        is_lasting = mode[0] == '+';
        error = atoi(mode + is_lasting);
    }
}

__attribute__((destructor)) static void end(void) {
    const char *path = getenv("FAULT_COUNTS");
    FILE *file = path ? fopen(path, "a") : NULL;
    if (!file) return;
    for (int i = 0; i < NCALLS; i++) fprintf(file, "%s %ld\n", NAMES[i], counts[i]);
    fclose(file);
}

static int hit(int call) {
    long number = atomic_fetch_add(&counts[call], 1) + 1;
    if (call != chosen || nth == 0 || number < nth || (number > nth && !is_lasting)) return PASS;
    if (kind == FAIL) errno = error;
    return kind;
}

static int is_below(const char *path) {
    return root && (path[0] != '/' || strncmp(path, root, strlen(root)) == 0);
}

static int counts_fd(int fd) {
    if (fd == 2) return 0;
    char link[64], path[PATH_MAX];
    int before = errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    errno = before;
    if (n < 0) return 0;
    path[n] = 0;
    return strncmp(path, "pipe:", 5) == 0 ? fd <= 1 : is_below(path);
}

#define REAL(name) \
    static __typeof__(&name) real; \
    if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)
#define BY_PATH(call, path) if (is_below(path) && hit(call) != PASS) return -1
#define BY_FD(call, fd) if (counts_fd(fd) && hit(call) != PASS) return -1

static mode_t mode_of(int flags, va_list list) { return flags & (O_CREAT | O_TMPFILE) ? va_arg(list, mode_t) : 0; }

#define OPENS(name) \
    int name(const char *path, int flags, ...) { \
        va_list list; va_start(list, flags); mode_t mode = mode_of(flags, list); va_end(list); \
        REAL(name); BY_PATH(OPEN, path); return real(path, flags, mode); \
    }
OPENS(open) OPENS(open64)
#define OPENS_AT(name) \
    int name(int directory, const char *path, int flags, ...) { \
        va_list list; va_start(list, flags); mode_t mode = mode_of(flags, list); va_end(list); \
        REAL(name); BY_PATH(OPEN, path); return real(directory, path, flags, mode); \
    }
OPENS_AT(openat) OPENS_AT(openat64)

// A pipe gives what it has: half of it cannot be put back, so that fewer bytes are asked for.
#define TRANSFER(call, n, less) \
    switch (counts_fd(fd) ? hit(call) : PASS) { \
    case FAIL: return -1; \
    case END: return 0; \
    case SHORT: less; break; \
    default: break; \
    }
ssize_t read(int fd, void *bytes, size_t n) { REAL(read); TRANSFER(READ, n, n = (n + 1) / 2) return real(fd, bytes, n); }
ssize_t write(int fd, const void *bytes, size_t n) { REAL(write); TRANSFER(WRITE, n, n = (n + 1) / 2) return real(fd, bytes, n); }
ssize_t pread64(int fd, void *bytes, size_t n, off64_t at) { REAL(pread64); TRANSFER(READ, n, n = (n + 1) / 2) return real(fd, bytes, n, at); }
ssize_t pwrite64(int fd, const void *bytes, size_t n, off64_t at) { REAL(pwrite64); TRANSFER(WRITE, n, n = (n + 1) / 2) return real(fd, bytes, n, at); }
ssize_t readv(int fd, const struct iovec *parts, int n) { REAL(readv); TRANSFER(READ, n, n = 1) return real(fd, parts, n); }
ssize_t writev(int fd, const struct iovec *parts, int n) { REAL(writev); TRANSFER(WRITE, n, n = 1) return real(fd, parts, n); }

off64_t lseek64(int fd, off64_t at, int whence) { REAL(lseek64); BY_FD(SEEK, fd); return real(fd, at, whence); }
int ftruncate64(int fd, off64_t n) { REAL(ftruncate64); BY_FD(TRUNCATE, fd); return real(fd, n); }
int fsync(int fd) { REAL(fsync); BY_FD(SYNC, fd); return real(fd); }
int fdatasync(int fd) { REAL(fdatasync); BY_FD(SYNC, fd); return real(fd); }
int flock(int fd, int how) { REAL(flock); BY_FD(LOCK, fd); return real(fd, how); }
int fchmod(int fd, mode_t mode) { REAL(fchmod); BY_FD(CHMOD, fd); return real(fd, mode); }
int rename(const char *from, const char *to) { REAL(rename); BY_PATH(RENAME, from); return real(from, to); }
int mkdir(const char *path, mode_t mode) { REAL(mkdir); BY_PATH(MKDIR, path); return real(path, mode); }
int unlink(const char *path) { REAL(unlink); BY_PATH(UNLINK, path); return real(path); }
int unlinkat(int fd, const char *path, int flags) { REAL(unlinkat); BY_PATH(UNLINK, path); return real(fd, path, flags); }
int rmdir(const char *path) { REAL(rmdir); BY_PATH(RMDIR, path); return real(path); }
int chmod(const char *path, mode_t mode) { REAL(chmod); BY_PATH(CHMOD, path); return real(path, mode); }
int statx(int fd, const char *path, int flags, unsigned mask, struct statx *out) {
    REAL(statx);
    // Rust calls it without a path to see whether it exists, although glibc declares that there is one.
    const char *volatile given = path;
    const char *name = given;
    if (name && (name[0] ? is_below(name) : counts_fd(fd)))
        if (hit(STAT) != PASS) return -1;
    return real(fd, path, flags, mask, out);
}
struct dirent64 *readdir64(DIR *directory) {
    REAL(readdir64);
    return counts_fd(dirfd(directory)) && hit(LIST) != PASS ? NULL : real(directory);
}

int socket(int domain, int type, int protocol) { REAL(socket); if (hit(SOCKET) != PASS) return -1; return real(domain, type, protocol); }

// A clock does not fail: from the chosen call on it is wrong.
static void turn_back(time_t *seconds) {
    long number = atomic_fetch_add(&counts[CLOCK], 1) + 1;
    if (chosen != CLOCK || nth == 0 || number < nth) return;
    if (kind == BEFORE_1970) *seconds = -1;
    else *seconds -= 3600 * (is_lasting ? number - nth + 1 : 1);
}
int clock_gettime(clockid_t clock, struct timespec *time) {
    REAL(clock_gettime);
    int status = real(clock, time);
    // The time that the process has used never goes back.
    if (status == 0 && clock != CLOCK_PROCESS_CPUTIME_ID && clock != CLOCK_THREAD_CPUTIME_ID) turn_back(&time->tv_sec);
    return status;
}
int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    REAL(gettimeofday);
    int status = real(time, zone);
    if (status == 0) turn_back(&time->tv_sec);
    return status;
}

// The names of glibc: dlsym allocates itself.
void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t), *__libc_memalign(size_t, size_t);
#define ALLOCATES(bytes) if ((bytes) >= 4096 && hit(ALLOCATE) != PASS) return NULL
void *malloc(size_t n) { ALLOCATES(n); return __libc_malloc(n); }
void *calloc(size_t n, size_t size) { ALLOCATES(n * size); return __libc_calloc(n, size); }
void *realloc(void *old, size_t n) { ALLOCATES(n); return __libc_realloc(old, n); }
void *memalign(size_t alignment, size_t n) { ALLOCATES(n); return __libc_memalign(alignment, n); }
void *aligned_alloc(size_t alignment, size_t n) { ALLOCATES(n); return __libc_memalign(alignment, n); }
int posix_memalign(void **out, size_t alignment, size_t n) {
    *out = aligned_alloc(alignment, n);
    return *out ? 0 : ENOMEM;
}
