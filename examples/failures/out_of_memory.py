"""One tensor larger than any machine's memory: a petabyte."""

import sys

import torch

device = "cuda" if "--cuda" in sys.argv else "cpu"
print(torch.empty(1 << 48, dtype=torch.float32, device=device).shape)
