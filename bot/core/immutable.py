"""Dataclasses that cost little, to define and to make: there are three hundred, and a turn makes many objects."""

import dataclasses
from collections.abc import Callable
from operator import attrgetter, eq, ge, gt, le, lt
from reprlib import recursive_repr
from typing import Any, TypeVar, dataclass_transform, overload

T = TypeVar("T")
Fields = tuple[dataclasses.Field[Any], ...]


@overload
def immutable(cls: type[T], /) -> type[T]: ...
@overload
def immutable(*, eq: bool = True, order: bool = False, kw_only: bool = False) -> Callable[[type[T]], type[T]]: ...
@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field,))
def immutable(
    cls: type[T] | None = None, /, *, eq: bool = True, order: bool = False, kw_only: bool = False
) -> type[T] | Callable[[type[T]], type[T]]:
    """Make a dataclass with slots whose fields are never assigned: mypy sees to that, as with ``frozen=True``.

    At run time nothing does, because an object of a frozen dataclass takes six times as long to make. The standard
    library's decorator would also compile nine functions for each class as it is imported: here ``__init__`` is compiled
    when the first object is made, and the others are not compiled at all.
    """

    def make(cls: type[T]) -> type[T]:
        own = set(vars(cls))
        cls.__doc__ = cls.__doc__ or cls.__name__  # else it is made from the signature, in 3 ms
        cls = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True, kw_only=kw_only)(cls)
        fields: Fields = dataclasses.fields(cls)  # type: ignore[arg-type]
        methods = {"__init__": _first_init(cls), "__repr__": _repr(fields)} | (_comparison(fields, order) if eq else {})
        for name in methods.keys() - own:
            setattr(cls, name, methods[name])
        return cls

    return make if cls is None else make(cls)


def _first_init(cls: type) -> Callable[..., None]:
    """An ``__init__`` that replaces itself by the one that it compiles."""

    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        compiled = _init(cls)
        cls.__init__ = compiled  # type: ignore[misc]
        compiled(self, *args, **kwargs)

    return init


def _init(cls: type) -> Callable[..., None]:
    names: dict[str, Any] = {"MISSING": dataclasses.MISSING}
    positional, by_name, body = ["self"], ["*"], []
    for field in dataclasses.fields(cls):
        name, value, default = field.name, field.name, ""
        if field.default is not dataclasses.MISSING:
            names[f"default_{name}"] = field.default
            default = f"default_{name}"
            value = name if field.init else default
        elif field.default_factory is not dataclasses.MISSING:
            names[f"make_{name}"] = field.default_factory
            default = "MISSING"
            value = f"make_{name}() if {name} is MISSING else {name}" if field.init else f"make_{name}()"
        if field.init:
            (by_name if field.kw_only else positional).append(f"{name}={default}" if default else name)
        if field.init or default:
            body.append(f" self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append(" self.__post_init__()")
    parameters = ", ".join(positional + by_name[len(by_name) == 1 :])
    exec(f"def __init__({parameters}):\n" + ("\n".join(body) or " pass"), names)
    compiled: Callable[..., None] = names["__init__"]
    compiled.__qualname__ = f"{cls.__qualname__}.__init__"
    return compiled


def _repr(fields: Fields) -> Callable[[Any], str]:
    names = [field.name for field in fields if field.repr]

    @recursive_repr()
    def text(self: Any) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    return text


def _comparison(fields: Fields, order: bool) -> dict[str, Callable[..., Any]]:
    names = [field.name for field in fields if field.compare]
    values: Callable[[Any], Any] = (
        attrgetter(*names) if len(names) > 1 else lambda self: tuple(getattr(self, name) for name in names)
    )

    def comparing(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], Any]:
        return lambda self, other: (
            compare(values(self), values(other)) if other.__class__ is self.__class__ else NotImplemented
        )

    orders = {"__lt__": lt, "__le__": le, "__gt__": gt, "__ge__": ge} if order else {}
    return {name: comparing(compare) for name, compare in {"__eq__": eq, **orders}.items()} | {
        "__hash__": lambda self: hash(values(self))
    }
