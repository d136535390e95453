"""What a client sends, checked by pydantic; every error is one sentence that says what to send."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, ClassVar

from pydantic import (
    BaseModel,
    ConfigDict,
    ModelWrapValidatorHandler,
    ValidationError,
    model_validator,
)
from pydantic_core import ErrorDetails

from tictactoe_env.errors import unknown_name

SHOWN = 120  # characters of a value in an error


def shown(value: Any) -> str:
    """The beginning of a value, for an error."""
    try:
        return f"{value!r:.{SHOWN}}"
    except RecursionError:
        return "a value that is nested too deeply"


def example(value: dict[str, Any]) -> ConfigDict:
    """The configuration of a model with an example in its schema."""
    return ConfigDict(json_schema_extra={"examples": [value]})


class Asked(BaseModel):
    """Base of every model that a client sends: no unknown fields, no conversion between types.

    Validation raises pydantic's ValidationError with one error of the type "value_error"; `reason`
    returns its sentence.
    """

    model_config = ConfigDict(strict=True, extra="forbid", use_attribute_docstrings=True)

    WORD: ClassVar[str] = "field"  # what a name in this model is called in errors

    @model_validator(mode="wrap")
    @classmethod
    def explain(cls, content: Any, handler: ModelWrapValidatorHandler[Any]) -> Any:
        """Validate, and replace all errors of pydantic by one sentence."""
        try:
            return handler(content)
        except ValidationError as error:
            errors = error.errors(include_url=False)
        raise ValueError(cls.sentence(errors, content))

    @classmethod
    def sentence(cls, errors: Sequence[ErrorDetails], content: Any) -> str:
        """The first error; unknown and missing fields come before values that do not fit."""
        required = [name for name, field in cls.model_fields.items() if field.is_required()]
        by_type = {error["type"]: error for error in reversed(errors)}
        if not errors[0]["loc"] and errors[0]["type"] != "value_error":
            return f"send an object with {', '.join(required)}, got {shown(content)}"
        if extra := by_type.get("extra_forbidden"):
            return str(unknown_name(cls.WORD, str(extra["loc"][0])[:SHOWN], cls.model_fields))
        if missing := [str(error["loc"][0]) for error in errors if error["type"] == "missing"]:
            verb = "is" if len(missing) == 1 else "are"
            return f"{', '.join(missing)} {verb} missing: send {', '.join(required)}"
        if errors[0]["type"] == "value_error":
            return str(errors[0]["ctx"]["error"])
        name = str(errors[0]["loc"][0])
        return expected(name, _schema(cls)["properties"][name], errors[0]["input"])


@lru_cache(maxsize=64)
def _schema(model: type[BaseModel]) -> dict[str, Any]:
    return model.model_json_schema()


def expected(name: str, schema: dict[str, Any], value: Any) -> str:
    """What a field of this JSON schema (a number, a word, true or false) takes, and what came."""
    kind = next(one for one in schema.get("anyOf", [schema]) if one.get("type") != "null")
    words = [word for word in kind.get("enum", ()) if word]
    if words and isinstance(value, str):
        return str(unknown_name(name, value[:SHOWN], words))
    if words:
        what = f"one of {', '.join(words)}"
    elif kind["type"] == "integer":
        what = f"a whole number from {kind['minimum']} to {kind['maximum']}"
    else:
        what = {"boolean": "true or false", "string": "text"}[kind["type"]]
    got = f"the bool {value}" if isinstance(value, bool) else shown(value)
    return f"{name} must be {what}, got {got}"


def reason(error: ValidationError | Any) -> str:
    """The sentence of an error that validating an `Asked` has raised."""
    found = error.errors()[0]
    return str(found["ctx"]["error"] if found["type"] == "value_error" else found["msg"])
