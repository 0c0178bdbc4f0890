"""A layer for 784 inputs fed 512: the flattened size changed and the layer did not."""

import sys

import torch

device = "cuda" if "--cuda" in sys.argv else "cpu"
layer = torch.nn.Linear(784, 10).to(device)
print(layer(torch.randn(8, 512, device=device)).sum().item())
