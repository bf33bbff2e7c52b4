package hostile_test

import (
	"bufio"
	"io"
	"net/http"
	"testing"

	"weir/internal/e2e/harness"
	"weir/internal/must"
)

// TestDoubtfulFraming sends requests with ambiguous ends, with a second one after or inside them: there is one answer
// at most, and the connection is closed.
func TestDoubtfulFraming(t *testing.T) {
	t.Parallel()
	h := harness.Open(t, harness.Setup{})
	const second = "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"
	const first = "POST /v1/chat HTTP/1.1\r\nHost: x\r\n"
	for name, tt := range map[string]struct {
		text   string
		status int
	}{
		"a length and chunks":  {first + "Content-Length: 38\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + second, http.StatusBadRequest},
		"a folded header":      {first + "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n" + second, http.StatusBadRequest},
		"bare LF":              {first + "X: y\nContent-Length: 33\r\n\r\n" + second, http.StatusBadRequest},
		"another coding":       {first + "Transfer-Encoding: chunked, cow\r\n\r\n0\r\n\r\n" + second, http.StatusNotImplemented},
		"chunks that are none": {first + "Transfer-Encoding: chunked\r\n\r\n2\n{}\r\n0\r\n\r\n" + second, http.StatusUnauthorized},
		"chunks of HTTP/1.0": {
			"POST /v1/chat HTTP/1.0\r\nHost: x\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + second, http.StatusBadRequest,
		},
	} {
		conn := dial(h)
		must.Get(io.WriteString(conn, tt.text))(t)
		replies := bufio.NewReader(conn)
		resp, err := http.ReadResponse(replies, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		if rest, err := io.ReadAll(replies); resp.StatusCode != tt.status || len(rest) > 0 || err != nil {
			t.Errorf("%s: got %d and then %.100q, %v; want %d and the end of the connection", name, resp.StatusCode, rest, err, tt.status)
		}
	}
}
