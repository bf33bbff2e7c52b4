package simulator

import (
	"strconv"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

const (
	usualDimensions = 8
	maxDimensions   = 4096
)

// vectors returns the vectors of the texts: equal ones for equal texts, others for others.
func vectors(e *llm.Embedding) []llm.Vector {
	n := int64(usualDimensions)
	if e.Dimensions != nil {
		n = min(*e.Dimensions, maxDimensions)
	}
	all := make([]llm.Vector, len(e.Texts))
	for i, text := range e.Texts {
		h := hash(0, []byte(text))
		numbers := []byte{'['}
		for j := range n {
			numbers = rawjson.AppendComma(numbers)
			at := mix(h + uint64(j))
			numbers = strconv.AppendFloat(numbers, float64(float32(at>>40)/(1<<23)-1), 'g', -1, 32)
		}
		all[i].Numbers = append(numbers, ']')
	}
	return all
}
