package openai

import (
	"bytes"
	"net/http"
	"strings"

	"weir/internal/dialect/parse"
	"weir/internal/formdata"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// scanForm reads the head of a form, and passes other fields and files to read. A field that the gateway reads may
// occur only once.
func scanForm(body []byte, r *http.Request, read func(h *llm.Head, p formdata.Part, content []byte) error) (llm.Head,
	error,
) {
	parts, err := formdata.Parts(body, r)
	if err != nil {
		return llm.Head{}, err
	}
	h := llm.Head{Choices: 1}
	seen := map[string]bool{}
	for _, p := range parts {
		content := body[p.Content.Start:p.Content.End]
		if err := checkField(&p, seen); err != nil {
			return llm.Head{}, err
		}
		if err := scanPart(&h, p, content); err != nil {
			return llm.Head{}, err
		}
		if err := read(&h, p, content); err != nil {
			return llm.Head{}, err
		}
		known := formWords.Has(p.Name) || p.Name == "n" && h.Choices > 1
		if !p.IsFile && !known && parse.IsMore(p.Name, string(content)) {
			h.Unknown = p.Name
		}
	}
	return h, nil
}

// formWords are the fields of forms that control how images and transcripts are made, not their content or number, and
// fields with a number or length that the scan has read.
var formWords = rawjson.Names{
	"model", "prompt", "stream", "size", "resolution", "quality", "seed", "output_compression", "partial_images",
	"language", "user", "safety_identifier",
	"temperature", "chunking_strategy", "timestamp_granularities[]", "include[]", "known_speaker_names[]",
	"known_speaker_references[]",
}

// formFields are the fields of forms that the gateway reads; true for files.
var formFields = map[string]bool{
	"model": false, "stream": false, "n": false, "size": false, "quality": false,
	"resolution": false, "file": true,
}

// checkField refuses a field that could be confused with one that the gateway reads: frameworks read "model[]" as a
// model, too.
func checkField(p *formdata.Part, seen map[string]bool) error {
	name, _, _ := strings.Cut(strings.ToLower(p.Name), "[")
	isFile, acted := formFields[name]
	switch {
	case !acted:
	case name != p.Name || seen[name]:
		return llm.Invalid(name, "The field "+name+" occurs twice or in another spelling. Send it once.")
	case isFile && !p.IsFile:
		return llm.Invalid(name, "The field "+name+" must be a file. Send it with a filename.")
	case !isFile && p.IsFile:
		return llm.Invalid(name, "The field "+name+" must not be a file. Leave the filename out.")
	}
	seen[name] = true
	return nil
}

func scanPart(h *llm.Head, p formdata.Part, content []byte) (err error) {
	switch {
	case p.IsFile:
	case p.Name == "model":
		h.Model, h.ModelSpan = string(content), p.Content
		if h.Model == "" {
			err = llm.Invalid("model", "The model must be a non-empty string.")
		}
	case p.Name == "stream":
		if h.Stream = string(content) == "true"; !h.Stream && string(content) != "false" {
			err = llm.Invalid("stream", "The stream must be true or false.")
		}
	case len(content) == 0:
	case p.Name == "safety_identifier", p.Name == "user" && !h.UserSpan.Present(): // as in JSON: see ScanAttribution
		h.UserSpan = p.Content
	}
	return err
}

// SpliceForm implements Splice for a form: it changes only the model's name. A form without a model gets one as its
// first part.
func SpliceForm(dst, body []byte, h *llm.Head, s llm.Splice, _ *llm.Quirks) []byte {
	if h.ModelSpan.Present() {
		dst = append(append(dst, body[:h.ModelSpan.Start]...), s.Model...)
		return append(dst, body[h.ModelSpan.End:]...)
	}
	line, _, _ := bytes.Cut(body, []byte("\r\n"))
	dst = append(append(dst, line...), "\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\n"...)
	return append(append(append(dst, s.Model...), "\r\n"...), body...)
}
