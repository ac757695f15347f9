"""Small talk: thanks, greetings, smiles, "help", "one moment", "are you a bot?" and questions about the opening hours,
where nothing else takes them.

The words of a language stand on one line each. All languages are heard in every bot; the answers, among the built-in
wordings, are in the contact's language.
"""

from collections.abc import Iterator, Mapping
from datetime import date, datetime, timedelta
from functools import cache, lru_cache
from typing import Any
from unicodedata import category

from bot.core.lazy_patterns import lazy_pattern
from bot.language.answers.sentences import is_told
from bot.language.answers.topics import is_question, is_request, topics_in
from bot.language.expressions.formats import weekday_name
from bot.language.expressions.opening_hours import HOURS, Hours, Span
from bot.language.source.languages import CONTACT_LANGUAGE, ENGLISH, wording
from bot.language.source.word_matching import contains, normalise

THANKS, GREETING, BYE, SMILE, HELP, MOMENT, BOT, OPENING_HOURS = TOPICS = (
    "thanks", "greeting", "bye", "smile", "help", "moment", "bot", "hours"
)  # fmt: skip
"""The topics of small talk, by their names under `small_talk` in ``bot.yml``."""

_WORDS = {
    THANKS: {
        "en": "thanks|thank you|thank u|thankyou|thx|tnx|ty|tysm|thanx|cheers|much appreciated|appreciate it",
        "id": "terima kasih|terimakasih|makasih|makasi|trims|thanks|tq|tengkyu|matur nuwun|suwun",
        "es": "gracias|muchas gracias|mil gracias|te lo agradezco|grax",
        "pt": "obrigado|obrigada|muito obrigado|muito obrigada|obg|valeu|brigado|brigada|agradeço",
        "fr": "merci|merci beaucoup|mercii|un grand merci|merci bien",
        "de": "danke|danke schön|danke sehr|vielen dank|dankeschön|besten dank|herzlichen dank|merci",
        "it": "grazie|grazie mille|molte grazie|ti ringrazio|la ringrazio",
        "nl": "bedankt|dank je|dank je wel|dankjewel|dank u|dank u wel|dankuwel|hartelijk dank",
        "tr": "teşekkürler|teşekkür ederim|teşekkür ederiz|çok teşekkürler|sağ ol|sağol|sağolun|eyvallah",
        "ru": "спасибо|большое спасибо|спасибо большое|благодарю|спс",
        "ar": "شكرا|شكرا لك|شكرا جزيلا|شكرا لكم|مشكور|تسلم|جزاك الله خيرا",
        "hi": "धन्यवाद|बहुत धन्यवाद|शुक्रिया|बहुत शुक्रिया|dhanyavaad|shukriya",
    },
    GREETING: {
        "en": "hi|hello|hey|hiya|heya|yo|hi there|hello there|hey there|good morning|good afternoon|good evening|morning|greetings|howdy|hi again|hii|hiii|helloo|hellooo|heyy|heyyy"
        "|good day|how are you|how r u|how are you doing|hows it going|whats up|wassup|sup|test|testing|start|begin|get started",
        "id": "halo|hai|hallo|selamat pagi|selamat siang|selamat sore|selamat malam|pagi|siang|sore|malam|permisi|assalamualaikum",
        "es": "hola|buenas|buenos días|buenas tardes|buenas noches|qué tal|hola buenas",
        "pt": "olá|oi|oie|bom dia|boa tarde|boa noite|tudo bem|opa",
        "fr": "bonjour|salut|bonsoir|coucou|bjr|slt",
        "de": "hallo|guten tag|guten morgen|guten abend|moin|servus|grüß gott|grüezi|tach",
        "it": "ciao|buongiorno|buonasera|salve|buon pomeriggio",
        "nl": "hallo|hoi|goedemorgen|goedemiddag|goedenavond|goedendag|dag|hé",
        "tr": "merhaba|merhabalar|selam|günaydın|iyi günler|iyi akşamlar|selamün aleyküm",
        "ru": "привет|здравствуйте|добрый день|доброе утро|добрый вечер|здравствуй|приветствую",
        "ar": "مرحبا|اهلا|أهلا وسهلا|السلام عليكم|صباح الخير|مساء الخير|هاي",
        "hi": "नमस्ते|नमस्कार|हेलो|हैलो|हाय|सुप्रभात|namaste|namaskar",
    },
    BYE: {
        "en": "bye|bye bye|byebye|goodbye|good bye|good night|see you|see ya|see u|see you later|see you soon|see you tomorrow|cya|ttyl|take care|have a nice day|have a good day|have a great day|have a good one"
        "|thats all|that is all|thats it|that would be all|nothing else|nothing for now|nothing right now|not now|no thanks|no thank you|no thx|not interested|im not interested|i am not interested|im good|i am good|nah im good|no im good|im fine|were good|changed my mind|i changed my mind|ive changed my mind|i have changed my mind|leave me alone|no more questions|dont want anything|i dont want anything|we dont want anything|nothing thanks|nothing thank you|nothing thx|nothing ty|never mind|nevermind|nvm|forget it|forget about it|dont bother|no problem|no worries|sorry wrong number|wrong number|wrong chat|sorry wrong chat|wrong person|oops wrong chat",
        "id": "sampai jumpa|dadah|bye|selamat tinggal|itu saja|sudah cukup|tidak jadi|gak jadi|tidak terima kasih|tidak makasih|nanti saja|berubah pikiran|salah kirim|salah nomor|salah sambung", "es": "adiós|hasta luego|hasta mañana|chao|eso es todo|nada más|no gracias|ahora no|cambié de opinión|he cambiado de idea|olvídalo|número equivocado|me equivoqué de número",
        "pt": "tchau|até logo|até amanhã|é só isso|só isso|não obrigado|não obrigada|agora não|mudei de ideia|nada mais|deixa pra lá|número errado", "fr": "au revoir|à bientôt|bonne journée|bonne soirée|c'est tout|rien d'autre|non merci|pas maintenant|j'ai changé d'avis|laissez tomber|mauvais numéro|erreur de numéro",
        "de": "tschüss|auf wiedersehen|bis bald|bis später|schönen tag|schönen tag noch|das ist alles|nein danke|jetzt nicht|ich hab es mir anders überlegt|das wars|das war's|schon gut|egal|vergiss es|falsche nummer|falscher chat", "it": "arrivederci|a presto|a domani|buona giornata|è tutto|nient'altro|no grazie|non ora|ho cambiato idea|lascia stare|numero sbagliato",
        "nl": "doei|tot ziens|tot later|fijne dag|dat is alles|niets meer|nee bedankt|nee dank je|niet nu|ik heb me bedacht|laat maar|verkeerd nummer", "tr": "hoşça kal|hoşçakal|görüşürüz|güle güle|iyi geceler|bu kadar|boşver|hayır teşekkürler|şimdi değil|vazgeçtim|yanlış numara",
        "ru": "пока|до свидания|до встречи|спокойной ночи|это всё|больше ничего|нет спасибо|не сейчас|я передумал|я передумала|неважно|не туда|ошибся номером", "ar": "مع السلامة|الى اللقاء|وداعا|هذا كل شيء|لا شيء اخر|لا شكرا|ليس الان|غيرت رأيي|رقم خاطئ", "hi": "अलविदा|फिर मिलेंगे|बस इतना ही|रहने दो|नहीं धन्यवाद|अभी नहीं|गलत नंबर",
    },
    SMILE: {
        "en": "ok|okay|okey|k|kk|oki|alright|all right|cool|great|nice|perfect|awesome|got it|haha|lol|sounds good|wow",
        "id": "oke|okei|sip|siap|baik|mantap|bagus|wkwk", "es": "vale|bien|perfecto|genial|de acuerdo|jaja|listo",
        "pt": "tá bom|beleza|perfeito|ótimo|legal|certo|kkk", "fr": "d'accord|parfait|super|génial|entendu|mdr|ça marche",
        "de": "alles klar|super|prima|perfekt|gut|toll|in ordnung|verstanden", "it": "va bene|perfetto|ottimo|bene|d'accordo|capito",
        "nl": "oké|prima|goed|top|mooi|perfect|begrepen", "tr": "tamam|tamamdır|süper|harika|güzel|peki",
        "ru": "ок|окей|хорошо|отлично|супер|ладно|понятно|ясно", "ar": "تمام|حسنا|ممتاز|طيب|اوكي|جيد", "hi": "ठीक है|ठीक|अच्छा|बढ़िया|ओके|thik hai",
    },
    HELP: {
        "en": "help|help me|i need help|need help|i need some help|can you help me|can u help me|can you help|could you help me|what can you do|what can u do"
        "|what can i do|what can i do here|what can i ask|what can i write|how does this work|how does it work|how do i use this|what do you do"
        "|what are my options|options|commands|what now|i dont know what to do|i dont understand",
        "id": "bantuan|tolong|bantu|bantu saya|butuh bantuan|saya butuh bantuan|tolong bantu|bisa apa saja|cara pakai|bagaimana caranya|gimana caranya",
        "es": "ayuda|ayúdame|ayúdeme|necesito ayuda|qué puedes hacer|qué puedo hacer|cómo funciona|cómo funciona esto|me puedes ayudar|opciones|no entiendo",
        "pt": "ajuda|me ajuda|me ajude|preciso de ajuda|o que você faz|o que posso fazer|como funciona|como funciona isso|pode me ajudar|opções|não entendi",
        "fr": "aide|aidez-moi|aide-moi|j'ai besoin d'aide|besoin d'aide|que peux-tu faire|que pouvez-vous faire|comment ça marche|à l'aide|je ne comprends pas",
        "de": "hilfe|hilf mir|ich brauche hilfe|brauche hilfe|was kannst du|was kann ich hier tun|wie funktioniert das|wie geht das|können sie mir helfen"
        "|kannst du mir helfen|ich verstehe nicht",
        "it": "aiuto|aiutami|ho bisogno di aiuto|mi serve aiuto|cosa puoi fare|cosa posso fare|come funziona|mi puoi aiutare|opzioni|non capisco",
        "nl": "hulp|help mij|ik heb hulp nodig|wat kun je|wat kan ik hier doen|hoe werkt dit|hoe werkt het|kun je me helpen|opties|ik begrijp het niet",
        "tr": "yardım|yardım et|yardım edin|yardıma ihtiyacım var|ne yapabilirsin|ne yapabilirim|nasıl çalışıyor|yardımcı olur musunuz|anlamadım",
        "ru": "помощь|помоги|помогите|мне нужна помощь|нужна помощь|что ты умеешь|что вы умеете|как это работает|помогите мне|не понимаю",
        "ar": "مساعدة|ساعدني|احتاج مساعدة|أريد مساعدة|ماذا يمكنك ان تفعل|كيف يعمل هذا|ممكن مساعدة|لا افهم",
        "hi": "मदद|मदद करो|मदद चाहिए|मुझे मदद चाहिए|मेरी मदद करो|आप क्या कर सकते हैं|यह कैसे काम करता है|सहायता|समझ नहीं आया",
    },
    MOMENT: {
        "en": "wait|please wait|hold on|hang on|one moment|one sec|one second|one minute|a moment|a sec|a second|a minute|just a moment|just a sec|just a second|just a minute"
        "|give me a moment|give me a minute|give me a sec|give me a second|give me some time|give me time|i need time|i need time to think|need time to think|need some time to think|i need a moment|i need a minute|i need more time|i need some time"
        "|need more time|let me think|let me check|let me look|let me see|let me ask|let me think about it|let me check my calendar|let me get back to you|brb|be right back|bear with me"
        "|ill get back to you|ill check|ill ask|ill think about it|ill let you know|not ready yet|im not ready|im busy|im busy now|im busy right now|im driving|not sure|im not sure|maybe later|perhaps later|another time|some other time|just browsing|just looking|just looking around|in a meeting|cant talk now|not sure yet|dont know yet|i dont know yet",
        "id": "tunggu|tunggu sebentar|sebentar|bentar|sebentar ya|nanti dulu|saya cek dulu|saya pikir dulu|pikir pikir dulu|lagi sibuk|saya sibuk|butuh waktu|saya tanya dulu",
        "es": "espera|espere|un momento|un segundo|un minuto|dame un momento|déjame pensar|déjame ver|necesito tiempo|ahora vuelvo|lo pienso|estoy ocupado|estoy ocupada|todavía no sé",
        "pt": "espera|espere|um momento|um segundo|um minuto|só um momento|só um minuto|deixa eu ver|deixa eu pensar|preciso de tempo|já volto|vou pensar|estou ocupado|estou ocupada|ainda não sei",
        "fr": "attends|attendez|un moment|un instant|une seconde|une minute|laissez-moi réfléchir|je réfléchis|je vais voir|j'ai besoin de temps|je reviens|je suis occupé|je suis occupée|je ne sais pas encore",
        "de": "warte|warten sie|moment|einen moment|einen augenblick|eine sekunde|eine minute|sekunde|moment bitte|ich überlege|ich muss überlegen|lass mich überlegen|ich schaue nach|ich brauche zeit|ich brauche noch zeit|bin gleich zurück|bin beschäftigt|ich weiß noch nicht",
        "it": "aspetta|aspetti|un momento|un attimo|un secondo|un minuto|fammi pensare|mi faccia pensare|ci penso|devo pensarci|ho bisogno di tempo|torno subito|sono occupato|sono occupata|non so ancora",
        "nl": "wacht|wacht even|even wachten|een moment|momentje|een seconde|een minuut|ik denk na|even kijken|ik moet nadenken|ik heb tijd nodig|ik heb meer tijd nodig|ben zo terug|ik ben bezig|ik weet het nog niet",
        "tr": "bekle|bekleyin|bir dakika|bir saniye|bir saniye lütfen|düşüneyim|bir bakayım|zamana ihtiyacım var|meşgulüm|hemen dönerim|henüz bilmiyorum",
        "ru": "подождите|подожди|минуту|минутку|одну минуту|секунду|секундочку|я подумаю|надо подумать|мне нужно время|сейчас посмотрю|я занят|я занята|пока не знаю",
        "ar": "انتظر|لحظة|لحظه|دقيقة|ثانية|دعني افكر|خليني افكر|احتاج وقت|انا مشغول|لا اعرف بعد", "hi": "रुको|रुकिए|एक मिनट|एक सेकंड|सोचने दो|सोच कर बताता हूँ|मुझे समय चाहिए|मैं व्यस्त हूँ|अभी पता नहीं",
    },
    BOT: {
        "en": "who are you|who r u|who is this|whos this|who am i talking to|who am i speaking to|who is asking|whos asking|what are you|what is this|whats this|are you a bot|you are a bot|youre a bot|you a bot|you are a robot|youre a robot|you a robot|are you a robot|are you human"
        "|are you real|are you a real person|are you a person|is this a bot|is this automated|is this an ai|are you an ai|are you chatgpt|r u a bot|what is this number|what number is this|whose number is this|what company is this|bot",
        "id": "ini siapa|siapa ini|kamu siapa|anda siapa|ini bot|apakah ini bot|kamu bot|ini robot|ini nomor siapa", "es": "quién eres|quién es|con quién hablo|eres un bot|eres un robot|es un bot|qué es esto",
        "pt": "quem é você|quem é|com quem falo|você é um robô|é um robô|você é um bot|o que é isso", "fr": "qui êtes-vous|qui es-tu|c'est qui|êtes-vous un robot|c'est un robot|tu es un robot|c'est quoi",
        "de": "wer bist du|wer sind sie|wer ist da|bist du ein bot|sind sie ein bot|ist das ein bot|bist du ein roboter|was ist das", "it": "chi sei|chi è|con chi parlo|sei un bot|sei un robot|cos'è questo",
        "nl": "wie ben je|wie bent u|wie is dit|ben je een bot|bent u een bot|is dit een bot|wat is dit", "tr": "sen kimsin|siz kimsiniz|bu kim|bot musun|robot musun|bu nedir",
        "ru": "кто ты|кто вы|кто это|ты бот|вы бот|это бот|ты робот|что это", "ar": "من انت|من أنت|من هذا|هل انت بوت|هل انت روبوت|ما هذا", "hi": "आप कौन हैं|तुम कौन हो|यह कौन है|क्या आप बॉट हैं|यह क्या है",
    },
    OPENING_HOURS: {
        "en": "are you open|you open|u open|you opened|you closed|are you closed|opening hours|opening hrs|opening times|opening time|business hours|business hrs"
        "|working hours|office hours|store hours|shop hours|your hours|what hours|open hours|hours of operation|do you close|you close|u close|you closing|u closing|you opening|u opening|closing time"
        "|closing hours|open today|open tomorrow|open now|still open|when open|what time do you open|what time are you|what times are you|what days are you"
        "|open on|open monday|open mondays|open tuesday|open tuesdays|open wednesday|open wednesdays|open thursday|open thursdays|open friday|open fridays|open saturday"
        "|open saturdays|open sunday|open sundays|sunday hours|saturday hours|weekend hours|holiday hours|open weekends|open at the weekend|open tonight|open late|closed on|closed today|closed tomorrow|closed sundays|r u open|r u closed|are u open|are u closed|until what time|till what time|until when are you|until when are u|until when r u|until when do you|until when can i come|until when can we come"
        "|till when are you|till when r u|till when do you|till when can i come|how late are you|how late r u|how late do you|how late can i come|how late can we come|when are you there",
        "id": "jam buka|jam tutup|jam operasional|jam kerja|jam berapa buka|jam berapa tutup|buka jam|tutup jam|kapan buka|kapan tutup|masih buka|sudah buka"
        "|apakah buka|buka hari|buka nggak|buka tidak|buka gak",
        "es": "horario|horarios|a qué hora abren|a qué hora cierran|cuándo abren|cuándo cierran|están abiertos|está abierto|abren hoy|abren mañana|abren los"
        "|abren el|abrís|hora de cierre|hasta qué hora",
        "pt": "horário de funcionamento|horário|horários|que horas abre|que horas fecha|que horas abrem|que horas fecham|quando abrem|estão abertos|está aberto"
        "|abrem hoje|abre hoje|abrem no|abre no|até que horas",
        "fr": "horaires|horaires d'ouverture|heures d'ouverture|à quelle heure ouvrez|à quelle heure fermez|quand ouvrez|êtes-vous ouverts|êtes-vous ouvert"
        "|vous êtes ouverts|vous êtes ouvert|ouvert aujourd'hui|ouverts aujourd'hui|ouvert le|ouverts le|jusqu'à quelle heure|vous ouvrez|vous fermez",
        "de": "öffnungszeiten|geöffnet|bis wann seid ihr|bis wann sind sie|bis wann habt ihr|bis wann haben sie|wie lange seid ihr|wann habt ihr auf|wann habt ihr offen|wann haben sie auf|wann haben sie offen|habt ihr offen|haben sie offen|habt ihr auf"
        "|wann macht ihr auf|wann macht ihr zu|wann öffnet|wann schließt|wann schließen|wie lange habt ihr|wie lange haben sie|habt ihr heute|habt ihr am",
        "it": "orari|orario|orari di apertura|a che ora aprite|a che ora chiudete|quando aprite|quando chiudete|siete aperti|è aperto|aperti oggi|aprite oggi"
        "|fino a che ora|aperti la domenica|aperti domenica",
        "nl": "openingstijden|openingsuren|wanneer zijn jullie open|zijn jullie open|bent u open|hoe laat open|hoe laat sluiten|hoe laat gaan jullie|tot hoe laat"
        "|vandaag open|wanneer open|nog open|jullie open",
        "tr": "çalışma saatleri|çalışma saatleriniz|açılış saati|kapanış saati|kaçta açılıyor|kaçta kapanıyor|kaçta açıyorsunuz|kaçta kapatıyorsunuz|açık mısınız"
        "|açık mı|ne zaman açık|kaça kadar açık",
        "ru": "часы работы|время работы|график работы|режим работы|когда вы открыты|вы открыты|открыты сегодня|во сколько открываетесь|во сколько закрываетесь"
        "|до скольки|когда открываетесь|когда закрываетесь|вы работаете|как вы работаете|работаете сегодня|работаете в",
        "ar": "ساعات العمل|اوقات العمل|أوقات الدوام|مواعيد العمل|متى تفتحون|متى تغلقون|متى تفتح|متى تغلق|هل انتم مفتوح|هل انتم مفتوحون|مفتوح اليوم|فاتحين",
        "hi": "खुलने का समय|बंद होने का समय|कब खुलता|कब खुलते|कब बंद|कितने बजे खुल|कितने बजे बंद|क्या आप खुले|खुला है|खुले हैं|आज खुला|कामकाज का समय",
    },
}  # fmt: skip
"""The phrases of each topic. A message is the whole phrase; for the opening hours it has the phrase in it."""

