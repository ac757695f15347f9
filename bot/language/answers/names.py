"""Reads the name of a person out of an answer: "I'm Ann" is Ann, and "how much does it cost" is no name.

The words of a language stand on one line each.
"""

from functools import cache
from unicodedata import category

from bot.core.lazy_patterns import lazy_pattern
from bot.language.answers.phrases import all_phrases
from bot.language.source.languages import ENGLISH, without_country
from bot.language.source.word_matching import normalise

_MOST_WORDS = 7
_MOST_DOUBTFUL = 3  # words
_SIGNS = frozenset(
    " '’ʼ`´.,-‐‑‒·・\u200c\u200d"
)  # between letters; any other sign is in no name: a question mark, a digit, an @
_AROUND = lazy_pattern(r"^[\s\"“”„«».,!:;]+|(?<![\s\"“”„«»,!:;])[\s\"“”„«»,!:;]+$|(?<=\w{3})\.$")
_SYMBOL = r"[\s\u200d\ufe0f\u2600-\u27bf\U0001f000-\U0001faff]"
_SYMBOLS = lazy_pattern(rf"(?<!{_SYMBOL}){_SYMBOL}+$")

INTRODUCTIONS = {
    "en": "my name is|my name's|my full name is|the name is|the name's|name is|name:|his name is|her name is|his name's|her name's|its name is|we call him|we call her|he is called|she is called",
    "id": "nama saya|nama saya adalah|namaku|nama aku|nama:|perkenalkan nama saya|namanya|atas nama",
    "es": "me llamo|mi nombre es|mi nombre completo es|nombre:|se llama|su nombre es|a nombre de",
    "pt": "me chamo|chamo-me|eu me chamo|o meu nome é|meu nome é|nome:|se chama|ele se chama|ela se chama|em nome de",
    "fr": "je m'appelle|je m’appelle|mon nom est|moi c'est|nom :|nom:|il s'appelle|elle s'appelle|au nom de",
    "de": "ich heiße|ich heisse|mein name ist|mein name lautet|name ist|er heißt|sie heißt|er heisst|sie heisst|mein sohn heißt|meine tochter heißt|auf den namen",
    "it": "mi chiamo|io mi chiamo|il mio nome è|si chiama|a nome di",
    "nl": "ik heet|mijn naam is|naam:|hij heet|ze heet|zij heet|op naam van",
    "tr": "benim adım|adım|ismim|benim ismim|adım soyadım",
    "ru": "меня зовут|мое имя|моё имя|имя:|его зовут|её зовут|ее зовут|на имя",
    "ar": "اسمي|انا اسمي|إسمي|اسمي هو",
    "hi": "मेरा नाम|मेरा नाम है",
}
"""Words that introduce a name and nothing else, in any language."""

PERHAPS = {
    "en": "i'm|i’m|im|i am|it's|it’s|its|it is|this is|here is|call me|you can call me", "id": "saya|aku|ini|panggil saya",
    "es": "soy|yo soy|aquí|puedes llamarme", "pt": "sou|eu sou|aqui é|pode me chamar de", "fr": "je suis|c'est|c’est", "de": "ich bin|hier ist|das ist",
    "it": "sono|io sono|chiamami", "nl": "ik ben|dit is|noem me", "ru": "я|это",
}  # fmt: skip
"""Words that may also introduce something else ("I'm busy"): before a small letter the contact is asked."""

BEHIND = {"hi": "है|हूँ|हूं"}
"""Words that may follow an introduced name."""

PRESENT = {"en": "here", "de": "hier", "es": "aquí", "pt": "aqui", "fr": "ici", "it": "qui", "nl": "hier"}
"""Words that may follow several names with capital letters: "Ann Smith here". Behind one word the contact is asked."""

