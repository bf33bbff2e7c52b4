package provider_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"weir/internal/dialect"
	"weir/internal/dialect/registry/registrytest"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/provider"
	"weir/internal/sse"
	"weir/internal/worktest"
)

// echoedKey has the form of a vendor's key, and characters that encodings write otherwise.
const echoedKey = "sk-canary-Q7vX2mB9/tR4w+Lz8Kd3Yp6Nf1Hs5Jc0Ga=="

// plainKey has no prefix of any vendor's, and shortKey is the shortest that is looked for.
const (
	plainKey = "0f9e8d7c6b5a49382716f5e4d3c2b1a0"
	shortKey = "Zk4-qW9x"
)

// echoes returns texts in which a provider repeats a key.
func echoes(key string) map[string]string {
	return map[string]string{
		"alone":        key,
		"behind plus":  "+" + key,
		"scheme, plus": "bad Bearer+" + key + ".",
		"in a word":    "x" + key + "x",
		"twice":        key + key,
		"query":        "/v1?key=" + url.QueryEscape(key) + "&x=1",
		"percent":      "Bearer%20" + url.QueryEscape(key),
		"percent all":  "key=" + percented(key, "%%%02x"),
		"PERCENT ALL":  "key=" + percented(key, "%%%02X"),
		"base64":       "Basic " + base64.StdEncoding.EncodeToString([]byte(key)),
		"base64 of 1":  "Basic " + base64.StdEncoding.EncodeToString([]byte(":"+key)),
		"base64 of 2":  "Basic " + base64.RawURLEncoding.EncodeToString([]byte("u:"+key+":x")),
		"cut":          strings.Repeat("word ", 92) + "+" + key + strings.Repeat("x", 600),
	}
}

func percented(text, as string) string {
	var all strings.Builder
	for _, c := range []byte(text) {
		fmt.Fprintf(&all, as, c)
	}
	return all.String()
}

// bodies returns errors with the text in every field in which a provider may have it.
func bodies(text string) []string {
	q := strconv.Quote(text) // of plain characters, which is JSON
	return []string{
		strings.ReplaceAll(`{"error":{"message":Q,"param":Q,"code":Q,"type":Q}}`, "Q", q),
		strings.ReplaceAll(`{"error":{"message":Q,"param":Q,"code":Q,"type":"invalid_request_error"}}`, "Q", q),
		strings.ReplaceAll(`{"error":{"message":Q,"param":Q,"code":"invalid_request_error"}}`, "Q", q),
		strings.ReplaceAll(`{"type":"error","message":Q,"error":{"type":"invalid_request_error","message":Q,"param":Q,"details":{"error_code":Q}}}`, "Q", q),
		strings.ReplaceAll(`{"error":Q,"message":Q,"param":Q,"type":Q,"code":400}`, "Q", q),
		strings.ReplaceAll(`{"detail":[{"loc":["body",Q],"msg":Q}],"error_type":Q}`, "Q", q),
		strings.ReplaceAll(`{"message":Q,"__type":Q,"code":Q}`, "Q", q),
		strings.ReplaceAll(`{"error":{"code":400,"status":Q,"message":Q,"details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":Q},`+
			`{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":Q,"description":Q}]}]}}`, "Q", q),
		strings.ReplaceAll(`{"type":"message-end","delta":{"finish_reason":"ERROR","error":Q}}`, "Q", q),
		strings.ReplaceAll(`{"type":"response.failed","response":{"status":"failed","error":{"code":Q,"message":Q}}}`, "Q", q),
	}
}

// leaked returns a part of the echoed text that reveals the key: 16 bytes of the key or of its encoding; empty for
// none.
func leaked(text, key string) string {
	forms := []string{key, url.QueryEscape(key), percented(key, "%%%02x"), percented(key, "%%%02X")}
	for i := range 3 {
		forms = append(forms, base64.StdEncoding.EncodeToString([]byte("u:"[:min(i, 2)] + key))[4:])
		forms = append(forms, base64.RawURLEncoding.EncodeToString([]byte("u:"[:min(i, 2)] + key))[4:])
	}
	for _, form := range forms {
		n := min(16, len(form))
		for i := range len(form) - n + 1 {
			if n >= len(shortKey) && strings.Contains(text, form[i:i+n]) {
				return form[i : i+n]
			}
		}
	}
	return ""
}

