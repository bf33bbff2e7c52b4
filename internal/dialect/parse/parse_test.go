package parse_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

func TestBodyMustBeObject(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		body string
		want llm.Head
		err  string
	}{
		{`{"a":1}`, llm.Head{Choices: 1, Open: 1}, ""},
		{"\n { } ", llm.Head{Choices: 1, Open: 3, Empty: true, Usual: true}, ""},
		{`[]`, llm.Head{}, "The body must be a JSON object with a name."},
		{`{`, llm.Head{}, "No JSON: "},
		{strings.Repeat("[", parse.MaxDepth+1) + strings.Repeat("]", parse.MaxDepth+1), llm.Head{}, "No JSON: "},
	} {
		got, err := parse.Body([]byte(tt.body), "No JSON", "with a name")
		if got != tt.want || !strings.HasPrefix(message(err), tt.err) || (err == nil) != (tt.err == "") {
			t.Errorf("Body(%.20q) = %+v, %v, want %+v, %q", tt.body, got, err, tt.want, tt.err)
		}
	}
}

func TestMembersAreReadOnce(t *testing.T) {
	t.Parallel()
	failure := errors.New("failure")
	for _, tt := range []struct {
		obj   string
		read  string // the names before an error
		param string // of that error
		err   error
	}{
		{`{"a":1,"other":2,"b":3}`, "a other b ", "", nil},
		{`{"a":1,"a":2}`, "a ", "in.a", nil},
		{`{"b":1,"A":2}`, "b ", "in.a", nil},
		{`{"bad":1,"a":2}`, "bad ", "", failure},
	} {
		read := ""
		err := parse.Members([]byte(tt.obj), rawjson.Names{"a", "b"}, "in.", func(m rawjson.Member) error {
			read += m.Name() + " "
			if m.Is("bad") {
				return failure
			}
			return nil
		})
		if read != tt.read || param(err) != tt.param || tt.err != nil && !errors.Is(err, tt.err) {
			t.Errorf("Members(%s) read %q, %v, want %q, %q %v", tt.obj, read, err, tt.read, tt.param, tt.err)
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		v    string
		read func([]byte) (any, error)
		want any
		err  string
	}{
		{`true`, func(v []byte) (any, error) { return parse.Bool(v, "o") }, true, ""},
		{`1`, func(v []byte) (any, error) { return parse.Bool(v, "o") }, false, "The o must be true or false."},
		{`2`, func(v []byte) (any, error) { return parse.Int(v, "o", 1, 2) }, int64(2), ""},
		{`3`, func(v []byte) (any, error) { return parse.Int(v, "o", 1, 2) }, int64(0), "The o must be an integer from 1 to 2."},
		{`1.5`, func(v []byte) (any, error) { return parse.Int(v, "o", 1, 2) }, int64(0), "The o must be an integer from 1 to 2."},
		{`"s"`, func(v []byte) (any, error) { return parse.String(v, "o") }, "s", ""},
		{`null`, func(v []byte) (any, error) { return parse.String(v, "o") }, "", "The o must be a string."},
		{`["s","t"]`, func(v []byte) (any, error) { return parse.Strings(v, "o") }, []string{"s", "t"}, ""},
		{`["s",1]`, func(v []byte) (any, error) { return parse.Strings(v, "o") }, []string(nil), "The o[1] must be a string."},
		{`"s"`, func(v []byte) (any, error) { return parse.Strings(v, "o") }, []string(nil), "The o must be an array of strings."},
	} {
		got, err := tt.read([]byte(tt.v))
		if diff := cmp.Diff(got, tt.want); diff != "" || message(err) != tt.err {
			t.Errorf("%s: %v, %v, want %v, %q", tt.v, got, err, tt.want, tt.err)
		}
	}
}

func TestUnderPrefixesParameter(t *testing.T) {
	t.Parallel()
	if err := parse.Under("a.", nil); err != nil {
		t.Errorf("Under of no error is %v, want none", err)
	}
	if got := param(parse.Under("a.", llm.Invalid("b", "m"))); got != "a.b" {
		t.Errorf("Under a. the parameter b is %q, want a.b", got)
	}
}

func TestCountIsBounded(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		v          string
		n          int64
		told, wild bool
	}{
		{`7`, 7, true, false},
		{`0`, 0, true, false},
		{`1099511627776`, parse.MaxCount, true, false},
		{`1099511627777`, 5, false, true},
		{`-1`, 5, false, true},
		{`1.5`, 5, false, true},
		{`8.2`, 9, false, true},
		{`"7"`, 7, false, true},
		{`"1e30"`, 5, false, true},
		{`"seven"`, 5, false, true},
		{`null`, 5, false, false},
		{``, 5, false, false},
	} {
		var c parse.Counter
		n := int64(5)
		told := c.Count(&n, []byte(tt.v))
		if n != tt.n || told != tt.told || c.Wild != tt.wild {
			t.Errorf("Count(%q) = %d, %v, wild %v, want %d, %v, wild %v", tt.v, n, told, c.Wild, tt.n, tt.told, tt.wild)
		}
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return llm.AsError(err).Message
}

func param(err error) string {
	if err == nil {
		return ""
	}
	return llm.AsError(err).Param
}
