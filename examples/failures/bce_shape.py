"""BCELoss on shapes that differ: a ValueError on every device, never a device-side assert."""

import sys

import torch

device = "cuda" if "--cuda" in sys.argv else "cpu"
output = torch.sigmoid(torch.randn(4, 1, device=device))
target = torch.ones(4, device=device)
print(torch.nn.BCELoss()(output, target).item())
