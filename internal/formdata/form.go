// Package formdata reads forms (multipart/form-data, RFC 7578) without copying them.
package formdata

import (
	"bytes"
	"mime"
	"net/http"
	"strings"

	"weir/internal/llm"
)

// maxParts bounds the parts of a form.
const maxParts = 100

// Part is a part of a multipart/form-data body (RFC 7578), with the position of its content in the body.
type Part struct {
	Name    string
	IsFile  bool
	Content llm.Span
}

// Parts splits a body into its parts. It refuses unusual forms, because parsers read them differently and the provider
// must read the same parts. Errors are *llm.Error.
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

// boundaryOf returns the beginning of the lines between the parts of a form, with the characters of RFC 2046, section
// 5.1.1.
func boundaryOf(r *http.Request) ([]byte, error) {
	_, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	boundary := params["boundary"]
	odd := func(c rune) bool {
		return (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && !strings.ContainsRune(
			"'()+_,-./:=?", c)
	}
	if err != nil || boundary == "" || len(boundary) > 70 || strings.ContainsFunc(boundary, odd) {
		return nil, llm.Invalid("",
			"The content type of a form must name its boundary: multipart/form-data; boundary=...")
	}
	return []byte("--" + boundary), nil
}

func errForm() error {
	return llm.Invalid("", "The body is not a valid multipart/form-data form of at most 100 parts. Check that it is "+
		"complete, and that its boundary and other text appear only where they belong.")
}
