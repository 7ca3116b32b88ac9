"""Pictures made for a test."""

from __future__ import annotations

import os
from io import BytesIO
from typing import Any

from PIL import Image

FORMATS = ("PNG", "JPEG", "GIF", "WEBP")


def picture(format: str = "PNG", size: tuple[int, int] = (40, 30), *, mode: str = "", **options: Any) -> bytes:
    """A picture, red at the left and blue at the right."""
    image = Image.new("RGB", size, (200, 30, 30))
    image.paste((30, 30, 200), (size[0] // 2, 0, *size))
    out = BytesIO()
    (image.convert(mode) if mode else image).save(out, format, **options)
    return out.getvalue()


def noise(format: str, size: tuple[int, int], *, mode: str = "RGB", **options: Any) -> bytes:
    """A picture that hardly gets smaller."""
    bands = len(Image.new(mode, (1, 1)).getbands())
    out = BytesIO()
    Image.frombytes(mode, size, os.urandom(size[0] * size[1] * bands)).save(out, format, **options)
    return out.getvalue()


def animation(format: str, size: tuple[int, int] = (40, 30), frames: int = 3) -> bytes:
    """Whole frames of one colour: red, green, blue."""
    colours = [(200, 30, 30), (30, 200, 30), (30, 30, 200)]
    images = [Image.new("RGB", size, colours[each % 3]) for each in range(frames)]
    out = BytesIO()
    images[0].save(out, format, save_all=True, append_images=images[1:])
    return out.getvalue()


def turned(size: tuple[int, int], orientation: int, format: str = "JPEG") -> bytes:
    """A picture whose metadata says how to turn it."""
    exif = Image.Exif()
    exif[0x0112] = orientation
    exif[0x010E] = "said in confidence"
    return picture(format, size, exif=exif)


def opened(data: bytes) -> Image.Image:
    """A picture, decoded."""
    image = Image.open(BytesIO(data))
    image.load()
    return image
