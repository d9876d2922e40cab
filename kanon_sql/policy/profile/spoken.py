r"""How people, streets, places and sentences are written in English, German and Chinese, and partly in other languages.

Regular expressions for ``patterns``, of whole values in any case, without classes such as ``\d``.

Sources: the given names that were most frequent in the USA and in Germany in the last century, without those that
are towns, countries or other words too; the 120 most frequent family names of China and the usual ones of two
characters (Ministry of Public Security, name report of 2020).
"""

from __future__ import annotations

_HAN = "[一-鿿]"
_GIVEN_NAMES = """
aaron adam alan albert alexander alexandra ali alice alina amanda amy ana andrea andreas andrew angela angelika anja
anke ann anna anne anthony antonio arthur ashley barbara benjamin bernd betty birgit brandon brenda brian brigitte
bryan carl carlos carmen carol carolyn catherine charles cheryl chloe christa christina christine christopher claire
claudia cynthia daniel daniela david debra deborah dennis diane dieter dirk donald donna douglas dylan edward elena
elizabeth elke emily emma eric ethan eva evelyn fabian fatima felix fernando finn florian francesco françois frieda
gabriele gary george gerald gerhard gisela giovanni giuseppe greta gregory günter guenter günther hannah hans harold
harry heather heike heinz helen helga helmut henry holger horst ingrid isabelle ivan jack jacob jacqueline jacques
james jan jana janet janice jason javier jean jeffrey jennifer jens jeremy jerry jesse jessica joan johanna johannes
john jonas jonathan jorge jörg joerg josé joseph joshua joyce juan judith jürgen juergen julia julian julie justin
kai karen karin katharina katherine kathleen kathryn katrin kathrin keith kelly kenneth kerstin kevin kimberly klaus
kyle lara larry laura lauren lawrence lea lena leon leonie linda lisa luca lucy luis lukas manfred manuel marco
margaret maria marie mariam markus martha martin martina mary matthew matthias megan mehmet melanie melissa mia michael
michel michelle miguel mohamed mohammed monika moritz muhammad mustafa nancy natalia nathalie nathan nicholas nicole
niklas noah olaf olga oliver olivia pamela patricia patrick paul pedro peter petra philipp philippe pierre rachel
rainer ralf raymond rebecca renate richard robert roger ronald ruth ryan sabine samantha samuel sandra sara sarah
scott sean sebastian sergei sharon shirley silke simon sofía sophia sophie stefan stefanie stephan stephanie stephen
steven susan susanne sven tanja teresa thomas tim timothy tobias torsten thorsten tyler ursula uwe walter werner
william wolfgang zachary
"""
_FAMILY_NAMES_OF_CHINA = (
    "王李张刘陈杨黄赵吴周徐孙马朱胡郭何林高罗郑梁谢宋唐许韩邓冯曹彭曾肖田董潘袁蔡蒋余于杜叶程魏苏吕丁任卢姚沈钟姜崔谭陆范汪廖石"
    "金韦贾夏付方邹熊白孟秦邱侯江尹薛闫段雷龙黎史陶贺毛郝顾龚邵万覃武钱戴严莫孔向常汤康易乔赖文樊兰殷施洪翟安颜倪"
)
_TWO_CHARACTERS = "欧阳|司马|上官|诸葛|东方|皇甫|尉迟|公孙|慕容|令狐|司徒|夏侯|端木|宇文|南宫"

GIVEN_NAME = f"(.*[ ,.;/-])?({'|'.join(_GIVEN_NAMES.split())})([ ,.;/-].*)?"
"""A given name, alone or beside other words."""

CHINESE_NAME = f"([{_FAMILY_NAMES_OF_CHINA}]|{_TWO_CHARACTERS})[一-鿿*＊][一-鿿*＊]?(先生|女士|小姐|医生|老师)?"
"""A frequent family name, and one or two characters."""

