//go:build linux && cgo

package main

// #include <malloc.h>
//
// // glibc gives each new thread of the runtime a heap of its own, 128 MB of addresses in four system calls, for the
// // one small piece of memory that cgo frees when a thread starts. One heap for all of them spares a third of a
// // millisecond. Before main, since the first threads start before any package is initialised.
// __attribute__((constructor)) static void one_arena(void) {
// #ifdef M_ARENA_MAX
//	mallopt(M_ARENA_MAX, 1);
// #endif
// }
import "C"
