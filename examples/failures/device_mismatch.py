"""The input stays where it was made. Without a GPU, the meta device plays the second device."""

import sys

import torch

device = "cuda" if "--cuda" in sys.argv else "meta"
layer = torch.nn.Linear(4, 2)
print(layer(torch.randn(3, 4, device=device)).shape)
