package compose

import (
	"strconv"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// Vectors appends vectors of numbers as the elements of an array, each between before and after. An invalid vector is
// written as an empty one.
func Vectors(dst []byte, vectors []llm.Vector, before, after string) []byte {
	dst = append(dst, '[')
	for i := range vectors {
		dst = append(rawjson.AppendComma(dst), before...)
		numbers, err := vectors[i].AppendNumbers(nil)
		if err != nil {
			numbers = []byte("[]")
		}
		dst = append(append(dst, numbers...), after...)
	}
	return append(dst, ']')
}

// Dimensions appends the named member if a number of dimensions is requested.
func Dimensions(dst []byte, name string, n *int64) []byte {
	if n == nil {
		return dst
	}
	dst = rawjson.AppendName(dst, name)
	return strconv.AppendInt(dst, *n, 10)
}
