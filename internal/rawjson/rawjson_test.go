package rawjson_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"weir/internal/must"
	"weir/internal/rawjson"

	"weir/internal/worktest"
)

func TestValidateFindsOffset(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in     string
		offset int // -1 for valid
	}{
		{`{}`, -1},
		{" \t\r\n[1, -0.5e+3, \"a\\u00e9\\n\", true, false, null] ", -1},
		{`"` + strings.Repeat("plain ", 20) + `é\"\\"`, -1},
		{strings.Repeat("[", 5) + strings.Repeat("]", 5), -1},
		{strings.Repeat("[", 6) + strings.Repeat("]", 6), 5},
		{``, 0},
		{`{} {}`, 3},
		{`{"a":1,}`, 7},
		{`[1,]`, 3},
		{`{"a" 1}`, 5},
		{`{a:1}`, 1},
		{`01`, 1},
		{`1.`, 2},
		{`.5`, 0},
		{`+1`, 0},
		{`1e`, 2},
		{`nul`, 0},
		{`NaN`, 0},
		{"\"a\nb\"", 2},
		{"\"12345678\x00\"", 9},
		{`"\x"`, 1},
		{`"\u12g4"`, 1},
		{`"open`, 5},
		{"\"\xff\"", 1},
		{"\"\xed\xa0\x80\"", 1}, // half a surrogate pair in UTF-8
		{"\xef\xbb\xbf{}", 0},
		{`[1`, 2},
		{`{"a":1`, 6},
	}
	for _, tt := range tests {
		err := rawjson.Validate([]byte(tt.in), 5)
		if tt.offset < 0 {
			if err != nil {
				t.Errorf("Validate(%q): %v, want nil", tt.in, err)
			}
			continue
		}
		e, ok := errors.AsType[*rawjson.SyntaxError](err)
		if !ok || e.Offset != tt.offset || e.Reason == "" {
			t.Errorf("Validate(%q): %v, want an error at byte %d", tt.in, err, tt.offset)
		}
	}
}

func TestMembersInOrder(t *testing.T) {
	t.Parallel()
	const obj = ` { "a" : 1 , "b\u0063":"x\"}", "d":{"e":[1,"]"]}, "":null } `
	var got []string
	for m := range rawjson.Members([]byte(obj)) {
		if at := obj[m.Start : m.Start+len(m.Value)]; at != string(m.Value) {
			t.Errorf("%s: start %d is %q, want %q", m.Name(), m.Start, at, m.Value)
		}
		got = append(got, m.Name()+"="+string(m.Value))
	}
	want := []string{"a=1", `bc="x\"}"`, `d={"e":[1,"]"]}`, "=null"}
	must.Equal(t, got, want, "members of %s", obj)
	for _, other := range []string{``, `[1]`, `"a"`, `1`, `{}`, `{"a"`, `{"a":`, `{a:1}`} {
		for m := range rawjson.Members([]byte(other)) {
			t.Errorf("members of %q: got %q, want none", other, m.Name())
		}
	}
}

func TestElementsInOrder(t *testing.T) {
	t.Parallel()
	var got []string
	for i, e := range rawjson.Elements([]byte(` [ 1 ,"a,]" , [2,[3]] ,{"b":[]},null] `)) {
		got = append(got, fmt.Sprint(i, " ", string(e)))
	}
	want := []string{"0 1", `1 "a,]"`, "2 [2,[3]]", `3 {"b":[]}`, "4 null"}
	must.Equal(t, got, want, "elements")
	for _, other := range []string{``, `{}`, `[]`, `[`, `"a"`} {
		for i := range rawjson.Elements([]byte(other)) {
			t.Errorf("elements of %q: got %d, want none", other, i)
		}
	}
}

