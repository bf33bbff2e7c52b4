package parse

import "strings"

// mediaTypes are other names of media types, by the registered one
// (https://www.iana.org/assignments/media-types, and RFC 2046 for the "x-" of types that were not registered).
var mediaTypes = map[string]string{
	"image/jpg": "image/jpeg", "image/pjpeg": "image/jpeg", "image/jpe": "image/jpeg", "image/x-jpeg": "image/jpeg",
	"image/x-png": "image/png", "image/x-webp": "image/webp",
	"audio/x-wav": "audio/wav", "audio/wave": "audio/wav", "audio/vnd.wave": "audio/wav", "audio/x-pn-wav": "audio/wav",
	"audio/mp3": "audio/mpeg", "audio/x-mp3": "audio/mpeg", "audio/x-mpeg": "audio/mpeg", "audio/mpeg3": "audio/mpeg",
	"audio/x-flac":      "audio/flac",
	"application/x-pdf": "application/pdf", "text/x-markdown": "text/markdown",
}

// MediaType is a media type by its registered name, in lower case. Of an image and a PDF the parameters go, which say
// nothing; those of a text may say its charset, those of a sound its rate.
func MediaType(s string) string {
	kind, parameters, has := strings.Cut(s, ";")
	kind = strings.ToLower(strings.TrimSpace(kind))
	if name, is := mediaTypes[kind]; is {
		kind = name
	}
	if has && kind != "application/pdf" && !strings.HasPrefix(kind, "image/") {
		return kind + ";" + parameters
	}
	return kind
}