_AROUND = {
    "en": "no nah ok okay oh actually great perfect nice good cool well so very much a lot lots many all again already everyone you u your for the help helping"
    " everything listening lol haha info information reply answer time then there team guys sir madam mate sorry thanks thx hmm hm um uh ugh er yesterday today it was lovely delicious amazing wonderful service food evening please pls plz and hi hello bye awesome",
    "id": "oke ya banyak sekali kak min pak bu mas mbak mohon dong", "es": "ok vale muchas mil muy por todo la ayuda favor bien perfecto tu su",
    "pt": "ok muito por tudo a ajuda favor bem pela sua", "fr": "ok beaucoup bien pour tout votre aide plait s il vous te", "de": "ok bitte sehr für die hilfe alles gut",
    "it": "ok mille molto per tutto l aiuto favore bene", "nl": "ok heel erg veel voor alles de hulp alstublieft", "tr": "tamam çok her şey için lütfen",
    "ru": "ок вам тебе большое очень за всё помощь пожалуйста", "ar": "جدا كثيرا لكم من فضلك", "hi": "जी बहुत आपका कृपया",
}  # fmt: skip
"""Words that may stand before and behind a phrase."""

_MOST_CHARACTERS = 80  # of small talk: a longer message says more
_WAVES = "👋🙋"


