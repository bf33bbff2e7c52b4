package admin_test

import (
	"encoding/json"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"weir/internal/e2e/harness"
	"weir/internal/must"
)

var (
	curlForm  = regexp.MustCompile(`(?m)^ *curl .*$`)
	setupForm = regexp.MustCompile(`http://[^ \n]+/setup/[^ \n]+`)
)

// TestFreshMachine starts without any configuration: the printed commands work unchanged, and are printed once.
func TestFreshMachine(t *testing.T) {
	t.Parallel()
	h := harness.Open(t, harness.Setup{})
	if want := "listening on " + h.URL + "\n"; !strings.HasPrefix(h.Log.String(), want) {
		t.Errorf("the log begins %.80q, want %q", h.Log, want)
	}
	harness.Await(t, "the end of the welcome", func() bool { return strings.Contains(h.Out.String(), "No provider is configured") })
	said := h.Out.String()
	setupURL := setupForm.FindString(said)
	if first := regexp.MustCompile(`http://[^ \n]+`).FindString(said); first != setupURL || !strings.HasPrefix(setupURL, h.URL) {
		t.Errorf("the first URL is %q, want the set-up link", first)
	}
	if r := h.Do(harness.Ask{Path: strings.TrimPrefix(setupURL, h.URL), Key: harness.NoKey}); r.Status != http.StatusOK {
		t.Errorf("the set-up link: %d", r.Status)
	}
	commands := curlForm.FindAllString(said, -1)
	if len(commands) != 2 {
		t.Fatalf("%d curl lines, want one to chat and one for uses: %s", len(commands), said)
	}
	var chat harness.ChatReply
	harness.Decode(t, runShell(t, h, commands[0]), &chat)
	if chat.Model != "demo/chat" || !strings.Contains(chat.Choices[0].Message.Content, "demo") {
		t.Errorf("the first answer is %+v, want the demo's", chat)
	}
	var uses harness.UsesPage
	harness.Decode(t, runShell(t, h, commands[1]), &uses)
	if uses.Total.Requests != "1" || uses.Total.Tokens.String() != jsonText(t, chat.Usage.Total) || uses.Data[0].Model != chat.Model {
		t.Errorf("uses %+v does not agree with %+v", uses, chat.Usage)
	}

	must.Do(t, h.Stop())
	again := harness.Open(t, harness.Setup{Dir: h.Data, Key: h.Key})
	again.MustAnswer(again.Do(harness.Ask{Path: "/v1/chat", Body: harness.Messages(`[{"role":"user","prompt":"Hi"}]`)}))
	if out := again.Out.String(); out != "" {
		t.Errorf("the second start prints %q, want nothing", out)
	}
}

func jsonText(t *testing.T, v any) string {
	b := must.Get(json.Marshal(v))(t)
	return string(b)
}

// runShell runs a printed line unchanged.
func runShell(t *testing.T, h *harness.Gateway, line string) string {
	t.Helper()
	if _, err := exec.LookPath("curl"); err != nil {
		return asCurl(t, h, line)
	}
	out, err := exec.CommandContext(t.Context(), "sh", "-c", strings.TrimSpace(line)+" -sS").Output()
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return string(out)
}

var (
	quoted = regexp.MustCompile(`'([^']*)'`)
	target = regexp.MustCompile(`http://[^ /]+(/[^ ]*)`)
)

// asCurl sends the request of the line if there is no curl.
func asCurl(t *testing.T, h *harness.Gateway, line string) string {
	a := harness.Ask{Path: target.FindStringSubmatch(line)[1], Key: harness.NoKey}
	for _, word := range quoted.FindAllStringSubmatch(line, -1) {
		if name, value, ok := strings.Cut(word[1], ": "); ok && !strings.HasPrefix(word[1], "{") {
			a.Header = append(a.Header, name, value)
		} else {
			a.Body = word[1]
		}
	}
	r := h.Do(a)
	if r.Status != http.StatusOK {
		t.Fatalf("%s: %d %s", line, r.Status, r.Body)
	}
	return r.Body
}
