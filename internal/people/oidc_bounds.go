package people

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// keysFor is how long what the provider says to everybody, its keys above all, is not asked for again: each token that
// names a key that nobody knows would ask otherwise. A new key counts so much later.
const keysFor = 10 * time.Second

const (
	// mostRemembered is how many addresses are remembered: that of the keys, and room for a new one.
	mostRemembered = 4
	// discoveryPath ends the address at which the provider says where its keys are: that is asked for once.
	discoveryPath = "/.well-known/openid-configuration"
)

// remembering answers questions without credentials with what was answered a moment before.
type remembering struct {
	next http.RoundTripper
	mu   sync.Mutex
	said map[string]said
}

type said struct {
	head http.Header
	body []byte
	at   time.Time
}

// RoundTrip asks, unless the answer is remembered.
func (m *remembering) RoundTrip(r *http.Request) (*http.Response, error) {
	address := r.URL.String()
	if r.Method != http.MethodGet || r.Header.Get("Authorization") != "" || strings.HasSuffix(r.URL.Path, discoveryPath) {
		return m.next.RoundTrip(r)
	}
	if s, ok := m.recall(address); ok {
		return &http.Response{
			Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
			Header: s.head.Clone(), Body: io.NopCloser(bytes.NewReader(s.body)), ContentLength: int64(len(s.body)),
			Request: r,
		}, nil
	}
	res, err := m.next.RoundTrip(r)
	if err != nil || res.StatusCode != http.StatusOK {
		return res, err
	}
	body, err := io.ReadAll(res.Body) // which is bounded
	_ = res.Body.Close()              // it was read to its end
	if err != nil {
		return nil, err
	}
	m.keep(address, said{res.Header, body, time.Now()})
	res.Body = io.NopCloser(bytes.NewReader(body))
	return res, nil
}

func (m *remembering) recall(address string) (said, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.said[address]
	return s, ok && time.Since(s.at) < keysFor
}

func (m *remembering) keep(address string, s said) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.said == nil || len(m.said) >= mostRemembered {
		m.said = map[string]said{}
	}
	m.said[address] = s
}
