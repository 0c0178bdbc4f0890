"""A token id that the embedding does not have: ids run from 0 to 9."""

import sys

import torch

device = "cuda" if "--cuda" in sys.argv else "cpu"
embedding = torch.nn.Embedding(10, 4).to(device)
ids = torch.tensor([1, 2, 10], device=device)
print(embedding(ids).sum().item())
