package dashboard

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"maps"
	"net/http"
	"path"
	"slices"

	"weir/internal/people"
)

//go:embed assets pages parts
var files embed.FS

// styleSheet is the name of the combined style sheet, in the order of the files' names.
const styleSheet = "weir.css"

// assets holds the files that pages load. Their path contains a hash of all of them, so that browsers may cache them
// for ever and modules can import each other by relative paths.
type assets struct {
	content map[string][]byte // by name
	hash    string
}

func readAssets() (*assets, error) {
	a := &assets{content: map[string][]byte{}}
	sheets, err := fs.Glob(files, "assets/css/*.css")
	if err != nil {
		return nil, err
	}
	var style bytes.Buffer
	for _, name := range sheets {
		text, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		style.Write(text)
	}
	a.content[styleSheet] = style.Bytes()
	entries, err := files.ReadDir("assets")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		if a.content[e.Name()], err = files.ReadFile(path.Join("assets", e.Name())); err != nil {
			return nil, err
		}
	}
	a.hash = hashAll(a.content)
	return a, nil
}

func hashAll(content map[string][]byte) string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(content)) {
		h.Write([]byte(name + "\x00"))
		h.Write(content[name])
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// path returns the path of the asset with that name.
func (a *assets) path(name string) string { return "/assets/" + a.hash + "/" + name }

// serve serves a file. A request with another hash comes from a page of another version, while nodes are updated: it
// gets this version's file, without permission to cache it.
func (a *assets) serve(w http.ResponseWriter, r *http.Request, _ *people.Visit) {
	name := r.PathValue("name")
	content, ok := a.content[name]
	if !ok {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Content-Type", contentType(name))
	h.Set("Cache-Control", "no-cache")
	if r.PathValue("hash") == a.hash {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	_, _ = w.Write(content) // a client that has disconnected does not need it
}

// contentType returns the media type of an asset, independent of the machine's settings.
func contentType(name string) string {
	switch path.Ext(name) {
	case ".css":
		return "text/css; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	}
	return "application/octet-stream"
}
