package hostile_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/budget"
	"weir/internal/e2e/harness"
	"weir/internal/must"
)

// TestRefusalsReachSenders checks that every refusal of a large request reaches a client that sends all of it before it
// reads, like Python's http.client and Apache in front of a gateway.
func TestRefusalsReachSenders(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: "max_body: 8MiB\n" + harness.ProvidersYAML(up.URL)})
	may := account.KeyOptions{Account: account.DefaultName}
	limited, poor, uses := may, may, may
	limited.Limits.RPM, uses.Permissions = 1, []account.Permission{account.Uses}
	poor.Budget = account.Budget{Limit: 1, Period: budget.PeriodTotal}
	once := h.NewKey(limited)
	if r := h.Do(harness.Ask{Path: "/v1/chat", Body: harness.Hello("house/chat"), Key: once}); r.Status != http.StatusOK {
		t.Fatalf("a first request: got %d: %s", r.Status, r.Body)
	}
	const mb = 1 << 20
	for name, c := range map[string]struct {
		path, key, model string
		size, status     int
	}{
		"no such key, 4 MB":    {"/v1/chat", harness.StrangersKey(), "house/chat", 4 * mb, http.StatusUnauthorized},
		"no such key, 7 MB":    {"/v1/messages", harness.StrangersKey(), "house/chat", 7 * mb, http.StatusUnauthorized},
		"no such key, 12 MB":   {"/v1/chat", harness.StrangersKey(), "house/chat", 12 * mb, http.StatusUnauthorized},
		"no such key, 40 MB":   {"/v1/chat/completions", harness.StrangersKey(), "house/chat", 40 * mb, http.StatusUnauthorized},
		"too large, 12 MB":     {"/v1/chat", h.Key, "house/chat", 12 * mb, http.StatusRequestEntityTooLarge},
		"too large, 40 MB":     {"/v1/chat/completions", h.Key, "house/chat", 40 * mb, http.StatusRequestEntityTooLarge},
		"over a limit, 7 MB":   {"/v1/chat", once, "house/chat", 7 * mb, http.StatusTooManyRequests},
		"over a budget, 4 MB":  {"/v1/chat", h.NewKey(poor), "house/chat", 4 * mb, http.StatusPaymentRequired},
		"not permitted, 12 MB": {"/v1/chat", h.NewKey(uses), "house/chat", 12 * mb, http.StatusForbidden},
		"no such path, 7 MB":   {"/v1/nothing", h.Key, "house/chat", 7 * mb, http.StatusNotFound},
		"no such model, 7 MB":  {"/v1/chat", h.Key, "house2/chat", 7 * mb, http.StatusNotFound},
		"no such method, 4 MB": {"/v1/models", h.Key, "house/chat", 4 * mb, http.StatusMethodNotAllowed},
		"another host, 4 MB":   {"/admin/v1/accounts", h.Key, "house/chat", 4 * mb, http.StatusMisdirectedRequest},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := fmt.Sprintf(`{"model":%q,"max_tokens":5,"messages":[{"role":"user","prompt":"%s"}]}`, c.model, strings.Repeat("word ", c.size/5))
			conn := dial(h)
			defer conn.Close()
			must.Do(t, conn.SetDeadline(time.Now().Add(harness.Patience)))
			head := "POST " + c.path + " HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAuthorization: Bearer " + c.key
			if _, err := io.WriteString(conn, fmt.Sprintf("%s\r\nContent-Length: %d\r\n\r\n%s", head, len(body), body)); err != nil {
				t.Fatalf("the client cannot send its body: %v", err)
			}
			answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
			must.Do(t, err)
			text := must.Get(io.ReadAll(answer.Body))(t)
			if answer.StatusCode != c.status || len(text) == 0 {
				t.Errorf("got %d %.200q, want %d", answer.StatusCode, text, c.status)
			}
		})
	}
}