@cache
def _topics() -> Mapping[str, str]:
    """The topic of each whole phrase, normalised."""
    return {
        normalise(phrase): topic
        for topic in (SMILE, GREETING, HELP, MOMENT, BOT, BYE, THANKS)
        for line in _WORDS[topic].values()
        for phrase in line.split("|")
    }


@cache
def _of_hours() -> tuple[str, ...]:
    return tuple({f" {normalise(phrase)} " for line in _WORDS[OPENING_HOURS].values() for phrase in line.split("|")})


@cache
def _fillers() -> frozenset[str]:
    return frozenset(word for line in _AROUND.values() for word in normalise(line).split())


@lru_cache(maxsize=1024)
def topic_of(text: str, language: str | None = None) -> str | None:
    """The topic of a message that is small talk and nothing else."""
    if len(text) > _MOST_CHARACTERS:
        return None
    said = normalise(text)
    if not any(char.isalnum() for char in said):
        return _of_symbols(text)
    found = _topics().get(said)
    if found is not None:
        return found
    words = f" {said} "
    if any(phrase in words for phrase in _of_hours()):
        return OPENING_HOURS
    return _among_fillers(said.split()) or _moment_for(said) or _thanks_for(text, language) or _bye_for(text)


def asks_hours(text: str, phrase: str) -> bool:
    """True if the clause with a phrase asks for opening hours: coffee in "how late can I come for a coffee?"."""
    known = [each for each in _of_hours() if phrase not in each and each.strip() not in phrase]
    clauses = (f" {said} " for part in _CLAUSES.split(text) if contains(said := normalise(part), phrase))
    asked = any(hours in clause for clause in clauses for hours in known)
    return asked and is_question(text) and not is_request(text)


