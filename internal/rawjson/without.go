package rawjson

import "bytes"

// AppendWithoutNull appends text, which contains JSON, without members of that name with the value null. It does not
// parse the text: a quote within a JSON string is escaped, so the quoted name belongs to a member if a colon follows
// it.
func AppendWithoutNull(dst, text []byte, quoted string) []byte {
	name := quoted[1:] // the rest begins with a rarer byte
	for {
		i := bytes.Index(text, []byte(name)) - 1
		if i < 0 {
			return append(dst, text...)
		}
		from, to := nullMember(text, i, i+len(quoted))
		dst = append(dst, text[:from]...)
		text = text[to:]
	}
}

// nullMember returns the start and end of the member with its name at text[i:j] and the value null, including the comma
// before or else after it. For another member it returns j twice.
func nullMember(text []byte, i, j int) (from, to int) {
	colon := skipSpace(text, j)
	if text[i] != '"' || colon == len(text) || text[colon] != ':' {
		return j, j
	}
	null := skipSpace(text, colon+1)
	if !bytes.HasPrefix(text[null:], []byte("null")) {
		return j, j
	}
	before := len(bytes.TrimRight(text[:i], " \t\r\n"))
	if before > 0 && text[before-1] == ',' {
		return before - 1, null + len("null")
	}
	end := skipSpace(text, null+len("null"))
	if end < len(text) && text[end] == ',' {
		end++
	}
	return i, end
}
