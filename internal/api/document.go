package api

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	"weir/internal/dialect"
	"weir/internal/llm"
)

//go:embed openapi/*.yaml
var documentFiles embed.FS

// document is the OpenAPI 3.1 document in the form that is served.
type document struct {
	body []byte
	etag string
}

// Document answers GET /openapi.json with the OpenAPI description of this gateway
// (https://spec.openapis.org/oas/v3.1.0).
type Document struct {
	replies  *replies
	document func() (*document, error) // built on the first request
}

// JSON returns the document.
func (h *Document) JSON() ([]byte, error) {
	d, err := h.document()
	if err != nil {
		return nil, err
	}
	return d.body, nil
}

func (h *Document) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d, err := h.document()
	if err != nil {
		failed := h.replies.handle(h.replies.native, func(*request) ([]byte, error) { return nil, llm.AsError(err) })
		failed.ServeHTTP(w, r)
		return
	}
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Cache-Control", "public, no-cache") // may be stored, and must be revalidated by its ETag
	header.Set("ETag", d.etag)
	// The header is a list of tags; one tag cannot be part of another, because all have the same length.
	if strings.Contains(r.Header.Get("If-None-Match"), d.etag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	header.Set("Content-Length", strconv.Itoa(len(d.body)))
	dialect.WriteBody(w, d.body, writeWithin)
}

// newDocument joins the files of the document, each about one subject.
func newDocument(version string, dialects dialect.Set) (*document, error) {
	parts, err := documentParts(dialects)
	if err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	var whole yaml.MapSlice
	for _, text := range parts {
		var part yaml.MapSlice
		if err := yaml.UnmarshalWithOptions([]byte(text), &part, yaml.UseOrderedMap()); err != nil {
			return nil, fmt.Errorf("openapi: %w", err)
		}
		if whole, err = joinObjects(whole, part); err != nil {
			return nil, fmt.Errorf("openapi: %w", err)
		}
	}
	whole, err = addEvents(whole)
	if err != nil {
		return nil, err
	}
	return encodeDocument(setVersion(whole, version))
}

// documentParts returns the service's own files, and between them those of the wire formats.
func documentParts(dialects dialect.Set) (parts []string, err error) {
	add := func(names ...string) {
		for _, name := range names {
			text, e := documentFiles.ReadFile("openapi/" + name + ".yaml")
			parts, err = append(parts, string(text)), errors.Join(err, e)
		}
	}
	add("base", "chat", "uses", "models", "realtime", "tools", "oauth")
	for _, d := range dialects {
		parts = append(parts, d.Documents...)
	}
	add("admin", "config", "webhooks", "service", "errors")
	return parts, err
}

// joinObjects adds the members of b to those of a, object by object. Members that begin with "x-" only serve the YAML
// files and are left out.
func joinObjects(a, b yaml.MapSlice) (yaml.MapSlice, error) {
	for _, m := range b {
		if strings.HasPrefix(fmt.Sprint(m.Key), "x-") {
			continue
		}
		i := slices.IndexFunc(a, func(have yaml.MapItem) bool { return have.Key == m.Key })
		if i < 0 {
			a = append(a, m)
			continue
		}
		mine, ok := a[i].Value.(yaml.MapSlice)
		theirs, also := m.Value.(yaml.MapSlice)
		if !ok || !also {
			return nil, fmt.Errorf("%v appears twice", m.Key)
		}
		joined, err := joinObjects(mine, theirs)
		if err != nil {
			return nil, fmt.Errorf("%v: %w", m.Key, err)
		}
		a[i].Value = joined
	}
	return a, nil
}

func setVersion(whole yaml.MapSlice, version string) yaml.MapSlice {
	for _, m := range whole {
		info, _ := m.Value.(yaml.MapSlice)
		for i := range info {
			if m.Key == "info" && info[i].Key == "version" {
				info[i].Value = version
			}
		}
	}
	return whole
}

func encodeDocument(whole yaml.MapSlice) (*document, error) {
	var b bytes.Buffer
	if err := writeOrdered(&b, whole); err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	sum := sha256.Sum256(b.Bytes())
	return &document{body: b.Bytes(), etag: `"` + hex.EncodeToString(sum[:12]) + `"`}, nil
}

// writeOrdered writes a value as JSON, with the members of objects in their order.
func writeOrdered(b *bytes.Buffer, v any) error {
	switch v := v.(type) {
	case yaml.MapSlice:
		return writeObject(b, v)
	case []any:
		b.WriteByte('[')
		for i, e := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := writeOrdered(b, e); err != nil {
				return err
			}
		}
		b.WriteByte(']')
		return nil
	}
	text, err := json.Marshal(v)
	b.Write(text)
	return err
}

func writeObject(b *bytes.Buffer, v yaml.MapSlice) error {
	b.WriteByte('{')
	for i, m := range v {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(fmt.Sprint(m.Key))
		if err != nil {
			return err
		}
		b.Write(append(name, ':'))
		if err := writeOrdered(b, m.Value); err != nil {
			return err
		}
	}
	b.WriteByte('}')
	return nil
}