func TestGetFollowsPath(t *testing.T) {
	t.Parallel()
	const doc = `{"a":{"b":{"c":7}},"n":null,"a":1}`
	tests := []struct {
		path []string
		want string
	}{
		{nil, doc},
		{[]string{"a", "b", "c"}, "7"},
		{[]string{"a", "x"}, ""},
		{[]string{"n", "x"}, ""},
		{[]string{"n"}, "null"},
	}
	for _, tt := range tests {
		if got := string(rawjson.Get([]byte(doc), tt.path...)); got != tt.want {
			t.Errorf("Get(%q): %q, want %q", tt.path, got, tt.want)
		}
	}
}

func TestKindsOfValues(t *testing.T) {
	t.Parallel()
	tests := map[string]rawjson.Kind{
		"": rawjson.Invalid, "x": rawjson.Invalid, " null": rawjson.Null, "true": rawjson.Bool, "false": rawjson.Bool,
		"-1": rawjson.Number, "7": rawjson.Number, `"a"`: rawjson.String, "[]": rawjson.Array, "\n{}": rawjson.Object,
	}
	for in, want := range tests {
		if got := rawjson.KindOf([]byte(in)); got != want {
			t.Errorf("KindOf(%q): %d, want %d", in, got, want)
		}
		if got, want := rawjson.Present([]byte(in)), want != rawjson.Invalid && want != rawjson.Null; got != want {
			t.Errorf("Present(%q): %v, want %v", in, got, want)
		}
	}
}

func TestAsInt(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in   string
		want int64
		ok   bool
	}{
		{"0", 0, true},
		{" 12", 12, true},
		{"12.0", 12, true},
		{"1.2e1", 12, true},
		{"-5", -5, true},
		{"9007199254740993", 9007199254740993, true},
		{"9223372036854775807", 1<<63 - 1, true},
		{"9223372036854775808", 0, false},
		{"1e400", 0, false},
		{"1.5", 0, false},
		{`"1"`, 0, false},
		{"null", 0, false},
		{"", 0, false},
	}
	for _, tt := range tests {
		if got, ok := rawjson.AsInt([]byte(tt.in)); got != tt.want || ok != tt.ok {
			t.Errorf("AsInt(%q): %d, %v, want %d, %v", tt.in, got, ok, tt.want, tt.ok)
		}
	}
}

func TestAsBool(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][2]bool{"true": {true, true}, " false": {false, true}, "null": {}, `"true"`: {}, "": {}} {
		if got, ok := rawjson.AsBool([]byte(in)); got != want[0] || ok != want[1] {
			t.Errorf("AsBool(%q): %v, %v, want %v", in, got, ok, want)
		}
	}
}

func TestAsString(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		`""`, `"a"`, ` "é"`, `"\"\\\/\b\f\n\r\t"`, `"\u00e9\ud83d\ude00"`, `"\ud83d"`, `"\ud83dx"`, `"\ude00\ud83d\ude00"`,
		`"` + strings.Repeat("long ", 10) + `\\"`, `"` + strings.Repeat("x", 17) + `\""`,
	} {
		var want string
		must.Do(t, json.Unmarshal([]byte(in), &want))
		if got, ok := rawjson.AsString([]byte(in)); got != want || !ok {
			t.Errorf("AsString(%s): %q, %v, want %q", in, got, ok, want)
		}
	}
	for _, in := range []string{"", "1", "null", "{}"} {
		if got, ok := rawjson.AsString([]byte(in)); got != "" || ok {
			t.Errorf("AsString(%q): %q, %v, want none", in, got, ok)
		}
	}
}

func TestAppendString(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"":                     `""`,
		"plain and longer":     `"plain and longer"`,
		"a\"b\\c/d":            `"a\"b\\c/d"`,
		"\n\r\t\x00\x1f\x7f":   "\"\\n\\r\\t\\u0000\\u001f\x7f\"",
		"é😀<&>":                `"é😀<&>"`,
		"12345678\u2028\u2029": `"12345678\u2028\u2029"`,
		"a\xffb":               "\"a\ufffdb\"",
	}
	for in, want := range tests {
		if got := string(rawjson.AppendString(nil, in)); got != want {
			t.Errorf("AppendString(%q): %s, want %s", in, got, want)
		}
	}
}

