package logtext

import "testing"

func TestStamps(t *testing.T) {
	for _, pair := range [][2]string{
		{"2025-05-19 10:10:29,701 [ERROR] x", "2025-05-19T10:10:29.900Z y"},
		{"[E321 02:07:08.408271257 ProcessGroupNCCL.cpp:607] x",
			"[rank0]:[E1206 18:44:12.715298746 ProcessGroupNCCL.cpp:607] y"},
		{"ERROR 02-06 16:34:06 [core.py:936] x", "ERROR 02-06 16:34:07 [core.py:936] y"},
		{"[Fri Aug 30 11:43:09 2024] x", "Sep  8 03:19:01 node kernel: y"},
	} {
		first, second := FindStampBefore([]byte(pair[0]), len(pair[0])), FindStampBefore([]byte(pair[1]), len(pair[1]))
		if !first.before(second) || second.before(first) {
			t.Errorf("%q is not before %q: %v, %v", pair[0], pair[1], first, second)
		}
	}
	above := "2025-05-19 10:10:29 start\nTraceback\n  File x\nRuntimeError"
	if s := FindStampBefore([]byte(above), len(above)); s.Layout == 0 {
		t.Error("the stamp above a traceback is not taken")
	}
	if s := FindStampBefore([]byte("step 12:30 of 2025"), 18); s.Layout != 0 || s.before(s) {
		t.Errorf("no time is read as %v", s)
	}
}
