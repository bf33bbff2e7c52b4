package formdata

import (
	"regexp"
	"strings"
	"sync"

	"weir/internal/llm"
)

// maxHead bounds the head of a part, in bytes.
const maxHead = 8 << 10

// Expressions are compiled for the first form, because a gateway without forms starts sooner without them.
var (
	// headField matches a line of a head (RFC 9112, section 5) that is not folded.
	headField = expression(`^([A-Za-z0-9-]+):[ \t]*([^\x00-\x08\x0a-\x1f\x7f]*)$`)
	// parameter matches a parameter of Content-Disposition (RFC 7578, section 4.2), with or without quotes. Escapes are
	// not allowed, because parsers interpret them differently.
	parameter = expression(`^[ \t]*;[ \t]*(name|filename|filename\*)=(?:"([^"\\]*)"|([^"\\;,\s]+))[ \t]*`)
	// fieldName matches the name of a field.
	fieldName = expression(`^[A-Za-z0-9._-]+(\[[A-Za-z0-9._-]*\])*$`)
)

func expression(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// partHead reads the head of a part. It accepts only heads that every parser reads in the same way. Errors are
// *llm.Error.
func partHead(head string) (p Part, err error) {
	if len(head) > maxHead {
		return p, errHead()
	}
	disposed := false
	for line := range strings.SplitSeq(head, "\r\n") {
		field := headField().FindStringSubmatch(line)
		if field == nil {
			return p, errHead()
		}
		switch name, value := strings.ToLower(field[1]), field[2]; {
		case name == "content-transfer-encoding" && !isPlain(value):
			return p, errHead()
		case name != "content-disposition":
		case disposed:
			return p, errHead()
		default:
			disposed = true
			if p, err = disposition(value); err != nil {
				return p, err
			}
		}
	}
	if !disposed {
		return p, errHead()
	}
	return p, nil
}

// isPlain reports whether a transfer encoding leaves the content unchanged.
func isPlain(encoding string) bool {
	switch strings.ToLower(strings.TrimSpace(encoding)) {
	case "binary", "8bit", "7bit":
		return true
	}
	return false
}

// disposition reads the name of a part, and whether the part is a file.
func disposition(value string) (p Part, err error) {
	const kind = "form-data"
	if len(value) < len(kind) || !strings.EqualFold(value[:len(kind)], kind) {
		return p, errHead()
	}
	seen := map[string]bool{}
	for rest := value[len(kind):]; rest != ""; {
		m := parameter().FindStringSubmatch(rest)
		if m == nil || seen[m[1]] {
			return p, errHead()
		}
		seen[m[1]] = true
		if m[1] == "name" {
			p.Name = m[2] + m[3]
		}
		rest = rest[len(m[0]):]
	}
	p.IsFile = seen["filename"] || seen["filename*"]
	if !fieldName().MatchString(p.Name) {
		return p, errHead()
	}
	return p, nil
}

func errHead() error {
	return llm.Invalid("", `A part of the form has an invalid head. Each part needs one line such as `+
		`Content-Disposition: form-data; name="model", and for a file filename="...", without escapes, encodings or `+
		`line folding. A name may contain letters, digits, "_", "-", "." and brackets.`)
}
