// A libnvidia-ml.so.1 that does to its caller what FAKE_NVML says: "symbol=action,symbol=action"; "load" stands for the
// library's constructor and "unload" for its destructor. Unless told otherwise it is well and has two GPUs.
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// ordered copies the action for a symbol, empty when there is none.
static const char *ordered(const char *symbol, char action[64]) {
	size_t length = strlen(symbol);
	action[0] = 0;
	for (const char *at = getenv("FAKE_NVML"); at && *at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
		if (strncmp(at, symbol, length) || at[length] != '=') continue;
		size_t n = strcspn(at + length + 1, ",");
		if (n > 63) n = 63;
		memcpy(action, at + length + 1, n);
		action[n] = 0;
	}
	return action;
}

static void hang(void) { for (;;) sleep(1000); }

static void flood(int file) {
	static char block[1 << 16];
	memset(block, 'x', sizeof block);
	block[sizeof block - 1] = '\n';
	for (;;)
		if (write(file, block, sizeof block) < 0 && errno != EINTR) hang();
}

static void deepen(volatile int n) {
	volatile char frame[4096];
	frame[0] = n;
	deepen(n + 1);
	frame[1] = frame[0];
}

static void deafen(void) {
	for (int i = 1; i < 65; i++) signal(i, SIG_IGN);
	hang();
}

static void shut(void) {
	sigset_t all;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	hang();
}

static void spin(void) { for (;;) ; }
static void stop(void) { raise(SIGSTOP); }
static void slow(void) { sleep(1); }
static void crash(void) { *(volatile int *)0 = 1; }
static void divide(void) { volatile int zero = 0; zero = 1 / zero; }
static void trap(void) { __builtin_trap(); }
static void overflow(void) { deepen(0); }
static void killed(void) { raise(SIGKILL); }
static void leave(void) { exit(0); }
static void leave_at_once(void) { _exit(0); }
static void leave_two(void) { exit(2); }
static void flood_out(void) { flood(1); }
static void flood_errors(void) { flood(2); }
static void banner(void) { puts("NVRM: a banner on standard output"); fflush(stdout); }
static void claim(void) { puts("{\"nvml\":{\"status\":\"ok\"},\"driver\":\"1.2\"}"); fflush(stdout); _exit(0); }
static void colours(void) { fputs("\033[31mred\033]0;title\007\n::error::injected\nlast \033[2J|x=1\xff\xfe\n", stderr); _exit(3); }
static void close_out(void) { close(1); }
static void close_all(void) { for (int i = 0; i < 64; i++) close(i); hang(); }
static void terminate_parent(void) { kill(getppid(), SIGTERM); }

// helper leaves a process behind that holds every descriptor open.
static void helper(void) { if (fork() == 0) hang(); }
static void helper_and_hang(void) { helper(); hang(); }
static void detached(void) { if (fork() == 0) { setsid(); hang(); } hang(); }
static void borrowed(void) { if (vfork() == 0) { sleep(600); _exit(0); } }

