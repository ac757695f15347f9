"""PINs, passwords, card numbers and one-time codes: which of them a text asks the contact for.

The words of a language stand on one line each; a star stands for any ending. All languages are heard in every bot.
"""

import re
from collections.abc import Iterator
from functools import cache

from bot.core.lazy_patterns import lazy_pattern
from bot.language.source.word_matching import LONGEST, normalise

_NAMES = {
    "pin": "pin|pin code|pin number|pin nummer|pincode|geheimzahl|clave secreta|codigo secreto|code secret|codice segreto|senha de quatro digitos"
    "|пин|пин код*|pin kod*|pini|pininizi|الرقم السري|رقمك السري|رقم سري|पिन|पिन कोड|पिन नंबर|nomor pin|kode pin",
    "password": "password|passwords|passcode|passwort|passworts|kennwort|kennworts|contraseña|contraseñas|mot de passe|mots de passe|senha|senhas|palavra passe|palavra-passe|parola d'ordine"
    "|wachtwoord|wachtwoorden|kata sandi|sandi|kata sandinya|пароль|пароля|паролем|şifre|şifren*|şifrem*|şifrey*|parolan*|parolay*|كلمة المرور|كلمة مرورك|كلمة السر|كلمة سرك|पासवर्ड",
    "card": "card number|card numbers|card details|card data|cvv|cvc|cvv2|kartennummer|kreditkartennummer|kartendaten|prüfnummer|número de tarjeta|número de tu tarjeta|número de su tarjeta"
    "|número de la tarjeta|datos de tu tarjeta|datos de su tarjeta|datos de la tarjeta|numéro de carte|numéro de votre carte|numéro de ta carte|numéro de la carte"
    "|número do cartão|número do seu cartão|dados do cartão|dados do seu cartão|numero di carta|numero della carta|numero della tua carta|numero della sua carta|dati della carta"
    "|kaartnummer|creditcardnummer|kaartgegevens|nomor kartu|nomor kartu kredit|номер карты|номер вашей карты|номер твоей карты|данные карты|данные вашей карты"
    "|kart numara*|kart bilgi*|رقم البطاقة|رقم بطاقتك|بيانات البطاقة|بيانات بطاقتك|कार्ड नंबर|कार्ड का नंबर|कार्ड की जानकारी",
    "code": "otp|tan|one time code|one time password|one time passcode|verification code|security code|confirmation code|login code|sms code|code from the sms|code we sent|code you received|code you got"
    "|einmalcode|einmalpasswort|bestätigungscode|sicherheitscode|sms tan|code aus der sms|código de verificación|código de seguridad|código de un solo uso|código sms|código que recibiste|código que recibió"
    "|code de vérification|code de sécurité|code à usage unique|code reçu par sms|code sms|code de confirmation|código de verificação|código de segurança|código de uso único|código que você recebeu"
    "|codice di verifica|codice di sicurezza|codice monouso|codice otp|codice che hai ricevuto|codice che ha ricevuto|verificatiecode|beveiligingscode|eenmalige code|sms code|bevestigingscode"
    "|kode otp|kode verifikasi|kode keamanan|kode sekali pakai|kode yang anda terima|одноразовый код|код подтверждения|код из смс|код безопасности|смс код"
    "|doğrulama kod*|tek kullanımlık şifre*|tek kullanımlık kod*|güvenlik kod*|onay kod*|رمز التحقق|رمز الأمان|رمز التأكيد|كود التحقق|ओटीपी|सत्यापन कोड|वेरिफिकेशन कोड|वन टाइम पासवर्ड|सुरक्षा कोड",
}  # fmt: skip
_OTHERS = (
    "wifi password|wi fi password|guest password|wlan passwort|contraseña del wifi|mot de passe wifi|mot de passe du wifi|senha do wifi|password wifi|wifi wachtwoord|пароль от wifi|пароль wifi|wifi şifre*|pin the|pin a|pin it|pin this|pin on|map pin|location pin|pin location|drop a pin|area pin code|postal pin code|gift card|loyalty card|membership card|member card|customer card|library card|bonus card|store card"
    "|carta fedeltà|carta regalo|kartu anggota|kartu member|tarjeta regalo|tarjeta de regalo|carte cadeau|carte de fidélité|cartão presente"
)
"""Cards, pins and passwords that are no secret of the contact's."""

