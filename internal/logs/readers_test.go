package logs

import (
	"strings"
	"testing"
)

func TestMemoryNumbers(t *testing.T) {
	for name, c := range map[string]struct{ log, cause, rule, says string }{
		"other_process_old_form": {"CUDA out of memory. Tried to allocate 60.00 MiB (GPU 0; 11.17 GiB total capacity; " +
			"505.96 MiB already allocated; 12.50 MiB free; 530.00 MiB reserved in total by PyTorch)",
			"out-of-memory-other-process", "memory-in-use", "9.6 GiB of the GPU's 11.2 GiB"},
		"own_old_form": {"CUDA out of memory. Tried to allocate 102.00 MiB (GPU 0; 15.78 GiB total capacity; 14.54 GiB " +
			"already allocated; 48.44 MiB free; 14.67 GiB reserved in total by PyTorch)",
			"out-of-memory", "", "14.5 GiB of 15.8 GiB allocated"},
		"fragmentation_old_form": {"CUDA out of memory. Tried to allocate 1.65 GiB (GPU 1; 7.79 GiB total capacity; 3.53 " +
			"GiB already allocated; 0 bytes free; 5.78 GiB reserved in total by PyTorch)",
			"out-of-memory-fragmentation", "", "holds 2.3 GiB that it does not use"},
		"cached_is_slack": {"CUDA out of memory. Tried to allocate 32.00 MiB (GPU 0; 7.79 GiB total capacity; 6.64 GiB " +
			"already allocated; 21.00 MiB free; 150.86 MiB cached)",
			"out-of-memory", "", "6.6 GiB of 7.8 GiB allocated"},
		"own_new_form": {"torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 22.00 MiB. GPU 0 has a " +
			"total capacity of 23.65 GiB of which 11.06 MiB is free. Including non-PyTorch memory, this process has 23.60 " +
			"GiB memory in use. Of the allocated memory 22.90 GiB is allocated by PyTorch, and 194.87 MiB is reserved by " +
			"PyTorch but unallocated.",
			"out-of-memory", "", "22.9 GiB of 23.6 GiB allocated"},
		"fragmentation_new_form": {"torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.00 GiB. GPU 0 " +
			"has a total capacty of 23.65 GiB of which 1.66 GiB is free. Including non-PyTorch memory, this process has " +
			"20.81 GiB memory in use. Of the allocated memory 12.09 GiB is allocated by PyTorch, and 4.84 GiB is reserved " +
			"by PyTorch but unallocated.",
			"out-of-memory-fragmentation", "", "holds 4.8 GiB"},
		"other_process_new_form": {"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a " +
			"total capacity of 79.15 GiB of which 1.02 GiB is free. Process 4711 has 70.00 GiB memory in use. Including " +
			"non-PyTorch memory, this process has 8.10 GiB memory in use. Of the allocated memory 7.40 GiB is allocated by " +
			"PyTorch, and 120.00 MiB is reserved by PyTorch but unallocated.",
			"out-of-memory-other-process", "memory-in-use", "70.0 GiB"},
		"more_than_the_gpu": {"CUDA out of memory. Tried to allocate 55.57 GiB. GPU 0 has a total capacty of 12.00 GiB " +
			"of which 9.02 GiB is free. Of the allocated memory 984.52 MiB is allocated by PyTorch, and 463.48 MiB is " +
			"reserved by PyTorch but unallocated.",
			"out-of-memory", "", "asked for 55.6 GiB on a GPU that has 12.0 GiB"},
		"process_only": {"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 0 has a total " +
			"capacity of 21.98 GiB of which 1.20 GiB is free. Including non-PyTorch memory, this process has 20.76 GiB memory " +
			"in use.", "out-of-memory", "", "the process held 20.8 GiB of 22.0 GiB."},
		"free_only": {"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 0 has a total capacity " +
			"of 21.98 GiB of which 1.20 GiB is free.", "out-of-memory", "", "1.2 GiB of 22.0 GiB were free."},
		"no_numbers": {"torch.cuda.OutOfMemoryError: CUDA out of memory.", "out-of-memory", "", "ran out of memory"},
	} {
		t.Run(name, func(t *testing.T) {
			d := explain(t, c.log)
			if foreign := c.says == "9.6 GiB of the GPU's 11.2 GiB" || c.says == "70.0 GiB"; d.Blame == Environment != foreign {
				t.Errorf("%s is to blame", d.Blame)
			}
			if d.Cause != c.cause || d.Rule != c.rule || !strings.Contains(d.Because+" "+d.Why, c.says) {
				t.Errorf("%s, %s, rule %q: %s\nwant %s, rule %q: … %s …", d.Blame, d.Cause, d.Rule, d.Because, c.cause,
					c.rule, c.says)
			}
		})
	}
}

// TestMemoryAtStart checks that others use a GPU if less than half of it is free before anything was loaded.
func TestMemoryAtStart(t *testing.T) {
	for name, c := range map[string]struct {
		free  string
		blame Blame
		step  string
	}{
		"taken":  {"5.92/79.19 GiB", Environment, "--gpu-memory-utilization 0.07"},
		"shared": {"67.24/79.25 GiB", Program, "--gpu-memory-utilization 0.84"},
	} {
		t.Run(name, func(t *testing.T) {
			d := explain(t, "ValueError: Free memory on device ("+c.free+") on startup is less than desired GPU memory "+
				"utilization (0.9, 71.27 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.")
			if d.Blame != c.blame || d.Cause != "out-of-memory-other-process" || !strings.HasSuffix(d.Do[2], c.step) {
				t.Errorf("%s, %s: %q, want %s and %q", d.Blame, d.Cause, d.Do, c.blame, c.step)
			}
		})
	}
}
