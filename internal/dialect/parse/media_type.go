package parse

import "strings"

// mediaTypes maps aliases of media types to the registered names (https://www.iana.org/assignments/media-types, and
// RFC 2046 for "x-" of unregistered types).
var mediaTypes = map[string]string{
	"image/jpg": "image/jpeg", "image/pjpeg": "image/jpeg", "image/jpe": "image/jpeg", "image/x-jpeg": "image/jpeg",
	"image/x-png": "image/png", "image/x-webp": "image/webp",
	"audio/x-wav": "audio/wav", "audio/wave": "audio/wav", "audio/vnd.wave": "audio/wav", "audio/x-pn-wav": "audio/wav",
	"audio/mp3": "audio/mpeg", "audio/x-mp3": "audio/mpeg", "audio/x-mpeg": "audio/mpeg", "audio/mpeg3": "audio/mpeg",
	"audio/x-flac":      "audio/flac",
	"application/x-pdf": "application/pdf", "text/x-markdown": "text/markdown",
}

// MediaType returns the registered name of a media type, in lower case. It drops the parameters of images and PDFs,
// which have no meaning; parameters of text may give a charset, those of audio a rate.
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