static void gorge(void) {
	for (int i = 0; i < 8; i++) {
		char *block = mmap(NULL, 1L << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (block == MAP_FAILED) return;
		memset(block, 1, 1L << 30);
	}
}

static const struct { const char *name; void (*act)(void); } deeds[] = {
	{"hang", hang}, {"deaf", deafen}, {"masked", shut}, {"spin", spin}, {"stop", stop}, {"slow", slow},
	{"crash", crash}, {"abort", abort}, {"divide", divide}, {"trap", trap}, {"overflow", overflow}, {"killed", killed},
	{"exit", leave}, {"_exit", leave_at_once}, {"exit2", leave_two},
	{"flood-out", flood_out}, {"flood-errors", flood_errors}, {"banner", banner}, {"claim", claim}, {"colours", colours},
	{"close-out", close_out}, {"close-all", close_all}, {"terminate-parent", terminate_parent},
	{"helper", helper}, {"helper-hang", helper_and_hang}, {"detached", detached}, {"borrowed", borrowed}, {"gorge", gorge},
};

// act does what is ordered; it says whether the caller returns *code.
static int act(const char *symbol, int *code) {
	char action[64];
	ordered(symbol, action);
	if (!strncmp(action, "return:", 7)) {
		*code = strtol(action + 7, NULL, 0);
		return 1;
	}
	for (size_t i = 0; i < sizeof deeds / sizeof *deeds; i++)
		if (!strcmp(action, deeds[i].name)) deeds[i].act();
	return 0;
}

static long long number(const char *symbol, long long usual) {
	char action[64];
	ordered(symbol, action);
	static int calls;
	if (!strcmp(action, "value:changing")) return ++calls * 7919LL;
	return strncmp(action, "value:", 6) ? usual : strtoll(action + 6, NULL, 0);
}

static void text(const char *symbol, char *to, unsigned size, const char *usual) {
	char action[64];
	static int calls;
	ordered(symbol, action);
	if (!strcmp(action, "text:unended")) memset(to, 'x', size);
	else if (!strcmp(action, "text:bytes")) memset(to, 0xff, size);
	else if (!strcmp(action, "text:escapes")) snprintf(to, size, "N\033[31m\033]0;t\007\n::error::p|x=\"1\"%%0A\t<a>&\xc3\x28\xe2\x80\xae");
	else if (!strcmp(action, "text:empty")) to[0] = 0;
	else if (!strcmp(action, "text:changing")) snprintf(to, size, "55%d.%d.1", calls % 10, calls), calls++;
	else if (strcmp(action, "text:untouched")) snprintf(to, size, "%s", usual);
}

__attribute__((constructor)) static void load(void) { int code; act("load", &code); }
__attribute__((destructor)) static void unload(void) { int code; act("unload", &code); }

#define FUNCTION(name, ...) \
	int name(__VA_ARGS__) { \
		const char *self = #name; \
		int code; \
		if (act(self, &code)) return code;

FUNCTION(nvmlInit_v2, void) return 0; }
FUNCTION(nvmlSystemGetDriverVersion, char *to, unsigned size) text(self, to, size, "550.54.15"); return 0; }
FUNCTION(nvmlSystemGetCudaDriverVersion, int *to) *to = number(self, 12040); return 0; }
FUNCTION(nvmlSystemGetCudaDriverVersion_v2, int *to) *to = number(self, 12040); return 0; }
FUNCTION(nvmlDeviceGetCount_v2, unsigned *to) *to = number(self, 2); return 0; }
// "value:N" loses every GPU from the Nth on: it fell off the bus in mid-enumeration.
FUNCTION(nvmlDeviceGetHandleByIndex_v2, unsigned index, void **to)
	if (index >= number(self, 1L << 32)) return 15;
	*to = (void *)(long)(index + 1);
	return 0;
}
FUNCTION(nvmlDeviceGetName, void *gpu, char *to, unsigned size) text(self, to, size, "NVIDIA L4"); return 0; }
FUNCTION(nvmlDeviceGetCudaComputeCapability, void *gpu, int *major, int *minor) *major = number(self, 8); *minor = 9; return 0; }
FUNCTION(nvmlDeviceGetBrand, void *gpu, int *to) *to = number(self, 2); return 0; }
FUNCTION(nvmlDeviceGetComputeMode, void *gpu, int *to) *to = number(self, 0); return 0; }
FUNCTION(nvmlDeviceGetPersistenceMode, void *gpu, int *to) *to = number(self, 1); return 0; }
FUNCTION(nvmlDeviceGetMigMode, void *gpu, unsigned *now, unsigned *next) *now = *next = number(self, 0); return 0; }
FUNCTION(nvmlDeviceGetMaxMigDeviceCount, void *gpu, unsigned *to) *to = number(self, 7); return 0; }
FUNCTION(nvmlDeviceGetMigDeviceHandleByIndex, void *gpu, unsigned index, void **to) *to = (void *)((long)gpu + 100 * (index + 1)); return index < number(self, 2) ? 0 : 6; }
FUNCTION(nvmlDeviceGetP2PStatus, void *one, void *other, int kind, int *to) *to = number(self, 0); return 0; }
FUNCTION(nvmlDeviceGetRemappedRows, void *gpu, unsigned *a, unsigned *b, unsigned *c, unsigned *d) *a = *b = *c = *d = number(self, 0); return 0; }
FUNCTION(nvmlDeviceGetTotalEccErrors, void *gpu, int kind, int counter, unsigned long long *to) *to = number(self, 0); return 0; }
FUNCTION(nvmlDeviceGetCurrentClocksThrottleReasons, void *gpu, unsigned long long *to) *to = number(self, 1); return 0; }
FUNCTION(nvmlDeviceGetUUID, void *gpu, char *to, unsigned size)
	char usual[64];
	snprintf(usual, sizeof usual, (long)gpu > 100 ? "MIG-%ld0000000" : "GPU-%ld0000000", (long)gpu);
	text(self, to, size, usual);
	return 0;
}

// The structures are nvml.h's.
typedef struct { char legacy[16]; unsigned domain, bus, device, id, subsystem; char address[32]; } pci;
FUNCTION(nvmlDeviceGetPciInfo_v3, void *gpu, pci *to)
	memset(to, number(self, 0), sizeof *to);
	if (number(self, 0)) return 0;
	to->bus = 0x1d + (int)(long)gpu % 100;
	to->id = 0x27b810de;
	return 0;
}

typedef struct { unsigned char cluster[16]; int status; unsigned clique; unsigned char state; } fabric;
FUNCTION(nvmlDeviceGetGpuFabricInfo, void *gpu, fabric *to) to->state = number(self, 3); return 0; }

typedef struct { unsigned version; unsigned long long total, reserved, free, used; } memory;
FUNCTION(nvmlDeviceGetMemoryInfo_v2, void *gpu, memory *to)
	to->total = 24000, to->reserved = 500, to->free = 20000, to->used = 3500;
	if (number(self, 0)) to->total = to->reserved = to->free = to->used = number(self, 0);
	return 0;
}

// "value:N" claims N processes whatever room the caller has.
typedef struct { unsigned pid; unsigned long long used; unsigned gpu, compute; } process;
static int processes(const char *self, unsigned *count, process *list) {
	unsigned room = *count;
	*count = number(self, 2);
	if (*count != 2) return 0;
	if (room < 2) return 7;
	list[0] = (process){4711, 3000};
	list[1] = (process){4712, -1ULL};
	return 0;
}
FUNCTION(nvmlDeviceGetComputeRunningProcesses_v2, void *gpu, unsigned *count, process *list) return processes(self, count, list); }
FUNCTION(nvmlDeviceGetComputeRunningProcesses_v3, void *gpu, unsigned *count, process *list) return processes(self, count, list); }
