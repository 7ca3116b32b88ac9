"""What making a picture fit for a model costs beside the same work of Pillow in this process.

    python tests/bench/bench_pictures.py [RUNS]

Fits each picture RUNS times (default 5) in each way, in turn; prints the medians in milliseconds of wall time and
their ratios: the difference is the process of its own, and what goes through its pipe. Needs the extra `images`.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from io import BytesIO

from PIL import Image

from remit.base.pictures import MAX_EDGE
from remit.workspace.pictures import fit_picture

PICTURES = {
    "icon": ("PNG", (64, 64)),
    "screenshot": ("PNG", (1920, 1080)),
    "photo": ("JPEG", (4000, 3000)),
    "50 megapixels": ("JPEG", (10_000, 5000)),
}


def picture(kind: str, size: tuple[int, int]) -> bytes:
    out = BytesIO()
    Image.effect_noise((200, 150), 60).resize(size).convert("RGB").save(out, kind)
    return out.getvalue()


def by_pillow(data: bytes) -> None:
    image = Image.open(BytesIO(data))
    if max(image.size) <= MAX_EDGE:
        image.load()
        return
    kind = image.format
    image.thumbnail((MAX_EDGE, MAX_EDGE), Image.Resampling.LANCZOS, reducing_gap=3.0)
    image.save(BytesIO(), kind)


def milliseconds(way: Callable[[bytes], object], data: bytes) -> float:
    began = time.perf_counter()
    way(data)
    return (time.perf_counter() - began) * 1000


def main(runs: int) -> None:
    for name, (kind, size) in PICTURES.items():
        data = picture(kind, size)
        pairs = [(milliseconds(fit_picture, data), milliseconds(by_pillow, data)) for _ in range(runs)]
        ours, theirs = (statistics.median(each) for each in zip(*pairs, strict=True))
        print(f"{name:14} {len(data) >> 10:6} KiB  {ours:8.1f} ms  Pillow {theirs:8.1f} ms  ratio {ours / theirs:6.2f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
