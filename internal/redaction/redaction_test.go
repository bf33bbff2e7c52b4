package redaction_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"weir/internal/must"
	"weir/internal/redaction"
	"weir/internal/worktest"
)

// kinds are secrets by the kind that their marks name.
var kinds = map[string]string{
	"github-pat":          "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8",
	"aws-access-token":    "AKIA" + "QYLPMN5HHHFPZAM2",
	"weir-api-key":        "wk_" + strings.Repeat("aB3dE", 9) + "x",
	"api-key":             "sk-" + "0123456789abcdefABCDEF0123456789",
	"gitlab-pat":          "glpat-" + "Ab1Cd2Ef3Gh4Ij5Kl6Mn",
	"email":               "ada.lovelace+notes@mail.example.co.uk",
	"card":                "4111 1111 1111 1111",
	"private-key":         "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\n-----END RSA PRIVATE KEY-----",
	"stripe-access-token": "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc",
	"anthropic-api-key":   "sk-ant-api03-" + strings.Repeat("aZ9", 31) + "AA",
}

// TestSecretsAreReplacedAnywhere checks that no secret survives, wherever it is in a text or in JSON and however it is
// escaped. A copy of the text without the secret is the negative control: it is not changed.
func TestSecretsAreReplacedAnywhere(t *testing.T) {
	t.Parallel()
	r := must.Get(redaction.New())(t)
	words := rapid.StringMatching(`([a-z]{1,9}[ ,.\n]){0,30}`)
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom(slices.Sorted(maps.Keys(kinds))).Draw(t, "kind")
		secret := kinds[kind]
		before, after := words.Draw(t, "before")+" ", " "+words.Draw(t, "after")
		if got, n := r.Text(before + after); got != before+after || n != 0 {
			t.Fatalf("%q without a secret: got %q with %d marks", before+after, got, n)
		}
		got, n := r.Text(before + secret + after)
		if want := before + "[redacted: " + kind + "]" + after; got != want || n != 1 {
			t.Fatalf("%s: got %q with %d marks, want %q", kind, got, n, want)
		}
		text := escaped(t, before+secret+after, rapid.IntRange(0, 3).Draw(t, "nesting"))
		whole, _ := json.Marshal(map[string]any{"a": []any{1, json.RawMessage(text)}, "b": true})
		out, n := r.JSON(whole)
		if n != 1 || !json.Valid(out) || !strings.Contains(string(out), "[redacted: "+kind+"]") {
			t.Fatalf("%s in %s: got %s with %d marks", kind, whole, out, n)
		}
		if left := decoded(string(out)); strings.Contains(left, secret) {
			t.Fatalf("%s in %s is left: %s", kind, whole, left)
		}
	})
}

// escaped returns a JSON string in which any character may be escaped, as a JSON string in a JSON string, and so on.
func escaped(t *rapid.T, s string, nesting int) string {
	var out strings.Builder
	out.WriteByte('"')
	for _, c := range s {
		if rapid.IntRange(0, 3).Draw(t, "escape") == 0 {
			fmt.Fprintf(&out, `\u%04x`, c)
			continue
		}
		b, _ := json.Marshal(string(c))
		out.Write(b[1 : len(b)-1])
	}
	out.WriteByte('"')
	text := out.String()
	for range nesting {
		b, _ := json.Marshal(`{"inner":` + text + `}`)
		text = string(b)
	}
	return text
}

