package chat_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"weir/internal/e2e/harness"
)

// TestInputAtTheStart checks that a translated stream to Anthropic's client API has an estimate of the request's tokens
// at its start, and the provider's figures at its end.
func TestInputAtTheStart(t *testing.T) {
	t.Parallel()
	h, up := harness.OpenSimulated(t)
	inputs := regexp.MustCompile(`"input_tokens":([0-9]+)`)
	for _, words := range []int{1, 9, 3000} {
		text, err := json.Marshal(strings.Repeat("The quick brown fox jumps. ", words))
		if err != nil {
			t.Fatal(err)
		}
		messages := fmt.Sprintf(`"model":"house/echo","messages":[{"role":"user","content":%s}]`, text)
		r := h.Do(harness.Ask{Path: "/v1/messages", Body: `{"max_tokens":9,"stream":true,` + messages + "}"})
		start, rest, _ := strings.Cut(r.Body, "event: content_block_start")
		_, end, _ := strings.Cut(rest, "event: message_delta")
		atStart, atEnd := inputs.FindStringSubmatch(start), inputs.FindStringSubmatch(end)
		if r.Status != http.StatusOK || atStart == nil || atEnd == nil {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		told, _ := strconv.Atoi(atStart[1])
		all := up.Records(t)
		if got, want := atEnd[1], strconv.FormatInt(all[len(all)-1].Usage.InputTokens(), 10); got != want {
			t.Errorf("%d sentences: %s at the end, want the provider's %s", words, got, want)
		}
		counted := inputs.FindStringSubmatch(h.Do(harness.Ask{Path: "/v1/messages/count_tokens", Body: "{" + messages + "}"}).Body)
		if counted == nil {
			t.Fatal("no count of tokens")
		}
		if n, _ := strconv.Atoi(counted[1]); told < n*9/10 || told > n*11/10 {
			t.Errorf("%d sentences: %d at the start, want about the %d of count_tokens", words, told, n)
		}
	}
}
