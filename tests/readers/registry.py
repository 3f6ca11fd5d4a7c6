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


# Keywords whose values are strings; others are expressions.
STRINGS = {"direction", "encoding", "errors", "fill", "sep", "separator", "unit"}


def options(d, **values):
    """Keyword arguments, each present in half of the calls."""
    def text(name, value):
        is_expression = isinstance(value, str) and (name not in STRINGS or value.startswith(('"', "'")))
        return value if is_expression else written(value)

    given = {k: v() if callable(v) else v for k, v in values.items() if d.chance(0.5)}
    return "".join(f", {k}={text(k, v)}" for k, v in given.items())


def unary(dtypes):
    return lambda name: lambda d: f"tf.{name}({d.tensor(dtypes)})"
