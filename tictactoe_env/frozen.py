"""Deep copies of players that share nothing with them that may change.

`copy.deepcopy` copies objects, but returns functions and classes as they are. So the copy of a
player that plays by a function goes on with what that function uses. Such a copy is refused here,
unless its functions and classes use arguments, installed modules, constants, and other such
functions and classes only.

Of the methods of a class those are looked at that playing may call: special ones, those that an
installed class has too, and those that a function on the way names; all of them, if one uses
`getattr`. What is installed, such as NumPy and PyTorch, is believed to keep nothing of a player.
"""

from __future__ import annotations

import copy
import dis
import enum
import functools
import gc
import importlib.util
import inspect
import sys
import types
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_ENTRIES = ("probs", "predict", "forward")
_MAKING = ("__init__", "__new__", "__post_init__")  # called if a function uses the class
_NOT_PLAYING = {*_MAKING, "__repr__", "__str__", "__del__"}
_LOOKUPS = {"eval", "exec", "globals", "__import__"}  # of what the code does not name
_GLOBALS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
_SHARING = (weakref.ReferenceType, type(functools.cache(len)))  # copied as they are
_BOOKKEEPING = ("__", "_abc_impl", "_field_defaults")  # of Python, in a class
_INSTALLED = {"site-packages", "dist-packages"}


def frozen_copy(player: Any) -> Any:
    """A deep copy of a player that plays on as it plays now.

    Raises ValueError if it plays by what the copy would share, and whatever `copy.deepcopy` raises.
    """
    copied = copy.deepcopy(player)
    originals = {id(one): one for one in _objects_in(player)}
    used: list[Any] = []  # functions, and classes whose methods may be called
    names = set(_ENTRIES)  # of the methods that may be called
    for one in _objects_in(copied):
        is_shared = id(one) in originals and any(_own_classes(type(one)))
        if is_shared or isinstance(one, (*_SHARING, types.BuiltinMethodType)):
            used += _checked(type(player).__qualname__, type(one).__qualname__, one)
        if isinstance(one, str):
            names.add(one)
        used.append(one if isinstance(one, types.FunctionType) else type(one))
    _check_all(used, names)
    return copied


def _check_all(used: list[Any], names: set[str]) -> None:
    """Check functions and classes, and those that these use. Raises ValueError for what may change.

    names: the methods that may be called; those that the functions name are added.
    """
    uncalled: dict[str, list[Any]] = {}  # the methods that nothing has named so far
    seen = set()
    while used:
        one = used.pop()
        if one in seen:
            continue
        seen.add(one)
        if isinstance(one, type):
            used.append(type(one))
            for base in one.__mro__:
                if _is_installed(base.__module__):
                    names.update(vars(base))
            for name, method in _methods(one):
                uncalled.setdefault(name, []).append(method)
        else:
            used += _used(one)
            names.update(_mentioned(one))
        for name in uncalled.keys() - _NOT_PLAYING:
            if name in names or name.startswith("__") or "getattr" in names:
                used += uncalled.pop(name)


def _objects_in(copied: Any) -> Iterator[Any]:
    """What belongs to a copy, except modules, classes, and what functions hold.

    An object whose author says by `__deepcopy__` how it is copied is left out.
    """
    seen: dict[int, Any] = {}  # kept alive, so that no other object gets their numbers
    left = [copied]
    while left:
        one = left.pop()
        is_new = id(one) not in seen and not isinstance(one, (types.ModuleType, type))
        if is_new and not _is_copied_by_itself(one):
            seen[id(one)] = one
            yield one
            if not isinstance(one, types.FunctionType):
                left += gc.get_referents(one)


def _is_copied_by_itself(one: Any) -> bool:
    return any("__deepcopy__" in vars(kind) for kind in _own_classes(type(one)))


def _used(function: types.FunctionType) -> Iterator[Any]:
    """The functions and classes that a function uses. Raises ValueError for what may change."""
    name = function.__qualname__
    used = dict(inspect.getclosurevars(function).nonlocals)
    used.pop("__class__", None)
    if not _is_installed(function.__globals__.get("__name__")):
        for variable, value in used.items():
            if not isinstance(value, (types.FunctionType, types.ModuleType, type)):
                _refuse(name, variable)  # also a number: another one may be assigned
        names = _arguments(function.__code__, *_GLOBALS)
        for lookup in names & _LOOKUPS:
            _refuse(name, lookup)
        for module in _arguments(function.__code__, "IMPORT_NAME"):
            if not _is_installed(module):
                _refuse(name, module)
        arguments = inspect.signature(function, follow_wrapped=False).parameters.values()
        used |= {one.name: one.default for one in arguments if one.default is not one.empty}
        used |= vars(function)
        found = function.__globals__
        used |= {variable: found[variable] for variable in names & found.keys()}
    for variable, value in used.items():
        yield from _checked(name, variable, value)
        if isinstance(value, type):
            yield from (method for key, method in _methods(value) if key in _MAKING)