func TestAppendLists(t *testing.T) {
	t.Parallel()
	for want, list := range map[string][]string{"[]": nil, `["a"]`: {"a"}, `["a","\"",""]`: {"a", `"`, ""}} {
		if got := string(rawjson.AppendStrings(nil, list)); got != want {
			t.Errorf("%q is written as %s, want %s", list, got, want)
		}
	}
	if got, want := string(rawjson.AppendCount([]byte("{"), `"n":`, -7)), `{"n":-7`; got != want {
		t.Errorf("wrote %s, want %s", got, want)
	}
}

func TestSpliceAndSet(t *testing.T) {
	t.Parallel()
	src := []byte("0123456789")
	got := rawjson.Splice([]byte(">"), src,
		rawjson.Edit{Start: 0, End: 0, Text: []byte("a")},
		rawjson.Edit{Start: 2, End: 4, Text: nil},
		rawjson.Edit{Start: 4, End: 5, Text: []byte("bc")},
		rawjson.Edit{Start: 10, End: 10, Text: []byte("z")})
	if want := ">a01bc56789z"; string(got) != want {
		t.Errorf("Splice: %q, want %q", got, want)
	}
	for in, want := range map[string]string{
		`{}`:                 `{"a":1}`,
		` { } `:              ` {"a":1 } `,
		`{ "b":2}`:           `{"a":1, "b":2}`,
		`{"b":2, "a" : {} }`: `{"b":2, "a" : 1 }`,
	} {
		e := rawjson.Set([]byte(in), "a", []byte("1"))
		if got := string(rawjson.Splice(nil, []byte(in), e)); got != want {
			t.Errorf("Set on %q: %q, want %q", in, got, want)
		}
	}
}

func TestRewriteRenamesMembers(t *testing.T) {
	t.Parallel()
	rename := func(name string) string {
		return map[string]string{"a": "x", "b": "", "c": "c", "d\n": "\""}[name]
	}
	for in, want := range map[string]string{
		`{"a" : 1, "b":{"a":2},"c": [ 3 ] , "d\n":null}`: `{"x":1,"c":[ 3 ],"\"":null}`,
		`{"b":1}`: `{}`,
		` { } `:   `{}`,
	} {
		if got := string(rawjson.Rewrite([]byte(in), rename)); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func TestNamesFindDuplicates(t *testing.T) {
	t.Parallel()
	names := rawjson.Names{"model", "messages", "max_tokens", "topP"}
	tests := []struct{ obj, at string }{
		{`{"model":1,"messages":2,"Other":3,"mode":4}`, ""},
		{`{"\u006dodel":1}`, ""},
		{`{"model":1,"model":2}`, "model"},
		{`{"model":1,"\u006dodel":2}`, "model"},
		{`{"Model":1}`, "model"},
		{`{"MESSAGES":1}`, "messages"},
		{`{"topP":1,"tops":2,"top":3}`, ""},
		{`{"topp":1}`, "topP"},
		{`{"meſſages":1}`, "messages"},          // the long s is an s in another case
		{`{"max_to\u212aens":1}`, "max_tokens"}, // so is the Kelvin sign a k
	}
	for _, tt := range tests {
		var at string
		var seen rawjson.Seen
		for m := range rawjson.Members([]byte(tt.obj)) {
			i, err := names.Find(m, &seen)
			if e, ok := errors.AsType[*rawjson.NameError](err); ok {
				at = e.Name
				if names[i] != at || !strings.Contains(e.Error(), at) {
					t.Errorf("%s: index %d and %q, want both to name %q", tt.obj, i, e, at)
				}
			}
		}
		if at != tt.at {
			t.Errorf("%s: refused %q, want %q", tt.obj, at, tt.at)
		}
	}
}

func TestRepeatedFindsDuplicates(t *testing.T) {
	t.Parallel()
	long := `"a":0,"b":0,"c":0,"d":0,"e":0,"f":0,"g":0,"h":0,"i":0,"j":0`
	for in, want := range map[string]string{
		`{}`: "", `7`: "", `{"a":1,"A":2}`: "", `[{"a":1},{"a":{"a":1}}]`: "", "{" + long + "}": "",
		`{"a":1,"a":1}`:                 "a",
		`{"a":1,"\u0061":1}`:            "a",
		`{"x":[0,{"b":{"c":1,"c":2}}]}`: "c",
		"{" + long + `,"j":1}`:          "j",
		"{" + long + `,"a":1}`:          "a",
		"{" + long + `,"":[],"":[]}`:    "",
	} {
		got, twice := rawjson.Repeated([]byte(in))
		if got != want || twice != (want != "" || strings.Contains(in, `"":[],"":`)) {
			t.Errorf("Repeated(%s): %q, %t, want %q", in, got, twice, want)
		}
	}
}

// BenchmarkRepeated compares a flat array with one that has 90 arrays around it: a value is read once, and not
// once for each array.
func BenchmarkRepeated(b *testing.B) {
	const size = 1 << 20
	for _, depth := range []int{1, 90} {
		text := []byte(strings.Repeat("[", depth) + strings.Repeat("0,", size/2) + "0" + strings.Repeat("]", depth))
		b.Run(strconv.Itoa(depth), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				rawjson.Repeated(text)
			}
		})
	}
}

