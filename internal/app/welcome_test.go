package app_test

import (
	"encoding/json"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

var (
	curlForm  = regexp.MustCompile(`(?m)^ *curl .*$`)
	setupForm = regexp.MustCompile(`http://[^ \n]+/setup/[^ \n]+`)
)

// TestFreshMachine is the first start with nothing configured: what is printed
// works as it stands, and is printed once.
func TestFreshMachine(t *testing.T) {
	t.Parallel()
	h := open(t, setup{})
	if want := "listening on " + h.url + "\n"; !strings.HasPrefix(h.log.String(), want) {
		t.Errorf("the log begins %.80q, want %q", h.log, want)
	}
	await(t, "the end of the welcome", func() bool { return strings.Contains(h.out.String(), "No provider is configured") })
	said := h.out.String()
	setupURL := setupForm.FindString(said)
	if first := regexp.MustCompile(`http://[^ \n]+`).FindString(said); first != setupURL || !strings.HasPrefix(setupURL, h.url) {
		t.Errorf("the first URL is %q, want the set-up link", first)
	}
	if r := h.do(ask{path: strings.TrimPrefix(setupURL, h.url), key: noKey}); r.status != http.StatusOK {
		t.Errorf("the set-up link: %d", r.status)
	}
	commands := curlForm.FindAllString(said, -1)
	if len(commands) != 2 {
		t.Fatalf("%d curl lines, want one to chat and one for uses: %s", len(commands), said)
	}
	var chat chatReply
	decode(t, runShell(t, h, commands[0]), &chat)
	if chat.Model != "demo/chat" || !strings.Contains(chat.Choices[0].Message.Content, "demo") {
		t.Errorf("the first answer is %+v, want one that says that it is a demo", chat)
	}
	var uses usesPage
	decode(t, runShell(t, h, commands[1]), &uses)
	if uses.Total.Requests != "1" || uses.Total.Tokens.String() != jsonText(t, chat.Usage.Total) || uses.Data[0].Model != chat.Model {
		t.Errorf("uses %+v does not agree with %+v", uses, chat.Usage)
	}

	if err := h.stop(); err != nil {
		t.Fatal(err)
	}
	again := open(t, setup{dir: h.data, key: h.key})
	again.mustAnswer(again.do(ask{path: "/v1/chat", body: messages(`[{"role":"user","prompt":"Hi"}]`)}))
	if out := again.out.String(); out != "" {
		t.Errorf("the second start prints %q, want nothing", out)
	}
}

func jsonText(t *testing.T, v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// runShell runs a line that was printed, as it stands.
func runShell(t *testing.T, h *testGateway, line string) string {
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

// asCurl does what the line says where there is no curl.
func asCurl(t *testing.T, h *testGateway, line string) string {
	a := ask{path: target.FindStringSubmatch(line)[1], key: noKey}
	for _, word := range quoted.FindAllStringSubmatch(line, -1) {
		if name, value, ok := strings.Cut(word[1], ": "); ok && !strings.HasPrefix(word[1], "{") {
			a.header = append(a.header, name, value)
		} else {
			a.body = word[1]
		}
	}
	r := h.do(a)
	if r.status != http.StatusOK {
		t.Fatalf("%s: %d %s", line, r.status, r.body)
	}
	return r.body
}
