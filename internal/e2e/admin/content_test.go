package admin_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/account"
	"weir/internal/admin"
	"weir/internal/audit"
	"weir/internal/e2e/harness"
	"weir/internal/must"
)

// setContent sets the percentage of the account default.
func setContent(h *harness.Gateway, percent int64) {
	h.Administer(func(ctx context.Context, s *account.Service) error {
		_, err := s.UpdateAccount(ctx, audit.Gateway(), account.DefaultName, account.Update{ContentPercent: &percent})
		return err
	})
	h.T.Helper()
	harness.Await(h.T, "the setting on the node", func() bool { // a request shows it
		id := h.MustAnswer(h.Chat("house/echo")).ID
		idle(h)
		return logged(h, id) == (percent > 0)
	})
}

// idle waits until all content is written.
func idle(h *harness.Gateway) {
	h.T.Helper()
	harness.Await(h.T, "the end of the writing", func() bool {
		return strings.Contains(h.Do(harness.Ask{Path: "/metrics", Key: harness.NoKey}).Body, "weir_content_waiting_bytes 0\n")
	})
}

// logged reports whether the content of a request is in the database.
func logged(h *harness.Gateway, id string) bool {
	return len(exported(h, id)) > 0
}

// exported returns the content of a request, or of all with an empty id, as the lines of the export.
func exported(h *harness.Gateway, id string) (lines []string) {
	h.T.Helper()
	withPeople(h, func(ctx context.Context, d *admin.Admin) error {
		a, err := d.Accounts.Account(ctx, account.DefaultName)
		if err != nil {
			return err
		}
		return d.Content.Export(ctx, audit.Gateway(), &a, a.Created, d.Now(), func(c *admin.LoggedContent) error {
			if id == "" || c.RequestID == id {
				lines = append(lines, string(c.Request)+string(c.Answer))
			}
			return nil
		})
	})
	return lines
}

// filesWith returns the files of the data directory, and the outputs of the gateway, that contain a text.
func filesWith(h *harness.Gateway, text string) (names []string) {
	h.T.Helper()
	err := filepath.WalkDir(h.Data, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.HasSuffix(path, ".new") { // it is being written and renamed
			return err
		}
		content, err := os.ReadFile(path)
		if strings.Contains(string(content), text) {
			names = append(names, filepath.Base(path))
		}
		return err
	})
	must.Do(h.T, err)
	for name, output := range map[string]string{
		"log": h.Log.String(), "output": h.Out.String(),
		"metrics": h.Do(harness.Ask{Path: "/metrics", Key: harness.NoKey}).Body,
	} {
		if strings.Contains(output, text) {
			names = append(names, name)
		}
	}
	return names
}

// say sends a text through every client API, whole and as a stream.
func say(h *harness.Gateway, key, text string) {
	h.T.Helper()
	for _, api := range harness.ChatAPIs() {
		for _, stream := range []bool{false, true} {
			ask, _ := api.Ask("openai", "house/echo", stream)
			ask.Body, ask.Key = strings.ReplaceAll(ask.Body, "Say it again, please", text), key
			ask.Header = append(ask.Header, "X-Weir-Tags", "seen=tag-of-"+strings.Fields(text)[0])
			if !strings.Contains(ask.Body, text) {
				h.T.Fatalf("the body %s has no greeting to replace", ask.Body)
			}
			if r := h.Do(ask); r.Status != 200 {
				h.T.Fatalf("%s: got %d %s", ask.Path, r.Status, r.Body)
			}
		}
	}
}

