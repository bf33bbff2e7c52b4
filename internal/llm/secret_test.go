package llm_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"weir/internal/llm"
)

const canary = "sk-canary-314159"

func TestSecretIsNeverPrinted(t *testing.T) {
	t.Parallel()
	type hidden struct{ key llm.Secret }
	type shown struct {
		Key  llm.Secret
		Keys []llm.Secret
		Ptr  *llm.Secret
	}
	s := llm.NewSecret(canary)
	whole := shown{s, []llm.Secret{s}, &s}
	values := map[string]any{
		"secret": s, "pointer": &s, "slice": []llm.Secret{s}, "struct": whole,
		"unexported": hidden{s}, "pointer to unexported": &hidden{s},
		"map": map[string]llm.Secret{"k": s}, "map key": map[llm.Secret]int{s: 1},
	}
	for name, v := range values {
		for _, verb := range "vsqxXdbotTUeEfgGcp" {
			for _, flag := range []string{"", "+", "#", " ", "020", "-20"} {
				format := "%" + flag + string(verb)
				if got := fmt.Sprintf(format, v); leaks(got) {
					t.Errorf("%s with %s: got %q, want no secret", name, format, got)
				}
			}
		}
	}
	for name, got := range encodings(t, whole) {
		if leaks(got) || !strings.Contains(got, "[redacted]") {
			t.Errorf("%s: got %q, want [redacted] and no secret", name, got)
		}
	}
}

// leaks reports whether the text has the canary, plain or as hexadecimal.
func leaks(text string) bool {
	lower := strings.ToLower(text)
	return strings.Contains(lower, canary) || strings.Contains(lower, fmt.Sprintf("%x", canary))
}

func encodings(t *testing.T, v any) map[string]string {
	t.Helper()
	out := map[string]string{}
	for name, marshal := range map[string]func(any) ([]byte, error){
		"json": json.Marshal, "xml": xml.Marshal,
		"yaml": func(v any) ([]byte, error) { return yaml.Marshal(v) },
	} {
		b, err := marshal(v)
		if err != nil {
			t.Fatalf("%s: got error %v, want none", name, err)
		}
		out[name] = string(b)
	}
	var text, asJSON bytes.Buffer
	slog.New(slog.NewTextHandler(&text, nil)).Info("m", "v", v, "s", llm.NewSecret(canary))
	slog.New(slog.NewJSONHandler(&asJSON, nil)).Info("m", "v", v, "s", llm.NewSecret(canary))
	out["slog text"], out["slog json"] = text.String(), asJSON.String()
	return out
}

func TestSecretContent(t *testing.T) {
	t.Parallel()
	s := llm.NewSecret(canary)
	if got := s.Reveal(); got != canary {
		t.Errorf("Reveal: got %q, want %q", got, canary)
	}
	if got := (llm.Secret{}).Reveal(); got != "" {
		t.Errorf("Reveal of the zero value: got %q, want the empty string", got)
	}
	cases := []struct {
		a, b llm.Secret
		want bool
	}{
		{s, llm.NewSecret(canary), true},
		{s, llm.NewSecret("other"), false},
		{s, llm.Secret{}, false},
		{llm.NewSecret(""), llm.Secret{}, true},
	}
	for _, c := range cases {
		if got := c.a.Equal(c.b); got != c.want {
			t.Errorf("Equal(%q, %q): got %v, want %v", c.a.Reveal(), c.b.Reveal(), got, c.want)
		}
	}
	if got := llm.NewSecret("").IsZero(); !got {
		t.Errorf("IsZero of the empty secret: got %v, want true", got)
	}
	if got := s.IsZero(); got {
		t.Errorf("IsZero of %q: got %v, want false", canary, got)
	}
}
