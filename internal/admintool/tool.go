package admintool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"weir/internal/llm"
	"weir/internal/people"
	"weir/internal/rawjson"
)

// tool is an operation of the administration as an MCP tool.
type tool struct {
	mcp     mcp.Tool
	route   people.Route
	handler http.Handler
	writes  bool
	params  []parameter
	body    bool // takes the argument "body"
}

// parameter is a parameter of an operation, and the argument of the tool.
type parameter struct {
	Name     string          `json:"name"`
	In       string          `json:"in"` // path, query or header
	Required bool            `json:"required"`
	About    string          `json:"description"`
	Schema   json.RawMessage `json:"schema"`
	Ref      string          `json:"$ref"`
}

// argument returns the name of the tool's argument: a header's name in the style of the others.
func (p *parameter) argument() string {
	if p.In != "header" {
		return p.Name
	}
	return strings.ReplaceAll(strings.ToLower(p.Name), "-", "_")
}

// bodyArgument is the argument with the body of the request.
const bodyArgument = "body"

// toolName returns the name of a tool: the id of its operation without "admin", in lower case with underscores.
func toolName(operation string) string {
	var b strings.Builder
	runes := []rune(strings.TrimPrefix(operation, "admin"))
	for i, c := range runes {
		ends := i+1 < len(runes) && unicode.IsLower(runes[i+1]) // of an abbreviation
		if unicode.IsUpper(c) && i > 0 && (unicode.IsLower(runes[i-1]) || ends) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String()
}

// request returns the request that a call makes, with the credentials and the address of the caller. The error is a
// *llm.Error.
func (t *tool) request(outer *http.Request, arguments json.RawMessage) (*http.Request, error) {
	values, err := t.read(arguments)
	if err != nil {
		return nil, err
	}
	r := outer.Clone(outer.Context())
	maps.DeleteFunc(r.Header, func(name string, _ []string) bool {
		return !passed[name] && !strings.HasPrefix(name, "Sec-Fetch-")
	})
	r.Body, r.ContentLength = http.NoBody, 0
	if t.body {
		body := values[bodyArgument]
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		r.Header.Set("Content-Type", "application/json")
	}
	query := url.Values{}
	for i := range t.params {
		p := &t.params[i]
		if err := p.write(r, query, values[p.argument()]); err != nil {
			return nil, err
		}
	}
	t.address(r, query)
	return r, nil
}

// write writes an argument to its place in a request.
func (p *parameter) write(r *http.Request, query url.Values, value []byte) error {
	if len(value) == 0 {
		if p.Required {
			return llm.Invalidf(p.argument(), "The argument %s is missing. Give it a value.", p.argument())
		}
		return nil
	}
	if p.In == "query" {
		return addQuery(query, p.Name, value)
	}
	text, err := textOf(p.argument(), value)
	switch {
	case err != nil:
		return err
	case p.In == "header":
		r.Header.Set(p.Name, text)
	default:
		r.SetPathValue(p.Name, text)
	}
	return nil
}

// address sets the method and the address of a request that has its path values.
func (t *tool) address(r *http.Request, query url.Values) {
	method, pattern, _ := strings.Cut(t.route.Pattern, " ")
	path := strings.Split(pattern, "/")
	escaped := slices.Clone(path)
	for i, step := range path {
		if name, ok := strings.CutPrefix(strings.TrimSuffix(step, "}"), "{"); ok {
			path[i] = r.PathValue(name)
			escaped[i] = url.PathEscape(path[i])
		}
	}
	r.Method, r.Pattern = method, t.route.Pattern
	r.URL = &url.URL{Path: strings.Join(path, "/"), RawPath: strings.Join(escaped, "/"), RawQuery: query.Encode()}
	r.RequestURI = r.URL.RequestURI()
}

// passed lists the headers of a message that the request of a tool has, too: the caller's credentials, address and
// site.
var passed = map[string]bool{
	"Authorization": true, "Cookie": true, "Origin": true, "User-Agent": true, "Forwarded": true,
	"X-Forwarded-For": true, "X-Forwarded-Host": true, "X-Forwarded-Proto": true, "X-Real-Ip": true,
}

// read returns the arguments by name. It refuses unknown ones, because a misspelt filter would select everything.
func (t *tool) read(arguments json.RawMessage) (map[string][]byte, error) {
	values := map[string][]byte{}
	var names rawjson.Names
	for i := range t.params {
		names = append(names, t.params[i].argument())
	}
	if t.body {
		names, values[bodyArgument] = append(names, bodyArgument), []byte("{}")
	}
	if kind := rawjson.KindOf(arguments); kind == rawjson.Invalid || kind == rawjson.Null {
		return values, nil
	}
	if rawjson.KindOf(arguments) != rawjson.Object {
		return nil, llm.Invalid("arguments", "The arguments are not a JSON object. Send an object.")
	}
	var seen rawjson.Seen
	for m := range rawjson.Members(arguments) {
		i, err := names.Find(m, &seen)
		switch {
		case err != nil:
			return nil, llm.Invalidf(m.Name(), "The arguments are malformed: %v.", err)
		case i < 0:
			return nil, llm.Invalidf(m.Name(), "%.100q is not an argument of %s. Its arguments are: %s.", m.Name(),
				t.mcp.Name, strings.Join(names, ", "))
		case rawjson.KindOf(m.Value) != rawjson.Null:
			values[names[i]] = m.Value
		}
	}
	return values, nil
}

// textOf returns a text, a number, true or false as it is written in an address.
func textOf(name string, value []byte) (string, error) {
	switch rawjson.KindOf(value) {
	case rawjson.String:
		text, ok := rawjson.AsString(value)
		if ok && text != "" && llm.IsText(text) && !strings.ContainsAny(text, "\r\n") {
			return text, nil
		}
	case rawjson.Number, rawjson.Bool:
		return string(bytes.TrimSpace(value)), nil
	}
	return "", llm.Invalidf(name, "The argument %s must be a number, or a text that is not empty and has one line.",
		name)
}

// addQuery adds an argument to a query string: a value, or each member of an object.
func addQuery(query url.Values, name string, value []byte) error {
	if rawjson.KindOf(value) != rawjson.Object {
		text, err := textOf(name, value)
		query.Set(name, text)
		return err
	}
	for m := range rawjson.Members(value) {
		text, err := textOf(name, m.Value)
		if err != nil {
			return err
		}
		query.Add(m.Name(), text)
	}
	return nil
}

// recorder is the answer of an operation, up to maxResult.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
	longer bool
}

