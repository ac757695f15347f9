from datetime import timedelta
from pathlib import Path

import pytest

from bot.language.source.problems import Problems
from bot.language.source.yaml_tree import Map, Node, read
from bot.settings import (
    BadSettings,
    ModelService,
    problems_in,
    read_account,
    read_model_service,
    read_settings,
    read_webhook,
    short_secrets,
    unknown_variables,
)
from bot.store.database import PostgresAddress

NEEDED = {
    "BOT_GATEWAY_URL": "https://gateway.example/",
    "BOT_GATEWAY_KEY": "key-of-the-gateway",
    "BOT_WEBHOOK_SECRET": "old-secret-of-gateway, new-secret-of-gateway",
}


def problems_of(folder: Path, environ: dict[str, str], written: dict[str, str] | None = None) -> list[str]:
    with pytest.raises(BadSettings) as raised:
        read_settings(folder, environ, written or {})
    return raised.value.problems


def test_three_settings_are_needed_and_the_rest_has_defaults(tmp_path: Path) -> None:
    settings = read_settings(tmp_path, NEEDED, {})
    assert settings.gateway_url == "https://gateway.example"
    assert settings.webhook_secrets == ("old-secret-of-gateway", "new-secret-of-gateway")
    assert settings.store == tmp_path / "bot.db"
    assert (settings.host, settings.port, settings.webhook_path) == ("127.0.0.1", 8000, "/webhook")
    assert (settings.gateway_per_minute, settings.gateway_per_day) == (60, 10_000)
    assert settings.webhook_tolerance == timedelta(minutes=5)
    assert settings.channel_id is None
    assert settings.repeat_unknown is False
    assert settings.api_key is None
    assert (settings.log, settings.log_format) == (None, "text")


def test_the_environment_wins_over_bot_yml(tmp_path: Path) -> None:
    settings = read_settings(tmp_path, {**NEEDED, "BOT_PORT": "9000"}, {"port": "8100", "host": "0.0.0.0"})
    assert (settings.host, settings.port) == ("0.0.0.0", 9000)


def test_a_store_named_in_bot_yml_lies_in_the_bots_folder(tmp_path: Path) -> None:
    assert read_settings(tmp_path, NEEDED, {"store": "own.db"}).store == tmp_path / "own.db"


def test_a_store_can_be_a_database_whose_password_is_shown_nowhere(tmp_path: Path) -> None:
    url = "postgresql://bot:a-long-password@db.example/bot?connect_timeout=3"
    files = tmp_path / "shared"
    files.mkdir()
    settings = read_settings(tmp_path, {**NEEDED, "BOT_STORE": url, "BOT_FILES": str(files)}, {})
    assert settings.store == PostgresAddress(url, tmp_path / "bot", files)
    assert str(settings.store) == "postgresql://bot@db.example/bot"
    assert "a-long-password" not in repr(settings) and "a-long-password" in settings.secrets
    assert read_settings(tmp_path, settings.environ(), {}).store == settings.store
    assert read_settings(tmp_path, {**NEEDED, "BOT_STORE": url}, {}).store == PostgresAddress(
        url, tmp_path / "bot", tmp_path / "bot.files"
    )


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://bot:50%secret@db.example/bot",
        "postgresql://bot:a@secret@db.example/bot",
        "postgresql://bot:a/secret@db.example/bot",
        "postgresql://db.example/bot?user=bot&password=50%secret",
        "postgresql+psycopg://bot:secret@db.example/bot",
        "host=db.example user=bot password=50%secret",
        "password = secret",
        "mysql://bot:secret@db.example/bot",
    ],
)
def test_an_address_of_a_database_that_cannot_be_read_is_not_quoted(tmp_path: Path, address: str) -> None:
    (problem,) = problems_of(tmp_path, {**NEEDED, "BOT_STORE": address})
    assert "write postgresql://user:password@host/database" in problem and "%40 for @" in problem
    assert "secret" not in problem


@pytest.mark.parametrize("password", ["a:b", "a%40b%2Fc%25", "a?b#c"])
def test_a_password_with_other_signs_is_shown_nowhere_either(tmp_path: Path, password: str) -> None:
    url = f"postgresql://bot:{password}@db.example,other.example:5433/bot"
    settings = read_settings(tmp_path, {**NEEDED, "BOT_STORE": url}, {})
    assert password in settings.secrets
    assert str(settings.store) == "postgresql://bot@db.example,other.example:5433/bot"


