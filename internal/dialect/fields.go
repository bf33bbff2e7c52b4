package dialect

import (
	"net/http"
	"strconv"
	"strings"
)

// Fields are the header fields of an answer. The gateway's own server writes them at once, without a map. Names have
// their canonical form.
type Fields struct {
	direct fieldWriter // nil to set them in header
	header http.Header
}

// fieldWriter is an http.ResponseWriter that can write header fields at once.
type fieldWriter interface {
	// BeginFields forgets the fields that were written at once.
	BeginFields()
	// AddField writes a field, in addition to those of the map.
	AddField(name, value string)
	AddNumber(name string, n int64)
	// HasField reports whether a field was written at once, in any case.
	HasField(name string) bool
}

// NewFields begins the fields of an answer that has not begun. Those of an earlier call are forgotten.
func NewFields(w http.ResponseWriter) Fields {
	f := Fields{header: w.Header()}
	if direct, ok := w.(fieldWriter); ok {
		direct.BeginFields()
		f.direct = direct
	}
	return f
}

// FieldsIn returns fields that are set in a map.
func FieldsIn(h http.Header) Fields { return Fields{header: h} }

// Set sets a field, once for each name, in place of one in the map.
func (f Fields) Set(name, value string) {
	if f.direct != nil {
		delete(f.header, name)
		f.direct.AddField(name, value)
		return
	}
	f.header[name] = []string{value}
}

// SetNumber sets a field to a number.
func (f Fields) SetNumber(name string, n int64) {
	if f.direct != nil {
		delete(f.header, name)
		f.direct.AddNumber(name, n)
		return
	}
	f.header[name] = []string{strconv.FormatInt(n, 10)}
}

// Has reports whether a field is set, in any case.
func (f Fields) Has(name string) bool {
	if f.direct != nil && f.direct.HasField(name) {
		return true
	}
	for other := range f.header {
		if strings.EqualFold(other, name) {
			return true
		}
	}
	return false
}