// Header implements http.ResponseWriter.
func (w *recorder) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *recorder) WriteHeader(status int) { w.status = status }

// Write implements http.ResponseWriter. It fails beyond the bound.
func (w *recorder) Write(b []byte) (int, error) {
	if w.longer = w.longer || w.body.Len()+len(b) > maxResult; w.longer {
		return 0, io.ErrShortWrite
	}
	return w.body.Write(b)
}

// result returns the answer as the result of the tool.
func (w *recorder) result() *mcp.CallToolResult {
	switch {
	case w.longer && w.status < http.StatusMultipleChoices:
		return failed(fmt.Sprintf("The operation succeeded, but its answer is larger than %d bytes. Select less: set "+
			"limit, or a filter.", maxResult))
	case w.status >= http.StatusBadRequest:
		return failed(w.body.String())
	case w.body.Len() == 0:
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "Done."}}}
	}
	result := &mcp.CallToolResult{
		Content:           []mcp.Content{&mcp.TextContent{Text: w.body.String()}},
		StructuredContent: json.RawMessage(w.body.Bytes()),
	}
	if tag := w.header.Get("ETag"); tag != "" {
		result.Content = append(result.Content, &mcp.TextContent{Text: "The version, for if_match: " + tag})
	}
	return result
}

// byName orders tools, because a list should have the same order each time.
func byName(all []tool) []tool {
	slices.SortFunc(all, func(a, b tool) int { return strings.Compare(a.mcp.Name, b.mcp.Name) })
	return all
}