def _moment_for(said: str) -> str | None:
    """A request for time, with its reason: "hang on, I ask my husband", but not "let me see the menu"."""
    words = said.split()
    begins = (phrase for count in (2, 3, 4) if not (phrase := " ".join(words[:count])).startswith(_LOOKS))
    waits = any(_topics().get(phrase) == MOMENT or phrase in _LATER for phrase in begins)
    waits = waits and len(words) <= _MOST_OF_MOMENT
    return MOMENT if waits and not any(map(str.isdigit, said)) and not topics_in(said) else None


_LOOKS = ("let me see", "let me look", "let me check")
_LATER = frozenset(
    map(
        normalise,
        ("not now", "not right now", "ahora no", "agora não", "pas maintenant", "jetzt nicht", "non ora", "niet nu", "şimdi değil", "не сейчас", "ليس الان", "अभी नहीं"),
    )
)  # fmt: skip
"""A goodbye alone; with a reason behind it a request for time: "not now, I'm at work"."""
_MOST_OF_MOMENT = 8  # words


def _thanks_for(text: str, language: str | None) -> str | None:
    """Thanks, where the other clauses tell how something was: "the cake was amazing, thank you!". No complaint is."""
    others = _clauses_beside(text, THANKS)
    tells = all(
        any(is_told(clause, word, language) or word in _praise() for word in clause.split()) for clause in others or ()
    )
    return None if others is None or not tells else THANKS


