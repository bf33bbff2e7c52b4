package callid

import (
	"encoding/hex"
	"hash/fnv"
	"strings"

	"weir/internal/llm"
)

// origin returns two letters for a provider, which distinguish most providers.
func origin(provider string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(provider)) // never fails
	return llm.Base62(h.Sum64(), originLength)
}

// Marks replace frequent parts of ids; "-" and two hexadecimal digits replace another byte.
const (
	nameMark      = "-n"
	functionsMark = "-s"
	dashMark      = "--"
	functions     = "functions." // Kimi's prefix of the name
)

// shortened encodes a provider's id of a call of the named function in letters, digits, "_" and "-".
func shortened(id, name string) string {
	var out strings.Builder
	for id != "" {
		switch c := id[0]; {
		case name != "" && strings.HasPrefix(id, name):
			out.WriteString(nameMark)
			id = id[len(name):]
			continue
		case strings.HasPrefix(id, functions):
			out.WriteString(functionsMark)
			id = id[len(functions):]
			continue
		case c == '-':
			out.WriteString(dashMark)
		case isWord(c):
			out.WriteByte(c)
		default:
			out.WriteString("-" + hex.EncodeToString([]byte{c}))
		}
		id = id[1:]
	}
	return out.String()
}

func isWord(c byte) bool { return c == '_' || strings.IndexByte(llm.Alphanumerics, c) >= 0 }

// lengthened reverses shortened.
func lengthened(short, name string) (string, bool) {
	var out strings.Builder
	for short != "" {
		switch {
		case short[0] != '-':
			out.WriteByte(short[0])
			short = short[1:]
			continue
		case strings.HasPrefix(short, dashMark):
			out.WriteByte('-')
		case strings.HasPrefix(short, nameMark):
			out.WriteString(name)
		case strings.HasPrefix(short, functionsMark):
			out.WriteString(functions)
		default:
			b, err := hex.DecodeString(short[1:min(3, len(short))])
			if err != nil || len(b) != 1 {
				return "", false
			}
			out.WriteByte(b[0])
			short = short[1:]
		}
		short = short[2:]
	}
	return out.String(), true
}
