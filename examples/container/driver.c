/* The driver's libraries as far as cudacompat looks at them: NVML answers for one or more L4 on driver 550.54.15.
 * COUNT, MODE and MIG choose what it says; like the real one it opens /dev/nvidiactl first. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifndef COUNT
#define COUNT 1
#endif
#ifndef MODE
#define MODE 0
#endif

typedef void *device;
typedef struct { char legacy[16]; unsigned domain, bus, device, id, subsystem; char bus_id[32]; } pci_info;

int nvmlInit_v2(void) {
	int fd = open("/dev/nvidiactl", O_RDONLY);
	if (fd < 0) return errno == EACCES ? 4 : errno == ENOENT ? 9 : 999;
	close(fd);
	return 0;
}
int nvmlSystemGetDriverVersion(char *out, unsigned n) { snprintf(out, n, "550.54.15"); return 0; }
int nvmlSystemGetCudaDriverVersion_v2(int *out) { *out = 12040; return 0; }
int nvmlDeviceGetCount_v2(unsigned *out) { *out = COUNT; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, device *out) { *out = (device)(long)(i + 1); return 0; }
int nvmlDeviceGetName(device d, char *out, unsigned n) { snprintf(out, n, "NVIDIA L4"); return 0; }
int nvmlDeviceGetCudaComputeCapability(device d, int *major, int *minor) { *major = 8; *minor = 9; return 0; }
int nvmlDeviceGetPciInfo_v3(device d, pci_info *out) {
	memset(out, 0, sizeof *out);
	out->bus = 0x1d + (int)(long)d;
	out->id = 0x27b810de;
	return 0;
}
int nvmlDeviceGetBrand(device d, int *out) { *out = 14; return 0; }
int nvmlDeviceGetComputeMode(device d, int *out) { *out = MODE; return 0; }
#ifdef MIG
int nvmlDeviceGetMigMode(device d, unsigned *current, unsigned *pending) { *current = *pending = 1; return 0; }
int nvmlDeviceGetMaxMigDeviceCount(device d, unsigned *out) { *out = 7; return 0; }
int nvmlDeviceGetMigDeviceHandleByIndex(device d, unsigned i, device *out) { return 6; }
#endif