// TestMaxMembers checks the bound on the members of one object, and of all together.
func TestMaxMembers(t *testing.T) {
	t.Parallel()
	object := func(n int) string { return "{" + strings.Repeat(`"a":0,`, n-1) + `"a":0}` }
	for text, want := range map[string]bool{
		object(rawjson.MaxMembers):     true,
		object(rawjson.MaxMembers + 1): false,
		"[" + object(rawjson.MaxMembers) + "," + object(rawjson.MaxMembers) + "]": true,
		`{"a":` + object(rawjson.MaxMembers+1) + "}":                              false,
	} {
		if err := rawjson.Validate([]byte(text), 10); (err == nil) != want {
			t.Errorf("%d bytes: %v, want it accepted: %t", len(text), err, want)
		}
	}
}

func FuzzValidate(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5e-3,"\u00e9",null]}`, `"\ud800"`, "\"12345678\x1f\"", `[[[]]]`, ` 1 `, "\xff", `[{"a":{"b" :1}}]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		worktest.Check(t, in, func(in []byte) { _ = rawjson.Validate(in, 100) })
		got := rawjson.Validate(in, 1000) == nil
		var names int
		usual, err := rawjson.ValidateNames(in, 1000, func(name []byte) bool {
			names++
			return json.Valid([]byte(`"`+string(name)+`"`)) && string(name) != "b"
		})
		if (err == nil) != got || got && names > bytes.Count(in, []byte{':'}) {
			t.Fatalf("ValidateNames(%q): usual %t, %v, after %d names; valid %t", in, usual, err, names, got)
		}
		if want := !bytes.Contains(spaceless(in), []byte(`"b":`)); got && usual != want && !bytes.ContainsRune(in, '\\') {
			t.Fatalf("ValidateNames(%q): usual %t, want %t", in, usual, want)
		}
		// encoding/json accepts bytes that are not UTF-8.
		want := json.Valid(in) && strings.ToValidUTF8(string(in), "") == string(in)
		if got != want && strings.Count(string(in), "[")+strings.Count(string(in), "{") < 1000 {
			t.Fatalf("Validate(%q): %v, want %v", in, got, want)
		}
	})
}

// spaceless returns valid JSON without white space.
func spaceless(in []byte) []byte {
	var out bytes.Buffer
	_ = json.Compact(&out, in)
	return out.Bytes()
}

