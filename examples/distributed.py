"""
A network trained by several processes
======================================

Trains a network with a ``HistogramHead`` by one process or by several, on one machine
or on many. Each process computes the gradient of its share of every batch, and
``DistributedDataParallel`` averages the gradients, so that the network is that of one
process up to rounding. The first process writes the weights when all are done; if one
of them is lost, the others say so in one sentence and nothing is written.

Run it with ``python examples/distributed.py [weights.safetensors]``, or by two
processes with ``torchrun --nproc-per-node 2 examples/distributed.py``.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from histreg import Bins, HistogramHead, HistogramLoss

STEPS, BATCH = int(os.environ.get("STEPS", "300")), 256


def made_up(n: int) -> tuple[Tensor, Tensor]:
    """Return x (n, 2) and y (n,), whose noise grows with the second column."""
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(n, 2, generator=generator)
    noise = torch.randn(n, generator=generator)
    return x, 10 * torch.sin(3 * x[:, 0]) + (0.5 + 2 * x[:, 1]) * noise


def shared_bins(y: Tensor) -> Bins:
    """Return bins around the targets of all processes, each of which knows its own."""
    ends = torch.stack([-y.min(), y.max()])
    if dist.is_initialized():
        dist.all_reduce(ends, op=dist.ReduceOp.MAX)
    low, high = ends.tolist()
    return Bins.around(-low, high)


def trained(rank: int, n_processes: int) -> tuple[nn.Module, float]:
    """Return a network and its loss on the last batch, the same in all processes."""
    x, y = made_up(20_000)
    bins = shared_bins(y[rank::n_processes])
    if n_processes > 1:
        print(f"{n_processes} processes are connected", flush=True)
    torch.manual_seed(0)  # the same first weights everywhere
    network = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), HistogramHead(64, bins))
    loss = HistogramLoss(bins)
    model = DistributedDataParallel(network) if n_processes > 1 else network
    optimizer = torch.optim.Adam(network.parameters(), lr=3e-3)
    order = torch.Generator().manual_seed(1)  # the same batches everywhere
    for _ in range(STEPS):
        batch = torch.randint(len(x), (BATCH,), generator=order)
        own = batch[rank::n_processes]  # of one size, or means could not be averaged
        optimizer.zero_grad()
        value = loss(model(x[own]), y[own])
        value.backward()
        optimizer.step()
    value = value.detach() / n_processes
    if n_processes > 1:
        dist.all_reduce(value)
    return network, value.item()


def main() -> None:
    """Train, as the process that torchrun says this is, and write the weights."""
    rank = int(os.environ.get("RANK", "0"))
    n_processes = int(os.environ.get("WORLD_SIZE", "1"))
    name = f"process {rank + 1} of {n_processes}"
    print(f"{name} has the number {os.getpid()}", flush=True)
    try:
        if n_processes > 1:
            dist.init_process_group("gloo")
        network, value = trained(rank, n_processes)
    except RuntimeError as error:
        if n_processes == 1:
            raise
        reason = str(error).splitlines()[0]
        sys.exit(f"another process was lost, so nothing was written: {reason}")
    if rank == 0:
        print(f"{STEPS} steps, a loss of {value:.4f} in the last")
        if len(sys.argv) > 1:
            out = Path(sys.argv[1])
            partial = out.with_name(f".{out.name}.partial")
            save_file(network.state_dict(), partial)
            partial.replace(out)  # complete or not at all
    if n_processes > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
