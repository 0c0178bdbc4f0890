package logs

import (
	"slices"
	"strings"
	"testing"
)

// progress lists the lines that make up a gigabyte of a training log, as loggers and launchers write them.
var progress = []string{
	"[2026-11-21 10:00:01,003][rank3] INFO trainer: step 53 loss 2.3000 lr 3.0e-04 grad_norm 0.530 tokens/s 51237 " +
		"mem 61.2GiB",
	"[rank1]: step 53: loss=2.3, lr=0.0003, local batch 8",
	"[1,3]<stdout>:iteration 100/5000 | consumed samples: 51200 | elapsed time per iteration (ms): 812.4 | learning " +
		"rate: 3.0E-04 | lm loss: 2.3",
	"(RayTrainWorker pid=4321, ip=10.0.0.4) epoch 3 batch 120 loss 0.51",
	"2026-11-21 10:00:01 | INFO | train_inner | {\"epoch\": 1, \"update\": 0.5, \"loss\": \"2.3\", \"ppl\": \"9.97\", " +
		"\"wps\": \"51234\", \"gnorm\": \"0.53\"}",
	"{'loss': 2.3, 'grad_norm': 0.53, 'learning_rate': 3e-04, 'epoch': 0.01}",
	" 12%|█▏        | 120/1000 [00:31<03:48,  3.86it/s, v_num=0, train_loss=0.512]",
	"Epoch 3/10 782/1563 [=============>................] - ETA: 4s - loss: 0.5123 - accuracy: 0.8123",
	"INFO 11-21 10:00:01 [loggers.py:118] Engine 000: Avg prompt throughput: 5123.4 tokens/s, Running: 12 reqs, GPU " +
		"KV cache usage: 31.2%",
	"ip-10-0-0-1:1234:1300 [0] NCCL INFO Channel 00/16 : 0 1 2 3 4 5 6 7 via P2P/CUMEM",
	"26/11/21 10:00:01 WARN TaskSetManager: Stage 3 contains a task of very large size (1234 KiB).",
	"I1121 10:00:01.123456 1234 solver.cpp:239] Iteration 100 (3.8 iter/s, 26s/100 iters), loss = 0.51",
}

// TestProgressHoldsNoLiteral checks that no literal occurs in lines that come by the million. Such a literal would make
// a gigabyte take forty seconds instead of two.
func TestProgressHoldsNoLiteral(t *testing.T) {
	for _, s := range table(t) {
		for _, line := range progress {
			if i := slices.IndexFunc(s.Literal, func(literal string) bool { return strings.Contains(line, literal) }); i >= 0 {
				t.Errorf("%s: its literal %q stands in %q", s.ID, s.Literal[i], line)
			}
		}
	}
}
