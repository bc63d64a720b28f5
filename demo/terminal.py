"""Text that is safe and straight in a terminal."""


def label(name, width):
    """The name without control characters, cut or padded to the width."""
    shown = "".join(char if char.isprintable() else "?" for char in name)
    if len(shown) > width:
        shown = shown[: width - 1] + "…"
    return shown.ljust(width)


def clock(seconds):
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"
