package stdio

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"weir/internal/mcp"
)

const (
	readSize = 64 << 10
	// maxSkipped is how much longer than the bound a line may be, as a factor, before its process is ended.
	maxSkipped = 16
	// maxStrays bounds the lines in a second that are no response. Further ones wait.
	maxStrays = 1000
	// maxLogged bounds the lines of standard error in a second that are logged, and maxLogLine their bytes.
	maxLogged  = 10
	maxLogLine = 1 << 10
	// leastSecret is the length from which the values of Env are removed from standard error.
	leastSecret = 4
)

var errTooLong = errors.New("the line is longer than the bound")

// read passes the lines of standard output to those who wait for them.
func (p *process) read(out io.Reader) {
	lines, strays := bufio.NewReaderSize(out, readSize), rate{most: maxStrays}
	for {
		line, err := nextLine(lines, p.o.MaxLine)
		switch {
		case errors.Is(err, errTooLong):
			p.o.Log.Warn("a message of an MCP server exceeds the bound", "bound", p.o.MaxLine)
			if line != nil { // it did not end
				p.end()
				_, _ = io.Copy(io.Discard, out) // until the process has ended
				return
			}
			p.failOnly()
		case err != nil:
			p.end() // nobody can hear it any more
			return
		case p.take(line):
			continue
		}
		time.Sleep(strays.next(p.o.Now()))
	}
}

// take passes a response to its request, and a notification to those whom it concerns, and declines requests of the
// server. It reports whether it was a response for which somebody has waited.
func (p *process) take(text []byte) bool {
	m, err := mcp.ParseMessage(text)
	switch {
	case err != nil:
		return false // such as a text that is no message
	case m.IsRequest():
		p.reply(declined(&m))
		return false
	case m.Method != "":
		p.note(&m, text)
		return false
	}
	return p.answered(&m, text)
}

// failOnly fails the request in flight if there is only one: the line that was too long is its response.
func (p *process) failOnly() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.calls) != 1 {
		return
	}
	for id, w := range p.calls {
		delete(p.calls, id)
		w.put(nil, true)
	}
}

// declined returns the response to a request of the server.
func declined(m *mcp.Message) []byte {
	if m.Method == "ping" {
		return mcp.AppendResponse(nil, m.ID, []byte("{}"), nil)
	}
	e := mcp.RPCError{Code: mcp.CodeMethod, Message: "the gateway does not answer requests of this server"}
	return mcp.AppendResponse(nil, m.ID, nil, e.JSON())
}

// nextLine returns the next line, without its end. A longer one is skipped, and its error is errTooLong; if it is very
// long, the line is not nil and its rest is unread.
func nextLine(r *bufio.Reader, most int) (line []byte, err error) {
	for skipped := 0; ; {
		part, err := r.ReadSlice('\n')
		switch {
		case len(line)+len(part) <= most+1 && skipped == 0:
			line = append(line, part...)
		case skipped > maxSkipped*most:
			return []byte{}, errTooLong
		default:
			skipped += len(line) + len(part)
			line = nil
		}
		switch {
		case err == nil && skipped > 0:
			return nil, errTooLong
		case err == nil:
			return bytes.TrimRight(line, "\r\n"), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// log logs the lines of standard error.
func (p *process) log(from io.Reader) {
	secrets, logged, dropped := p.o.hidden(), rate{most: maxLogged}, 0
	lines := bufio.NewReaderSize(from, readSize)
	for begun := false; ; {
		line, err := lines.ReadSlice('\n')
		long, rest := errors.Is(err, bufio.ErrBufferFull), begun
		if err != nil && !long && len(line) == 0 {
			return
		}
		if begun = long; rest { // only the beginning of a line is logged: a secret may be cut later
			continue
		}
		if logged.next(p.o.Now()) > 0 {
			dropped++
			continue
		}
		text := secrets.Replace(string(line))
		text = strings.ToValidUTF8(strings.TrimSpace(text[:min(len(text), maxLogLine)]), "")
		p.o.Log.Info("an MCP server wrote to its standard error", "text", text, "dropped", dropped)
		dropped = 0
	}
}

// hidden returns the marks in place of the values of Env, line by line, the longest first.
func (o *Options) hidden() *strings.Replacer {
	var values []string
	for _, e := range o.Env {
		_, value, _ := strings.Cut(e.Reveal(), "=")
		for line := range strings.Lines(value) {
			if line = strings.TrimSpace(line); len(line) >= leastSecret {
				values = append(values, line)
			}
		}
	}
	slices.SortFunc(values, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	pairs := make([]string, 0, 2*len(values)) //nolint:mnd // with its mark
	for _, value := range values {
		pairs = append(pairs, value, "[redacted]")
	}
	return strings.NewReplacer(pairs...)
}

// rate counts events in a second.
type rate struct {
	most  int
	began time.Time
	n     int
}

// next counts an event, and returns how long it would have to wait; 0 for no wait.
func (r *rate) next(now time.Time) time.Duration {
	if now.Sub(r.began) >= time.Second {
		r.began, r.n = now, 0
	}
	if r.n++; r.n <= r.most {
		return 0
	}
	return r.began.Add(time.Second).Sub(now)
}

// oneLine returns a message without line ends, which are only between values.
func oneLine(text []byte) ([]byte, error) {
	if !bytes.ContainsAny(text, "\r\n") {
		return text, nil
	}
	var out bytes.Buffer
	err := json.Compact(&out, text)
	return out.Bytes(), err
}
