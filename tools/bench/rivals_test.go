package main

import (
	"strings"
	"testing"
)

func TestCounted(t *testing.T) {
	const trace = `18422 execve("/usr/bin/true", [], 0x7ffd /* 20 vars */) = 0
18422 read(3, ""..., 832) = 832
18422 pread64(8, ""..., 512, 925841776) = 512
18423 read(5,  <unfinished ...>
18422 readlink("/x", 0x7ffd, 4096) = 17
18423 <... read resumed>""..., 4096) = 100
18422 read(3, 0x7ffd, 832) = -1 EAGAIN (Resource temporarily unavailable)
18422 --- SIGURG {si_signo=SIGURG} ---
18422 +++ exited with 0 +++
`
	calls, read, err := counted(strings.NewReader(trace))
	if calls != 6 || read != 832+512+100 || err != nil {
		t.Errorf("%d calls that read %d bytes, %v", calls, read, err)
	}
}
