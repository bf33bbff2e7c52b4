package llm

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
)

// Embedding is a request for the embedding vectors of texts.
type Embedding struct {
	Texts      []string
	Dimensions *int64 // of each vector; nil for the model's default
	Base64     bool   // the client wants them in base64
}

// Vector is the embedding of one text: a JSON array of numbers or, if that is nil, the base64 (RFC 4648, section 4)
// of its little-endian float32s.
type Vector struct {
	Numbers json.RawMessage
	Base64  string
}

var errVector = errors.New("llm: a vector is neither numbers nor the base64 of float32s")

// AppendNumbers appends the vector as a JSON array of numbers: with the provider's own digits, or with the shortest
// that parse to the same float32.
func (v *Vector) AppendNumbers(dst []byte) ([]byte, error) {
	if v.Numbers != nil {
		return append(dst, v.Numbers...), nil
	}
	raw, err := base64.StdEncoding.DecodeString(v.Base64)
	if err != nil || len(raw)%4 != 0 {
		return dst, errVector
	}
	dst = append(dst, '[')
	for i := 0; i < len(raw); i += 4 {
		if i > 0 {
			dst = append(dst, ',')
		}
		f := float64(math.Float32frombits(binary.LittleEndian.Uint32(raw[i:])))
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return dst, errVector
		}
		dst = strconv.AppendFloat(dst, f, 'g', -1, 32)
	}
	return append(dst, ']'), nil
}

// AppendBase64 appends the vector as base64, without quotes. It returns an error if a provider's base64 has other
// characters, which could end the JSON string around it.
func (v *Vector) AppendBase64(dst []byte) ([]byte, error) {
	if v.Numbers == nil {
		if strings.ContainsFunc(v.Base64, isNotBase64) {
			return dst, errVector
		}
		return append(dst, v.Base64...), nil
	}
	var numbers []float32
	if err := json.Unmarshal(v.Numbers, &numbers); err != nil {
		return dst, errVector
	}
	raw := make([]byte, 0, 4*len(numbers))
	for _, f := range numbers {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(f))
	}
	return base64.StdEncoding.AppendEncode(dst, raw), nil
}

// isNotBase64 reports whether a character is neither in the standard alphabet (RFC 4648, section 4) nor its padding.
func isNotBase64(c rune) bool {
	return (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && c != '+' && c != '/' && c != '='
}
