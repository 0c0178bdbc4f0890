package signature

import "testing"

func TestStep(t *testing.T) {
	for _, c := range []struct{ words, value, want string }{
		{"run `ls -l {x}` there", "/dev/nvidia0", "run `ls -l /dev/nvidia0` there"},
		{"run `ls -l {x}` there", "/dev/a b;reboot", "run `ls -l '/dev/a b;reboot'` there"},
		{"run `ls -l {x}` there", "-rf", ""},
		{"run `pip install '{x}'`", "numpy<2", "run `pip install 'numpy<2'`"},
		{"run `pip install '{x}'`", "a'; reboot; '", "run `pip install \"a'; reboot; '\"`"},
		{"run `python -c 'import {x}'`", "torch", "run `python -c 'import torch'`"},
		{"run `python -c 'import {x}'`", "a'; reboot '", ""},
		{"look for {x}", "at::f(int&)", "look for 'at::f(int&)'"},
		{"look for {x}", "libcudnn.so.9", "look for libcudnn.so.9"},
	} {
		if got, _ := FillStep(c.words, func(string) string { return c.value }); got != c.want {
			t.Errorf("%s with %q: %q, want %q", c.words, c.value, got, c.want)
		}
	}
}
