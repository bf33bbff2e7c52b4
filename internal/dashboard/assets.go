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

// styleSheet is the name of all style sheets in one, in the order of their names.
const styleSheet = "weir.css"

// assets are the files that pages name. Their path has a hash of all of them, so
// that a browser may keep them for ever, and modules find one another beside
// themselves.
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

// path is where a browser finds the asset of that name.
func (a *assets) path(name string) string { return "/assets/" + a.hash + "/" + name }

// serve serves a file. A hash that is another's comes from a page of another
// version, while nodes change over: it gets what there is here, but not to keep.
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
	_, _ = w.Write(content) // a client that is gone does not need it
}

// contentType is the type of a file of ours, whatever the machine thinks of it.
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
