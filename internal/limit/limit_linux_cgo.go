//go:build linux && cgo

// Package limit ends the program with a sentence if the address space or the number of descriptors is too small for Go's
// runtime. The runtime reserves some 700 MiB and opens some descriptors before main, and ends with a trace and exit code 2
// if it cannot, which no Go code can catch. So the check is a constructor in C, which the loader runs before the runtime
// starts.
package limit

/*
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

// What the program needs: it fails at 768 MiB and runs at 1024 MiB, and Go's runtime fails with 6 descriptors.
static const rlim_t least_space = (rlim_t)1 << 30, least_files = 8;

static int too_small(int resource, rlim_t least, rlim_t *have) {
	struct rlimit limit;
	if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= least)
		return 0;
	*have = limit.rlim_cur;
	return 1;
}

__attribute__((constructor)) static void check_limits(void) {
	char args[4096] = {0}, what[100];
	rlim_t have = 0;
	if (too_small(RLIMIT_AS, least_space, &have))
		snprintf(what, sizeof what, "the address space is limited to %llu MiB (ulimit -v), and cudacompat needs %llu MiB",
			(unsigned long long)(have >> 20), (unsigned long long)(least_space >> 20));
	else if (too_small(RLIMIT_NOFILE, least_files, &have))
		snprintf(what, sizeof what, "open files are limited to %llu (ulimit -n), and cudacompat needs %llu",
			(unsigned long long)have, (unsigned long long)least_files);
	else
		return;
	int health = 0, require = 0, fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, args, sizeof args - 1);
	for (char *arg = args; arg < args + n; arg += strlen(arg) + 1) {
		health |= strcmp(arg, "--healthcheck") == 0 || strcmp(arg, "--healthcheck=true") == 0;
		require |= strncmp(arg, "--require", 9) == 0;
	}
	char line[200];
	int size = snprintf(line, sizeof line, "%s%s\n", health ? "UNKNOWN " : "cudacompat: ", what);
	ssize_t written = write(health ? 1 : 2, line, (size_t)size);
	(void)written;
	_exit(health ? require : 3);
}
*/
import "C"
