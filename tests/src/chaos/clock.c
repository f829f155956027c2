// Wrong clocks for chaos tests, by LD_PRELOAD: each tiler is up to five minutes off, and each Workers runtime up to ten seconds, so
// that time jumps, also backwards, when one is restarted. Other programs have the right time.
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long offset(void) {
    long steps = (long)getpid() * 7919 % 5 - 2; // -2 to 2
    if (strcmp(program_invocation_short_name, "tiler") == 0) return 150 * steps;
    if (strcmp(program_invocation_short_name, "workerd") == 0) return 5 * steps;
    return 0;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    if (syscall(SYS_clock_gettime, clock, time) != 0) return -1;
    if (clock == CLOCK_REALTIME) time->tv_sec += offset();
    return 0;
}