def _bye_for(text: str) -> str | None:
    """A goodbye, where the other clauses are small talk, too: "oh wait, forget it"."""
    others = _clauses_beside(text, BYE) or ()
    says_more = any(
        not _fillers().issuperset(clause.split()) and not _among_fillers(clause.split()) for clause in others
    )
    return BYE if others and not says_more else None


def _clauses_beside(text: str, topic: str) -> list[str] | None:
    """The clauses that are not of a topic. None if no clause is of it, or if the text asks or complains."""
    clauses = [clause for part in _CLAUSES.split(text) if (clause := normalise(part))]
    others = [clause for clause in clauses if _among_fillers(clause.split()) != topic]
    return None if len(others) == len(clauses) or "?" in text or topics_in(text) else others


_PRAISE = {
    "en": "loved|enjoyed|amazing|wonderful|delicious|fantastic|perfect|brilliant", "id": "enak|suka|mantap", "es": "encantó|encantado|delicioso|deliciosa",
    "pt": "adorei|adoramos|amei|delicioso|deliciosa", "fr": "adoré|délicieux|délicieuse|parfait", "de": "lecker|wunderbar|geliebt|begeistert|köstlich",
    "it": "adorato|buonissimo|buonissima|piaciuto|piaciuta", "nl": "heerlijk|lekker|genoten", "tr": "bayıldık|bayıldım|harikaydı|lezzetliydi", "ru": "понравилось|понравился|понравилась|вкусно",
    "ar": "رائع|لذيذ", "hi": "पसंद|शानदार|स्वादिष्ट",
}  # fmt: skip
"""Words that praise."""