_ASKS = {
    "en": "tell me|tell us|send me|send us|send it|please send|give me|give us|please give|share your|share the|share it|please share|provide your|provide the|provide me|provide us|please provide|reply with|answer with|write me|write your|write it|write to me"
    "|text me|dm me|let me know|let me have|what is your|whats your|what is the|whats the|which is your|i need|we need|i require|we require|i want|i will need|ill need|well need|we will need|i still need|we still need|can i have|could i have|may i have|can i get|could i get|can we have"
    "|read me|read out|show me|drop your|can you tell|could you tell|is required here|ask you for|asking you for",
    "de": "sag mir|sagen sie mir|sagen sie uns|nenn mir|nenne mir|nennen sie|schick mir|schicke mir|schicken sie|sende mir|senden sie|gib mir|geben sie mir|geben sie uns|teilen sie|teile mir|teil mir|verrate|verraten sie|schreib mir|schreibe mir|schreiben sie"
    "|wie lautet|was ist deine|was ist dein|was ist ihre|was ist ihr|brauche ich|ich brauche|wir brauchen|brauchen wir|benötige ich|ich benötige|wir benötigen|benötigen wir|antworten sie mit|antworte mit|übermitteln sie|darf ich um|bitte um|kann ich deine|kann ich ihre",
    "es": "dime|dígame|díganos|dinos|envíame|envíeme|envíanos|envíenos|mándame|mándeme|dame|deme|denos|danos|compárteme|comparte tu|comparta su|comparte el|comparta el|indícame|indíqueme|indícanos|indíquenos|escríbeme|escríbame|facilíteme|facilítame|proporcione|proporcióname|proporcióneme"
    "|cuál es tu|cuál es su|cuál es el|cuál es la|necesito|necesitamos|responde con|responda con|me das|me da|me puede dar|puedes darme|puede darme|me dices|me dice",
    "fr": "dis moi|dites moi|dites nous|envoie moi|envoyez moi|envoyez nous|donne moi|donnez moi|donnez nous|communiquez moi|communiquez nous|communiquez votre|partagez votre|partage ton|indiquez moi|indiquez nous|indiquez votre|écrivez moi|fournissez|quel est votre|quel est ton|quel est le|quels sont|j'ai besoin|nous avons besoin|il me faut|il nous faut|répondez avec|répondez par|pouvez vous me donner|peux tu me donner|transmettez moi|transmettez nous",
    "pt": "me diga|me diz|diga me|diga nos|me envie|envie me|me mande|mande me|me dê|dê me|me passe|me passa|me informe|informe me|informe a|informe o|informe sua|informe seu|me fale|me conte|compartilhe a|compartilhe sua|compartilhe o|forneça|qual é a sua|qual é a senha|qual é o|qual é sua|qual a sua|qual sua|preciso|precisamos|responda com|pode me dar|pode me dizer|pode me passar",
    "it": "dimmi|mi dica|ci dica|inviami|mi invii|ci invii|mandami|mi mandi|dammi|mi dia|ci dia|mi comunichi|comunicami|ci comunichi|condividi il|condivida il|condividi la|condivida la|scrivimi|mi scriva|forniscimi|mi fornisca|indicami|mi indichi|qual è il|qual è la|quale è|ho bisogno|abbiamo bisogno|mi serve|ci serve|mi servono|rispondi con|risponda con|puoi darmi|può darmi|puoi dirmi|può dirmi",
    "nl": "vertel me|vertel mij|vertel ons|zeg me|stuur me|stuur mij|stuur ons|geef me|geef mij|geef ons|geef je|geef uw|deel je|deel uw|deel de|schrijf me|wat is je|wat is jouw|wat is uw|wat is de|ik heb|we hebben|wij hebben|antwoord met|mag ik je|mag ik uw|kunt u mij|kun je me|noem me|noem uw|noem je|ik wil",
    "id": "beri tahu|beritahu|beritahukan|kirim|kirimkan|berikan|bagikan|sebutkan|tuliskan|tulis|apa pin|apa kata sandi|apa kode|berapa pin|berapa nomor|berapa kode|saya butuh|kami butuh|saya perlu|kami perlu|saya memerlukan|kami memerlukan|balas dengan|minta|boleh minta|mohon informasikan|informasikan",
    "ru": "скажите|скажи|сообщите|сообщи|пришлите|пришли|отправьте|отправь|дайте|дай|назовите|назови|напишите|напиши|продиктуйте|продиктуй|укажите|укажи|поделитесь|какой у вас|какой у тебя|какой ваш|какой твой|мне нужен|мне нужны|нам нужен|нам нужны|нужен ваш|ответьте|перешлите|предоставьте",
    "tr": "söyle|söyler|söyleyin|söyleyiniz|gönder|gönderin|gönderiniz|gönderir|yaz|yazın|yazınız|yazar|ver|verin|veriniz|verir|paylaş|paylaşın|paylaşınız|paylaşır|nedir|ilet|iletin|iletir|ihtiyacım|ihtiyacımız|gerekiyor|lazım|bildirin|bildirir",
    "ar": "أخبرني|اخبرني|أخبرنا|أرسل|ارسل|أرسلي|أرسلوا|أعطني|اعطني|أعطنا|اكتب|شارك|شاركني|زودني|زودنا|ما هو|ما هي|ماهو|ماهي|أحتاج|احتاج|نحتاج|يرجى إرسال|الرجاء إرسال|يرجى تزويدنا|قل لي",
    "hi": "बताएं|बताइए|बताइये|बताओ|बताएँ|बता दें|बता दीजिए|भेजें|भेजिए|भेजो|भेज दें|दें|दीजिए|दो|साझा करें|शेयर करें|लिखें|लिखिए|क्या है|चाहिए|की जरूरत है|की आवश्यकता है",
}  # fmt: skip
"""Words that ask to be told something."""