// TestSecretsStayOutOfEveryField has providers of every wire format repeat their key in every field of an error, with
// an error status and in an answer.
func TestSecretsStayOutOfEveryField(t *testing.T) {
	worktest.NotRaced(t)
	t.Parallel()
	for _, d := range registrytest.All() {
		if d.DecodeError == nil {
			continue // no provider has it
		}
		for _, key := range []string{echoedKey, plainKey, shortKey} {
			t.Run(d.Name+"/"+key[:4], func(t *testing.T) {
				t.Parallel()
				var body []byte
				var status int
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", "application/json")
					w.WriteHeader(status)
					_, _ = w.Write(body)
				}))
				t.Cleanup(server.Close)
				p := must.Get(provider.New(provider.Options{
					Name: "acme", Dialect: d, BaseURL: server.URL, AllowPrivate: true,
					APIKeys: []llm.Secret{llm.NewSecret("another-key-0123456789"), llm.NewSecret(key)},
				}))(t)
				t.Cleanup(p.Close)
				shown := 0
				for name, text := range echoes(key) {
					for _, b := range bodies(text) {
						body = []byte(b)
						for _, status = range []int{200, 400, 404, 500} {
							if _, f := exchange(t.Context(), p, chat(false)); f != nil {
								shown += checkShown(t, d, f, name, key)
							}
						}
						for _, frame := range []sse.Event{{Name: []byte("error"), Data: body}, {Data: body}} {
							_, err := d.NewDecoder(p.Quirks(d)).Decode(nil, frame)
							if err != nil {
								shown += checkShown(t, d, p.Judge(err), name, key)
							}
						}
						if d.DecodeReply == nil {
							continue
						}
						if _, err := d.DecodeReply(body, p.Quirks(d)); err != nil {
							shown += checkShown(t, d, p.Judge(err), name, key)
						}
					}
				}
				if least := 4 * len(echoes(key)); shown < least {
					t.Errorf("got %d errors in the provider's own words, want %d at least", shown, least)
				}
			})
		}
	}
}

// checkShown checks that no visible text of a failure has the key, and returns 1 if a client receives the provider's
// text.
func checkShown(t *testing.T, d *dialect.Dialect, f *provider.Failure, name, key string) int {
	t.Helper()
	body := string(d.EncodeError(nil, f.Err, "id"))
	for where, text := range map[string]string{
		"body": body, "log": f.Error(), "reason": f.Reason(), "param": f.Err.Param, "word": f.Err.Word,
		"cause": fmt.Sprint(f.Err.Err), "explanation": fmt.Sprintf("%+v", f.Upstream),
	} {
		if part := leaked(text, key); part != "" {
			t.Errorf("%s: the %s has %q of the key: %s", name, where, part, text)
		}
	}
	if strings.Contains(body, "[redacted]") {
		return 1
	}
	return 0
}

// TestMaskedKeysArePreserved checks that masked keys of vendors, and texts that only begin like a key, are preserved.
func TestMaskedKeysArePreserved(t *testing.T) {
	t.Parallel()
	p := newProvider(t, provider.Options{BaseURL: "http://127.0.0.1:1/v1", APIKeys: []llm.Secret{llm.NewSecret(echoedKey)}})
	for _, text := range []string{"sk-…Ga==", "sk-canar****Ga==", "a risk-free, task-oriented word", "sk-canary", ""} {
		f := p.Judge(&llm.Error{Code: llm.CodeInvalidRequest, Message: text})
		if f.Err.Message != text {
			t.Errorf("got %q, want %q", f.Err.Message, text)
		}
	}
}

// TestSecretsStayOutOfCauses checks the errors of decoders and the network about a provider's bytes.
func TestSecretsStayOutOfCauses(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/"+strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	}))
	t.Cleanup(server.Close)
	p := newProvider(t, provider.Options{BaseURL: server.URL})
	_, f := exchange(t.Context(), p, chat(false))
	if f == nil || leaked(f.Error(), testKey) != "" || !strings.Contains(f.Error(), "[redacted]") {
		t.Errorf("got %v, want the content type without the key", f)
	}
	err := fmt.Errorf("openai: an unknown field %q", "+"+testKey)
	if f := p.Judge(err); leaked(f.Error(), testKey) != "" || !strings.Contains(f.Error(), "+[redacted]") {
		t.Errorf("got %v, want the cause without the key", f)
	}
}
