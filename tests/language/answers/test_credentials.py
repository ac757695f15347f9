"""PINs, passwords, card numbers and one-time codes that a text asks for, in each language that has words for them."""

import pytest

from bot.language.answers.credentials import asked_credentials, credentials_in


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Tell me your PIN.", "pin"),
        ("Please send me your password.", "password"),
        ("What's your card number?", "card"),
        ("What I need:\n- your name\n- the CVV", "card"),
        ("To continue I need the one-time code.", "code"),
        ("Your P.I.N., please.", "pin"),
        ("And your password?", "password"),
        ("Please enter your PIN.", "pin"),
        ("We never ask for your PIN, but tell me your PIN now.", "pin"),
        ("I cannot help until you tell me your PIN.", "pin"),
        ("Don't worry, reply with your password.", "password"),
        ("well " * 300 + "tell me your PIN", "pin"),
        ("Bitte nennen Sie mir Ihre PIN.", "pin"),
        ("Geben Sie Ihr Passwort ein.", "password"),
        ("Wie lautet Ihre Kreditkartennummer?", "card"),
        ("Dime tu contraseña.", "password"),
        ("Envíeme el número de su tarjeta.", "card"),
        ("Donnez-moi votre mot de passe.", "password"),
        ("Quel est votre code de vérification ?", "code"),
        ("Me informe sua senha, por favor.", "password"),
        ("Mi dica il codice di verifica.", "code"),
        ("Wat is uw wachtwoord?", "password"),
        ("Mohon kirimkan kode OTP Anda.", "code"),
        ("Сообщите пароль, пожалуйста.", "password"),
        ("Şifrenizi yazın.", "password"),
        ("Kart numaranız nedir?", "card"),
        ("ما هو الرقم السري؟", "pin"),
        ("अपना पासवर्ड बताइए।", "password"),
    ],
)
def test_a_text_that_asks_for_a_credential_is_known(text: str, kind: str) -> None:
    assert asked_credentials(text) == {kind}


@pytest.mark.parametrize(
    "text",
    [
        "We never ask for your PIN.",
        "Please don't send me your PIN, password or card number.",
        "Never, ever, share your PIN.",
        "Beware of anyone who asks you to share your PIN.",
        "Enter your PIN at the terminal.",
        "You can reset your password in the app.\nSend me your order number.",
        "We'll send your verification code by SMS.",
        "What is your gift card number?",
        "I can't see your password. Please send me your order number.",
        "What is the Wi-Fi password? It is on the menu.",
        "Tell me which pins you want: gold or silver.",
        "Please confirm it in the app with your password.",
        "Forgot your password?",
        "Please give me the order number, and bring your card.",
        "Pin the location and send me a photo.",
        "A glass of Pinot? Tell me which.",
        "Wir fragen nie nach Ihrer PIN.",
        "Geben Sie Ihre PIN am Automaten ein.",
        "Nunca compartas tu contraseña.",
        "Nous ne vous demandons jamais votre mot de passe.",
        "Nunca pedimos a sua senha.",
        "Non condividere mai il PIN.",
        "Deel je pincode nooit.",
        "Jangan bagikan kode OTP Anda kepada siapa pun.",
        "Никогда не сообщайте пароль.",
        "Şifrenizi kimseyle paylaşmayın.",
        "لا تشارك الرقم السري مع أحد",
        "अपना पासवर्ड किसी को न बताएं।",
    ],
)
def test_a_warning_and_a_word_about_it_ask_for_nothing(text: str) -> None:
    assert asked_credentials(text) == frozenset()


def test_each_kind_that_is_named_is_known() -> None:
    assert credentials_in("the PIN and the password") == {"pin", "password"}
    assert credentials_in("the number of the order") == frozenset()


def test_blanks_within_a_long_text_are_passed_at_once() -> None:
    assert asked_credentials(f"It is open{' ' * 100_000}now") == asked_credentials("It is open now")
