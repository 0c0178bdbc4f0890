//go:build linux && cgo

// Package limit ends the program with a sentence if the address space or the number of descriptors is too small for
// Go's runtime, or runs out later, or if the runtime would wait for a pipe that stands in for a file of /proc or /sys. The runtime reserves about 700 MiB and opens some descriptors before main. If it
// cannot, it ends with a trace and exit code 2, which no Go code can prevent, so the check is a C constructor that the
// loader runs before the runtime starts. Go code cannot catch a later lack of memory either. If memory is limited, and
// only then, the program runs in a child process, and its parent prints the sentence instead of the trace.
package limit

/*
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
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

// arguments reads the arguments of this process, which zero bytes separate.
static ssize_t arguments(char *args, size_t size) {
	int fd = open("/proc/self/cmdline", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, args, size - 1);
	if (fd >= 0)
		close(fd);
	return n;
}

// inconclusive says why there is no result, and ends the process as an inconclusive run or health check.
static void inconclusive(const char *args, ssize_t n, const char *what) {
	int health = 0, require = 0;
	for (const char *arg = args; arg < args + n; arg += strlen(arg) + 1) {
		health |= strcmp(arg, "--healthcheck") == 0 || strcmp(arg, "--healthcheck=true") == 0;
		require |= strncmp(arg, "--require", 9) == 0;
	}
	char line[250];
	int size = snprintf(line, sizeof line, "%s%s\n", health ? "UNKNOWN " : "cudacompat: ", what);
	ssize_t written = write(health ? 1 : 2, line, (size_t)size);
	(void)written;
	_exit(health ? require : 3);
}

// limited reports the limit of a resource, in MiB.
static int limited(int resource, unsigned long long *have) {
	struct rlimit limit;
	if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
		return 0;
	*have = (unsigned long long)limit.rlim_cur >> 20;
	return 1;
}

// pass passes on the lines of the child's standard error up to the first one that the Go runtime writes when it ends the
// process, and reports whether there was one.
static int pass(int from) {
	static char line[4096];
	char block[4096];
	size_t size = 0;
	int ended = 0;
	for (;;) {
		ssize_t n = read(from, block, sizeof block);
		if (n < 0 && errno == EINTR)
			continue;
		for (ssize_t i = 0; i < n; i++) {
			line[size++] = block[i];
			if (block[i] != '\n' && size < sizeof line)
				continue;
			ended |= strncmp(line, "runtime", 7) == 0 || strncmp(line, "fatal error: ", 13) == 0;
			if (!ended && write(2, line, size) < 0)
				return 0;
			size = 0;
		}
		if (n > 0)
			continue;
		if (!ended && write(2, line, size) < 0)
			return 0;
		return ended;
	}
}

// watch starts a child that continues the program, and exits as the child does. It returns in the child. It does not
// watch a command that hands the terminal to another program, nor a process that this program starts itself.
static void watch(const char *args, ssize_t n) {
	unsigned long long have = 0;
	const char *by = limited(RLIMIT_AS, &have) ? "ulimit -v" : limited(RLIMIT_DATA, &have) ? "ulimit -d" : NULL;
	const char *command = args + strlen(args) + 1;
	int streams[2];
	if (by == NULL || (command < args + n && (strcmp(command, "guard") == 0 || strncmp(command, "__", 2) == 0)) || pipe(streams) != 0)
		return;
	pid_t parent = getpid(), child = fork();
	if (child <= 0) {
		close(streams[0]);
		if (child == 0 && (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent || dup2(streams[1], 2) < 0))
			_exit(3);
		close(streams[1]);
		return;
	}
	close(streams[1]);
	int ended = pass(streams[0]), status = 0;
	close(streams[0]);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (ended && (WIFSIGNALED(status) || WEXITSTATUS(status) == 2)) {
		char what[100];
		snprintf(what, sizeof what, "no memory was left: it is limited to %llu MiB (%s)", have, by);
		inconclusive(args, n, what);
	}
	if (WIFSIGNALED(status)) {
		signal(WTERMSIG(status), SIG_DFL);
		raise(WTERMSIG(status));
	}
	_exit(WEXITSTATUS(status));
}

// limit_processors lowers GOMAXPROCS to the number of processors. The runtime allocates memory and wakes threads for each
// processor: with 100,000 it takes gigabytes, and no deadline holds. It reads the variable where the kernel put it.
static void limit_processors(char **variables) {
	static const char name[] = "GOMAXPROCS=";
	for (; *variables != NULL; variables++) {
		if (strncmp(*variables, name, sizeof name - 1) != 0)
			continue;
		long most = sysconf(_SC_NPROCESSORS_ONLN), wanted = 0; // opens a file in /sys: not in every run
		char *value = *variables + sizeof name - 1, *digit = value + (*value == '+');
		for (; *digit >= '0' && *digit <= '9' && wanted <= most; digit++)
			wanted = wanted * 10 + (*digit - '0');
		if (most > 0 && wanted > most)
			snprintf(value, strlen(value) + 1, "%ld", most);
	}
}

// The files that the runtimes of Go and C open before main: for the limit of processors, the stack and the size of huge pages.
static const char *const opened[] = {"/proc/self/cgroup", "/proc/self/mountinfo", "/proc/self/maps", "/sys/fs/cgroup/cpu.max",
	"/sys/kernel/mm/transparent_hugepage/hpage_pmd_size"};

// waits returns the first of these files that is a pipe. The runtime would wait for a writer.
static const char *waits(void) {
	for (size_t i = 0; i < sizeof opened / sizeof *opened; i++) {
		int fd = open(opened[i], O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		if (fd < 0)
			continue;
		int pipe = lseek(fd, 0, SEEK_CUR) < 0 && errno == ESPIPE;
		close(fd);
		if (pipe)
			return opened[i];
	}
	return NULL;
}

__attribute__((constructor)) static void check_limits(void) {
	static char args[4096];
	limit_processors(environ);
	char what[200];
	rlim_t have = 0;
	ssize_t n = arguments(args, sizeof args);
	const char *pipe = waits();
	if (too_small(RLIMIT_AS, least_space, &have))
		snprintf(what, sizeof what, "the address space is limited to %llu MiB (ulimit -v), and cudacompat needs %llu MiB",
			(unsigned long long)(have >> 20), (unsigned long long)(least_space >> 20));
	else if (too_small(RLIMIT_NOFILE, least_files, &have))
		snprintf(what, sizeof what, "open files are limited to %llu (ulimit -n), and cudacompat needs %llu",
			(unsigned long long)have, (unsigned long long)least_files);
	else if (pipe != NULL)
		snprintf(what, sizeof what, "%s is a pipe, and the program would wait for its writer", pipe);
	else {
		watch(args, n);
		return;
	}
	inconclusive(args, n, what);
}
*/
import "C"
