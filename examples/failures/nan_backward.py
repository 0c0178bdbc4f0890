"""The derivative of a root at 0 is infinite, times 0 is NaN; anomaly detection names the root."""

import sys

import torch

torch.autograd.set_detect_anomaly(True)
device = "cuda" if "--cuda" in sys.argv else "cpu"
x = torch.zeros(3, device=device, requires_grad=True)
norm = torch.sqrt((x**2).sum())
(norm * 0).backward()
print(x.grad)
