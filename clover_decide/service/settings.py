"""Settings of the service: from the environment (CLOVER_ before each name), and from a YAML file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from pydantic import Field
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, YamlConfigSettingsSource

CONFIG = "CLOVER_CONFIG"
"""The environment variable that names the file."""


class Settings(BaseSettings):
    """Everything that can be set. The environment wins over the file."""

    model_config = SettingsConfigDict(env_prefix="CLOVER_", extra="forbid", frozen=True, protected_namespaces=())

    host: str = Field("127.0.0.1", description="Address to listen on.")
    port: int = Field(8000, ge=0, le=65535, description="Port to listen on.")
    workers: int = Field(1, ge=1, le=64, description="Processes; each loads the model, and has a queue and rate limits of its own.")
    model: str = Field("clover-mini", description="A shipped model's name or a model folder.")
    dtype: Literal["auto", "int8", "bfloat16", "float32"] = Field(
        "auto", description="What the model computes in; auto is the fastest here."
    )
    device: str = Field("cpu", description="Torch device.")
    threads: int | None = Field(None, ge=1, description="Threads of a pass; by default the processors shared out among workers.")
    calibration: str = Field("shipped", description="A calibration file (see clover-decide calibrate), shipped, or none.")
    aliases: list[str] = Field(["jev-latest", "clover-decide"], description="Further model names that requests may use.")
    compatible_mode: Literal["independent", "joint"] | None = Field(
        None,
        description="Mode of System One and OpenAI Decisions requests that name none; by default the calibration file's, or independent.",
    )
    batch: int = Field(8, ge=1, le=64, description="Requests that are answered side by side.")
    queue: int = Field(64, ge=0, le=10_000, description="Requests that may wait; more are refused with 529 or 503.")
    deadline: float = Field(60.0, gt=0, le=3600, description="Seconds from a request's arrival in which it is answered or given up.")
    body_limit: int = Field(1 << 20, ge=1024, le=1 << 26, description="Bytes of a body, before and after decompression.")
    body_seconds: float = Field(10.0, gt=0, le=600, description="Seconds in which a body must have arrived.")
    drain: int = Field(30, ge=0, le=3600, description="Seconds that requests may take to finish after SIGTERM.")
    cached_materials: int = Field(8, ge=0, le=1024, description="Materials whose reading is remembered.")
    keys: Path | None = Field(None, description="A file of API keys (see clover-decide keys); without one no key is needed.")
    per_minute: int | None = Field(None, ge=1, description="Requests a minute of a key, or of an address where no key is needed.")
    trusted_proxies: list[str] = Field([], description="Addresses whose X-Forwarded-For is believed; none by default.")
    cors: list[str] = Field([], description="Origins whose pages may call the service; none by default.")
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="Least severe log lines.")
    log_material: bool = Field(False, description="Also log bodies of requests, cut at 2,000 characters.")
    otel: bool = Field(False, description="Send OpenTelemetry spans, as the OTEL_ variables say (extra otel).")

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        sources: tuple[PydanticBaseSettingsSource, ...] = (init_settings, env_settings)
        file = os.environ.get(CONFIG)
        return (*sources, YamlConfigSettingsSource(settings_cls, yaml_file=file)) if file else sources


def read_settings(**given: object) -> Settings:
    """The settings of this process; what is given wins.

    Raises:
        InputError: one is not acceptable; the path is its name. FormatError: the file cannot be read.
    """
    from pydantic import ValidationError
    from pydantic_settings import SettingsError

    from clover_decide.errors import FormatError, InputError
    from clover_decide.files import load_structured

    names = {CONFIG, "CLOVER_KEY", *(f"CLOVER_{name.upper()}" for name in Settings.model_fields)}
    unknown = next((name for name in sorted(os.environ) if name.startswith("CLOVER_") and name.upper() not in names), None)
    if unknown is not None:
        raise InputError("no such setting", path=unknown, accepted=", ".join(sorted(names)))
    file = os.environ.get(CONFIG)
    if file and not isinstance(load_structured(Path(file)), dict):
        raise FormatError("not a mapping of settings", path=file, accepted=", ".join(Settings.model_fields))
    try:
        return Settings(**given)  # pyright: ignore[reportArgumentType]
    except SettingsError as error:
        raise InputError(str(error), path="environment", accepted="a JSON list for lists, such as '[\"a\"]'") from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        path = ".".join(str(step) for step in first["loc"])
        known = Settings.model_fields.get(str(first["loc"][0])) if first["loc"] else None
        accepted = f"{known.annotation}: {known.description}" if known else ", ".join(Settings.model_fields)
        raise InputError(first["msg"], path=path, given=first.get("input"), accepted=accepted) from None
