"""sigmoid keeps its output for backward; adding to it in place spoils the gradient."""

import sys

import torch

device = "cuda" if "--cuda" in sys.argv else "cpu"
x = torch.ones(3, device=device, requires_grad=True)
y = torch.sigmoid(x)
y += 1
y.sum().backward()