def test_a_folder_of_files_is_for_a_database_only_and_has_to_be_there(tmp_path: Path) -> None:
    (problem,) = problems_of(tmp_path, {**NEEDED, "BOT_FILES": str(tmp_path)})
    assert problem.startswith("BOT_FILES is for a store that is a database")
    (problem,) = problems_of(tmp_path, {**NEEDED, "BOT_STORE": "postgres://db/bot", "BOT_FILES": "/no/such"})
    assert "BOT_FILES" in problem and "make that folder first" in problem


def test_relative_paths_of_bot_yml_are_in_the_bots_folder_whatever_the_environment_says(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    environ = {**NEEDED, "BOT_STORE": "postgresql://bot@db.example/bot"}
    store = read_settings(tmp_path, environ, {"files": "shared"}).store
    assert isinstance(store, PostgresAddress) and store.files == tmp_path / "shared"


def test_files_can_be_in_a_bucket(tmp_path: Path) -> None:
    given = {**NEEDED, "BOT_STORE": "postgres://db/bot", "BOT_FILES": "s3://my-bucket/bots/cafe/"}
    store = read_settings(tmp_path, given, {}).store
    assert isinstance(store, PostgresAddress) and store.files == "s3://my-bucket/bots/cafe"
    for wrong in ("s3://", "s3://My Bucket", "s3://key:secret@bucket/x"):
        (problem,) = problems_of(tmp_path, {**given, "BOT_FILES": wrong})
        assert "write s3://bucket/prefix" in problem and "secret" not in problem


def test_everything_that_is_missing_is_said_at_once_with_what_to_do(tmp_path: Path) -> None:
    problems = problems_of(tmp_path, {})
    assert [problem.split()[0] for problem in problems] == ["BOT_GATEWAY_URL", "BOT_GATEWAY_KEY", "BOT_WEBHOOK_SECRET"]
    assert all("set it, in the environment or in .env" in problem for problem in problems)


@pytest.mark.parametrize("path", ["/external-api", "/external-api/", "/external-api/inbox/send-message"])
def test_the_gateways_address_is_its_base_alone(tmp_path: Path, path: str) -> None:
    (problem,) = problems_of(tmp_path, {**NEEDED, "BOT_GATEWAY_URL": f"https://gateway.example/eu{path}"})
    assert problem == (
        "BOT_GATEWAY_URL ends in the path of an endpoint: write https://gateway.example/eu, because the bot adds "
        "/external-api itself"
    )


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("BOT_GATEWAY_URL", "gateway.example"),
        ("BOT_GATEWAY_URL", "https://user:password@gateway.example"),
        ("BOT_GATEWAY_URL", "https://gatewäy.example"),
        ("BOT_GATEWAY_URL", "https://gateway.example:ab"),
        ("BOT_GATEWAY_URL", "https://gateway.example:99999"),
        ("BOT_GATEWAY_URL", "https://gate way.example"),
        ("BOT_GATEWAY_URL", "https://["),
        ("BOT_GATEWAY_KEY", "two words"),
        ("BOT_WEBHOOK_SECRET", " , "),
        ("BOT_WEBHOOK_SECRET", "fifteen-letters"),
        ("BOT_WEBHOOK_SECRET", "a-secret-of-the-gateway,old"),
        ("BOT_GATEWAY_PER_MINUTE", "0"),
        ("BOT_GATEWAY_PER_DAY", "many"),
        ("BOT_STORE", "/no/such/folder/bot.db"),
        ("BOT_STORE", "/"),
        ("BOT_HOST", "http://0.0.0.0"),
        ("BOT_PORT", "65536"),
        ("BOT_PORT", "00000000000065536"),
        ("BOT_PORT", "-1"),
        ("BOT_WEBHOOK_PATH", "webhook"),
        ("BOT_WEBHOOK_PATH", "/healthz"),
        ("BOT_WEBHOOK_PATH", "/api/flows/order/start"),
        ("BOT_API_KEY", "shorter-than-16"),
        ("BOT_API_KEY", "a key of sixteen or more"),
        ("BOT_WEBHOOK_TOLERANCE", "299"),
        ("BOT_WEBHOOK_TOLERANCE", "10801"),
        ("BOT_REPEAT_UNKNOWN", "maybe"),
        ("BOT_LOG", "everything"),
        ("BOT_LOG_FORMAT", "xml"),
        ("BOT_AI_URL", "models.example"),
        ("BOT_AI_KEY", "two words"),
        ("BOT_AI_MODEL", ","),
        ("BOT_AI_MODEL", "acme/large acme/small"),
        ("BOT_AI_KEY_IN", "body"),
    ],
)
def test_a_wrong_setting_is_named(tmp_path: Path, name: str, text: str) -> None:
    (problem,) = problems_of(tmp_path, {**NEEDED, **(AI if "_AI_" in name else {}), name: text})
    assert problem.startswith(f"{name} ")


