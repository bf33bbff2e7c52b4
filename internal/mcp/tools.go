package mcp

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"weir/internal/ledger"
	"weir/internal/rawjson"
)

// Bounds of a list of tools. A server with more is refused; a tool beyond its bound is left out.
const (
	MaxTools    = 2000
	MaxTool     = 256 << 10 // bytes of a tool's definition
	maxPages    = 200
	maxListed   = 16 << 20 // bytes of all definitions
	maxToolName = 128      // characters, with at most twice as many bytes: the ledger has names of 512
	maxTTL      = 24 * time.Hour
)

// Tool is one tool of a server.
type Tool struct {
	Name string
	// Definition is the tool as the server describes it, as JSON: name, description, schemas.
	Definition json.RawMessage
	// Digest identifies the content of Definition, independent of white space and the order of members.
	Digest string
}

// Listing is the list of a server's tools, in the server's order.
type Listing struct {
	Tools []Tool
	// Omitted has a reason for each tool that was left out, by name.
	Omitted map[string]string
	// TTL is how long the list may be cached; 0 if the server does not say.
	TTL time.Duration
}

// ListTools reads all pages of the server's list of tools. A server without the method has none.
func (c *Client) ListTools(ctx context.Context, session string) (*Listing, error) {
	list, seen := &Listing{Omitted: map[string]string{}, TTL: maxTTL}, map[string]bool{}
	err := c.pages(ctx, MethodTools, session, func(page []byte) error { return list.add(page, seen) })
	switch {
	case isUnknownMethod(err):
		return &Listing{}, nil
	case err != nil:
		return nil, err
	}
	return list, nil
}

// add adds a page. The least time to live counts.
func (l *Listing) add(page []byte, seen map[string]bool) error {
	ttl, _ := rawjson.AsInt(rawjson.Get(page, "ttlMs")) // 0 if absent
	l.TTL = min(l.TTL, time.Duration(min(max(0, ttl), maxTTL.Milliseconds()))*time.Millisecond)
	for _, text := range rawjson.Elements(rawjson.Get(page, "tools")) {
		name := rawjson.Text(rawjson.Get(text, "name"))
		if reason := unfit(name, text); reason != "" {
			if len(l.Omitted) < MaxTools {
				l.Omitted[shortened(name)] = reason
			}
			continue
		}
		if seen[name] {
			continue
		}
		if seen[name] = true; len(l.Tools) == MaxTools {
			return ErrLong
		}
		digest, err := digestOf(text)
		if err != nil {
			return err
		}
		l.Tools = append(l.Tools, Tool{Name: name, Definition: bytes.Clone(text), Digest: digest})
	}
	return nil
}

// unfit returns the reason why a tool is left out; empty for none.
func unfit(name string, definition []byte) string {
	switch {
	case name == "" || utf8.RuneCountInString(name) > maxToolName || len(name) > 2*maxToolName:
		return fmt.Sprintf("its name has not 1 to %d characters, in %d bytes", maxToolName, 2*maxToolName)
	case strings.ContainsFunc(name, isUnseen):
		return "its name has characters that are not visible"
	case len(definition) > MaxTool:
		return fmt.Sprintf("its definition is longer than %d bytes", MaxTool)
	}
	d := json.NewDecoder(bytes.NewReader(definition))
	d.UseNumber()
	if err := refuseTwins(d); err != nil {
		return err.Error()
	}
	if _, err := paramsOf(definition); err != nil {
		return err.Error()
	}
	return ""
}

var errTwin = errors.New("a member of its definition appears twice")

// refuseTwins reads a JSON value. It returns an error if an object has two members of one name: programs disagree on
// which of them counts, so that a digest would not cover what a model reads.
func refuseTwins(d *json.Decoder) error {
	begin, err := d.Token()
	if _, nested := begin.(json.Delim); err != nil || !nested {
		return err
	}
	seen := map[string]bool{}
	for d.More() {
		if begin == json.Delim('{') {
			name, err := d.Token()
			text, _ := name.(string)
			if err != nil || seen[text] {
				return errTwin
			}
			seen[text] = true
		}
		if err := refuseTwins(d); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}

// isUnseen reports whether a character is no sign and no space, such as U+0000, which PostgreSQL refuses, and those
// that reverse a text: two names would look alike.
func isUnseen(c rune) bool { return !unicode.IsPrint(c) }

func shortened(name string) string {
	const most = 200
	if len(name) > most {
		name = strings.ToValidUTF8(name[:most], "") + "…"
	}
	return strings.Map(func(c rune) rune {
		if isUnseen(c) {
			return unicode.ReplacementChar
		}
		return c
	}, name)
}

// digestOf returns the hash of a JSON value in canonical form.
func digestOf(text []byte) (string, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return "", err
	}
	canonical, err := json.Marshal(v)
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:]), err
}

// Call is one call of a tool.
type Call struct {
	Tool      *Tool
	Arguments json.RawMessage // an object; nil for none
	// Rest has further members of params, such as inputResponses, and Meta is _meta; objects, or nil for none.
	Rest, Meta json.RawMessage
	// Hold is the right to call once: see ledger.Ledger.Open.
	Hold    *ledger.Hold
	Session string // see Request
	Person  string // see Request
	Notify  func(text []byte) error
	Trace   string
	// Ask and Abilities are as of Request.
	Ask       Ask
	Abilities string
}

// CallTool calls a tool. The result is as the server wrote it; IsError reads whether the tool failed. The errors are as
// of Do.
func (c *Client) CallTool(ctx context.Context, call *Call) (json.RawMessage, error) {
	header, err := ParamHeaders(call.Tool.Definition, call.Arguments)
	if err != nil {
		return nil, err
	}
	params := rawjson.AppendString(rawjson.AppendName(nil, "name"), call.Tool.Name)
	if call.Arguments != nil {
		params = rawjson.AppendMember(params, "arguments", call.Arguments)
	}
	if call.Meta != nil {
		params = rawjson.AppendMember(params, "_meta", call.Meta)
	}
	for m := range rawjson.Members(call.Rest) {
		params = rawjson.AppendMember(params, m.Name(), m.Value)
	}
	return c.Do(ctx, &Request{
		Method: MethodCall, Name: call.Tool.Name, Params: append(params, '}'), Header: header, Hold: call.Hold,
		Session: call.Session, Person: call.Person, Notify: call.Notify, Trace: call.Trace,
		Ask: call.Ask, Abilities: call.Abilities,
	})
}

// IsError reports whether a result says that the tool failed.
func IsError(result []byte) bool {
	failed, _ := rawjson.AsBool(rawjson.Get(result, "isError")) // false if absent
	return failed
}

// errInexact means that an argument for a header is no text, truth value or whole number that all programs read alike.
var errInexact = errors.New("want a text, true, false or a whole number up to 2^53")

// exact is the largest whole number that every program reads alike.
const exact = 1<<53 - 1

// primitive returns the text of a header for an argument, which is a JSON value.
func primitive(v []byte) (string, error) {
	switch rawjson.KindOf(v) {
	case rawjson.String:
		return rawjson.Text(v), nil
	case rawjson.Bool:
		return string(bytes.TrimSpace(v)), nil
	case rawjson.Number:
		var f float64
		if err := json.Unmarshal(v, &f); err == nil && f == math.Trunc(f) && math.Abs(f) <= exact {
			return fmt.Sprintf("%.0f", f), nil
		}
	}
	return "", errInexact
}
