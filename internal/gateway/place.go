package gateway

import (
	"bytes"
	"errors"
	"sort"
	"strconv"
	"strings"

	"weir/internal/dialect"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// mostPlaced is up to how many bytes of a body are looked through for the place of a mistake.
const mostPlaced = 1 << 20

// placed is an error of an encoder with the place of the mistake as the client wrote it: encoders call options as Chat
// Completions does, and count the messages of the tree, in which what stands beside the conversation is one, and several
// elements may be.
func placed(err error, body []byte, d *dialect.Dialect) error {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return err
	}
	if name := d.Names[e.Param]; name != "" {
		told := *e
		told.Param = name
		return &told
	}
	if d.Conversation == "" || len(body) > mostPlaced {
		return err
	}
	rest, ok := strings.CutPrefix(e.Param, "messages[")
	index, rest, closed := strings.Cut(rest, "]")
	message, isNumber := strconv.Atoi(index)
	if !ok || !closed || isNumber != nil {
		return err
	}
	told := *e
	told.Param = placeOf(body, d, message) + inner(rest, d)
	return &told
}

// placeOf is the first element by which a conversation has the message of that index, or what stands beside it.
func placeOf(body []byte, d *dialect.Dialect, message int) string {
	list := rawjson.Get(body, d.Conversation)
	var ends []int // of the elements, in the list
	for _, e := range rawjson.Elements(list) {
		ends = append(ends, cap(list)-cap(e)+len(e))
	}
	count := func(elements int) int {
		first := append(bytes.Clone(list[:ends[elements-1]]), ']')
		request, err := d.DecodeRequest(rawjson.Splice(nil, body, rawjson.Set(body, d.Conversation, first)))
		if err != nil {
			return 0
		}
		return len(request.Messages)
	}
	if len(ends) == 0 || message == 0 && count(1) > 1 {
		return d.Beside
	}
	i := sort.Search(len(ends)-1, func(i int) bool { return count(i+1) > message })
	return d.Conversation + "[" + strconv.Itoa(i) + "]"
}

// inner is what follows the message in the client's words, where they are known.
func inner(rest string, d *dialect.Dialect) string {
	if d.Parts == "" {
		return rest
	}
	if part, ok := strings.CutPrefix(rest, ".content"); ok {
		return "." + d.Parts + part
	}
	return ""
}
