"""What users add to turnstile.job and turnstile.job_history: an element is one thing added, with its details drawn by chance."""

from collections.abc import Callable
from random import Random

from elements import columns, constraints, history, indexes, nested, tables, triggers
from elements.element import Element

__all__ = ["ELEMENTS", "Element"]

ELEMENTS: dict[str, Callable[[Random], Element]] = {}
for module in (columns, indexes, constraints, triggers, nested, history, tables):
    for name, make in module.ELEMENTS.items():
        assert name not in ELEMENTS, name
        ELEMENTS[name] = make