// decoded removes the escapes of a JSON text.
func decoded(s string) string {
	for range 8 {
		var v any
		if json.Unmarshal([]byte(`"`+strings.ReplaceAll(strings.ReplaceAll(s, `\`, `\`), `"`, `\"`)+`"`), &v) != nil {
			break
		}
		next, _ := v.(string)
		if next == s {
			break
		}
		s = next
	}
	return s
}

func TestTextsWithoutSecretsAreUnchanged(t *testing.T) {
	t.Parallel()
	r := must.Get(redaction.New())(t)
	for _, text := range []string{
		"", "@", "a@b", "Order 1234 5678 9012 3456 of 2026-11-29", "4111 1111 1111 1112", "1764432000000",
		"41111111111111111111111111", "the key is under the mat, and the token is a word", "@mention and user@localhost",
		"https://example.com/a:b", `{"max_tokens": 100, "token": "the"}`, "ghp_short", "tasks and keys.",
	} {
		if got, n := r.Text(text); got != text || n != 0 {
			t.Errorf("Text(%q): got %q", text, got)
		}
		raw := must.Get(json.Marshal(map[string]any{"content": text, "n": []float64{1, 2.5, 1e9}}))(t)
		if got, n := r.JSON(raw); string(got) != string(raw) || n != 0 {
			t.Errorf("JSON(%s): got %s", raw, got)
		}
	}
}

func TestSecretsNeedTheirSurroundings(t *testing.T) {
	t.Parallel()
	r := must.Get(redaction.New())(t)
	for _, test := range []struct{ text, want string }{
		{`{"card": 4111111111111111}`, `{"card": "[redacted: card]"}`},
		{`{"price": 4111111111111111.5}`, `{"price": 4111111111111111.5}`},
		{`{"api_key": "zK9mQ2xV7bN4pL8w"}`, `{"api_key": "[redacted: generic-api-key]"}`},
		{`{"colour": "zK9mQ2xV7bN4pL8w"}`, `{"colour": "zK9mQ2xV7bN4pL8w"}`},
		{`"Authorization: Bearer abcdefghijklmnop0123"`, `"Authorization: Bearer [redacted: bearer-token]"`},
		{`"postgres://weir:hunter2@db/weir"`, `"postgres://weir:[redacted: url-password]@db/weir"`},
		{`{"ada@example.com": 1}`, `{"[redacted: email]": 1}`},
		{`{"text": "mine is gh\u0070_` + kinds["github-pat"][4:], `{"text": "mine is [redacted: github-pat]"`},
		{`{"text": "-----BEGIN PRIVATE KEY-----\nMIIEpAIB`, `{"text": "[redacted: private-key]"`},
		{`{"text": "cut \u00`, `{"text": "cut "`},
		{`"4111-1111-1111-1111 123"`, `"[redacted: card] 123"`},
		{
			`"kind: Secret\ndata:\n  user: YWRtaW5hZG1pbg==\n  pass: c2VjcmV0c2VjcmV0\n"`,
			`"kind: Secret\ndata:\n  user: [redacted: kubernetes-secret-yaml]\n` +
				`  pass: [redacted: kubernetes-secret-yaml]\n"`,
		},
	} {
		if got, _ := r.JSON([]byte(test.text)); string(got) != test.want {
			t.Errorf("JSON(%s)\n got %s\nwant %s", test.text, got, test.want)
		}
	}
}

// TestTextOfKeywordsIsNotSearchedForLong checks that such a text is left out, since rules would search it a hundred
// times, and that the other strings of the JSON and usual documents stay.
func TestTextOfKeywordsIsNotSearchedForLong(t *testing.T) {
	t.Parallel()
	r := must.Get(redaction.New())(t)
	var rules []struct{ Keywords []string }
	must.Do(t, json.Unmarshal(must.Get(os.ReadFile("gitleaks.json"))(t), &rules))
	all := ""
	for _, rule := range rules {
		all += strings.Join(rule.Keywords, "")
	}
	got, n := r.JSON([]byte(`["first", "` + strings.Repeat(all, 50) + kinds["github-pat"] + `", "last"]`))
	if want := `["first", "[redacted: too many keywords]", "last"]`; string(got) != want || n != 1 {
		t.Errorf("got %.200s with %d marks, want %s", got, n, want)
	}
	for _, file := range []string{"rules.go", "../../docs/admin-api.md", "../config/config.go"} {
		text := string(must.Get(os.ReadFile(file))(t))
		if got, _ := r.Text(strings.Repeat(text, 1+(64<<10)/len(text))); strings.Contains(got, "too many keywords") {
			t.Errorf("%s is left out", file)
		}
	}
}

// FuzzJSON checks that the work is linear, that valid JSON stays valid, and that a second pass finds nothing new.
func FuzzJSON(f *testing.F) {
	r, err := redaction.New()
	if err != nil {
		f.Fatal(err)
	}
	for _, secret := range kinds {
		f.Add([]byte(`{"key": "` + secret + `"}`))
	}
	f.Add([]byte(strings.Repeat("key=", 500)))
	f.Add([]byte(`"` + strings.Repeat(`sk-ey`, 500)))
	f.Add([]byte(strings.Repeat(`"\"[`, 100)))
	f.Fuzz(func(t *testing.T, text []byte) {
		var out []byte
		worktest.Check(t, text, func(b []byte) { out, _ = r.JSON(b) })
		if json.Valid(text) && !json.Valid(out) {
			t.Errorf("JSON(%s): got %s, which is not valid", text, out)
		}
	})
}
