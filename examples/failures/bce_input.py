"""BCELoss on a raw output: its input must lie between 0 and 1, so the sigmoid is missing."""

import sys

import torch

device = "cuda" if "--cuda" in sys.argv else "cpu"
output = torch.tensor([-0.7, 0.2, 3.1], device=device)
target = torch.tensor([0.0, 0.0, 1.0], device=device)
print(torch.nn.BCELoss()(output, target).item())
