"""A sequence whose items are made when they are asked for: a million of them take no memory."""

from collections.abc import Callable, Sequence
from typing import TypeVar, overload

T = TypeVar("T", covariant=True)


class Computed(Sequence[T]):
    """Item `i` is `at(i)`."""

    def __init__(self, length: int, at: Callable[[int], T]) -> None:
        self._length = length
        self._at = at

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> list[T]: ...
    def __getitem__(self, place: int | slice) -> T | list[T]:
        places = range(self._length)[place]
        return self._at(places) if isinstance(places, int) else [self._at(each) for each in places]