_ENTERS = {
    "en": "enter|type|type in|confirm|verify|input|fill in|key in", "de": "gib|geben sie|gebe|tippe|tippen sie|bestätige|bestätigen sie|trag|tragen sie", "es": "introduce|introduzca|ingresa|ingrese|escribe|escriba|confirma|confirme|teclee|digite",
    "fr": "saisissez|saisis|entrez|entre|tapez|tape|confirmez|confirme|écrivez", "pt": "digite|insira|introduza|confirme|escreva|coloque", "it": "inserisci|inserisca|digita|digiti|conferma il|confermi il|conferma la|confermi la|scrivi|scriva", "nl": "voer|vul|typ|bevestig|toets",
    "id": "masukkan|masukan|ketik|konfirmasi|isi|isikan", "ru": "введите|введи|подтвердите|наберите|впишите", "tr": "girin|giriniz|gir|girer|yazın|doğrulayın|onaylayın", "ar": "أدخل|ادخل|أكد|أدخلي|يرجى إدخال|الرجاء إدخال", "hi": "दर्ज करें|दर्ज कीजिए|डालें|डालिए|टाइप करें|पुष्टि करें",
}  # fmt: skip
"""Words that ask to be told something, unless the clause says of a place that it is to be entered there."""

_ELSEWHERE = (
    "app|apps|website|web site|site|page|portal|terminal|machine|atm|reader|checkout|settings|screen|branch|browser|keypad|login|link|account|locker|online|form"
    "|webseite|website|seite|gerät|automaten|automat|kasse|formular|konto|schließfach|einstellungen|página|sitio|cajero|aplicación|terminal|datáfono|formulario|cuenta|ajustes|tienda"
    "|application|appli|borne|distributeur|formulaire|compte|caisse|aplicativo|aplicação|caixa|maquininha|formulário|conta|applicazione|sito|pagina|sportello|bancomat|modulo|pos|conto"
    "|automaat|apparaat|pagina|formulier|kassa|aplikasi|situs|halaman|mesin|formulir|приложении|приложение|сайте|странице|терминале|банкомате|кабинете|форме|настройках"
    "|uygulama*|site*|sayfa*|bankamati*|terminal*|formu*|التطبيق|الموقع|الصفحة|الصراف|الجهاز|النموذج|ऐप|वेबसाइट|साइट|पेज|मशीन|एटीएम|फॉर्म"
)
"""Places other than this chat."""