_STREETS = (
    "street|st|avenue|ave|road|rd|lane|ln|drive|dr|boulevard|blvd|court|ct|way|place|pl|terrace|square|sq|parkway|pkwy"
    "|highway|hwy|close|crescent|circle|cir|row|mews|grove|gardens|hill|walk|broadway|trail|alley|plaza"
)
_STRASSEN = (
    "straße|strasse|str\\.|str|weg|platz|allee|gasse|ring|damm|ufer|chaussee|steig|stieg|pfad|hof|markt|berg|graben"
    "|wall|brücke|garten|park|anger|kamp|twiete|promenade"
)
_BEFORE_STREETS = (
    "am|an de[rnm]|auf de[rm]|im|in de[rn]|unter de[rn]|zu[mr]|zu den|bei de[rnm]|beim|hinter de[rm]|vor de[rm]"
)
_RUES = (
    "rue|avenue|av\\.|boulevard|bd|place|chemin|impasse|allée|quai|calle|c/|avenida|avda\\.?|plaza|paseo|via|viale"
    "|piazza|corso|rua|travessa|straat"
)
_ROADS_OF_CHINA = "路|街|道|巷|弄|村|里|胡同|镇|乡|园|苑|小区|区|市|县"
_NUMBER = "[0-9]{1,5} ?[a-z]?(-[0-9]{1,5})?"
ADDRESS = "|".join(
    (
        f"([^,]{{1,25}}, ?)?{_NUMBER},? ([a-z0-9.'-]+ ){{1,5}}({_STREETS})\\.?([ ,].*)?",
        f"([a-z.'-]+ ){{1,4}}({_STREETS})\\.?,? {_NUMBER}([ ,].*)?",
        "p\\.? ?o\\.? box [0-9]+.*",
        f"[a-zäöüß.' -]{{2,40}}({_STRASSEN}) ?{_NUMBER}([ ,/].*)?",
        f"({_BEFORE_STREETS}) [a-zäöüß.' -]{{2,40}} {_NUMBER}([ ,/].*)?",
        f"{_NUMBER},? ?(bis|ter)?,? ?({_RUES}) .{{3,}}",
        f"({_RUES}) [^0-9]{{3,40}},? ?(n[º°o]?\\.? ?)?{_NUMBER}([ ,].*)?",
        f".*{_HAN}({_ROADS_OF_CHINA}).*[0-9０-９一二三四五六七八九十]+ ?(号|弄|栋|幢|室|单元|楼|组|层|座|户).*",
    )
)
"""A street with a house number, in either order."""

_AXIS = "[nsewo]? ?[-+]?[0-9]{1,3}\\.[0-9]{3,} ?°? ?[nsewo]?"
_DEGREES = "[0-9]{1,3}(\\.[0-9]+)? ?°"
COORDINATES = "|".join(
    (
        f"(point ?)?\\(?{_AXIS}[,;/ ] ?{_AXIS}\\)?",
        f"[nsewo]? ?{_DEGREES}.*[nsewo].*",
        f"[nsewo] ?{_DEGREES}.*",
        "(东经|西经|北纬|南纬).*[0-9].*",
        "[23456789cfghjmpqrvwx]{4,8}\\+[23456789cfghjmpqrvwx]{2,3}",
        "///[^. ]+\\.[^. ]+\\.[^. ]+",
    )
)
"""A latitude and a longitude, or one of them with its direction; an Open Location Code; three words."""

COORDINATE = "-?(1[0-7][0-9]|[1-9][0-9]?)\\.[0-9]{4,}"
"""A number that may be a latitude or a longitude, to about ten metres; shares are not, being smaller than 1."""

SENTENCE = "|".join(
    (
        "(\\S+\\s+){5,}\\S+",
        f".*{_HAN}{{3,}}[，。；！？,;].{{4,}}",
        f"{_HAN}.{{14,}}",
    )
)
"""Six words, or as many characters as say as much."""
