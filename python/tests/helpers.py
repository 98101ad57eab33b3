"""Functions of a module, which are pickled by name."""


def add(first, second):
    return first + second


def fail(word):
    raise KeyError(word)


class OddError(Exception):
    """Cannot be pickled and read again: its constructor takes other arguments than it passes on."""

    def __init__(self, first, second):
        super().__init__(f"{first} and {second}")