AGAINST = {
    "en": "never|not|no one|nobody|none|dont|do not|wont|cannot|cant|shouldnt|mustnt|neednt|doesnt|didnt|isnt|no need|without|avoid|refuse|anyone|anybody|somebody|someone|scam|scammer|scammers|fraud|fraudster|fraudsters|beware|careful|nor|neither|no bank",
    "de": "nie|niemals|nicht|kein|keine|keinen|keinem|keiner|niemand|niemandem|niemanden|ohne|betrug|betrüger|vorsicht|weder|nirgends|nirgendwo",
    "es": "no|nunca|jamás|nadie|ningún|ninguno|ninguna|sin|ni|tampoco|fraude|estafa|estafador|evite|evita|cuidado",
    "fr": "ne|n|jamais|pas|personne|aucun|aucune|sans|ni|n'a|n'avons|n'ai|fraude|arnaque|évitez|attention|nous n",
    "pt": "não|nunca|jamais|ninguém|nenhum|nenhuma|sem|nem|fraude|golpe|evite|cuidado",
    "it": "non|mai|nessuno|nessun|nessuna|senza|né|truffa|frode|eviti|evita|attenzione",
    "nl": "nooit|niet|geen|niemand|nergens|zonder|fraude|oplichting|oplichter|pas op|noch",
    "id": "jangan|tidak|tak|bukan|tanpa|tidak pernah|penipu|penipuan|hati hati|siapa pun|siapapun|hindari",
    "ru": "не|никогда|никому|никто|ни|нельзя|без|мошенники|мошенник|осторожно|нигде",
    "tr": "asla|hiç|kimse|kimseyle|kimseye|değil|gerek yok|istemeyiz|istemiyoruz|istemez|sormayız|sormaz|paylaşmayın|paylaşmayınız|paylaşma|söylemeyin|vermeyin|yazmayın|göndermeyin|girmeyin|dolandırıcı*|hiçbir|hiçbir zaman",
    "ar": "لا|لن|لم|ليس|أبدا|ابدا|بدون|دون|أحد|احد|احتيال|احذر|تجنب|غير",
    "hi": "नहीं|न|ना|मत|कभी|किसी|बिना|धोखाधड़ी|सावधान",
}  # fmt: skip
"""Words that turn it into its opposite, or into a warning."""

BREAKS = "but|until|unless|before|otherwise|however|so|then|aber|sondern|bis|bevor|sonst|pero|hasta que|hasta|sino|mais|jusqu'à|mas|até|ma|finché|maar|tot|totdat|tapi|tetapi|sampai|sebelum|но|пока|а|ama|fakat|لكن|ولكن|حتى|लेकिन|पर|जब तक"
"""Words behind which "not" means nothing any more: "I can't help until you tell me your PIN"."""