def test_a_setting_that_does_not_exist_is_refused_in_bot_yml(tmp_path: Path) -> None:
    assert problems_of(tmp_path, NEEDED, {"prot": "1"}) == [
        'bot.yml: settings: there is no setting "prot" (did you mean "port"?)'
    ]


def settings_of(text: str) -> Node:
    (node,) = read("bot.yml", text, Problems())
    assert isinstance(node, Map)
    found = node.get("settings")
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("{port: 8080, store: bot.db, host: 0.0.0.0}", None),
        ("{prot: 1}", '1:12: E104 bot: settings: unknown key "prot" (did you mean "port"?)'),
        ("{port: many}", '1:18: E106 bot: settings: port is "many" (write a whole number from 0 to 65535)'),
        ("{public_url: bot.example}", "1:24: E106 bot: settings: public_url is not a base address (write one such as "
                                      "https://gateway.example, without a user name, key or query)"),
        ("8080", "1:11: E106 bot: settings: a map of keys is expected (write settings: {port: 8080})"),
    ],
)  # fmt: skip
def test_the_settings_of_bot_yml_can_be_checked_without_those_of_the_environment(
    written: str, problem: str | None
) -> None:
    found = [str(each) for each in problems_in(settings_of(f"settings: {written}\n")).sorted()]
    assert found == ([] if problem is None else [f"bot.yml:{problem}"])


def test_what_is_called_like_a_setting_and_is_none_is_named() -> None:
    environ = {**NEEDED, **AI, "BOT_PROT": "1", "BOT_ZEBRA": "", "BOTTLE": "x", "BOT_FOLDER": "./bot"}
    assert unknown_variables(environ) == [
        'there is no setting BOT_PROT (did you mean "BOT_PORT"?)',
        "there is no setting BOT_ZEBRA (docs/going-live.md lists them)",
    ]


def test_a_signing_secret_that_may_be_found_is_named_with_what_to_do(tmp_path: Path) -> None:
    for secret, lines in (("s" * 16, 1), ("s" * 31, 1), ("s" * 32, 0), (f"{'s' * 40},{'t' * 20}", 1)):
        found = short_secrets(read_settings(tmp_path, {**NEEDED, "BOT_WEBHOOK_SECRET": secret}, {}))
        assert len(found) == lines and all(secret not in line and "webhook register" in line for line in found)


def test_secrets_are_in_no_repr_and_no_error(tmp_path: Path) -> None:
    settings = read_settings(tmp_path, {**NEEDED, "BOT_API_KEY": "a-key-of-sixteen-or-more"}, {})
    assert "a-key-of-sixteen-or-more" in settings.secrets
    assert not any(secret in repr(settings) for secret in settings.secrets)
    wrong = {"BOT_GATEWAY_KEY": "s3cret key", "BOT_WEBHOOK_SECRET": "s3cret\tx", "BOT_GATEWAY_URL": "s3cret"}
    assert not any("s3cret" in problem for problem in problems_of(tmp_path, wrong))


