"""One picture decoded in a process of its own, which a broken or hostile file can only end.

The picture comes by stdin; the answer goes to stdout as JSON in one line, followed by the new picture's bytes
if there is one. Nothing of remit is imported: argv has where Pillow is, and the bounds.
"""

from __future__ import annotations

import json
import re
import resource
import sys
import warnings
from io import BytesIO
from typing import Any

MAX_MEMORY_BYTES = 1 << 30
MAX_CPU_SECONDS = 30

JPEG_QUALITY = 85

_FORMATS = {"image/png": "PNG", "image/jpeg": "JPEG", "image/gif": "GIF", "image/webp": "WEBP"}


def main(argv: list[str]) -> None:
    """argv: the directory that holds Pillow, media type, longest edge, most bytes, most pixels."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (MAX_CPU_SECONDS, MAX_CPU_SECONDS))
    if sys.platform.startswith("linux"):
        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
    sys.path.append(argv[0])
    data = sys.stdin.buffer.read()
    try:
        answer, new = fit(data, argv[1], int(argv[2]), int(argv[3]), int(argv[4]))
    except MemoryError:
        answer, new = {"error": "it takes too much memory to decode"}, b""
    except Exception as problem:
        # Pillow's decoders raise whatever a broken file leads them to; all of it is an answer.
        answer, new = {"error": _reason(problem)}, b""
    sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n" + new)


def _reason(problem: Exception) -> str:
    """In words: what Pillow was handed instead of a file says nothing to anybody."""
    return re.sub(r"\s*<_io\.BytesIO[^>]*>", "", str(problem)) or type(problem).__name__


def fit(data: bytes, media_type: str, edge: int, most: int, pixels: int) -> tuple[dict[str, Any], bytes]:
    """The picture as a model takes it. b"" for one that may be sent as it is.

    The answer holds `media_type` and `size` of what is sent, and `done`: what was done to it, in words."""
    from PIL import Image, ImageOps

    Image.MAX_IMAGE_PIXELS = pixels
    warnings.simplefilter("error")
    image: Any = Image.open(BytesIO(data), formats=[_FORMATS[media_type]])
    animated = media_type != "image/jpeg" and getattr(image, "n_frames", 1) > 1
    turned = image.getexif().get(0x0112, 1) in range(2, 9)
    done = ["the first frame of an animation"] * animated + ["turned upright"] * turned
    original = image.size
    if max(original) > edge:
        # Also decodes: a JPEG at the scale that is needed, which takes less memory.
        image.thumbnail((edge, edge), Image.Resampling.LANCZOS, reducing_gap=3.0)
        done.append(f"made smaller from {original[0]}x{original[1]}")
    else:
        image.load()
    if not done and len(data) <= most:
        return {"media_type": media_type, "size": original, "done": []}, b""
    image = ImageOps.exif_transpose(image)
    for target in ("image/jpeg",) if media_type == "image/jpeg" else ("image/png", "image/jpeg"):
        new = _encoded(image, target)
        if len(new) <= most:
            return {"media_type": target, "size": image.size, "done": done or ["stored anew"]}, new
    raise ValueError(f"it has {len(new)} bytes also when made smaller; at most {most} are sent")


def _encoded(image: Any, media_type: str) -> bytes:
    out = BytesIO()
    if media_type == "image/jpeg":
        _opaque(image).save(out, "JPEG", quality=JPEG_QUALITY)
    else:
        _plain(image).save(out, "PNG")
    return out.getvalue()


def _plain(image: Any) -> Any:
    """In a mode that every reader of PNG knows."""
    if image.mode in ("I", "F") or image.mode.startswith("I;16"):
        # Gray of 16 bits, which a plain conversion would cut off at white.
        return image.convert("F").point(lambda value: value * (1 / 257)).convert("L")
    if image.mode in ("L", "LA", "RGB", "RGBA"):
        return image
    return image.convert("RGBA" if image.has_transparency_data else "RGB")


def _opaque(image: Any) -> Any:
    """On white, since JPEG knows nothing that shines through."""
    from PIL import Image

    image = _plain(image)
    if image.mode not in ("LA", "RGBA"):
        return image
    image = image.convert("RGBA")
    white = Image.new("RGBA", image.size, "white")
    return Image.alpha_composite(white, image).convert("RGB")


if __name__ == "__main__":
    main(sys.argv[1:])
