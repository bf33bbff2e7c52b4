package parse

import (
	"errors"
	"fmt"
	"strconv"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// MaxTexts bounds the texts of one request for embeddings: OpenAI's limit, the highest of all vendors.
const MaxTexts = 2048

// Texts reads a non-empty string, or an array of 1 to MaxTexts of them.
func Texts(v []byte, name string) ([]string, error) {
	if s, ok := rawjson.AsString(v); ok && s != "" {
		return []string{s}, nil
	}
	var texts []string
	if rawjson.KindOf(v) == rawjson.Array {
		for i, e := range rawjson.Elements(v) {
			s, ok := rawjson.AsString(e)
			at := name + "[" + strconv.Itoa(i) + "]"
			switch {
			case !ok || s == "":
				return nil, llm.Invalid(at, "The "+at+" must be a non-empty string.")
			case i == MaxTexts:
				return nil, llm.Invalid(name, "The "+name+" has more than "+strconv.Itoa(MaxTexts)+
					" texts. Send them in several requests.")
			}
			texts = append(texts, s)
		}
	}
	if len(texts) == 0 {
		return nil, llm.Invalid(name, "The "+name+" must be a non-empty string, or an array of at least one.")
	}
	return texts, nil
}

// CountTexts returns the number of texts in a string, in a list of tokens, or in an array of these; 0 for any other
// value.
func CountTexts(v []byte) (n int64) {
	if rawjson.KindOf(v) == rawjson.String {
		return 1
	}
	for _, e := range rawjson.Elements(v) {
		switch rawjson.KindOf(e) {
		case rawjson.Number:
			return 1
		case rawjson.String, rawjson.Array:
			n++
		default:
			return 0
		}
	}
	return n
}

var errNoVectors = errors.New("the reply has no vectors")

// Vectors reads an array of vectors, or of objects with a vector in the named member. If all objects have an index,
// the result is in its order.
func Vectors(v []byte, member string) ([]llm.Vector, error) {
	var all []llm.Vector
	var at []int // their indexes
	for _, e := range rawjson.Elements(v) {
		if member != "" {
			if i, ok := rawjson.AsInt(rawjson.Get(e, "index")); ok {
				at = append(at, int(i))
			}
			e = rawjson.Get(e, member)
		}
		vector, err := Vector(e)
		if err != nil {
			return nil, err
		}
		all = append(all, vector)
	}
	if len(all) == 0 {
		return nil, errNoVectors
	}
	if len(at) == len(all) {
		return inOrder(all, at)
	}
	return all, nil
}

// VectorReply decodes a reply with vectors. read reads its other members and returns the vectors, as for Vectors.
func VectorReply(format string, body []byte, member string, read func(*llm.Reply) []byte) (*llm.Reply, error) {
	if err := rawjson.Validate(body, MaxDepth); err != nil {
		return nil, fmt.Errorf("%s: the reply is not JSON: %w", format, err)
	}
	r := &llm.Reply{ExtraOf: format}
	var err error
	if r.Vectors, err = Vectors(read(r), member); err != nil {
		return r, fmt.Errorf("%s: %w", format, err)
	}
	return r, nil
}

// inOrder places each vector at its index.
func inOrder(all []llm.Vector, at []int) ([]llm.Vector, error) {
	ordered, had := make([]llm.Vector, len(all)), make([]bool, len(all))
	for i, to := range at {
		if to < 0 || to >= len(all) || had[to] {
			return nil, errors.New("the indexes of the reply's vectors must be 0, 1, 2 and so on, each once")
		}
		ordered[to], had[to] = all[i], true
	}
	return ordered, nil
}

// Vector reads a vector: an array of numbers, or a base64 string.
func Vector(v []byte) (llm.Vector, error) {
	if s, ok := rawjson.AsString(v); ok {
		return llm.Vector{Base64: s}, nil
	}
	if rawjson.KindOf(v) != rawjson.Array {
		return llm.Vector{}, errNoVectors
	}
	if !rawjson.HasElement(v) {
		return llm.Vector{}, errors.New("a vector of the reply is empty")
	}
	for _, e := range rawjson.Elements(v) {
		if rawjson.KindOf(e) != rawjson.Number {
			return llm.Vector{}, errors.New("a vector of the reply has an element that is not a number")
		}
	}
	return llm.Vector{Numbers: v}, nil
}
