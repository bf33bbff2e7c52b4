//go:build linux

package hostiletest_test

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// inside is the request that is hidden in another.
const inside = "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"

// smuggled lists requests with ends that a proxy in front may see elsewhere: the text after the first line, with LENGTH
// and HEX for the length of inside.
var smuggled = map[string]string{
	"CL.TE":                       "Content-Length: LENGTH\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + inside,
	"TE.CL":                       "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\nHEX\r\n" + inside + "\r\n0\r\n\r\n",
	"a length and chunks":         "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n" + inside,
	"TE.TE, the second unknown":   "Transfer-Encoding: chunked\r\nTransfer-Encoding: cow\r\n\r\n0\r\n\r\n" + inside,
	"TE.TE in one line":           "Transfer-Encoding: identity, chunked\r\nContent-Length: LENGTH\r\n\r\n" + inside,
	"an unknown encoding":         "Transfer-Encoding: xchunked\r\nContent-Length: LENGTH\r\n\r\n" + inside,
	"a vertical tab":              "Transfer-Encoding: \x0bchunked\r\nContent-Length: LENGTH\r\n\r\n" + inside,
	"space before the colon":      "Transfer-Encoding : chunked\r\nContent-Length: LENGTH\r\n\r\n" + inside,
	"a length with a space":       "Content-Length : LENGTH\r\n\r\n" + inside,
	"a folded encoding":           "Content-Length: LENGTH\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n" + inside,
	"a folded length":             "Content-Length:\r\n LENGTH\r\n\r\n" + inside,
	"a folded header":             "X-Y: z\r\n Content-Length: LENGTH\r\n\r\n" + inside,
	"bare LF before a length":     "X-Y: z\nContent-Length: LENGTH\r\n\r\n" + inside,
	"bare LF before an encoding":  "X-Y: z\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + inside,
	"bare LF at the end":          "X-Y: z\n\n" + inside,
	"bare LF in chunks":           "Transfer-Encoding: chunked\r\n\r\n2\n{}\n0\n\n" + inside,
	"bare CR":                     "X-Y: z\rContent-Length: LENGTH\r\n\r\n" + inside,
	"two lengths":                 "Content-Length: 0\r\nContent-Length: LENGTH\r\n\r\n" + inside,
	"two lengths in one line":     "Content-Length: 0, LENGTH\r\n\r\n" + inside,
	"a length with a sign":        "Content-Length: +LENGTH\r\n\r\n" + inside,
	"a length in hexadecimal":     "Content-Length: 0xHEX\r\n\r\n" + inside,
	"a chunk size with a sign":    "Transfer-Encoding: chunked\r\n\r\n+0\r\n\r\n" + inside,
	"a chunk size that overflows": "Transfer-Encoding: chunked\r\n\r\n10000000000000000\r\n" + inside,
	"chunks behind a header of 0": "Content-Length: 0\r\nX-Y: \x00\r\n\r\n" + inside,
}

func smugglingAttacks() []attack {
	length := strings.NewReplacer("LENGTH", strconv.Itoa(len(inside)), "HEX", strconv.FormatInt(int64(len(inside)), 16))
	return []attack{{name: "smuggled requests", held: "400 or 501, one answer, and the connection is closed", check: only("400", "501", "closed"), hostile: func(a *attacker) {
		for a.pause(time.Millisecond) {
			for name, rest := range smuggled {
				a.smuggle(name, a.head(length.Replace(rest)))
			}
			old := strings.Replace(a.head("Connection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"+inside), "HTTP/1.1", "HTTP/1.0", 1)
			a.smuggle("chunks of HTTP/1.0", old)
		}
	}}}
}

// smuggle checks that there is one answer at most, and that the connection is closed then.
func (a *attacker) smuggle(name, text string) {
	conn := a.dial()
	if conn == nil {
		return
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	_, _ = io.WriteString(conn, text)
	replies := bufio.NewReader(conn)
	resp, err := http.ReadResponse(replies, nil)
	if err != nil {
		a.count("closed")
		return
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	a.count(resp.StatusCode)
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	if rest, err := replies.Peek(12); len(rest) > 0 {
		a.wrong("%s: %d, and then one more answer, %q", name, resp.StatusCode, rest)
	} else if !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
		a.wrong("%s: %d, and the connection stays open", name, resp.StatusCode)
	}
}