def _methods(kind: type) -> Iterator[tuple[str, Any]]:
    """The functions and classes in a class, by name. Raises ValueError for what may change."""
    for one in _own_classes(kind):
        for name, value in vars(one).items():
            if isinstance(value, property):
                parts = [value.fget, value.fset, value.fdel]
            elif isinstance(value, functools.cached_property):
                parts = [value.func]
            elif isinstance(value, (staticmethod, classmethod)):
                parts = [value.__func__]
            else:
                parts = [value]
            for part in parts:
                if isinstance(part, types.FunctionType) or not _is_bookkeeping(one, name, part):
                    yield from ((name, used) for used in _checked(one.__qualname__, name, part))


def _is_bookkeeping(kind: type, name: str, value: Any) -> bool:
    """True for what Python keeps in a class, also in those of enums and named tuples."""
    is_of_enum = issubclass(kind, enum.Enum) and name.endswith("_")
    is_of_tuple = issubclass(kind, tuple) and name in getattr(kind, "_fields", ())
    is_slot = hasattr(value, "__objclass__") and hasattr(value, "__get__")
    return is_of_enum or is_of_tuple or is_slot or name.startswith(_BOOKKEEPING)


def _checked(name: str, variable: str, value: Any) -> Iterator[Any]:
    """The functions and classes in a value that `name` uses. Raises ValueError if it may change."""
    if isinstance(value, (tuple, frozenset)):
        for one in value:
            yield from _checked(name, variable, one)
    if isinstance(value, types.BuiltinMethodType):
        value = value.__self__  # a module, if it is a function
    if not _is_constant(value):
        _refuse(name, variable)
    used = getattr(value, "__func__", value)
    if isinstance(used, (types.FunctionType, type)):
        yield used


def _refuse(name: str, used: str) -> None:
    raise ValueError(
        f"{name} uses {used}, which its copy would share: give an object with probs(boards) that "
        "has what it uses as attributes, which are copied with it, or define its __deepcopy__"
    )


def _is_constant(value: Any) -> bool:
    """True if a deep copy is the same value: a number, a text, a function, a tuple of them."""
    if isinstance(value, (type, types.FunctionType)):
        return True  # looked at itself
    if isinstance(value, types.ModuleType):
        return _is_installed(value.__name__)
    is_method = isinstance(value, types.MethodType)
    owner = value.__self__ if is_method else value
    is_own = any(_own_classes(type(owner)))
    if isinstance(value, _SHARING) or (is_method and is_own):
        return False
    try:
        if (is_method or is_own) and not all(map(_is_constant, vars(owner).values())):
            return False
        return is_method or hash(copy.deepcopy(value)) == hash(value)
    except Exception:  # what cannot be hashed or copied is no constant
        return False


def _mentioned(function: types.FunctionType) -> set[str]:
    """The names and texts in the code of a function: among them the methods that it calls."""
    codes = list(_codes(function.__code__))
    texts = {one for code in codes for one in code.co_consts if isinstance(one, str)}
    return texts.union(*(code.co_names for code in codes))


def _arguments(code: types.CodeType, *operations: str) -> set[str]:
    """What the instructions of these kinds name in a code."""
    lines = (line for one in _codes(code) for line in dis.get_instructions(one))
    return {line.argval for line in lines if line.opname in operations}


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """A code, and those of the functions in it."""
    yield code
    for one in code.co_consts:
        if isinstance(one, types.CodeType):
            yield from _codes(one)


def _own_classes(kind: type) -> Iterator[type]:
    """A class and its bases, as far as they are not installed."""
    return (one for one in kind.__mro__ if not _is_installed(one.__module__))


@functools.cache
def _is_installed(module: str | None) -> bool:
    """True if a module is of this package, of Python, or installed beside it."""
    package = (module or "__main__").partition(".")[0]
    if package in sys.stdlib_module_names or package == __name__.partition(".")[0]:
        return True
    if package == "__main__":
        return False
    try:
        spec = importlib.util.find_spec(package)
    except ValueError:  # made by hand
        return False
    places = [spec.origin or "", *(spec.submodule_search_locations or ())] if spec else []
    return any(not _INSTALLED.isdisjoint(Path(place).parts) for place in places)
