package rawjson

import (
	"bytes"
	"math"
	"strconv"
)

// AsInt returns the integer in v, and whether v is one. 12, 12.0 and 1.2e1 are the same number.
func AsInt(v []byte) (int64, bool) {
	i := skipSpace(v, 0)
	v = v[i:skipValue(v, i)]
	if n, ok := smallInt(v); ok {
		return n, true
	}
	if KindOf(v) != Number {
		return 0, false
	}
	if n, err := strconv.ParseInt(string(v), 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(string(v), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) >= 1<<63 {
		return 0, false
	}
	return int64(f), true
}

// smallInt reads up to 15 digits without allocating.
func smallInt(v []byte) (n int64, ok bool) {
	if len(v) == 0 || len(v) > 15 {
		return 0, false
	}
	for _, c := range v {
		if !isDigit(c) {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

// AsBool returns the boolean in v, and whether v is one.
func AsBool(v []byte) (value, ok bool) {
	i := skipSpace(v, 0)
	switch {
	case bytes.HasPrefix(v[i:], []byte("true")):
		return true, true
	case bytes.HasPrefix(v[i:], []byte("false")):
		return false, true
	}
	return false, false
}
