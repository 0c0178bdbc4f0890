package request

import (
	"strings"
	"testing"
)

func TestMarkers(t *testing.T) {
	for text, want := range map[string]bool{
		"":                         true,
		"sys_platform == 'linux'":  true,
		"sys_platform == 'darwin'": false,
		"sys_platform != 'darwin'": true,
		"platform_system != \"Windows\" and python_version < '3.9'":                             true,
		"platform_machine == 'aarch64' and sys_platform == 'linux'":                             false,
		"sys_platform == 'darwin' or sys_platform == 'linux'":                                   true,
		"(sys_platform == 'linux' and platform_machine == 'x86_64') or sys_platform == 'win32'": true,
		"sys_platform == 'win32' and (extra == 'a' or extra == 'b')":                            false,
		"(platform_machine == 'aarch64' or platform_machine == 'arm64') and os_name == 'posix'": false,
		"platform_machine in 'x86_64 AMD64'":                                                    true,
		"platform_machine not in 'x86_64, AMD64'":                                               false,
		"'linux' in sys_platform":                                                               true,
		strings.Repeat("(", 1<<20) + "sys_platform == 'darwin'":                                 true,
		"sys_platform ==": true,
	} {
		if got := (Host{Machine: "x86_64"}).Holds(text); got != want {
			t.Errorf("%.80q: %v", text, got)
		}
	}
}