// TestContentIsOnlyInItsPlace sends canaries before the content log is on, while it is on, with a key that is left out,
// and after it is off again. Only those from in between are logged, without their secrets, and no canary is readable
// in any file, metric, log, trace or the audit log. The tags are the negative control: they are readable.
func TestContentIsOnlyInItsPlace(t *testing.T) {
	t.Parallel()
	traces := harness.NewCollector(t)
	h := harness.Open(t, harness.Setup{
		YAML: harness.ProvidersYAML(harness.NewUpstream(t).URL) + "\ntelemetry: {otlp: \"" + traces.URL + "\"}\n",
	})
	out := h.NewKey(account.KeyOptions{Account: account.DefaultName, Label: "out", NoContent: true})
	say(h, h.Key, "canary-before")
	setContent(h, 100)
	say(h, h.Key, "canary-during ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8 ada@example.com")
	say(h, out, "canary-out")
	setContent(h, 0)
	say(h, h.Key, "canary-after")
	with := 0
	for _, line := range exported(h, "") {
		if strings.Contains(line, "canary-during") {
			with++
			request, answer, _ := strings.Cut(line, `{"choices":`)
			if !strings.Contains(answer, "canary-during [redacted: github-pat] [redacted: email]") ||
				!strings.Contains(request, "canary-during [redacted: github-pat] [redacted: email]") {
				t.Errorf("got %s, want the text and marks in request and answer", line)
			}
		}
		for _, other := range []string{"canary-before", "canary-out", "canary-after", "ghp_", "ada@"} {
			if strings.Contains(line, other) {
				t.Errorf("got %s in %s", other, line)
			}
		}
	}
	must.Equal(t, with, 2*len(harness.ChatAPIs()), "requests with content")
	for _, canary := range []string{"canary-before", "canary-during", "canary-out", "canary-after"} {
		must.Equal(t, filesWith(h, canary+" "), []string(nil), "files with %s", canary)
		if len(filesWith(h, "tag-of-"+canary)) == 0 {
			t.Errorf("the tag of %s is in no file: the search finds nothing", canary)
		}
	}
	withPeople(h, func(ctx context.Context, d *admin.Admin) error {
		return d.Audit.Export(ctx, audit.Query{}, func(e *audit.Entry) error {
			if text := fmt.Sprint(e, string(e.Before), string(e.After)); strings.Contains(text, "canary") {
				t.Errorf("the audit log has %s", text)
			}
			return nil
		})
	})
	must.Do(t, h.Stop())
	spans, _, raw := traces.Received()
	if len(spans) < 8*len(harness.ChatAPIs()) || strings.Contains(string(raw), "canary-during ") {
		t.Errorf("got %d spans, want one of each request and attempt, without a canary: %t", len(spans),
			strings.Contains(string(raw), "canary-during "))
	}
	must.Equal(t, len(filesWithoutGateway(h, "canary-during ")), 0, "files with the canary after the stop")
}

// filesWithoutGateway is filesWith for a gateway that has stopped.
func filesWithoutGateway(h *harness.Gateway, text string) (names []string) {
	entries := must.Get(os.ReadDir(h.Data))(h.T)
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(h.Data, e.Name()))
		if err == nil && strings.Contains(string(content), text) {
			names = append(names, e.Name())
		}
	}
	return names
}

// operatorsRead lets operators read content.
const operatorsRead = "\ncontent: {operators: true}\n"

// runContent reads, exports and deletes the content of a request.
func (o *office) runContent() {
	o.call(200, "PATCH /accounts/{account}", `{"content_percent": 100}`, "default")
	setContent(o.Gateway, 100)
	id := o.MustAnswer(o.Chat("house/echo")).ID
	const one, all = " /accounts/{account}/requests/{id}/content", "/admin/v1/accounts/{account}/content"
	must.Equal(o.T, at(o.call(200, "GET"+one, "", "default", id), "request_id"), id, "id")
	lines := o.Do(harness.Ask{Path: filled(all, []string{"default"}), Key: o.admin})
	if lines.Status != 200 || !strings.Contains(lines.Body, id) || lines.Header.Get("Content-Type") != "application/jsonl" {
		o.T.Errorf("got %d %s, want the export", lines.Status, lines.Body)
	}
	o.answered["get "+all+" 200"] = true
	o.call(204, "DELETE"+one, "", "default", id)
	o.call(200, "DELETE /accounts/{account}/content", "", "default")
	lines = o.Do(harness.Ask{Path: filled(all, []string{"default"}), Key: o.admin})
	must.Equal(o.T, fmt.Sprint(lines.Status, lines.Body), "200", "export after the deletion")
}

