package webhook_test

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/webhook"
)

// TestSignatureVerifiesWithLibrary verifies signatures with the library of the receivers.
func TestSignatureVerifiesWithLibrary(t *testing.T) {
	t.Parallel()
	present := llm.NewSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=")
	former := llm.NewSecret("whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
	now, id, payload := time.Now(), "019aa39e-51f1-7b3c-9d40-6a2f0c1e8b77", []byte(`{"type":"key.created"}`)
	for _, secrets := range [][]llm.Secret{{present}, {present, former}} {
		signature, err := webhook.Signature(id, now, payload, secrets...)
		must.Do(t, err)
		head := http.Header{}
		head.Set("webhook-id", id)
		head.Set("webhook-timestamp", strconv.FormatInt(now.Unix(), 10))
		head.Set("webhook-signature", signature)
		for i, s := range []llm.Secret{present, former} {
			side := must.Get(standardwebhooks.NewWebhook(s.Reveal()))(t)
			if err := side.Verify(payload, head); (err == nil) != (i < len(secrets)) {
				t.Errorf("signed with %d secrets, verified with number %d: got %v", len(secrets), i, err)
			}
			if err := side.Verify(append(payload, ' '), head); err == nil {
				t.Error("another payload: got no error, want one")
			}
		}
	}
	for _, wrong := range []string{"", "whsec_", "whsec_AAAA", "whsec_not base64", "plain"} {
		if s, err := webhook.Signature(id, now, payload, llm.NewSecret(wrong)); err == nil {
			t.Errorf("signed with %q: got %s, want an error", wrong, s)
		}
	}
	if s, err := webhook.Signature(id, now, payload); err == nil {
		t.Errorf("signed with nothing: got %q, want an error", s)
	}
}
