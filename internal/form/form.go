// Package form reads forms (multipart/form-data, RFC 7578) without copying them.
package form

import (
	"bytes"
	"mime"
	"net/http"
	"strings"

	"weir/internal/llm"
)

// maxParts bounds the parts of a form.
const maxParts = 100

// Part is a part of a multipart/form-data body (RFC 7578), and where its
// content stands in it.
type Part struct {
	Name    string
	IsFile  bool
	Content llm.Span
}

// Parts parts a body. Parsers differ in what they make of a form that is out of
// the ordinary, and what this one reads must be what a provider obeys: such a
// form is refused. Errors are *llm.Error.
func Parts(body []byte, r *http.Request) ([]Part, error) {
	boundary, err := boundaryOf(r)
	if err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(body, boundary) {
		return nil, errForm()
	}
	delimiter := append([]byte("\r\n"), boundary...)
	var parts []Part
	at := len(boundary)
	for bytes.HasPrefix(body[at:], []byte("\r\n")) {
		start := at + len("\r\n")
		head := bytes.Index(body[start:], []byte("\r\n\r\n"))
		if head < 0 || len(parts) == maxParts {
			return nil, errForm()
		}
		p, err := partHead(string(body[start : start+min(head, maxHead+1)]))
		if err != nil {
			return nil, err
		}
		start += head + len("\r\n\r\n")
		length := bytes.Index(body[start:], delimiter)
		if length < 0 {
			return nil, errForm()
		}
		p.Content = llm.Span{Start: start, End: start + length}
		parts = append(parts, p)
		at = start + length + len(delimiter)
	}
	end := string(body[at:])
	if end != "--" && end != "--\r\n" || bytes.Count(body, boundary) != len(parts)+1 {
		return nil, errForm()
	}
	return parts, nil
}

// boundaryOf is what the lines between the parts of a form begin with, of the
// characters of RFC 2046, section 5.1.1.
func boundaryOf(r *http.Request) ([]byte, error) {
	_, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	boundary := params["boundary"]
	odd := func(c rune) bool {
		return (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && !strings.ContainsRune(
			"'()+_,-./:=?", c)
	}
	if err != nil || boundary == "" || len(boundary) > 70 || strings.ContainsFunc(boundary, odd) {
		return nil, llm.Invalid("", "The content type of a form names its boundary: multipart/form-data; boundary=...")
	}
	return []byte("--" + boundary), nil
}

func errForm() error {
	return llm.Invalid("", "The body is not a form of at most 100 parts as multipart/form-data, breaks off before "+
		"its end, or has its boundary or something else where none belongs.")
}
