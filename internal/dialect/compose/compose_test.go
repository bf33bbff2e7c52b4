package compose_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"weir/internal/dialect/compose"
	"weir/internal/llm"
)

func ptr[T any](v T) *T { return &v }

func TestFieldsAreComposed(t *testing.T) {
	t.Parallel()
	r := &llm.Request{ExtraOf: "here"}
	w := compose.New("here", r, &llm.Quirks{Drop: []string{"seed", "more"}, Rename: map[string]string{"n": "choices"}})
	w.Text("model", `a"b`)
	w.Raw("stream", []byte("true"))
	w.Integer("n", ptr(int64(2)))
	w.Integer("seed", ptr(int64(1)))
	w.Integer("absent", nil)
	w.Number("temperature", ptr(json.Number("0.50")))
	w.Number("absent", nil)
	w.Truth("strict", ptr(false))
	w.Truth("absent", nil)
	w.Extras([]llm.Field{{Name: "more", Value: []byte("1")}, {Name: "other", Value: []byte("[]")}})
	w.DropMarks(&llm.Part{CacheControl: []byte("{}")}) // it is written
	w.Name("inside")
	w.Dst = append(w.Dst, '{')
	w.Inner("n", "as it is") // quirks do not reach here
	w.InnerRaw("seed", []byte("1"))
	w.InnerExtras([]llm.Field{{Name: "x", Value: []byte("null")}}, "fields")
	w.Dst = append(w.Dst, `,"list":[`...)
	for range 2 {
		w.Element()
		w.Dst = append(w.Dst, "{}"...)
	}
	w.Dst = append(w.Dst, "]}"...)
	got, dropped, err := w.Close()
	want := `{"model":"a\"b","stream":true,"choices":2,"temperature":0.50,"strict":false,"other":[],` +
		`"inside":{"n":"as it is","seed":1,"x":null,"list":[{},{}]}}`
	if string(got) != want || err != nil {
		t.Errorf("wrote %s, %v\n want %s", got, err, want)
	}
	if want := []string{"seed", "more"}; !slices.Equal(dropped, want) {
		t.Errorf("dropped %q, want %q", dropped, want)
	}
}

func TestForeignFields(t *testing.T) {
	t.Parallel()
	w := compose.New("here", &llm.Request{ExtraOf: "there"}, nil)
	fields := []llm.Field{{Name: "a", Value: []byte("1")}, {Name: "b", Value: []byte("2")}}
	w.Extras(fields)
	w.InnerExtras(fields, "fields of another API")
	w.InnerExtras(nil, "nothing")
	w.DropProof(&llm.Part{Signature: "s", Redacted: "r"})
	w.DropMarks(&llm.Part{CacheControl: []byte("{}"), Annotations: []byte("[]"), Extra: fields})
	w.DropProof(&llm.Part{})
	w.DropMarks(&llm.Part{})
	got, dropped, err := w.Close()
	want := []string{
		"a", "b", "fields of another API", "reasoning signature", "redacted reasoning",
		"cache_control", "annotations", "content fields of another API",
	}
	if string(got) != "{}" || err != nil || !slices.Equal(dropped, want) {
		t.Errorf("wrote %s, dropped %q, %v; want {} and %q", got, dropped, err, want)
	}
}

func TestFirstRefusalWins(t *testing.T) {
	t.Parallel()
	w := compose.New("here", &llm.Request{}, nil)
	w.Drop("seed")
	w.Refuse("n", "One answer alone.")
	w.Refuse("stop", "No stops.")
	got, dropped, err := w.Close()
	var e *llm.Error
	if got != nil || dropped != nil || !errors.As(err, &e) || e.Param != "n" {
		t.Errorf("got %s, %q, %v; want the first refusal alone", got, dropped, err)
	}
}

// TestDropIsBounded checks that the recorded names of unknown fields, of which a request may have millions, are
// bounded, and so is the time.
func TestDropIsBounded(t *testing.T) {
	t.Parallel()
	fields := make([]llm.Field, 200_000)
	for i := range fields {
		fields[i].Name = fmt.Sprintf("field %d", i)
	}
	w := compose.New("here", &llm.Request{}, nil)
	w.Extras(fields)
	w.Extras(fields)
	_, dropped, _ := w.Close()
	if len(dropped) != 100 || dropped[0] != "field 0" || dropped[99] != "field 99" {
		t.Errorf("%d names, want the first 100: %q", len(dropped), dropped)
	}
}

func TestDroppedNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 64)
	for name, want := range map[string]string{
		"":                     "",
		"top_k":                "top_k",
		"a b~":                 "a b~",
		"a\r\nX-Weir: b\x7f":   "a??X-Weir: b?",
		"größe\u2028":          "gr??e?",
		"\xff\xfe":             "??",
		long:                   long,
		long + "y":             long,
		long[:63] + "é":        long[:63] + "?", // cut within a character
		strings.Repeat("é", 9): strings.Repeat("?", 9),
	} {
		w := compose.New("here", &llm.Request{}, nil)
		w.Drop(name)
		w.Drop(name)
		if _, dropped, _ := w.Close(); !slices.Equal(dropped, []string{want}) {
			t.Errorf("%q is reported as %q, want %q", name, dropped, want)
		}
	}
}

// TestOneAllocation checks that the estimated length suffices for usual requests: another allocation would copy the
// whole conversation.
func TestOneAllocation(t *testing.T) {
	text := strings.Repeat("word ", 10_000)
	r := &llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Parts: []llm.Part{{Kind: llm.PartText, Text: text}}}}}
	q := &llm.Quirks{}
	value := []byte(`"` + text + `"`)
	n := testing.AllocsPerRun(10, func() {
		w := compose.New("here", r, q)
		w.Raw("text", value)
		if b, _, _ := w.Close(); !bytes.HasSuffix(b, []byte(`"}`)) {
			t.Error("the body is not closed")
		}
	})
	if n > 1 {
		t.Errorf("%v allocations, want 1", n)
	}
}