def test_a_process_that_is_started_with_them_reads_the_same_settings(tmp_path: Path) -> None:
    given = {"BOT_CHANNEL_ID": "7", "BOT_WEBHOOK_TOLERANCE": "600", "BOT_REPEAT_UNKNOWN": "yes"}
    given["BOT_API_KEY"] = "a-key-of-sixteen-or-more"
    settings = read_settings(tmp_path, {**NEEDED, **given}, {})
    assert settings.repeat_unknown is True
    assert read_settings(Path("elsewhere"), settings.environ(), {}) == settings


AI = {"BOT_AI_URL": "https://models.example/api/v1/", "BOT_AI_KEY": "sk-of-the-models"}


def test_without_its_settings_there_is_no_service_of_models(tmp_path: Path) -> None:
    assert read_settings(tmp_path, NEEDED, {}).model_service is None


def test_a_service_of_models_needs_its_address_and_its_key(tmp_path: Path) -> None:
    service = read_settings(tmp_path, {**NEEDED, **AI}, {}).model_service
    assert service == ModelService("https://models.example/api/v1", "sk-of-the-models", (), "authorization")
    for name in AI:
        (problem,) = problems_of(tmp_path, {**NEEDED, **AI, name: ""})
        assert problem.startswith(f"{name} is missing: set it, in the environment or in .env, to the chat-completion")


def test_several_models_are_asked_in_their_order(tmp_path: Path) -> None:
    written = {"ai_model": "acme/large, acme/small,acme/large", "ai_key_in": "x-api-key"}
    service = read_settings(tmp_path, {**NEEDED, **AI}, written).model_service
    assert service is not None
    assert (service.models, service.key_in) == (("acme/large", "acme/small"), "x-api-key")


def test_a_service_of_models_is_read_whatever_else_is_missing() -> None:
    assert read_model_service(AI, {}).url == "https://models.example/api/v1"
    with pytest.raises(BadSettings) as raised:
        read_model_service({}, {"ai_key_in": "body"})
    assert [problem.split()[0] for problem in raised.value.problems] == ["BOT_AI_URL", "BOT_AI_KEY", "BOT_AI_KEY_IN"]


def test_the_key_of_the_models_is_a_secret_and_is_handed_on(tmp_path: Path) -> None:
    environ = {**NEEDED, **AI, "BOT_AI_MODEL": "acme/large,acme/small", "BOT_AI_KEY_IN": "query"}
    settings = read_settings(tmp_path, environ, {})
    assert "sk-of-the-models" in settings.secrets
    assert "sk-of-the-models" not in repr(settings)
    assert read_settings(Path("elsewhere"), settings.environ(), {}) == settings


def test_a_command_needs_only_the_settings_that_it_uses() -> None:
    account = read_account({"BOT_GATEWAY_URL": "https://gateway.example/", "BOT_GATEWAY_KEY": "key"}, {"port": "x"})
    assert (account.gateway_url, account.gateway_per_minute, account.channel_id) == (
        "https://gateway.example",
        60,
        None,
    )
    assert "key" not in repr(account).replace("gateway_key", "")
    webhook = read_webhook({"BOT_WEBHOOK_SECRET": "new,old"}, {"webhook_path": "/events"})
    assert (webhook.path, webhook.secrets) == ("/events", ("new", "old"))
    assert read_webhook({}, {}).secrets == ()
    with pytest.raises(BadSettings, match="BOT_GATEWAY_KEY is missing"):
        read_account({"BOT_GATEWAY_URL": "https://gateway.example"}, {})


def test_the_secrets_that_bot_yml_names_stand_in_the_environment_alone(tmp_path: Path) -> None:
    settings = read_settings(tmp_path, {**NEEDED, "CRM_KEY": "sk-1", "OTHER": "x"}, {}, ["CRM_KEY"])
    assert settings.named == {"CRM_KEY": "sk-1"}
    assert "sk-1" in settings.secrets and "sk-1" not in repr(settings)
    assert read_settings(tmp_path, settings.environ(), {}, ["CRM_KEY"]) == settings


def test_a_secret_that_is_not_set_is_a_setting_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(BadSettings) as raised:
        read_settings(tmp_path, NEEDED, {"crm_key": "sk-1"}, ["CRM_KEY"])
    assert raised.value.problems == [
        'bot.yml: settings: there is no setting "crm_key" (docs/going-live.md lists them)',
        "CRM_KEY is missing: set it, in the environment or in .env, since bot.yml names it",
    ]
