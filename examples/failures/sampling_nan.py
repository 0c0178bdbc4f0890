"""float16 overflows at 65504: inf minus inf is NaN, and softmax passes it on to the sampling."""

import sys

import torch

device = "cuda" if "--cuda" in sys.argv else "cpu"
logits = torch.tensor([60000.0, 1.0], device=device).half() * 2
print(torch.multinomial(torch.softmax(logits.float(), dim=-1), 1))