@cache
def _praise() -> frozenset[str]:
    return frozenset(normalise(word) for line in _PRAISE.values() for word in line.split("|"))


_CLAUSES = lazy_pattern(r"[,.;:!\n،؛।]+")


def _among_fillers(words: list[str]) -> str | None:
    """The topic of a phrase among words that say nothing more: "never mind, wrong number", "ok cool"."""
    places = range(len(words))
    said = (_topics().get(" ".join(words[first:end])) for first in places for end in range(len(words), first, -1))
    found = [topic for topic in dict.fromkeys(said) if topic is not None and _consists_of(words, topic)]
    return THANKS if THANKS in found else next(iter(found), None)


def _consists_of(words: list[str], topic: str | None) -> bool:
    """True if all words belong to phrases of a topic, to smiles or, except beside a smile, to fillers; in one pass."""
    reached = {0}
    for first, word in enumerate(words):
        if first in reached:
            if topic != SMILE and word in _fillers():
                reached.add(first + 1)
            ends = range(first + 1, len(words) + 1)
            reached |= {end for end in ends if _topics().get(" ".join(words[first:end])) in (topic, SMILE)}
    return len(words) in reached


def _of_symbols(text: str) -> str | None:
    """A message of emoji: a hand that waves is a greeting."""
    if any(char in text for char in _WAVES):
        return GREETING
    return SMILE if any(category(char) == "So" for char in text) else None