OPENINGS = {
    "en": "hi|hello|hey|good morning|good afternoon|good evening|thanks|thank you|ok|okay|sure|yes|of course", "id": "halo|hai|selamat pagi|selamat siang|selamat sore|terima kasih|makasih|ok|oke|baik|iya",
    "es": "hola|buenas|buenos días|buenas tardes|gracias|ok|vale|claro|sí", "pt": "olá|oi|bom dia|boa tarde|obrigado|obrigada|ok|claro|sim", "fr": "bonjour|salut|bonsoir|merci|ok|d'accord|bien sûr|oui",
    "de": "hallo|hi|guten tag|guten morgen|danke|ok|klar|gerne|ja", "it": "ciao|buongiorno|salve|buonasera|grazie|ok|certo|sì", "nl": "hallo|hoi|goedemorgen|goedemiddag|bedankt|dank je|ok|oke|natuurlijk|ja",
    "tr": "merhaba|selam|günaydın|teşekkürler|tamam|evet|tabii", "ru": "привет|здравствуйте|добрый день|спасибо|ок|конечно|да", "ar": "مرحبا|السلام عليكم|أهلا|شكرا|نعم|حسنا", "hi": "नमस्ते|हेलो|धन्यवाद|ठीक है|हाँ|हां|जी",
}  # fmt: skip
"""Words that may stand before an introduction. Before a name alone the contact is asked: "ok Eva"."""

SENTENCES = {
    "en": "how what whats why when where which is are was were does did can could would should have has had need want wanna cost costs you your"
    " yours u ur me mine name the this that these those not dont doesnt cant wont didnt isnt im its it there here please pls plz thanks thank"
    " order book cancel refund complain complaint open closed close help leave tell give get go going looking with about because if with of"
    " for from in on at something someone anything nothing everything",
    "id": "apa berapa kenapa mengapa kapan dimana bagaimana gimana siapa bisa boleh mau ingin tidak gak nggak bukan belum anda kamu saya aku ini itu"
    " yang untuk dengan dari tolong terima kasih makasih pesan buka tutup harga ada",
    "es": "que cuanto cuanta como cuando donde cual quien por para porque quiero quisiera necesito puedo puede puedes tiene tienen tengo hay es esta"
    " estan son soy no me mi te tu su usted ustedes esto eso gracias favor precio cuesta abren cierran",
    "pt": "que quanto quanta como quando onde qual quem porque quero queria preciso posso pode tem tenho ha nao me meu minha voce voces isso isto este"
    " obrigado obrigada favor preco custa abrem fecham",
    "fr": "que quoi combien comment quand ou quel quelle qui pourquoi est sont suis je tu vous nous veux voudrais peux pouvez avez ai ca cela ne pas"
    " merci plait prix coute ouvert ferme",
    "de": "was wie wieviel warum wieso wann wo wer welche welcher ist sind war bin ich du sie ihr mir mich mein meine kann konnen mochte will brauche"
    " habe haben hat das dies nicht kein keine bitte danke kostet geoffnet",
    "it": "che cosa quanto quanta come quando dove quale chi perche voglio vorrei posso puo ho hai avete non mi mio mia sono e un una questo quello"
    " grazie favore prezzo costa aprite chiudete",
    "nl": "wat hoe hoeveel waarom wanneer waar wie welke is zijn ben ik jij je jullie u mij mijn kan kunnen wil wilt moet heb heeft dit dat niet geen"
    " bedankt dank alstublieft kost",
    "tr": "ne nasıl neden niçin niye nerede kim hangi kaç ne kadar mı mi mu mü var yok istiyorum lazım degil değil ben sen siz bana benim bu şu"
    " teşekkürler teşekkür lütfen fiyat",
    "ru": "что как сколько почему зачем когда где кто какой какая есть нет не я ты вы мне меня мой моя можно могу хочу нужно нужен это спасибо"
    " пожалуйста цена стоит",
    "ar": "ما ماذا كيف كم لماذا متى اين من هل هذا هذه ليس لا اريد ممكن عندي عندكم انا انت شكرا فضلك سعر",
    "hi": "क्या कैसे कितना कितने कितनी क्यों कब कहाँ कहां कौन है हैं हूँ नहीं मैं मुझे मेरा आप आपका यह वह चाहिए धन्यवाद कृपया कीमत",
}
"""Words that no name has: a text with one of them is a sentence."""

