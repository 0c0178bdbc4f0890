// FAULT lets a function of the library fail by a code of NVML's. NVML_FAULT is "N CODE" for the Nth call alone and
// "N+ CODE" for all calls from the Nth on. NVML_CALLS names a file to which each call is added.
#include <stdio.h>
#include <stdlib.h>

static int fault(const char *function) {
	static int calls;
	const char *list = getenv("NVML_CALLS"), *how = getenv("NVML_FAULT");
	int nth, code;
	char on;
	FILE *file;
	calls++;
	if (list && (file = fopen(list, "a"))) {
		fprintf(file, "%s\n", function);
		fclose(file);
	}
	if (how && sscanf(how, "%d+ %d", &nth, &code) == 2)
		return calls >= nth ? code : 0;
	return how && sscanf(how, "%d %d", &nth, &code) == 2 && calls == nth ? code : 0;
}

#define FAULT int faulty = fault(__func__); if (faulty) return faulty;
