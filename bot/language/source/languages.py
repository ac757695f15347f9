"""Languages: their codes (``en``, ``pt-BR``), and the texts of the bot's buttons and notices, built in for 12 of them.

A bot's own `wordings` come before the built-in ones.
"""

from collections.abc import Mapping
from string import Formatter
from typing import Any

ENGLISH = "en"
"""The language of a bot that names none. It is understood beside every other language."""


def without_country(language: str) -> str:
    """``pt`` for ``pt-BR``."""
    return language.partition("-")[0]


WORDINGS: dict[str, dict[str, str]] = {
    "yes": {
        "en": "Yes", "id": "Ya", "es": "Sí", "pt": "Sim", "fr": "Oui", "de": "Ja", "it": "Sì", "nl": "Ja",
        "tr": "Evet", "ru": "Да", "ar": "نعم", "hi": "हाँ",
    },
    "no": {
        "en": "No", "id": "Tidak", "es": "No", "pt": "Não", "fr": "Non", "de": "Nein", "it": "No", "nl": "Nee",
        "tr": "Hayır", "ru": "Нет", "ar": "لا", "hi": "नहीं",
    },
    "go_on": {
        "en": "Go on with {flow}?", "id": "Lanjutkan yang tadi?", "es": "¿Seguimos donde estábamos?",
        "pt": "Continuamos de onde paramos?", "fr": "On reprend où on en était ?", "de": "Dort weitermachen, wo wir waren?",
        "it": "Riprendiamo da dove eravamo?", "nl": "Verdergaan waar we waren?", "tr": "Kaldığımız yerden devam edelim mi?",
        "ru": "Продолжим с того места?", "ar": "هل نتابع من حيث توقفنا؟", "hi": "जहाँ थे, वहीं से आगे बढ़ें?",
    },
    "old_tap": {
        "en": "That was an earlier question.", "id": "Itu pertanyaan sebelumnya.", "es": "Esa era una pregunta anterior.",
        "pt": "Essa era uma pergunta anterior.", "fr": "C'était une question précédente.",
        "de": "Das war eine frühere Frage.", "it": "Quella era una domanda precedente.",
        "nl": "Dat was een eerdere vraag.", "tr": "Bu önceki bir soruydu.", "ru": "Это был предыдущий вопрос.",
        "ar": "كان ذلك سؤالا سابقا.", "hi": "वह पहले का सवाल था।",
    },
    "did_you_mean": {
        "en": "Did you mean one of these?", "id": "Apakah maksud Anda salah satu dari ini?", "es": "¿Te refieres a alguna de estas opciones?",
        "pt": "Quis dizer uma destas opções?", "fr": "Vouliez-vous dire l'une de ces options ?",
        "de": "Meinen Sie eines davon?", "it": "Intendi una di queste opzioni?", "nl": "Bedoel je een van deze?",
        "tr": "Bunlardan birini mi demek istediniz?", "ru": "Вы имели в виду что-то из этого?",
        "ar": "هل تقصد أحد هذه الخيارات؟", "hi": "क्या आपका मतलब इनमें से एक है?",
    },
    "did_you_mean_this": {
        "en": "Did you mean {value}?", "id": "Maksud Anda {value}?", "es": "¿Quiere decir {value}?", "pt": "Quis dizer {value}?",
        "fr": "Vous voulez dire {value} ?", "de": "Meinen Sie {value}?", "it": "Intende {value}?", "nl": "Bedoelt u {value}?",
        "tr": "{value} mi demek istediniz?", "ru": "Вы имеете в виду {value}?", "ar": "هل تقصد {value}؟", "hi": "क्या आपका मतलब {value} है?",
    },
    "none_of_these": {
        "en": "None of these", "id": "Bukan semuanya", "es": "Ninguna de estas", "pt": "Nenhuma destas", "fr": "Aucune de celles-ci",
        "de": "Nichts davon", "it": "Nessuna di queste", "nl": "Geen van deze", "tr": "Hiçbiri", "ru": "Ничего из этого",
        "ar": "لا شيء من هذه", "hi": "इनमें से कोई नहीं",
    },
    "page": {
        "en": "page {value}", "id": "halaman {value}", "es": "página {value}", "pt": "página {value}", "fr": "page {value}",
        "de": "Seite {value}", "it": "pagina {value}", "nl": "pagina {value}", "tr": "sayfa {value}", "ru": "стр. {value}",
        "ar": "صفحة {value}", "hi": "पृष्ठ {value}",
    },
    "start_anew": {
        "en": "Start anew", "id": "Mulai yang baru", "es": "Empezar de nuevo", "pt": "Começar de novo", "fr": "Recommencer",
        "de": "Neu anfangen", "it": "Ricominciare", "nl": "Opnieuw beginnen", "tr": "Yeniden başla", "ru": "Начать заново",
        "ar": "البدء من جديد", "hi": "नए सिरे से शुरू करें",
    },
    "choose": {
        "en": "Choose", "id": "Pilih", "es": "Elegir", "pt": "Escolher", "fr": "Choisir", "de": "Auswählen",
        "it": "Scegli", "nl": "Kiezen", "tr": "Seç", "ru": "Выбрать", "ar": "اختر", "hi": "चुनें",
    },
    "more": {
        "en": "More …", "id": "Lainnya …", "es": "Más …", "pt": "Mais …", "fr": "Plus …", "de": "Mehr …", "it": "Altro …",
        "nl": "Meer …", "tr": "Daha fazla …", "ru": "Ещё …", "ar": "المزيد …", "hi": "और …",
    },
    "back": {
        "en": "Back", "id": "Kembali", "es": "Atrás", "pt": "Voltar", "fr": "Retour", "de": "Zurück", "it": "Indietro",
        "nl": "Terug", "tr": "Geri", "ru": "Назад", "ar": "رجوع", "hi": "वापस",
    },
    "done": {
        "en": "Done", "id": "Selesai", "es": "Listo", "pt": "Pronto", "fr": "Terminé", "de": "Fertig", "it": "Fatto",
        "nl": "Klaar", "tr": "Tamam", "ru": "Готово", "ar": "تم", "hi": "हो गया",
    },
    "or": {
        "en": "or", "id": "atau", "es": "o", "pt": "ou", "fr": "ou", "de": "oder", "it": "o", "nl": "of",
        "tr": "veya", "ru": "или", "ar": "أو", "hi": "या",
    },
    "please_choose": {
        "en": "Please choose one of these: {choices}.", "id": "Mohon pilih salah satu: {choices}.",
        "es": "Por favor, elija una de estas opciones: {choices}.",
        "pt": "Por favor, escolha uma destas opções: {choices}.",
        "fr": "Merci de choisir l'une de ces options : {choices}.", "de": "Bitte wählen Sie eines davon: {choices}.",
        "it": "Per favore, scelga una di queste opzioni: {choices}.",
        "nl": "Kies alstublieft een van deze: {choices}.", "tr": "Lütfen bunlardan birini seçin: {choices}.",
        "ru": "Выберите, пожалуйста, один из вариантов: {choices}.", "ar": "من فضلك اختر واحدا من هذه: {choices}.",
        "hi": "कृपया इनमें से एक चुनें: {choices}।",
    },
    "please_number": {
        "en": "A number, please, for example {value}.", "id": "Mohon tulis angka, misalnya {value}.",
        "es": "Por favor, escriba un número, por ejemplo {value}.",
        "pt": "Por favor, escreva um número, por exemplo {value}.",
        "fr": "Merci d'indiquer un nombre, par exemple {value}.", "de": "Bitte eine Zahl, zum Beispiel {value}.",
        "it": "Per favore, scriva un numero, ad esempio {value}.",
        "nl": "Een getal, alstublieft, bijvoorbeeld {value}.", "tr": "Lütfen bir sayı yazın, örneğin {value}.",
        "ru": "Напишите, пожалуйста, число, например {value}.", "ar": "من فضلك اكتب رقما، مثلا {value}.",
        "hi": "कृपया एक संख्या लिखें, जैसे {value}।",
    },
    "please_between": {
        "en": "From {least} to {most}, please.", "id": "Mohon antara {least} dan {most}.",
        "es": "Por favor, entre {least} y {most}.", "pt": "Por favor, entre {least} e {most}.",
        "fr": "Entre {least} et {most}, s'il vous plaît.", "de": "Bitte von {least} bis {most}.",
        "it": "Per favore, tra {least} e {most}.", "nl": "Van {least} tot en met {most}, alstublieft.",
        "tr": "Lütfen {least} ile {most} arasında.", "ru": "Пожалуйста, от {least} до {most}.",
        "ar": "من فضلك بين {least} و{most}.", "hi": "कृपया {least} से {most} के बीच।",
    },
    "please_at_least": {
        "en": "At least {value}, please.", "id": "Mohon paling sedikit {value}.",
        "es": "Por favor, {value} como mínimo.", "pt": "Por favor, {value} no mínimo.",
        "fr": "{value} au minimum, s'il vous plaît.", "de": "Bitte mindestens {value}.",
        "it": "Per favore, almeno {value}.", "nl": "Minstens {value}, alstublieft.", "tr": "Lütfen en az {value}.",
        "ru": "Пожалуйста, не меньше {value}.", "ar": "من فضلك {value} على الأقل.", "hi": "कृपया कम से कम {value}।",
    },
    "please_at_most": {
        "en": "At most {value}, please.", "id": "Mohon paling banyak {value}.",
        "es": "Por favor, {value} como máximo.", "pt": "Por favor, {value} no máximo.",
        "fr": "{value} au maximum, s'il vous plaît.", "de": "Bitte höchstens {value}.",
        "it": "Per favore, al massimo {value}.", "nl": "Hoogstens {value}, alstublieft.",
        "tr": "Lütfen en fazla {value}.", "ru": "Пожалуйста, не больше {value}.", "ar": "من فضلك {value} على الأكثر.",
        "hi": "कृपया ज़्यादा से ज़्यादा {value}।",
    },
    "please_not_before": {
        "en": "Not before {value}, please.", "id": "Mohon tidak sebelum {value}.", "es": "Como muy pronto: {value}.",
        "pt": "Não antes de: {value}.", "fr": "Au plus tôt : {value}.", "de": "Frühestens {value}, bitte.",
        "it": "Non prima di: {value}.", "nl": "Niet eerder dan {value}, alstublieft.", "tr": "En erken: {value}.",
        "ru": "Не раньше: {value}.", "ar": "ليس قبل {value}، من فضلك.", "hi": "कृपया {value} से पहले नहीं।",
    },
    "please_not_after": {
        "en": "Not after {value}, please.", "id": "Mohon tidak setelah {value}.", "es": "Como muy tarde: {value}.",
        "pt": "O mais tardar: {value}.", "fr": "Au plus tard : {value}.", "de": "Spätestens {value}, bitte.",
        "it": "Non oltre: {value}.", "nl": "Niet later dan {value}, alstublieft.", "tr": "En geç: {value}.",
        "ru": "Не позже: {value}.", "ar": "ليس بعد {value}، من فضلك.", "hi": "कृपया {value} के बाद नहीं।",
    },
    "please_date": {
        "en": "A date, please, for example {value}.", "id": "Mohon tulis tanggal, misalnya {value}.",
        "es": "Por favor, escriba una fecha, por ejemplo {value}.",
        "pt": "Por favor, escreva uma data, por exemplo {value}.",
        "fr": "Merci d'indiquer une date, par exemple {value}.", "de": "Bitte ein Datum, zum Beispiel {value}.",
        "it": "Per favore, scriva una data, ad esempio {value}.",
        "nl": "Een datum, alstublieft, bijvoorbeeld {value}.", "tr": "Lütfen bir tarih yazın, örneğin {value}.",
        "ru": "Напишите, пожалуйста, дату, например {value}.", "ar": "من فضلك اكتب تاريخا، مثلا {value}.",
        "hi": "कृपया एक तारीख लिखें, जैसे {value}।",
    },
    "please_time": {
        "en": "A time of day, please, for example {value}.", "id": "Mohon tulis jam, misalnya {value}.",
        "es": "Por favor, escriba una hora, por ejemplo {value}.",
        "pt": "Por favor, escreva um horário, por exemplo {value}.",
        "fr": "Merci d'indiquer une heure, par exemple {value}.", "de": "Bitte eine Uhrzeit, zum Beispiel {value}.",
        "it": "Per favore, scriva un orario, ad esempio {value}.",
        "nl": "Een tijdstip, alstublieft, bijvoorbeeld {value}.", "tr": "Lütfen bir saat yazın, örneğin {value}.",
        "ru": "Напишите, пожалуйста, время, например {value}.", "ar": "من فضلك اكتب وقتا، مثلا {value}.",
        "hi": "कृपया एक समय लिखें, जैसे {value}।",
    },
    "please_date_and_time": {
        "en": "A date and a time, please, for example {value}.",
        "id": "Mohon tulis tanggal dan jam, misalnya {value}.",
        "es": "Por favor, escriba una fecha y una hora, por ejemplo {value}.",
        "pt": "Por favor, escreva uma data e um horário, por exemplo {value}.",
        "fr": "Merci d'indiquer une date et une heure, par exemple {value}.",
        "de": "Bitte ein Datum mit Uhrzeit, zum Beispiel {value}.",
        "it": "Per favore, scriva una data e un orario, ad esempio {value}.",
        "nl": "Een datum en een tijdstip, alstublieft, bijvoorbeeld {value}.",
        "tr": "Lütfen bir tarih ve saat yazın, örneğin {value}.",
        "ru": "Напишите, пожалуйста, дату и время, например {value}.",
        "ar": "من فضلك اكتب تاريخا ووقتا، مثلا {value}.", "hi": "कृपया तारीख और समय लिखें, जैसे {value}।",
    },
    "please_yes_or_no": {
        "en": "Please answer yes or no.", "id": "Mohon jawab ya atau tidak.", "es": "Por favor, responda sí o no.",
        "pt": "Por favor, responda sim ou não.", "fr": "Merci de répondre par oui ou par non.",
        "de": "Bitte antworten Sie mit Ja oder Nein.", "it": "Per favore, risponda sì o no.",
        "nl": "Antwoord alstublieft met ja of nee.", "tr": "Lütfen evet veya hayır yazın.",
        "ru": "Ответьте, пожалуйста, да или нет.", "ar": "من فضلك أجب بنعم أو لا.",
        "hi": "कृपया हाँ या नहीं में उत्तर दें।",
    },
    "please_phone": {
        "en": "A phone number with its country code, please.",
        "id": "Mohon tulis nomor telepon beserta kode negaranya.",
        "es": "Por favor, escriba un número de teléfono con el prefijo del país.",
        "pt": "Por favor, escreva um número de telefone com o código do país.",
        "fr": "Merci d'indiquer un numéro de téléphone avec l'indicatif du pays.",
        "de": "Bitte eine Telefonnummer mit Landesvorwahl.",
        "it": "Per favore, scriva un numero di telefono con il prefisso internazionale.",
        "nl": "Een telefoonnummer met landnummer, alstublieft.",
        "tr": "Lütfen ülke koduyla birlikte bir telefon numarası yazın.",
        "ru": "Напишите, пожалуйста, номер телефона с кодом страны.", "ar": "من فضلك اكتب رقم هاتف مع رمز البلد.",
        "hi": "कृपया देश कोड के साथ फ़ोन नंबर लिखें।",
    },
    "please_email": {
        "en": "An e-mail address, please, for example ann@example.com.",
        "id": "Mohon tulis alamat email, misalnya ann@example.com.",
        "es": "Por favor, escriba una dirección de correo, por ejemplo ann@example.com.",
        "pt": "Por favor, escreva um endereço de e-mail, por exemplo ann@example.com.",
        "fr": "Merci d'indiquer une adresse e-mail, par exemple ann@example.com.",
        "de": "Bitte eine E-Mail-Adresse, zum Beispiel ann@example.com.",
        "it": "Per favore, scriva un indirizzo e-mail, ad esempio ann@example.com.",
        "nl": "Een e-mailadres, alstublieft, bijvoorbeeld ann@example.com.",
        "tr": "Lütfen bir e-posta adresi yazın, örneğin ann@example.com.",
        "ru": "Напишите, пожалуйста, адрес эл. почты, например ann@example.com.",
        "ar": "من فضلك اكتب عنوان بريد إلكتروني، مثلا ann@example.com.",
        "hi": "कृपया एक ईमेल पता लिखें, जैसे ann@example.com।",
    },
    "please_name": {
        "en": "Only your name, please, for example Ann.", "id": "Mohon tulis nama Anda saja, misalnya Ann.",
        "es": "Por favor, escriba solo su nombre, por ejemplo Ana.", "pt": "Por favor, escreva só o seu nome, por exemplo Ana.",
        "fr": "Merci d'indiquer seulement votre nom, par exemple Anne.", "de": "Bitte nur Ihren Namen, zum Beispiel Anna.",
        "it": "Per favore, scriva solo il suo nome, ad esempio Anna.", "nl": "Alleen uw naam, alstublieft, bijvoorbeeld Anna.",
        "tr": "Lütfen yalnızca adınızı yazın, örneğin Ayşe.", "ru": "Напишите, пожалуйста, только имя, например Анна.",
        "ar": "من فضلك اكتب اسمك فقط، مثلا مريم.", "hi": "कृपया केवल अपना नाम लिखें, जैसे आशा।",
    },
    "please_photo": {
        "en": "A photo, please.", "id": "Mohon kirim foto.", "es": "Por favor, envíe una foto.",
        "pt": "Por favor, envie uma foto.", "fr": "Merci d'envoyer une photo.", "de": "Bitte schicken Sie ein Foto.",
        "it": "Per favore, invii una foto.", "nl": "Stuur alstublieft een foto.",
        "tr": "Lütfen bir fotoğraf gönderin.", "ru": "Пришлите, пожалуйста, фото.", "ar": "من فضلك أرسل صورة.",
        "hi": "कृपया एक फ़ोटो भेजें।",
    },
    "please_file": {
        "en": "A file, please.", "id": "Mohon kirim berkas.", "es": "Por favor, envíe un archivo.",
        "pt": "Por favor, envie um arquivo.", "fr": "Merci d'envoyer un fichier.",
        "de": "Bitte schicken Sie eine Datei.", "it": "Per favore, invii un file.",
        "nl": "Stuur alstublieft een bestand.", "tr": "Lütfen bir dosya gönderin.",
        "ru": "Пришлите, пожалуйста, файл.", "ar": "من فضلك أرسل ملفا.", "hi": "कृपया एक फ़ाइल भेजें।",
    },
    "please_place": {
        "en": "Please share a location.", "id": "Mohon bagikan lokasi.", "es": "Por favor, comparta una ubicación.",
        "pt": "Por favor, compartilhe uma localização.", "fr": "Merci de partager une localisation.",
        "de": "Bitte teilen Sie einen Standort.", "it": "Per favore, condivida una posizione.",
        "nl": "Deel alstublieft een locatie.", "tr": "Lütfen bir konum paylaşın.",
        "ru": "Отправьте, пожалуйста, геопозицию.", "ar": "من فضلك شارك موقعا.", "hi": "कृपया एक स्थान साझा करें।",
    },
    "please_text": {
        "en": "Please write it as a text.", "id": "Mohon tulis sebagai teks.",
        "es": "Por favor, escríbalo como texto.", "pt": "Por favor, escreva em texto.",
        "fr": "Merci de l'écrire sous forme de texte.", "de": "Bitte schreiben Sie es als Text.",
        "it": "Per favore, lo scriva come testo.", "nl": "Schrijf het alstublieft als tekst.",
        "tr": "Lütfen metin olarak yazın.", "ru": "Напишите, пожалуйста, текстом.", "ar": "من فضلك اكتبه نصا.",
        "hi": "कृपया इसे लिखकर भेजें।",
    },
    "please_shorter": {
        "en": "At most {value} characters, please.", "id": "Mohon paling banyak {value} karakter.",
        "es": "Por favor, como máximo {value} caracteres.", "pt": "Por favor, no máximo {value} caracteres.",
        "fr": "Merci d'écrire au maximum {value} caractères.", "de": "Bitte höchstens {value} Zeichen.",
        "it": "Per favore, al massimo {value} caratteri.", "nl": "Maximaal {value} tekens, alstublieft.",
        "tr": "Lütfen en fazla {value} karakter yazın.", "ru": "Не больше {value} символов, пожалуйста.",
        "ar": "من فضلك اكتب {value} حرفا كحد أقصى.", "hi": "कृपया अधिकतम {value} अक्षर लिखें।",
    },
    "please_like": {
        "en": "Please write it like this: {value}.", "id": "Mohon tulis seperti ini: {value}.",
        "es": "Por favor, escríbalo así: {value}.", "pt": "Por favor, escreva assim: {value}.",
        "fr": "Merci de l'écrire ainsi : {value}.", "de": "Bitte schreiben Sie es so: {value}.",
        "it": "Per favore, lo scriva così: {value}.", "nl": "Schrijf het alstublieft zo: {value}.",
        "tr": "Lütfen şöyle yazın: {value}.", "ru": "Напишите, пожалуйста, так: {value}.",
        "ar": "من فضلك اكتبه هكذا: {value}.", "hi": "कृपया इसे ऐसे लिखें: {value}।",
    },
    "not_understood": {
        "en": "Sorry, I didn't understand that.", "id": "Maaf, saya belum mengerti.", "es": "Perdón, no lo he entendido.",
        "pt": "Desculpe, não entendi.", "fr": "Désolé, je n'ai pas compris.", "de": "Das habe ich leider nicht verstanden.",
        "it": "Mi dispiace, non ho capito.", "nl": "Sorry, dat heb ik niet begrepen.", "tr": "Üzgünüm, bunu anlayamadım.",
        "ru": "Извините, я вас не понял.", "ar": "عذرا، لم أفهم ذلك.", "hi": "क्षमा करें, यह समझ में नहीं आया।",
    },
    "asks_colleague": {
        "en": "I am asking a colleague. You can go on writing meanwhile.", "id": "Saya tanyakan dulu ke rekan saya. Anda tetap bisa menulis.",
        "es": "Lo consulto con un compañero. Mientras tanto puede seguir escribiendo.",
        "pt": "Vou consultar um colega. Entretanto, pode continuar a escrever.",
        "fr": "Je demande à un collègue. Vous pouvez continuer à écrire en attendant.",
        "de": "Ich frage jemanden aus dem Team. Sie können inzwischen weiterschreiben.",
        "it": "Chiedo a un collega. Nel frattempo può continuare a scrivere.",
        "nl": "Ik vraag het aan een collega. U kunt intussen gewoon verder schrijven.",
        "tr": "Bir iş arkadaşıma soruyorum. Bu arada yazmaya devam edebilirsiniz.",
        "ru": "Я спрашиваю коллегу. Пока можно писать дальше.",
        "ar": "أسأل أحد الزملاء. يمكنك متابعة الكتابة في هذه الأثناء.",
        "hi": "किसी सहकर्मी से पूछा जा रहा है। तब तक आप लिखते रह सकते हैं।",
    },
    "form_send": {
        "en": "Send", "id": "Kirim", "es": "Enviar", "pt": "Enviar", "fr": "Envoyer", "de": "Senden", "it": "Invia",
        "nl": "Versturen", "tr": "Gönder", "ru": "Отправить", "ar": "إرسال", "hi": "भेजें",
    },
    "form_sent": {
        "en": "Thank you! You can close this page and go back to the chat.",
        "id": "Terima kasih! Anda dapat menutup halaman ini dan kembali ke obrolan.",
        "es": "¡Gracias! Puede cerrar esta página y volver al chat.",
        "pt": "Obrigado! Pode fechar esta página e voltar à conversa.",
        "fr": "Merci ! Vous pouvez fermer cette page et revenir à la conversation.",
        "de": "Danke! Sie können diese Seite schließen und zum Chat zurückkehren.",
        "it": "Grazie! Può chiudere questa pagina e tornare alla chat.",
        "nl": "Bedankt! U kunt deze pagina sluiten en teruggaan naar de chat.",
        "tr": "Teşekkürler! Bu sayfayı kapatıp sohbete dönebilirsiniz.",
        "ru": "Спасибо! Можно закрыть эту страницу и вернуться в чат.",
        "ar": "شكرا! يمكنك إغلاق هذه الصفحة والعودة إلى المحادثة.",
        "hi": "धन्यवाद! आप यह पृष्ठ बंद करके चैट पर लौट सकते हैं।",
    },
    "form_closed": {
        "en": "This form is closed. Please go back to the chat.",
        "id": "Formulir ini sudah ditutup. Silakan kembali ke obrolan.",
        "es": "Este formulario está cerrado. Por favor, vuelva al chat.",
        "pt": "Este formulário está fechado. Por favor, volte à conversa.",
        "fr": "Ce formulaire est fermé. Merci de revenir à la conversation.",
        "de": "Dieses Formular ist geschlossen. Bitte kehren Sie zum Chat zurück.",
        "it": "Questo modulo è chiuso. Per favore, torni alla chat.",
        "nl": "Dit formulier is gesloten. Ga alstublieft terug naar de chat.",
        "tr": "Bu form kapandı. Lütfen sohbete dönün.", "ru": "Эта форма закрыта. Вернитесь, пожалуйста, в чат.",
        "ar": "هذا النموذج مغلق. من فضلك عد إلى المحادثة.", "hi": "यह फ़ॉर्म बंद है। कृपया चैट पर लौटें।",
    },
    "welcome": {
        "en": "You're welcome!", "id": "Sama-sama!", "es": "¡De nada!", "pt": "De nada!", "fr": "Avec plaisir !", "de": "Gern geschehen!",
        "it": "Prego!", "nl": "Graag gedaan!", "tr": "Rica ederim!", "ru": "Пожалуйста!", "ar": "على الرحب والسعة!", "hi": "आपका स्वागत है!",
    },
    "greeting": {
        "en": "Hello!", "id": "Halo!", "es": "¡Hola!", "pt": "Olá!", "fr": "Bonjour !", "de": "Hallo!", "it": "Salve!", "nl": "Hallo!",
        "tr": "Merhaba!", "ru": "Здравствуйте!", "ar": "مرحبا!", "hi": "नमस्ते!",
    },
    "smile": dict.fromkeys(("en", "id", "es", "pt", "fr", "de", "it", "nl", "tr", "ru", "ar", "hi"), "🙂"),
    "goodbye": {
        "en": "All right. See you!", "id": "Baik. Sampai jumpa!", "es": "De acuerdo. ¡Hasta luego!", "pt": "Certo. Até logo!", "fr": "D'accord. À bientôt !",
        "de": "In Ordnung. Bis bald!", "it": "Va bene. A presto!", "nl": "Oké. Tot ziens!", "tr": "Tamam. Görüşürüz!", "ru": "Хорошо. До встречи!",
        "ar": "حسنا. إلى اللقاء!", "hi": "ठीक है। फिर मिलेंगे!",
    },
    "praised": {
        "en": "Thank you! That is good to hear.", "id": "Terima kasih! Senang mendengarnya.", "es": "¡Gracias! Nos alegra saberlo.", "pt": "Obrigado! É bom saber disso.",
        "fr": "Merci ! Cela nous fait plaisir.", "de": "Danke! Das hören wir gern.", "it": "Grazie! Ci fa piacere.", "nl": "Dank u! Fijn om te horen.",
        "tr": "Teşekkürler! Bunu duymak güzel.", "ru": "Спасибо! Нам приятно это слышать.", "ar": "شكرا لك! يسعدنا سماع ذلك.", "hi": "धन्यवाद! यह सुनकर अच्छा लगा।",
    },
    "no_hurry": {
        "en": "No hurry, take your time.", "id": "Santai saja, tidak perlu terburu-buru.", "es": "Sin prisa, tómese su tiempo.", "pt": "Sem pressa, no seu tempo.",
        "fr": "Prenez votre temps.", "de": "Keine Eile, lassen Sie sich Zeit.", "it": "Con calma, faccia con comodo.", "nl": "Geen haast, neem rustig de tijd.",
        "tr": "Acele etmeyin.", "ru": "Не торопитесь.", "ar": "خذ وقتك.", "hi": "कोई जल्दी नहीं है।",
    },
    "about_bot": {
        "en": "This is {value}, an automatic assistant.", "id": "Ini {value}, asisten otomatis.", "es": "Soy {value}, un asistente automático.",
        "pt": "Aqui é {value}, um assistente automático.", "fr": "Ici {value}, un assistant automatique.", "de": "Hier ist {value}, ein automatischer Assistent.",
        "it": "Qui {value}, un assistente automatico.", "nl": "Dit is {value}, een automatische assistent.", "tr": "Burası {value}, otomatik bir asistan.",
        "ru": "Это {value}, автоматический помощник.", "ar": "هنا {value}، مساعد آلي.", "hi": "यह {value} है, एक स्वचालित सहायक।",
    },
    "can_write": {
        "en": "You can write: {choices}.", "id": "Anda bisa menulis: {choices}.", "es": "Puede escribir: {choices}.",
        "pt": "Pode escrever: {choices}.", "fr": "Vous pouvez écrire : {choices}.", "de": "Sie können schreiben: {choices}.",
        "it": "Può scrivere: {choices}.", "nl": "U kunt schrijven: {choices}.", "tr": "Şunları yazabilirsiniz: {choices}.",
        "ru": "Вы можете написать: {choices}.", "ar": "يمكنك أن تكتب: {choices}.", "hi": "आप लिख सकते हैं: {choices}।",
    },
    "open_until": {
        "en": "Now open until {value}.", "id": "Sekarang buka sampai {value}.", "es": "Ahora abierto hasta las {value}.",
        "pt": "Agora aberto até às {value}.", "fr": "Actuellement ouvert jusqu'à {value}.", "de": "Jetzt geöffnet bis {value}.",
        "it": "Ora aperto fino alle {value}.", "nl": "Nu open tot {value}.", "tr": "Şu anda açık, kapanış {value}.",
        "ru": "Сейчас открыто до {value}.", "ar": "مفتوح الآن حتى {value}.", "hi": "अभी {value} तक खुला है।",
    },
    "closed_until": {
        "en": "Closed now, open again: {value}.", "id": "Sekarang tutup, buka lagi: {value}.", "es": "Ahora cerrado, abre de nuevo: {value}.",
        "pt": "Agora fechado, abre de novo: {value}.", "fr": "Actuellement fermé, réouverture : {value}.",
        "de": "Jetzt geschlossen, wieder geöffnet: {value}.", "it": "Ora chiuso, riapre: {value}.", "nl": "Nu gesloten, weer open: {value}.",
        "tr": "Şu anda kapalı, yeniden açılış: {value}.", "ru": "Сейчас закрыто, снова откроется: {value}.",
        "ar": "مغلق الآن، يفتح مجددا: {value}.", "hi": "अभी बंद है, फिर खुलेगा: {value}।",
    },
}  # fmt: skip
"""By name, then by language. A title of a button has 20 characters at most."""

