package guard

import "testing"

// TestSettingOf checks that pip's variables are read in any case, as pip does, and others only as written.
func TestSettingOf(t *testing.T) {
	get := lookUpSettings([]string{"PIP_Target=/t", "PIP_USER=", "PIP_user=1", "pip_root=/r", "home=/h", "HOME=/H"})
	for name, want := range map[string]string{"PIP_TARGET": "/t", "PIP_USER": "1", "PIP_ROOT": "", "HOME": "/H", "PATH": ""} {
		if got := get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}