def answer_to(topic: str, scope: Mapping[str, Any], now: datetime, name: str) -> str | None:
    """The words of a bot with this name on a topic other than help, in the contact's language; None if it has none.

    Raises `TemplateFailed`, by the bot's own wordings.
    """
    if topic == OPENING_HOURS:
        hours: Mapping[str, Hours] = scope.get(HOURS, {})
        named = ((key.replace("_", " ").capitalize(), each) for key, each in hours.items())
        lines = [hours_in_words(each, scope, now, shown if len(hours) > 1 else "") for shown, each in named]
        return "\n".join(lines) or None
    if topic == BOT:
        return wording(scope, "about_bot", value=name)
    return wording(scope, _WORDINGS[topic])


_WORDINGS = {THANKS: "welcome", GREETING: "greeting", BYE: "goodbye", SMILE: "smile", MOMENT: "no_hurry"}


def hours_in_words(hours: Hours, scope: Mapping[str, Any], now: datetime, name: str = "") -> str:
    """``Mon-Sat 8:00-19:00. Now open until 19:00.``"""
    language = scope.get(CONTACT_LANGUAGE) or ENGLISH
    week = "; ".join(_days_in_words(hours, language))
    closes, opens = hours.closes(now), hours.opens(now)
    parts = [f"{name}: {week}." if name else f"{week}."] if week else []
    if closes is not None:
        parts.append(wording(scope, "open_until", value=_clock_of(closes.astimezone(hours.zone))))
    elif opens is not None:
        opens = opens.astimezone(hours.zone)
        today = now.astimezone(hours.zone).date()
        day = "" if opens.date() == today else f"{weekday_name(opens.date(), language, 'EEEE')} "
        if opens.date() - today > timedelta(days=6):
            day += f"{opens:%d.%m.} "
        parts.append(wording(scope, "closed_until", value=f"{day}{_clock_of(opens)}"))
    return " ".join(parts)


def _days_in_words(hours: Hours, language: str) -> Iterator[str]:
    """``Mon-Fri 8:00-18:00``, ``Sat 8:00-13:00``: neighbouring days with the same hours together."""
    first = 0
    for day in range(1, 8):
        if day < 7 and hours.week[day] == hours.week[first]:
            continue
        if hours.week[first]:
            last = f"-{_day_name(day - 1, language)}" if day - 1 > first else ""
            spans = ", ".join(map(_span_in_words, hours.week[first]))
            yield f"{_day_name(first, language)}{last} {spans}"
        first = day


def _day_name(day: int, language: str) -> str:
    return weekday_name(date(2030, 5, 6) + timedelta(days=day), language, "EEE")  # a Monday


def _span_in_words(span: Span) -> str:
    start, end = span
    return f"{_clock(start)}-{_clock(end if end <= 24 * 60 else end - 24 * 60)}"


def _clock(minutes: int) -> str:
    return f"{minutes // 60}:{minutes % 60:02}"


def _clock_of(moment: datetime) -> str:
    return _clock(moment.hour * 60 + moment.minute)
