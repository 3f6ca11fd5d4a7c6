"""The registry of random calls, and what they share."""
from draw import written

CALLS = {}


def call(name, weight=1):
    def register(draw):
        CALLS[name] = (draw, weight)
        return draw
    return register


def each(names, make, weight=1):
    for name in names.split():
        CALLS[name] = (make(name), weight)


def options(d, **values):
    """Keyword arguments, each present in half of the calls."""
    given = {k: v() if callable(v) else v for k, v in values.items() if d.chance(0.5)}
    return "".join(f", {k}={v if isinstance(v, str) else written(v)}" for k, v in given.items())


def unary(dtypes):
    return lambda name: lambda d: f"tf.{name}({d.tensor(dtypes)})"
