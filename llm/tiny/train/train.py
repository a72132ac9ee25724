"""Trains the byte model of llm/tiny and writes it as safetensors in F16.

    python3 train.py TEXT SECONDS OUT.safetensors
"""
import json
import math
import struct
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

# Tokens 0 to 2 are <unk>, <s> and </s>; byte b is token b + 3. WINDOW is the length of a training text, and so what a
# layer of the engine looks back over.
VOCABULARY, WIDTH, LAYERS, HEADS, HIDDEN, WINDOW, BATCH = 259, 128, 4, 4, 344, 128, 8
HEAD = WIDTH // HEADS
ANGLES = torch.arange(WINDOW).float()[:, None] / 10000 ** (torch.arange(0, HEAD, 2).float() / HEAD)
MASK = torch.triu(torch.ones(WINDOW, WINDOW, dtype=torch.bool), 1)


def rotate(x):
    """Turns neighbouring pairs by their position's angle."""
    c, s = ANGLES.cos()[: x.shape[-2]], ANGLES.sin()[: x.shape[-2]]
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * c - b * s, a * s + b * c), -1).flatten(-2)


def linear(inputs, outputs):
    return nn.Linear(inputs, outputs, bias=False)


class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.weight


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = Norm(), Norm()
        self.q, self.k, self.v, self.o = (linear(WIDTH, WIDTH) for _ in range(4))
        self.gate, self.up, self.down = linear(WIDTH, HIDDEN), linear(WIDTH, HIDDEN), linear(HIDDEN, WIDTH)

    def forward(self, x):
        batch, length, _ = x.shape
        h = self.norm1(x)
        q, k, v = (f(h).view(batch, length, HEADS, HEAD).transpose(1, 2) for f in (self.q, self.k, self.v))
        scores = rotate(q) @ rotate(k).transpose(-1, -2) / math.sqrt(HEAD)
        scores = scores.masked_fill(MASK[:length, :length], -1e9).softmax(-1)
        x = x + self.o((scores @ v).transpose(1, 2).reshape(batch, length, WIDTH))
        h = self.norm2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm, self.head = Norm(), linear(WIDTH, VOCABULARY)
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.normal_(p, 0, 0.02)

    def forward(self, x):
        x = self.embed(x)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def loss_of(model, texts, starts):
    rows = torch.stack([texts[i : i + WINDOW + 1] for i in starts]) + 3
    return F.cross_entropy(model(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten())


def train(model, texts, seconds):
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, betas=(0.9, 0.95), weight_decay=0.05)
    start, step = time.time(), 0
    while (done := (time.time() - start) / seconds) < 1:
        rate = 2e-3 * min(1, (step + 1) / 50) * (0.5 * (1 + math.cos(math.pi * done)) * 0.95 + 0.05)
        for group in optimizer.param_groups:
            group["lr"] = rate
        loss = loss_of(model, texts, torch.randint(0, len(texts) - WINDOW - 1, (BATCH,)))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        step += 1
        if step % 100 == 0:
            print("step %d: %.3f nats a byte" % (step, loss.item()), flush=True)


def named(model):
    yield "model.embed_tokens.weight", model.embed.weight
    yield "model.norm.weight", model.norm.weight
    yield "lm_head.weight", model.head.weight
    for i, b in enumerate(model.blocks):
        p = "model.layers.%d." % i
        yield p + "input_layernorm.weight", b.norm1.weight
        yield p + "post_attention_layernorm.weight", b.norm2.weight
        for name in "qkvo":
            yield p + "self_attn.%s_proj.weight" % name, getattr(b, name).weight
        for name in ("gate", "up", "down"):
            yield p + "mlp.%s_proj.weight" % name, getattr(b, name).weight


def save(model, path):
    sizes = {"D": WIDTH, "L": LAYERS, "H": HEADS, "FF": HIDDEN, "V": VOCABULARY}
    header, data = {"__metadata__": {"rope": "interleaved", "arch": "llama", **{k: str(v) for k, v in sizes.items()}}}, b""
    for name, tensor in named(model):
        raw = tensor.detach().half().numpy().tobytes()
        header[name] = {"dtype": "F16", "shape": list(tensor.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)


def main(text, seconds, out):
    torch.manual_seed(1)
    with open(text, "rb") as f:
        data = torch.tensor(list(f.read()), dtype=torch.long)
    cut = int(len(data) * 0.95)
    model = Model()
    train(model, data[:cut], float(seconds))
    with torch.no_grad():
        losses = [loss_of(model, data[cut:], [i]).item() for i in range(0, 40 * WINDOW, WINDOW)]
    print("held out: %.3f nats a byte" % (sum(losses) / len(losses)))
    save(model, out)


if __name__ == "__main__":
    main(*sys.argv[1:])
