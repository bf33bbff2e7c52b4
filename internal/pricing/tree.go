package pricing

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// node is a value of a JSON text, with its place.
type node struct {
	at, end int        // byte offsets in the text; end is exclusive
	value   json.Token // a json.Delim for an object or a list
	members []member   // of an object
	items   []*node    // of a list
}

// member is a name of an object with its value.
type member struct {
	name  string
	at    int
	value *node
}

func (n *node) isObject() bool { return n.value == json.Delim('{') }
func (n *node) isList() bool   { return n.value == json.Delim('[') }

// maxDepth is the maximum nesting depth of a price file.
const maxDepth = 20

// treeReader reads a JSON text into nodes.
type treeReader struct {
	text []byte
	*json.Decoder
}

// textError is a mistake at a byte of a text.
type textError struct {
	at  int
	err error
}

func (e *textError) Error() string { return e.err.Error() }

// readTree parses a text that is one JSON value.
func readTree(text []byte) (*node, *textError) {
	if !utf8.Valid(text) {
		at := 0
		for c, n := utf8.DecodeRune(text); c != utf8.RuneError || n > 1; c, n = utf8.DecodeRune(text[at:]) {
			at += n
		}
		return nil, &textError{at, errors.New("the text is not UTF-8")}
	}
	r := &treeReader{text, json.NewDecoder(bytes.NewReader(text))}
	r.UseNumber()
	n, err := r.read(0)
	if err != nil {
		return nil, err
	}
	if at := r.next(); at < len(text) {
		return nil, &textError{at, errors.New("the text is not JSON: remove the text after its end")}
	}
	return n, nil
}

// next returns the place of the following token.
func (r *treeReader) next() int {
	at := int(r.InputOffset())
	for at < len(r.text) && bytes.IndexByte([]byte(" \t\r\n:,"), r.text[at]) >= 0 {
		at++
	}
	return at
}

func (r *treeReader) token() (json.Token, *textError) {
	at := r.next()
	t, err := r.Token()
	if err == nil {
		return t, nil
	}
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		at = min(max(at, int(e.Offset)-1), len(r.text))
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		at, err = len(r.text), errors.New("it ends too early")
	}
	return nil, &textError{at, fmt.Errorf("the text is not JSON: %w", err)}
}

func (r *treeReader) read(depth int) (*node, *textError) {
	n := &node{at: r.next()}
	var err *textError
	if n.value, err = r.token(); err != nil {
		return nil, err
	}
	if depth > maxDepth {
		return nil, &textError{n.at, fmt.Errorf("the text is nested deeper than %d levels", maxDepth)}
	}
	if n.isObject() || n.isList() {
		for r.More() {
			if err := r.readInto(n, depth+1); err != nil {
				return nil, err
			}
		}
		if _, err := r.token(); err != nil {
			return nil, err
		}
	}
	n.end = int(r.InputOffset())
	return n, nil
}

// readInto reads the next member or item of n.
func (r *treeReader) readInto(n *node, depth int) *textError {
	m := member{at: r.next()}
	if n.isObject() {
		name, err := r.token()
		if err != nil {
			return err
		}
		m.name, _ = name.(string) // the decoder accepts only strings as names
	}
	var err *textError
	if m.value, err = r.read(depth); err != nil {
		return err
	}
	if n.isObject() {
		n.members = append(n.members, m)
	} else {
		n.items = append(n.items, m.value)
	}
	return nil
}