// TestContentIsReadWithItsRightOnly reads, exports and deletes content by the API, and is refused without the right.
func TestContentIsReadWithItsRightOnly(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	o.call(200, "PATCH /accounts/{account}", `{"content_percent": 100}`, "default")
	setContent(o.Gateway, 100)
	id := o.MustAnswer(o.Chat("house/echo")).ID
	const one = " /accounts/{account}/requests/{id}/content"
	problem := o.call(403, "GET"+one, "", "default", id)
	if !strings.Contains(at(problem, "detail"), "content.operators") {
		t.Errorf("got %v, want the setting that permits it", problem)
	}
	o.call(403, "GET /accounts/{account}/content", "", "default")
	must.Do(t, o.Stop())
	o.Configure(harness.ProvidersYAML(o.upstream) + operatorsRead)
	o.Start(harness.Setup{Dir: o.Data, Key: o.Key})
	got := o.call(200, "GET"+one, "", "default", id)
	must.Equal(t, at(got, "request_id"), id, "id")
	must.Equal(t, at(got, "answer", "choices", "0", "finish_reason"), "stop", "end of the answer")
	if at(got, "request", "model") != "house/echo" || at(got, "answer", "choices", "0", "text") == "" {
		t.Errorf("got %v, want the request and its answer", got)
	}
	if lines := o.Do(harness.Ask{Path: "/admin/v1/accounts/default/content?from=2020-01-01", Key: o.admin}); lines.Status != 200 {
		t.Errorf("got %d %s, want the export", lines.Status, lines.Body)
	}
	entries := at(o.call(200, "GET /audit?action=content.", ""), "data")
	if !strings.Contains(entries, "content.read") || !strings.Contains(entries, "content.exported") {
		t.Errorf("got the entries %s, want the look and the export", entries)
	}
	o.call(204, "DELETE"+one, "", "default", id)
	o.call(404, "GET"+one, "", "default", id)
	o.call(404, "DELETE"+one, "", "default", id)
}

// TestContentOfStoredAnswerIsThatOfTheFirst checks that a request with a stored answer is logged like the one that got
// the answer from its provider, in all client APIs. Weir's own, which no provider speaks, is logged as the client got it.
func TestContentOfStoredAnswerIsThatOfTheFirst(t *testing.T) {
	t.Parallel()
	h, _ := harness.OpenSimulated(t)
	setContent(h, 100)
	for _, api := range harness.ChatAPIs() {
		for _, stream := range []bool{false, true} {
			ask, _ := api.Ask("", "house/echo", stream)
			ask.Body, ask.Header = strings.Replace(ask.Body, "{", `{"store":false,`, 1), append(ask.Header, "X-Weir-Cache", "1h")
			if !strings.HasSuffix(ask.Path, "/responses") {
				ask.Body = strings.Replace(ask.Body, `"store":false,`, "", 1)
			}
			first, hit := h.Do(ask), h.Do(ask)
			idle(h)
			want, got := exported(h, first.Header.Get("X-Request-Id")), exported(h, hit.Header.Get("X-Request-Id"))
			own := strings.HasSuffix(ask.Path, "/chat")
			equal := len(want) == 1 && len(got) == 1 && (got[0] == want[0] || own && strings.Contains(got[0], "finish_reason"))
			if hit.Header.Get("X-Weir-Cache") != "hit" || !equal {
				t.Errorf("%s, stream %t: X-Weir-Cache %q, logged %q, want %q", ask.Path, stream, hit.Header.Get("X-Weir-Cache"), got, want)
			}
		}
	}
}