ALONE = {
    "en": "my today tomorrow yes no yeah yep nope nah ok okay k hi hello hey yo good morning afternoon evening night stop skip none later never menu back next start"
    " idk no idea person human agent who dunno test anonymous nobody hm hmm lol sure well cool great fine sorry so and or a an i busy wait"
    " wow haha hehe omg ugh guess whatever am hungry tired ready late sick ill interested lost back home outside bored confused",
    "id": "ya iya tidak ok oke halo hai pagi siang sore malam berhenti lewati nanti selamat maaf sibuk lapar sakit siap capek",
    "es": "si no vale ok hola buenas buenos dias tardes noches parar saltar nada nunca luego ayuda bien perdon aqui ocupado ocupada cansado cansada listo lista enfermo enferma",
    "pt": "sim nao ok oi ola bom boa dia tarde noite parar pular nada nunca depois ajuda desculpe aqui ocupado ocupada cansado cansada pronto pronta doente",
    "fr": "oui non ok bonjour salut bonsoir arreter passer rien jamais aide pardon la occupe occupee fatigue fatiguee pret prete malade",
    "de": "ja nein nee ok hallo hi guten tag morgen abend stopp halt nichts nie spater hilfe gut entschuldigung da beschaftigt mude hungrig krank fertig bereit",
    "it": "si no ok ciao salve buongiorno buonasera stop salta niente mai dopo aiuto bene scusa qui occupato occupata stanco stanca pronto pronta malato malata",
    "nl": "ja nee ok oke hallo hoi goedemorgen stop niets nooit later hulp sorry hier bezig moe ziek klaar",
    "tr": "evet hayır tamam merhaba selam günaydın dur atla hiç sonra yardım",
    "ru": "да нет ок привет здравствуйте добрый день вечер утро стоп пропустить ничего никогда потом помощь тут здесь занят занята готов готова устал устала",
    "ar": "نعم لا مرحبا اهلا السلام عليكم قف تخطي مساعدة",
    "hi": "हाँ हां नहीं ठीक नमस्ते रुको मदद",
}
"""Words that are no name by themselves, though a part of a name may be written so."""

BEGINNINGS = {
    "en": "my the same nice good great bad poor terrible long too still just very so really new old broken hurry always already almost",
    "id": "sama masih terlalu sangat sudah lagi kurang", "es": "mi lo mismo muy mal buen buena otra otro demasiado ya todavia",
    "pt": "meu minha mesmo muito mau bom boa outra outro demais ja ainda", "fr": "mon ma meme tres mauvais bon bonne trop deja encore",
    "de": "der die das mein meine gleiche derselbe sehr schlecht schlechter gut guter schones zu schon immer noch", "it": "mio mia stesso molto buon brutto troppo gia ancora",
    "nl": "het de mijn dezelfde zelfde heel goed slecht te al nog",
}  # fmt: skip
"""Words with which a text of several begins that is no name, if its last word has a small letter: "nice weather"."""

ALSO_NAMES = {"ty": (), "dag": ("nl",), "hai": ("id",), "ola": ("pt", "es"), "selam": ("tr",)}
"""Words of small talk that people are called, and the languages in which they more often say hello."""
_OR = frozenset({"or", "oder", "ou", "atau", "oppure", "of", "veya", "или", "أو"})  # between two names


@cache
def _phrases(table: str, language: str = "") -> tuple[str, ...]:
    """The phrases of a table, of one language or of all, the longest first."""
    lines = {
        "introductions": INTRODUCTIONS,
        "perhaps": PERHAPS,
        "behind": BEHIND,
        "present": PRESENT,
        "openings": OPENINGS,
    }[table]
    chosen = lines.values() if not language else (lines.get(each, "") for each in {language, ENGLISH})
    return tuple(sorted({phrase for line in chosen for phrase in line.split("|") if phrase}, key=len, reverse=True))


