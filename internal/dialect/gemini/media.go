package gemini

import (
	"net/url"
	"path"
	"strings"
)

// mimeByName returns the media type of a file or a URL by its name; empty for an unknown one:
// https://ai.google.dev/gemini-api/docs/file-input-methods.
func mimeByName(name string) string {
	if isWeb(name) {
		u, err := url.Parse(name)
		if err != nil {
			return ""
		}
		name = u.Path
	}
	switch strings.ToLower(path.Ext(name)) {
	case ".png":
		return "image/png"
	case ".jpg", ".jpeg":
		return "image/jpeg"
	case ".webp":
		return "image/webp"
	case ".gif":
		return "image/gif"
	case ".heic":
		return "image/heic"
	case ".pdf":
		return mimePDF
	case ".txt", ".md":
		return mimeText
	case ".html", ".htm":
		return "text/html"
	case ".csv":
		return "text/csv"
	case ".json":
		return mimeJSON
	case ".mp3":
		return "audio/mp3"
	case ".wav":
		return "audio/wav"
	case ".mp4":
		return "video/mp4"
	}
	return ""
}

const mimePDF = "application/pdf"

// soundMIME returns the media type of a sound by OpenAI's name of its format.
func soundMIME(format string) string {
	switch format {
	case "":
		return "audio/wav"
	case "mpeg":
		return "audio/mp3"
	case "pcm16":
		return "audio/pcm"
	}
	return "audio/" + format
}
