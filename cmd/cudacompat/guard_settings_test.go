package main

import "testing"

// TestSettingOf reads variables of pip in any case, as pip does, and others as they are written.
func TestSettingOf(t *testing.T) {
	get := settingOf([]string{"PIP_Target=/t", "PIP_USER=", "PIP_user=1", "pip_root=/r", "home=/h", "HOME=/H"})
	for name, want := range map[string]string{"PIP_TARGET": "/t", "PIP_USER": "1", "PIP_ROOT": "", "HOME": "/H", "PATH": ""} {
		if got := get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}
