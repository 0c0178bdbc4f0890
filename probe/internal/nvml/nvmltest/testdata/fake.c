// A libnvidia-ml.so.1 for tests: just the functions that are asked for. Macros choose what is wrong with it.
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

typedef int nvmlReturn_t;
typedef void *nvmlDevice_t;
typedef struct {
	char busIdLegacy[16];
	unsigned domain, bus, device, pciDeviceId, pciSubSystemId;
	char busId[32];
} nvmlPciInfo_t;

#ifndef INIT
#define INIT return 0
#endif
#ifndef DRIVER
#define DRIVER "550.54.15"
#endif
#ifndef CUDA
#define CUDA 12040
#endif
#ifndef COUNT
#define COUNT 2
#endif
#ifndef MAJOR
#define MAJOR 8
#endif
#ifndef BUS
#define BUS 0x1d + (int)(long)device
#endif

#ifndef NO_INIT
nvmlReturn_t nvmlInit_v2(void) { FAULT INIT; }
#endif

nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned length) {
	FAULT
	strncpy(version, DRIVER, length);
	return 0;
}

#ifdef OLD
nvmlReturn_t nvmlSystemGetCudaDriverVersion(int *version) {
#else
nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *version) {
	FAULT
#endif
	*version = CUDA;
	return 0;
}

#ifndef NO_COUNT
nvmlReturn_t nvmlDeviceGetCount_v2(unsigned *count) {
	FAULT
	*count = COUNT;
	return 0;
}
#endif

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t *device) {
	FAULT
#ifdef LOST
	if (index == LOST) return 15;
#endif
	*device = (nvmlDevice_t)(long)(index + 1);
	return 0;
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned length) {
	FAULT
#ifdef NAME
	memset(name, NAME, length); // never ended
#else
	strncpy(name, "NVIDIA L4", length);
#endif
	return 0;
}

#ifndef OLD
nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int *major, int *minor) {
	FAULT
	*major = MAJOR;
	*minor = 9;
	return 0;
}

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci) {
	FAULT
	memset(pci, 0, sizeof *pci);
	pci->bus = BUS;
	pci->pciDeviceId = 0x27b810de;
	return 0;
}
#endif

#ifdef HEALTH // a GPU in trouble; REASONS and FABRIC say which
typedef struct {
	unsigned char clusterUuid[16];
	nvmlReturn_t status;
	unsigned cliqueId;
	unsigned char state;
} nvmlGpuFabricInfo_t;

nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t device, unsigned *corrected, unsigned *uncorrected, unsigned *pending, unsigned *failed) {
	FAULT
	*corrected = 1;
	*uncorrected = 2;
	*pending = 1;
	*failed = 0;
	return 0;
}

nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, int type, int counter, unsigned long long *count) {
	FAULT
	*count = type == 1 && counter == 0 ? 3 : 1000; // uncorrected, volatile
	return 0;
}

nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t device, unsigned long long *reasons) {
	FAULT
	*reasons = REASONS;
	return 0;
}

nvmlReturn_t nvmlDeviceGetGpuFabricInfo(nvmlDevice_t device, nvmlGpuFabricInfo_t *info) {
	FAULT
	info->state = FABRIC;
	return 0;
}

nvmlReturn_t nvmlDeviceGetPersistenceMode(nvmlDevice_t device, int *mode) {
	FAULT
	*mode = 0;
	return HEALTH;
}
#endif

#ifdef RECOVERY // a GPU that needs what RECOVERY says, and a vGPU where LICENSED is given
typedef struct {
	unsigned fieldId, scopeId;
	long long timestamp, latencyUsec;
	unsigned valueType;
	nvmlReturn_t nvmlReturn;
	union { unsigned uiVal; unsigned long long ullVal; } value;
} nvmlFieldValue_t;

nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t *values) {
	FAULT
	for (int i = 0; i < count; i++) {
		values[i].nvmlReturn = values[i].fieldId == 230 ? FIELD : 3;
		values[i].valueType = 1;
		values[i].value.uiVal = RECOVERY;
	}
	return 0;
}

nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned *minor) {
	FAULT
	*minor = 8 - (int)(long)device;
	return 0;
}

typedef struct { unsigned environment, ccFeature, devToolsMode; } nvmlConfComputeSystemState_t;

nvmlReturn_t nvmlSystemGetConfComputeState(nvmlConfComputeSystemState_t *state) {
	FAULT
	state->ccFeature = CONFIDENTIAL;
	return 0;
}

nvmlReturn_t nvmlSystemGetConfComputeGpusReadyState(unsigned *ready) {
	FAULT
	*ready = READY;
	return 0;
}

typedef struct {
	int isGridLicenseSupported;
	unsigned licensableFeaturesCount;
	struct {
		int featureCode;
		unsigned featureState;
		char licenseInfo[128], productName[128];
		unsigned featureEnabled;
		struct { unsigned year; unsigned short month, day, hour, min, sec; unsigned char status; } licenseExpiry;
	} gridLicensableFeatures[3];
} nvmlGridLicensableFeatures_t;

nvmlReturn_t nvmlDeviceGetVirtualizationMode(nvmlDevice_t device, int *mode) {
	FAULT
	*mode = MODE;
	return 0;
}

nvmlReturn_t nvmlDeviceGetGridLicensableFeatures_v4(nvmlDevice_t device, nvmlGridLicensableFeatures_t *features) {
	FAULT
	features->isGridLicenseSupported = 1;
	features->licensableFeaturesCount = 2;
	features->gridLicensableFeatures[1].featureEnabled = 1;
	features->gridLicensableFeatures[1].featureState = LICENSED;
	return 0;
}
#endif

#ifdef STATE
nvmlReturn_t nvmlDeviceGetBrand(nvmlDevice_t device, int *brand) {
	FAULT
	*brand = BRAND;
	return 0;
}

nvmlReturn_t nvmlDeviceGetComputeMode(nvmlDevice_t device, int *mode) {
	FAULT
	*mode = MODE;
	return 0;
}

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned *current, unsigned *pending) {
	FAULT
	*current = *pending = 1;
	return 0;
}

nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned *count) {
	FAULT
	*count = 7;
	return 0;
}

nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned index, nvmlDevice_t *mig) {
	FAULT
	*mig = (nvmlDevice_t)((long)device + 100 * (index + 1));
	return index < 2 ? 0 : MIG_REST;
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned length) {
	FAULT
	snprintf(uuid, length, (long)device > 100 ? "MIG-%ld0000000" : "GPU-%ld0000000", (long)device);
	return 0;
}
#endif

#ifdef SHARE // GPUs that reach each other as PEER and LINK say, and one process on each
nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t one, nvmlDevice_t other, int index, int *status) {
	FAULT
	*status = index == 2 ? LINK : PEER; // 2 asks for NVLink
	return SHARE;
}

typedef struct {
	unsigned version;
	unsigned long long total, reserved, free, used;
} nvmlMemory_v2_t;

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *memory) {
	FAULT
	memory->total = 24000;
	memory->reserved = 500;
	memory->free = 20000;
	memory->used = USED;
	return 0;
}

typedef struct {
	unsigned pid;
	unsigned long long usedGpuMemory;
	unsigned gpuInstanceId, computeInstanceId;
} nvmlProcessInfo_t;

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned *count, nvmlProcessInfo_t *list) {
	FAULT
#ifdef PROCESSES
	PROCESSES;
#endif
	unsigned room = *count;
	*count = 2;
	if (room < 2) return 7;
	list[0] = (nvmlProcessInfo_t){4711, 3000};
	list[1] = (nvmlProcessInfo_t){4712, -1ULL};
	return 0;
}
#endif