// FuzzReaders checks that no reader panics on any bytes, and that on valid JSON they agree with encoding/json.
func FuzzReaders(f *testing.F) {
	for _, s := range []string{`{"a":[1,{"b":"\u00e9"}],"c":null}`, `{"a":"`, `[1,`, `"\`, `{"a":{`, `"\ud83d\u`, `{"":"\\\"}"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if rawjson.Validate(in, 20) == nil {
			worktest.Check(t, in, func(in []byte) {
				walk(in, 0)
				_, _ = rawjson.Repeated(in)
				rawjson.Text(in)
				rawjson.Rewrite(in, strings.ToUpper)
			})
		}
		walk(in, 0)
		for _, v := range [][]byte{in, rawjson.Get(in, "a"), rawjson.Get(in, "a", "b")} {
			_, _ = rawjson.AsInt(v)
			_, _ = rawjson.AsBool(v)
			_ = rawjson.Text(v)
		}
		if rawjson.KindOf(in) == rawjson.Object {
			rawjson.Splice(nil, in, rawjson.Set(in, "a", []byte("1")))
		}
		var want string
		if rawjson.Validate(in, 100) == nil && json.Unmarshal(in, &want) == nil {
			if got, _ := rawjson.AsString(in); got != want {
				t.Fatalf("AsString(%q): %q, want %q", in, got, want)
			}
		}
		s := string(in)
		var back string
		if err := json.Unmarshal(rawjson.AppendString(nil, s), &back); err != nil || back != strings.ToValidUTF8(s, "\ufffd") && back != string([]rune(s)) {
			t.Fatalf("AppendString(%q) reads back as %q, %v", s, back, err)
		}
	})
}

func walk(v []byte, depth int) {
	if depth > 50 {
		return
	}
	for m := range rawjson.Members(v) {
		_ = m.Name()
		walk(m.Value, depth+1)
	}
	for _, e := range rawjson.Elements(v) {
		walk(e, depth+1)
	}
}

func TestScalarsWithNames(t *testing.T) {
	t.Parallel()
	for v, want := range map[string][]string{
		`7`: {` 7`}, ` "a" `: {` "a"`}, `{}`: {` {}`}, `[ ]`: {` [ ]`}, ``: nil,
		`{"a":[1,"b:\"",{"c" : null, "d":-2.5e3}],"e":{},"f":[[],[true]]}`: {`a 1`, `a "b:\""`, `c null`, `d -2.5e3`, `e {}`, `f []`, `f true`},
	} {
		var got []string
		for s := range rawjson.Scalars([]byte(v)) {
			got = append(got, s.Name()+" "+string(s.Value))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", v, got, want)
		}
	}
	for range rawjson.Scalars([]byte(`[1,2]`)) {
		break
	}
	for i := range len(`{"a":["b",-1,{}]}`) { // a cut ends it
		for range rawjson.Scalars([]byte(`{"a":["b",-1,{}]}`)[:i]) {
			continue
		}
	}
}

// TestPlainString checks which strings have no escapes up to their quote.
func TestPlainString(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		`"`: 0, `abc"x`: 3, `é😀"`: 6, `a long text without anything"`: 28, ``: -1, `abc`: -1, `a\"b"`: -1, "a\nb\"": -1, "a\xffb\"": -1, "\xed\xa0\x80\"": -1,
	} {
		if got := rawjson.PlainString([]byte(text)); got != want {
			t.Errorf("%q: got %d, want %d", text, got, want)
		}
	}
}

// TestHasElementTellsEmptyArrays checks that only an array with an element has one.
func TestHasElementTellsEmptyArrays(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{`[1]`: true, ` [ {}]`: true, `[]`: false, `[ ]`: false, `{}`: false, ``: false, `[`: false, `null`: false} {
		if got := rawjson.HasElement([]byte(text)); got != want {
			t.Errorf("%q: got %t, want %t", text, got, want)
		}
	}
}
