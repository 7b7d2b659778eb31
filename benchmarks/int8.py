"""The change in CRPS when a network's weights are quantised to int8 for onnxruntime.

A network with one hidden layer learns y = 100 x + noise with a standard deviation of 5,
is exported to ONNX, and its weights are quantised. Both files are scored on rows that
were not used for training. The noise alone has a CRPS of 5 / sqrt(pi) = 2.82.

    python benchmarks/int8.py --out results/int8.jsonl --seeds 1 2 3
"""

from __future__ import annotations

import argparse
import json
import tempfile
from importlib.metadata import version
from pathlib import Path

import onnx
import torch
from onnxruntime import InferenceSession
from onnxruntime.quantization import quantize_dynamic
from torch import Tensor, nn

from histreg import Bins, Histogram, HistogramHead, HistogramLoss
from histreg.study.engine.environment import environment

N_STEPS = 500


def rows(n: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Return features (n, 3) and targets (n,)."""
    x = torch.rand(n, 3, generator=generator)
    return x, 100 * x[:, 0] + 5 * torch.randn(n, generator=generator)


def trained(x: Tensor, y: Tensor) -> nn.Sequential:
    """Return a network from features to logits."""
    head = HistogramHead(64, Bins.of(y))
    network = nn.Sequential(nn.Linear(3, 64), nn.ReLU(), head)
    loss = HistogramLoss(head.bins)
    optimizer = torch.optim.Adam(network.parameters(), 1e-2)
    for _ in range(N_STEPS):
        optimizer.zero_grad()
        loss(network(x), y).backward()
        optimizer.step()
    return network.eval()


def files(network: nn.Module, x: Tensor, folder: Path) -> dict[str, Path]:
    """Write the network in float32 and with int8 weights."""
    paths = {name: folder / f"{name}.onnx" for name in ("float32", "int8")}
    dynamic = ({0: torch.export.Dim("rows")},)
    program = torch.export.export(network, (x[:3],), dynamic_shapes=dynamic)
    torch.onnx.export(program, f=paths["float32"], input_names=["x"], verbose=False)
    model = onnx.load(paths["float32"])
    del model.graph.value_info[:]  # its shapes contradict those onnxruntime infers
    quantize_dynamic(model, paths["int8"])
    return paths


def run(seed: int) -> dict[str, object]:
    """Return the record of a seed."""
    generator = torch.Generator().manual_seed(seed)
    torch.manual_seed(seed)
    network = trained(*rows(2_000, generator))
    x, y = rows(10_000, generator)
    scores = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, path in files(network, x, Path(folder)).items():
            (logits,) = InferenceSession(path).run(None, {"x": x.numpy()})
            d = Histogram(network[-1].bins, logits=torch.tensor(logits))
            scores[name] = d.crps(y).mean().item()
    return {
        "seed": seed,
        "crps": {name: round(score, 5) for name, score in scores.items()},
        "change": round(scores["int8"] / scores["float32"] - 1, 6),
        "environment": environment()
        | {name: version(name) for name in ("onnx", "onnxruntime")},
    }


def main() -> None:
    """Run the seeds that are missing in the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    environment()  # the commit of the code that is running
    out = arguments.out
    lines = out.read_text().splitlines() if out.exists() else []
    done = {json.loads(line)["seed"] for line in lines}
    for seed in arguments.seeds:
        if seed not in done:
            record = run(seed)
            with out.open("a") as file:
                file.write(json.dumps(record) + "\n")
            print(seed, record["crps"], f"{record['change']:+.2%}", flush=True)


if __name__ == "__main__":
    main()
