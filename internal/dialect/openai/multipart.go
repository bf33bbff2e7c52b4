package openai

import (
	"bytes"
	"mime"
	"net/http"
	"strings"

	"weir/internal/llm"
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

// form parts a body. Errors are *llm.Error.
func form(body []byte, r *http.Request) ([]formPart, error) {
	_, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	boundary := params["boundary"]
	if err != nil || boundary == "" || len(boundary) > 70 {
		return nil, llm.Invalid("", "The content type of a form names its boundary: multipart/form-data; boundary=...")
	}
	delimiter := []byte("\r\n--" + boundary)
	at := 0
	if bytes.HasPrefix(body, delimiter[2:]) {
		at = len(delimiter) - 2
	} else if at = bytes.Index(body, delimiter) + len(delimiter); at < len(delimiter) {
		return nil, errForm()
	}
	var parts []formPart
	for !bytes.HasPrefix(body[at:], []byte("--")) {
		head := bytes.Index(body[at:], []byte("\r\n\r\n"))
		if head < 0 || len(parts) == maxParts {
			return nil, errForm()
		}
		start := at + head + len("\r\n\r\n")
		length := bytes.Index(body[start:], delimiter)
		if length < 0 {
			return nil, errForm()
		}
		p := disposition(string(body[at:start]))
		p.content = llm.Span{Start: start, End: start + length}
		parts = append(parts, p)
		at = start + length + len(delimiter)
	}
	return parts, nil
}

func errForm() error {
	return llm.Invalid("", "The body is not a form of at most 100 parts as multipart/form-data, or breaks off before its end.")
}

// disposition reads what a part is from its head.
func disposition(head string) (p formPart) {
	for line := range strings.Lines(head) {
		name, value, ok := strings.Cut(line, ":")
		if !ok || !strings.EqualFold(strings.TrimSpace(name), "Content-Disposition") {
			continue
		}
		if _, params, err := mime.ParseMediaType(strings.TrimSpace(value)); err == nil {
			_, p.isFile = params["filename"]
			p.name = params["name"]
		}
	}
	return p
}

// scanForm reads the head of a form, and hands the other fields and the files
// on. A field that is acted on may stand only once.
func scanForm(body []byte, r *http.Request, read func(h *llm.Head, p formPart, content []byte) error) (llm.Head, error) {
	parts, err := form(body, r)
	if err != nil {
		return llm.Head{}, err
	}
	h := llm.Head{Choices: 1}
	seen := map[string]bool{}
	for _, p := range parts {
		content := body[p.content.Start:p.content.End]
		if name := strings.ToLower(p.name); !p.isFile && formFields[name] {
			if name != p.name || seen[name] {
				return llm.Head{}, llm.Invalid(name, "The field "+name+" stands twice, or in another case.")
			}
			seen[name] = true
		}
		if err := scanPart(&h, p, content); err != nil {
			return llm.Head{}, err
		}
		if err := read(&h, p, content); err != nil {
			return llm.Head{}, err
		}
	}
	return h, nil
}

// formFields are the fields of forms that are acted on.
var formFields = map[string]bool{"model": true, "stream": true, "n": true}

func scanPart(h *llm.Head, p formPart, content []byte) (err error) {
	switch {
	case p.isFile:
	case p.name == "model":
		h.Model, h.ModelSpan = string(content), p.content
		if h.Model == "" {
			err = llm.Invalid("model", "The model must be a non-empty string.")
		}
	case p.name == "stream":
		h.Stream = string(content) == "true"
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
	at := bytes.Index(body, []byte("--"))
	line, _, _ := bytes.Cut(body[at:], []byte("\r\n"))
	dst = append(append(dst, body[:at]...), line...)
	dst = append(append(dst, "\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\n"...), s.Model...)
	return append(append(dst, "\r\n"...), body[at:]...)
}
