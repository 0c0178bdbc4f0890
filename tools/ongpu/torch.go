package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
)

// tried is the result of running a real torch. Each failed step has the first line of its error.
type tried struct {
	Version   string            `json:"version"`
	Available bool              `json:"available"`
	Count     int               `json:"count"`
	Arch      []string          `json:"arch"`
	Failed    map[string]string `json:"failed"`
}

const tryTorch = `
import json, os, sys
import torch
r = {"version": torch.__version__, "available": torch.cuda.is_available(), "count": torch.cuda.device_count(),
     "arch": torch.cuda.get_arch_list(), "failed": {}}
def step(name, f):
    try:
        f()
    except Exception as e:
        r["failed"][name] = type(e).__name__ + ": " + str(e).splitlines()[0][:200]
def matmul():
    a = torch.ones(256, 256, device="cuda")
    assert float((a @ a)[0, 0]) == 256.0
def convolution():
    images, kernels = torch.ones(1, 3, 32, 32, device="cuda"), torch.ones(8, 3, 3, 3, device="cuda")
    torch.nn.functional.conv2d(images, kernels).sum().item()
def nccl():
    import torch.distributed as dist
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1"); os.environ.setdefault("MASTER_PORT", "29555")
    dist.init_process_group("nccl", rank=0, world_size=1)
    t = torch.ones(4, device="cuda"); dist.all_reduce(t); torch.cuda.synchronize(); dist.destroy_process_group()
def compile():
    torch.compile(lambda x: torch.sin(x) + x)(torch.ones(64, device="cuda")).sum().item()
if r["available"]:
    for name, f in (("matmul", matmul), ("convolution", convolution), ("nccl", nccl), ("compile", compile)):
        step(name, f)
print("\n" + json.dumps(r))
`

// torch compares the program's answer for the active environment's torch with a real run. torch.compile needs a C
// compiler and time beside the GPU, so its failure is printed but is not a difference.
func (b *bench) torch(ctx context.Context, s *section) {
	cmd := exec.CommandContext(ctx, b.python, "-c", tryTorch)
	cmd.Env = os.Environ()
	out, err := cmd.Output()
	if err != nil {
		s.say("%s has no torch that can be imported: %v", b.python, err)
		return
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	var t tried
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &t); err != nil {
		s.differs("torch's answer is not read: %v", err)
		return
	}
	s.say("torch %s: is_available %v, %d GPUs, %s", t.Version, t.Available, t.Count, strings.Join(t.Arch, " "))
	for name, why := range t.Failed {
		s.say("%s failed: %s", name, anonymous(why))
	}
	v, err := b.ask(ctx, nil)
	if err != nil {
		s.differs("%v", err)
		return
	}
	predicted(s, v, &t)
}

// predicted compares the answer with what happened.
func predicted(s *section, v *verdict, t *tried) {
	works := t.Available && t.Failed["matmul"] == "" && t.Failed["convolution"] == ""
	for _, a := range v.Answers {
		name, rest, _ := strings.Cut(a.Subject, " ")
		release, _, _ := strings.Cut(rest, " ")
		if name != "torch" || !strings.HasPrefix(t.Version, release) && !strings.HasPrefix(release, t.Version) {
			continue
		}
		s.say("doctor: %s %s %v", a.Subject, a.Answer, a.Because)
		said := strings.HasPrefix(a.Answer, "works") && a.Answer != "works-cpu-only"
		if a.Answer != "unknown" && said != works {
			s.differs("doctor says %s of torch %s; it runs on the GPU: %v", a.Answer, t.Version, works)
		}
		return
	}
	s.say("doctor has no answer for torch %s", t.Version)
}