SORRY = {
    "en": "Sorry, I can't answer that right now.", "id": "Maaf, saya belum bisa menjawabnya sekarang.",
    "es": "Lo siento, ahora mismo no puedo responder.", "pt": "Desculpe, não consigo responder agora.",
    "fr": "Je ne peux malheureusement pas répondre pour le moment.", "de": "Entschuldigung, das kann ich gerade nicht beantworten.",
    "it": "Mi dispiace, in questo momento non posso rispondere.", "nl": "Sorry, daar kan ik nu geen antwoord op geven.",
    "tr": "Üzgünüm, şu anda buna yanıt veremiyorum.", "ru": "Извините, сейчас я не могу на это ответить.",
    "ar": "عذرا، لا أستطيع الإجابة عن ذلك الآن.", "hi": "क्षमा करें, अभी इसका उत्तर नहीं दिया जा सकता।",
}  # fmt: skip
"""The text that is sent when a model fails and the flow has no text for that.

A bot writes its own under `ai`, not `wordings`.
"""

TITLES = frozenset({
    "yes", "no", "none_of_these", "start_anew", "choose", "more", "back", "done", "form_send",
})  # fmt: skip
"""Wordings that are titles of buttons. The others may be as long as a message."""
_BUILT_IN = {**WORDINGS, "sorry": SORRY}
VALUES = {
    name: frozenset(value for _, value, _, _ in Formatter().parse(texts[ENGLISH]) if value is not None)
    for name, texts in _BUILT_IN.items()
}
"""The values in each wording, by their names."""


def wording(scope: Mapping[str, Any], name: str, **values: str) -> str:
    """The bot's own wording, else the built-in one in the contact's language or English. Raises `TemplateFailed`."""
    own = scope.get(OWN_WORDINGS, {}).get(name)
    if own is not None:
        text: str = own.render({**scope, **values})
        return text
    known = built_in(name, scope.get(CONTACT_LANGUAGE) or ENGLISH)
    return (known or _BUILT_IN[name][ENGLISH]).format(**values)


def built_in(name: str, language: str) -> str | None:
    """One of `OWN_WORDINGS`, or ``sorry``, as it is built in for a language, or for it without its country."""
    known = _BUILT_IN[name]
    return known.get(language) or known.get(without_country(language))


RIGHT_TO_LEFT = frozenset({"ar", "fa", "he", "ur"})
"""Languages that are written from right to left."""

CONTACT_LANGUAGE = " language"  # the contact's language as a code such as en or pt-BR; it may be missing


OWN_WORDINGS = " wordings"  # the bot's own wordings in place of the built-in ones, by name; it may be missing
