package logtext

import "cudacompat/internal/lazyregexp"

// wrote is how launchers name the process before its line: torchrun, Ray and vLLM, Open MPI, Slurm's --label.
//
//	[rank3]: KeyError: 'label'
//	(EngineCore_DP0 pid=192) ERROR 03-18 11:27:27 [core.py:866] KeyError: 'label'
//	[1,3]<stderr>:KeyError: 'label'
var wrote = lazyregexp.New(`^(?:\[((?:rank|default)\d+)\]|\(([\w ]+ pid=\d+)|\[\d+,(\d+)\]<std)`)

// FindWriter returns the process that wrote a line, if a launcher names it, otherwise "".
func FindWriter(line string) string {
	m := wrote.FindStringSubmatch(line)
	if m == nil {
		return ""
	}
	if m[3] != "" {
		return "rank" + m[3]
	}
	return m[1] + m[2]
}
