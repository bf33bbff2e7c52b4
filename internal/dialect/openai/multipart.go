package openai

import (
	"bytes"
	"mime"
	"net/http"
	"strings"

	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// maxParts bounds the parts of a form.
const maxParts = 100

// formPart is a part of a multipart/form-data body (RFC 7578), and where its
// content stands in it.
type formPart struct {
	name    string
	isFile  bool
	content llm.Span
}

// form parts a body. Parsers differ in what they make of a form that is out of
// the ordinary, and what this one reads must be what a provider obeys: such a
// form is refused. Errors are *llm.Error.
func form(body []byte, r *http.Request) ([]formPart, error) {
	boundary, err := boundaryOf(r)
	if err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(body, boundary) {
		return nil, errForm()
	}
	delimiter := append([]byte("\r\n"), boundary...)
	var parts []formPart
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
		p.content = llm.Span{Start: start, End: start + length}
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

// scanForm reads the head of a form, and hands the other fields and the files
// on. A field that is acted on may stand only once.
func scanForm(body []byte, r *http.Request, read func(h *llm.Head, p formPart, content []byte) error) (llm.Head,
	error,
) {
	parts, err := form(body, r)
	if err != nil {
		return llm.Head{}, err
	}
	h := llm.Head{Choices: 1}
	seen := map[string]bool{}
	for _, p := range parts {
		content := body[p.content.Start:p.content.End]
		if err := checkField(&p, seen); err != nil {
			return llm.Head{}, err
		}
		if err := scanPart(&h, p, content); err != nil {
			return llm.Head{}, err
		}
		if err := read(&h, p, content); err != nil {
			return llm.Head{}, err
		}
		known := formWords.Has(p.name) || p.name == "n" && h.Choices > 1
		if !p.isFile && !known && parse.IsMore(p.name, string(content)) {
			h.Unknown = p.name
		}
	}
	return h, nil
}

// formWords are the fields of forms that say how to make images and transcripts, and not of
// what or how many, and those whose number or length the scan has read.
var formWords = rawjson.Names{
	"model", "prompt", "stream", "size", "resolution", "quality", "seed", "output_compression", "partial_images",
	"language",
	"temperature", "chunking_strategy", "timestamp_granularities[]", "include[]", "known_speaker_names[]",
	"known_speaker_references[]",
}

// formFields are the fields of forms that are acted on, and whether they are
// files.
var formFields = map[string]bool{
	"model": false, "stream": false, "n": false, "size": false, "quality": false,
	"resolution": false, "file": true,
}

// checkField refuses a field that is acted on where it may be taken for another
// one or another for it: frameworks read "model[]" as a model, too.
func checkField(p *formPart, seen map[string]bool) error {
	name, _, _ := strings.Cut(strings.ToLower(p.name), "[")
	isFile, acted := formFields[name]
	switch {
	case !acted:
	case name != p.name || seen[name]:
		return llm.Invalid(name, "The field "+name+" stands twice, or in another spelling.")
	case isFile && !p.isFile:
		return llm.Invalid(name, "The field "+name+" must be a file, with a filename.")
	case !isFile && p.isFile:
		return llm.Invalid(name, "The field "+name+" must be no file: leave the filename out.")
	}
	seen[name] = true
	return nil
}

func scanPart(h *llm.Head, p formPart, content []byte) (err error) {
	switch {
	case p.isFile:
	case p.name == "model":
		h.Model, h.ModelSpan = string(content), p.content
		if h.Model == "" {
			err = llm.Invalid("model", "The model must be a non-empty string.")
		}
	case p.name == "stream":
		if h.Stream = string(content) == "true"; !h.Stream && string(content) != "false" {
			err = llm.Invalid("stream", "The stream must be true or false.")
		}
	}
	return err
}

// SpliceForm is Splice for a form: the model's name alone changes. A form
// without a model gets one as its first part.
func SpliceForm(dst, body []byte, h *llm.Head, s llm.Splice, _ *llm.Quirks) []byte {
	if h.ModelSpan.Present() {
		dst = append(append(dst, body[:h.ModelSpan.Start]...), s.Model...)
		return append(dst, body[h.ModelSpan.End:]...)
	}
	line, _, _ := bytes.Cut(body, []byte("\r\n"))
	dst = append(append(dst, line...), "\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\n"...)
	return append(append(append(dst, s.Model...), "\r\n"...), body...)
}
