"""Files of the bot's own in messages: what the check says of them, and what is sent."""

import pytest

from bot.core.messages import MediaMessage, TemplateMessage
from bot.core.own_addresses import EXAMPLE, FileAddress, OwnAddresses
from bot.testing.simulation.sample_files import SAMPLE_FILES
from tests.talk import BOT, CONTACT, START, Talk, library_of, problems_of

FILES = {
    "files/menu.pdf": SAMPLE_FILES["pdf"],
    "files/photos/cake.jpeg": SAMPLE_FILES["jpg"],
    "files/hello.mp3": SAMPLE_FILES["mp3"],
    "files/rules.txt": b"No shoes.\n",
    "files/prices.csv": b"tea,3\n",
    "files/wrong.pdf": SAMPLE_FILES["png"],
    "files/old.gif": b"GIF89a\0\0",
    "files/heavy.jpg": SAMPLE_FILES["jpg"] + bytes(6 << 20),
}


def flow(step: str) -> str:
    return f"flow: main\nstart: {{otherwise: true}}\nsteps:\n  a: {{{step}}}\n  b: {{say: It failed., then: end}}\n"


def sent(step: str, bot: str = BOT) -> list[MediaMessage]:
    talk = Talk(library_of(flow(f"{step}, then: end, errors: {{else: b}}"), bot, documents=FILES))
    talk.user("x")
    return [message for message in talk.sent if isinstance(message, MediaMessage)]


@pytest.mark.parametrize(
    ("step", "at", "expected"),
    [
        ("say: x, document: {file: menus.pdf}", "menus", 'E407 there is no file files/menus.pdf (did you mean "menu.pdf"?)'),
        ("say: x, image: {file: a/b.jpg}", "a/b", "E407 there is no file files/a/b.jpg (put it into the folder files/)"),
        ("say: x, image: {file: ../bot.yml}", "..", "E407 there is no file files/../bot.yml (put it into the folder files/)"),
        ("say: x, document: {file: wrong.pdf}", "wrong",
         "E404 files/wrong.pdf is image/png by its content (use pdf, docx, xlsx, txt as document)"),
        ("say: x, image: {file: old.gif}", "old",
         "E404 files/old.gif is of no type that the gateway takes by its content (use jpg, jpeg, png as image)"),
        ("say: x, document: {file: prices.csv}", "prices",
         "E404 files/prices.csv is text/plain by its content, and its name does not end in .txt "
         "(rename it to prices.txt, and write filename: prices.csv)"),
        ("say: x, image: {file: heavy.jpg}", "heavy",
         "E404 files/heavy.jpg has 6.0 MB, 5 MB are allowed for image (make it smaller)"),
        ("say: x, image: {}", "{}", 'E105 step "a": image: nothing says which file it is (write one of link, file)'),
        ('say: x, document: {file: menu.pdf, link: "https://x.example"}', "menu",
         'E121 step "a": document: "file" beside "link" (keep one of them)'),
        ("say: x, document: {text: Hi}", "{text", 'E105 step "a": document: the file has no name (write filename: bill.txt)'),
        ("say: x, document: {text: Hi, filename: a.pdf}", "a.pdf",
         'E404 step "a": document: "a.pdf" is made of a text, which is no such file (use .txt or .csv)'),
        ("template: {name: t, language: en, header: {document: {file: none.pdf}}}", "none",
         "E407 there is no file files/none.pdf (put it into the folder files/)"),
    ],
)  # fmt: skip
def test_the_check_says_what_is_wrong_and_where(step: str, at: str, expected: str) -> None:
    text = flow(f"{step}, then: end")
    column = text.splitlines()[3].index(at) + 1
    assert problems_of(text, documents=FILES) == [f"flows/test.yml:4:{column}: {expected}"]


def test_the_template_of_a_closed_window_is_checked_once_though_all_steps_inherit_it() -> None:
    closed = "window_closed: {template: {name: t, language: en, header: {image: {file: gone.jpg}}}}"
    bot = f"name: Test\ndefaults: {{timeout: {{after: 20h, then: end}}, {closed}}}\n"
    (problem,) = problems_of(flow("say: x, then: end"), bot, documents=FILES)
    assert problem.startswith("bot.yml:2:") and "E407 there is no file files/gone.jpg" in problem


@pytest.mark.parametrize(
    ("part", "path", "filename"),
    [
        ("document: {file: menu.pdf}", "menu.pdf", "menu.pdf"),
        ('document: {file: rules.txt, filename: "Rules of {{ contact.id }}.txt"}', "rules.txt", f"Rules of {CONTACT}.txt"),
        ("image: {file: photos/cake.jpeg}", "photos/cake.jpeg", None),
        ('image: {file: "photos/{{ message.text }}.jpeg"}', "photos/cake.jpeg", None),
    ],
)  # fmt: skip
def test_a_file_of_the_folder_is_sent_by_its_address(part: str, path: str, filename: str | None) -> None:
    library = library_of(flow(f"say: Look., {part}, then: end, errors: {{else: b}}"), documents=FILES)
    talk = Talk(library)
    talk.user("cake")
    (message,) = talk.sent
    assert isinstance(message, MediaMessage)
    assert EXAMPLE.file_at(message.link) == FileAddress(path, START)
    assert (message.caption, message.filename, message.content) == ("Look.", filename, None)


def test_an_audio_file_comes_after_its_text() -> None:
    (message,) = sent("say: Listen., audio: {file: hello.mp3}")
    assert message.kind == "audio" and message.caption is None and message.filename is None


@pytest.mark.parametrize("name", ["gone", "../../bot.yml", "/etc/passwd", "wrong", "heavy", ""])
def test_a_path_of_values_reaches_nothing_but_what_can_be_sent(name: str) -> None:
    talk = Talk(
        library_of(flow('say: x, image: {file: "{{ message.text }}"}, then: end, errors: {else: b}'), documents=FILES)
    )
    assert talk.user(name) == ["It failed."]


def test_a_document_is_made_of_a_text() -> None:
    (message,) = sent('say: x, document: {text: "Dear {{ contact.id }}", filename: "Bill 1.csv"}')
    assert EXAMPLE.file_at(message.link) == FileAddress("Bill 1.txt", START, CONTACT)
    assert (message.filename, message.content) == ("Bill 1.csv", f"Dear {CONTACT}")


def test_a_templates_header_has_a_file_of_the_folder() -> None:
    talk = Talk(
        library_of(
            flow("template: {name: t, language: en, header: {document: {file: menu.pdf}}}, then: end"), documents=FILES
        )
    )
    talk.user("x")
    (message,) = talk.sent
    assert isinstance(message, TemplateMessage) and message.header is not None
    assert EXAMPLE.file_at(message.header["document"]["link"]) == FileAddress("menu.pdf", START)


def test_without_a_public_address_the_step_fails_and_the_trace_says_what_to_set() -> None:
    library = library_of(flow("say: x, document: {file: menu.pdf}, then: end, errors: {else: b}"), documents=FILES)
    talk = Talk(library.with_addresses(OwnAddresses(None, "key")))
    assert talk.user("x") == ["It failed."]
    assert talk.turn is not None and "set BOT_PUBLIC_URL" in str(talk.turn.trace)


def test_a_changed_file_makes_another_version_and_only_flows_that_send_files_need_an_address() -> None:
    text = flow("say: x, document: {file: menu.pdf}, then: end")
    before, after = (library_of(text, documents={**FILES, "files/menu.pdf": b"%PDF-" + end}) for end in (b"1", b"2"))
    assert before.version != after.version and before.makes_addresses
    assert not library_of(flow("say: x, then: end"), documents=FILES).makes_addresses
