// The calls of NVML that doctor makes for the driver and the GPUs, and nothing else: what it is compared with.
#include <dlfcn.h>
int main(void) {
  void *l = dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_GLOBAL), *d; char s[128]; int v, w; unsigned n, i;
  if (!l) return 1;
  ((int (*)(void))dlsym(l, "nvmlInit_v2"))();
  ((int (*)(char *, unsigned))dlsym(l, "nvmlSystemGetDriverVersion"))(s, 128);
  ((int (*)(int *))dlsym(l, "nvmlSystemGetCudaDriverVersion_v2"))(&v);
  ((int (*)(unsigned *))dlsym(l, "nvmlDeviceGetCount_v2"))(&n);
  for (i = 0; i < n; i++) {
    ((int (*)(unsigned, void **))dlsym(l, "nvmlDeviceGetHandleByIndex_v2"))(i, &d);
    ((int (*)(void *, char *, unsigned))dlsym(l, "nvmlDeviceGetName"))(d, s, 128);
    ((int (*)(void *, int *, int *))dlsym(l, "nvmlDeviceGetCudaComputeCapability"))(d, &v, &w);
  }
  return 0;
}
