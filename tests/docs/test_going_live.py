"""What can be said of the Dockerfile, the compose file and the systemd unit without running them; and docs/going-live.md."""

import re
import shlex
from configparser import RawConfigParser
from pathlib import Path

import yaml

from bot.cli import COMMANDS
from bot.server.process.supervisor import STOP_SECONDS
from bot.settings import OF_DEPLOYMENT, SETTINGS, read_settings
from bot.settings.setting_values import INTERNAL_PATHS
from bot.store.engine_store import KEPT

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "going-live.md").read_text()
DOCKERFILE = (ROOT / "Dockerfile").read_text().replace("\\\n", "")
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text())
VARIABLES = {spec.variable for spec in SETTINGS.values()}


def instructions(name: str) -> list[str]:
    return re.findall(rf"^{name}\s+(.*)$", DOCKERFILE, re.MULTILINE)


def unit() -> RawConfigParser:
    parser = RawConfigParser(strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(ROOT / "examples" / "deploy" / "bot.service")
    return parser


def test_the_image_runs_as_nobody_in_particular_and_stops_by_a_signal() -> None:
    assert instructions("USER") == ["10001:10001"]
    assert DOCKERFILE.index("USER") < DOCKERFILE.index("ENTRYPOINT")
    assert instructions("ENTRYPOINT") == ['["bot"]'] and instructions("CMD") == ['["serve", "/bot"]']
    assert instructions("STOPSIGNAL") == ["SIGTERM"]
    (check,) = instructions("HEALTHCHECK")
    assert " CMD [" in check and any(f":8000{path}'" in check for path in INTERNAL_PATHS)


def test_the_image_copies_what_is_there_and_is_shown_nothing_else() -> None:
    ignored = (ROOT / ".dockerignore").read_text().split()
    assert "*" in ignored and "**/.env" in ignored
    for line in instructions("COPY"):
        if not line.startswith("--from"):
            for source in (each for each in shlex.split(line)[:-1] if not each.startswith("--")):
                source = source.replace("${BOT_FOLDER}", instructions("ARG")[1].split("=")[1])
                assert (ROOT / source).exists() and f"!{source.removeprefix('./')}" in ignored


def test_the_settings_in_the_image_are_settings() -> None:
    given = {name for line in instructions("ENV") for name in re.findall(r"(BOT_\w+)=", line)}
    assert given <= VARIABLES and "BOT_STORE" in given
    assert set(COMPOSE["services"]["bot"]["environment"]) <= VARIABLES


def test_in_compose_nothing_can_be_written_but_the_volume() -> None:
    bot = COMPOSE["services"]["bot"]
    assert bot["read_only"] is True and bot["tmpfs"] == ["/tmp"]
    assert bot["cap_drop"] == ["ALL"] and bot["security_opt"] == ["no-new-privileges:true"]
    volumes = [volume.rpartition(":") for volume in bot["volumes"]]
    assert [end for *_, end in volumes] == ["ro", "/data"]
    assert "ports" not in bot, "only the proxy is to be reached"
    assert float(bot["stop_grace_period"].removesuffix("s")) > STOP_SECONDS


def test_the_proxy_passes_the_webhook_and_nothing_that_is_ours_alone() -> None:
    volumes = COMPOSE["services"]["proxy"]["volumes"]
    source = next(volume.split(":")[0] for volume in volumes if "Caddyfile" in volume)
    text = (ROOT / source).read_text()
    assert text.count("{") == text.count("}")
    assert "@open path /webhook /signals/* /files/* /forms/* /readyz" in text and "/metrics" not in text


def test_the_unit_runs_without_rights_and_is_stopped_with_patience() -> None:
    service = unit()["Service"]
    assert service["User"] == "bot" and service["NoNewPrivileges"] == "yes" and service["ProtectSystem"] == "strict"
    assert service["ExecStart"].split()[1:] == ["serve", "/srv/bot"]
    assert unit()["Unit"]["StartLimitIntervalSec"] == "0", "it would give up where the database comes late"
    assert float(service["TimeoutStopSec"]) > STOP_SECONDS and service["KillMode"] == "mixed"
    assert service["Environment"].split("=")[0] in VARIABLES


def test_the_page_names_every_setting_and_none_that_there_is_not() -> None:
    named = set(re.findall(r"\bBOT_[A-Z_]+\b", PAGE))
    assert named == VARIABLES | {*OF_DEPLOYMENT}


def test_the_page_says_what_holds_without_a_setting() -> None:
    rows = [line.split("|") for line in PAGE.splitlines() if line.startswith("| `BOT_")]
    without = {name: row[-2] for row in rows for name in re.findall(r"`(BOT_\w+)`", row[1])}
    environ = {
        "BOT_GATEWAY_URL": "https://a.example",
        "BOT_GATEWAY_KEY": "key",
        "BOT_WEBHOOK_SECRET": "a-secret-of-the-gateway",
    }
    read = read_settings(Path("bot"), environ, {}).environ()
    defaults = {name: value for name, value in read.items() if name not in environ}
    assert {name: value for name, value in defaults.items() if Path(value).name not in without[name]} == {}
    assert len(defaults) > 6 and all("needed" in without[name] for name in environ)


def test_every_command_of_the_page_is_one() -> None:
    blocks = re.findall(r"^```sh[^\n]*\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    named = {match[1] for line in lines if (match := re.match(r"(?:\S*/)?bot ([a-z]+)", line))}
    assert {"doctor", "backup", "contacts", "webhook", "check"} <= named <= COMMANDS.keys()


def test_the_page_says_how_long_everything_is_kept() -> None:
    table = PAGE.split("## Data retention")[1].split("##")[0]
    for days in {kept.days for kept in KEPT.values()}:
        assert f"{days} days" in table
