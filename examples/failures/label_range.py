"""Labels counted from 1: with three classes the last label is out of range."""

import sys

import torch

device = "cuda" if "--cuda" in sys.argv else "cpu"
logits = torch.randn(4, 3, device=device)
labels = torch.tensor([1, 2, 3, 1], device=device)
print(torch.nn.functional.cross_entropy(logits, labels).item())