_BARE = (
    "your|the|and|also|now|first|please|full|current|my|is|deine|dein|deinen|ihre|ihr|ihren|und|noch|die|das|bitte|tu|su|el|la|y|por|favor|votre|ton|le|et|s'il|vous|te|plaît|plait|sua|seu|o|a|e|il|tua|per|favore|je|uw|jouw|en|de|alstublieft|alsjeblieft|graag"
    "|anda|kamu|dan|tolong|mohon|ваш|твой|и|пожалуйста|lütfen|sizin|ve|من|فضلك|و|आपका|अपना|कृपया|और"
)  # fmt: skip
_PLEASE = "please|bitte|por favor|s'il vous plaît|s'il te plaît|per favore|alstublieft|alsjeblieft|graag|tolong|mohon|пожалуйста|lütfen|من فضلك|कृपया"
_SENTENCE = lazy_pattern(r"(?<=[.!?;؟؛।…])\s+|(?<![:,])\s*\n+\s*(?![-*•·\d])")
_COMMA = lazy_pattern(r"[,،:()–—]|\s-\s")
_QUESTION = lazy_pattern(r"[?؟]\s*\Z")
_SINGLE = lazy_pattern(r"\b(?:[a-z] ){2,}[a-z]\b")  # P I N


def asked_credentials(text: str) -> frozenset[str]:
    """The kinds of credentials that a text asks the contact for: ``"Tell me your PIN."  -> {"pin"}``.

    "We never ask for your PIN" and "enter your PIN in the app" ask for none.
    """
    found = frozenset[str]()
    for sentence in _SENTENCE.split(text):
        for start in range(0, len(sentence), LONGEST):
            piece = sentence[start : start + 2 * LONGEST]  # what stands at the end of a piece is in the next one, too
            clauses = (piece, *_clauses(piece)) if credentials_in(piece) else ()
            found |= frozenset(kind for clause in clauses for kind in credentials_in(clause) if _asks_in(clause))
    return found


def credentials_in(text: str) -> frozenset[str]:
    """The kinds of credentials that a text names: ``"the PIN of the card"  -> {"pin"}``."""
    plain = phrase_pattern(_OTHERS).sub(" ", _plain(text))
    return frozenset(kind for kind, names in _NAMES.items() if phrase_pattern(names).search(plain))


def _asks_in(clause: str) -> bool:
    """True if a clause that names a credential asks for it."""
    plain = _plain(clause)
    languages = [language for language in _ASKS if not phrase_pattern(AGAINST[language]).search(plain)]
    if any(phrase_pattern(_ASKS[language]).search(plain) for language in languages):
        return True
    is_elsewhere = phrase_pattern(_ELSEWHERE).search(plain) is not None
    if not is_elsewhere and any(phrase_pattern(_ENTERS[language]).search(plain) for language in languages):
        return True
    return _is_bare(plain) and bool(_QUESTION.search(clause) or phrase_pattern(_PLEASE).search(plain))


def _is_bare(plain: str) -> bool:
    """True if nothing but the credential's name stands there: "and your PIN, please"."""
    for names in (*_NAMES.values(), _BARE, _PLEASE):
        plain = phrase_pattern(names).sub(" ", plain)
    return not plain.strip()


def _clauses(sentence: str) -> Iterator[str]:
    """The clauses of a sentence. A word alone belongs to what follows: "Never, ever, share it"."""
    before = ""
    for piece in _COMMA.split(sentence):
        before = f"{before} {piece}".strip()
        if len(piece.split()) > 1:
            yield from phrase_pattern(BREAKS).split(_plain(before))
            before = ""
    if before:
        yield before


def _plain(text: str) -> str:
    words = normalise(text)
    return _SINGLE.sub(lambda letters: letters[0].replace(" ", ""), words)


@cache
def phrase_pattern(phrases: str) -> re.Pattern[str]:
    """The pattern of any of some phrases, as whole words of a normalised text."""
    written = (
        re.escape(normalise(phrase.rstrip("*"))) + r"\S*" * phrase.endswith("*") for phrase in phrases.split("|")
    )
    return re.compile(rf"(?<!\S)(?:{'|'.join(sorted(set(written), key=len, reverse=True))})(?!\S)")
