package llm_test

import (
	"fmt"
	"strings"
	"testing"

	"weir/internal/llm"
	"weir/internal/must"
)

func TestParseTags(t *testing.T) {
	t.Parallel()
	long, most := strings.Repeat("é", 64), strings.Repeat("é", 512)
	var many []string
	for i := range llm.MaxTags {
		many = append(many, fmt.Sprint("t", i, "=x"))
	}
	for _, test := range []struct {
		lines []string
		want  string // empty for an error
	}{
		{[]string{"project=alpha, team=search"}, "project=alpha,team=search"},
		{[]string{" a = b c "}, "a=b c"},
		{[]string{"a=b", "c=d=e"}, "a=b,c=d=e"},
		{[]string{"a=100%"}, "a=100%25"},
		{[]string{long + "=" + most}, long + "=" + most},
		{[]string{strings.Join(many, ",")}, strings.Join(many, ",")},
		{[]string{strings.Join(many, ","), "more=x"}, ""},
		{[]string{""}, ""},
		{[]string{"a"}, ""},
		{[]string{"a="}, ""},
		{[]string{"=b"}, ""},
		{[]string{"a=b,"}, ""},
		{[]string{"a=b,a=c"}, ""},
		{[]string{"a=b\tc"}, ""},
		{[]string{"a=\xff"}, ""},
		{[]string{long + "x=b"}, ""},
		{[]string{"a=" + most + "x"}, ""},
	} {
		tags, err := llm.ParseTags(test.lines)
		if got := llm.FormatTags(tags); got != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%.100q: got %.100q, %v; want %.100q", test.lines, got, err, test.want)
		}
	}
}

// TestPutTag checks that existing tags stay and that tags beyond the bounds are refused.
func TestPutTag(t *testing.T) {
	t.Parallel()
	a := llm.Attribution{Tags: []llm.Tag{{Name: "a", Value: "header"}}}
	for i := range llm.MaxTags {
		if got, want := a.Put(llm.Tag{Name: fmt.Sprint(i)}), i+1 < llm.MaxTags; got != want {
			t.Errorf("tag %d: got %v, want %v", i, got, want)
		}
	}
	for _, bad := range []llm.Tag{{}, {Name: "b\x00"}, {Name: "\xff"}, {Name: strings.Repeat("x", 65)}, {Name: "c", Value: strings.Repeat("x", 513)}} {
		if a.Put(bad) {
			t.Errorf("%.80q: got true, want false", bad)
		}
	}
	if !a.Put(llm.Tag{Name: "a", Value: "body"}) || a.Tags[0].Value != "header" {
		t.Errorf("got %v, want the header's value", a.Tags[0])
	}
	if a.SetUser(strings.Repeat("x", 513)) || a.User != "" {
		t.Error("an end user of 513 characters: got true, want false")
	}
	must.Equal(t, len(a.Tags), llm.MaxTags, "tags")
}