@cache
def _words(language: str) -> tuple[frozenset[str], ...]:
    """The words of sentences, those that are no name alone, and those that begin none, in a language and in English."""
    return tuple(
        frozenset(
            word
            for each in {language, ENGLISH}
            for text in table.get(each, "").split()
            for word in normalise(text).split()
        )
        for table in (SENTENCES, ALONE, BEGINNINGS)
    )


def read_name(text: str, language: str | None) -> str | None:
    """The name in an answer, as it is written; None if it is no name, or only perhaps.

    ``read_name("Hi, my name is Ann Smith.", "en")  -> "Ann Smith"``
    """
    language = without_country(language or ENGLISH)
    name, is_sure = _introduced(text, language)
    return name if is_sure and _is_name(name, language) else None


def possible_name(text: str, language: str | None) -> str | None:
    """A name that is to be confirmed, because the words before it may introduce something else; else None.

    ``possible_name("i am peter", "en")  -> "peter"``
    """
    language = without_country(language or ENGLISH)
    name, is_sure = _introduced(text, language)
    words = normalise(name).split()
    if is_sure or not 0 < len(words) <= _MOST_DOUBTFUL or words[0] in _words(language)[2]:
        return None
    return name if _is_name(name, language) else None


def _introduced(text: str, language: str) -> tuple[str, bool]:
    """The answer without words that introduce a name; False if these may introduce something else."""
    name = _bare(" ".join(text.split()))
    rest = _without(name, _phrases("openings", language))
    introduced = _without(rest, _phrases("introductions"))
    if introduced != rest:
        return _bare(_without_end(introduced, _phrases("behind", language))), True
    perhaps = _without(rest, _phrases("perhaps", language))
    if perhaps != rest:
        return perhaps, perhaps[:1].isupper()
    present = _without_end(rest, _phrases("present", language))
    if present != rest:
        return present, " " in present and all(word[0].isupper() for word in present.split())
    foreign = _without(rest, _phrases("perhaps"))
    if foreign != rest and rest[0].islower():  # "soy ana"; Saya is also a name
        return foreign, False
    return rest, rest == name


def _is_name(name: str, language: str) -> bool:
    if not name or not name[0].isalpha() or not all(char in _SIGNS or category(char)[0] in "LM" for char in name):
        return False
    words = [*normalise(name.replace("'", " ").replace("’", " ")).split(), *normalise(name).split()]
    sentences, alone, beginnings = _words(language)
    return not (
        len(name.split()) > _MOST_WORDS
        or any(word in sentences for word in words)
        or all(word in alone for word in words)
        or (" " in name and words[0] in beginnings and name.split()[-1][0].islower())
        or any(word in _OR for word in normalise(name).split()[1:-1])
        or any(normalise(name) in all_phrases(key) for key in ("calling off", "in place of a name"))
    )


def may_be_name(text: str, language: str | None) -> bool:
    """True for a word of small talk with a capital letter that is also a name: "Ty"."""
    said_in = ALSO_NAMES.get(normalise(text))
    return said_in is not None and text[:1].isupper() and without_country(language or ENGLISH) not in said_in


def _bare(text: str) -> str:
    """A text without the signs around it."""
    return _AROUND.sub("", _SYMBOLS.sub("", text)).strip()


def _without(text: str, phrases: tuple[str, ...]) -> str:
    """A text without a phrase that it begins with; something must follow."""
    small = text.lower()
    if len(small) != len(text):
        return text
    for phrase in phrases:
        if small.startswith(phrase) and (rest := _bare(text[len(phrase) :])):
            if phrase[-1] != ":" and text[len(phrase)] not in " ,:":
                continue
            return rest
    return text


def _without_end(text: str, phrases: tuple[str, ...]) -> str:
    return next((text.removesuffix(phrase).rstrip() for phrase in phrases if text.endswith(f" {phrase}")), text)
