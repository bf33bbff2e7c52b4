package rawjson

import "bytes"

// AppendWithoutNull appends text, in which JSON stands, without the members of that name whose value is null. It builds
// nothing: a quote within a string of JSON stands behind a backslash, so that the name in quotes is a member's where a
// colon follows it.
func AppendWithoutNull(dst, text []byte, quoted string) []byte {
	name := quoted[1:] // which begins with a rarer byte
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

// nullMember is where a member begins and ends, with the comma before it or else behind it, whose name stands at text[i:j]
// and whose value is null. Of another one it is j twice.
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
