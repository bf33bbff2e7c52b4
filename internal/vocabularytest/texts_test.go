package vocabularytest_test

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
	"unicode"
)

// sentences has texts of many scripts, some composed and some not.
var sentences = []string{
	"All human beings are born free and equal in dignity and rights. ", "Все люди рождаются свободными и равными в своём достоинстве. ",
	"人人生而自由，在尊严和权利上一律平等。", "すべての人間は、生れながらにして自由であり、かつ、尊厳と権利とについて平等である。",
	"모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다. ", "يولد جميع الناس أحرارًا متساوين في الكرامة والحقوق. ",
	"सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता और समानता प्राप्त है। पढ़ाई बड़ी ", "সমস্ত মানুষ স্বাধীনভাবে সমান মর্যাদা এবং অধিকার নিয়ে জন্মগ্রহণ করে। ",
	"มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์และสิทธิ ", "Tất cả mọi người sinh ra đều được tự do và bình đẳng về nhân phẩm. ",
	"Tất cả mọi người", "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια. ",
	"כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם. שׁלוֹם ", "ყველა ადამიანი იბადება თავისუფალი და თანასწორი. ", "Բոլոր մարդիկ ծնվում են ազատ ու հավասար. ",
	"ሰዎች ሁሉ ነጻ ሆነው በክብርና በመብት እኩል ሆነው ተወልደዋል። ", "ᏂᎦᏓ ᎠᏂᏴᏫ ᏂᎨᎫᏓᎸᎾ ", "އެންމެހައި އިންސާނުން ", "༄༅ འགྲོ་བ་མིའི་རིགས་ ", "မင်္ဂလာပါ ", "ខ្មែរ មនុស្សទាំងអស់ ", "ꦱꦧꦼꦤ꧀ ",
}

// texts generates the classes of texts that people and programs send, of about size bytes each.
func texts(random *rand.Rand, size int) map[string]string {
	pick := func(n int, one func() string) string {
		var b strings.Builder
		for b.Len() < n {
			b.WriteString(one())
		}
		return b.String()
	}
	raw := make([]byte, size/2)
	for i := range raw {
		raw[i] = byte(random.Uint32())
	}
	emoji := []string{"😀", "👩‍👩‍👧‍👦", "🇩🇪", "❤️", "🏳️‍🌈", "👍🏽", "🫠"}
	code := []string{"for (int i = 0; i < n; i++) {\n\t", "if err != nil {\n\t\treturn err\n\t}\n", "    def f(self, x: int) -> 'str':\n", "<div class=\"a\">", "SELECT * FROM t WHERE a<>'b';\n", "x &&= y || !z;\r\n", "#include <stdio.h>\n", "}\n\n\n"}
	some := func(list []string) func() string { return func() string { return list[random.IntN(len(list))] } }
	named := map[string]string{
		"languages": pick(size, some(sentences)), "code": pick(size, some(code)), "emoji": pick(size, some(emoji)),
		"base64": base64.StdEncoding.EncodeToString(raw), "hex": hex.EncodeToString(raw),
		"digits":      pick(size, func() string { return fmt.Sprint(random.Uint64()) }),
		"digits, few": pick(size, func() string { return fmt.Sprint(random.IntN(10), " ") }),
		"logs": pick(size, func() string {
			return fmt.Sprintf("2026-11-%02dT%02d:00:00.%06dZ INFO [req-%08x] GET /v1/x?y=%d 200 %dms\n", random.IntN(28)+1, random.IntN(24), random.IntN(1e6), random.Uint32(), random.IntN(99), random.IntN(999))
		}),
		"delete": strings.Repeat("\x7f", size), "delete and words": pick(size, some([]string{"\x7f", "a", " ", "word"})),
		"white space": pick(size, some([]string{" ", "\n", "\t", "\r\n", "  ", "\u00a0", "\u3000", "\u2028", "\v", "\ufeff", "\u0085"})),
		"one space":   strings.Repeat(" ", size), "line breaks": strings.Repeat("\n", size), "tabs": strings.Repeat("\t", size),
		"NFC, Qwen": strings.Repeat("\U0001d160", size/4), "NFKC, Claude": strings.Repeat("\ufdfa", size/3), "marks": strings.Repeat("\u01df\u0323", size/4),
		"signs":                  pick(size, func() string { return string(rune('!' + random.IntN(94))) }),
		"quotes and backslashes": pick(size, some([]string{`"`, `\`, "\n", `\"`, "),", ";\n"})),
		// one token in one vocabulary, and one for each letter in another
		"split words": pick(size, some([]string{".rmi", "#+", " oqo", "wjgl", "fyrwyr", "~-", ";?#", "_IRQn", " +#+#+#+#+#+"})),
		"code points": pick(size, func() string { return string(random.Int32N(0x30000)) }),
	}
	for name, text := range named {
		named[name] = strings.ToValidUTF8(text, "")
	}
	return named
}

// runs returns each character of ASCII, and pairs of them, repeated.
func runs(random *rand.Rand, pairs int) (list []string) {
	for r := rune(0); r < unicode.MaxASCII+1; r++ {
		list = append(list, strings.Repeat(string(r), 120))
	}
	for range pairs {
		a, b := rune(' '+random.IntN(95)), rune(' '+random.IntN(95))
		list = append(list, strings.Repeat(string([]rune{a, b}), 60))
	}
	return list
}

// codePoints returns all characters, in pieces: once each, and twice in a row except for those of the largest scripts.
func codePoints() (list []string) {
	const size = 600
	var once, often strings.Builder
	for r := rune(0x80); r < 0xf0000; r++ {
		if !unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Z, unicode.Cc, unicode.Cf) {
			continue
		}
		once.WriteRune(r)
		if !unicode.In(r, unicode.Han, unicode.Hangul, unicode.Tangut, unicode.Egyptian_Hieroglyphs, unicode.Cuneiform) {
			often.WriteString(strings.Repeat(string(r), 2))
		}
		for _, b := range []*strings.Builder{&once, &often} {
			if b.Len() >= size {
				list = append(list, b.String())
				b.Reset()
			}
		}
	}
	return append(list, once.String(), often.String())
}
