package signin

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// keysFor is how long the provider's public documents, mainly its keys, are cached. Without a cache every token with an
// unknown key id would cause a request. A new key is accepted after at most this time.
const keysFor = 10 * time.Second

const (
	// mostRemembered is the maximum number of cached addresses: the address of the keys, and space for a new one.
	mostRemembered = 4
	// discoveryPath is the suffix of the discovery document's address, which is fetched only once and not cached here.
	discoveryPath = "/.well-known/openid-configuration"
)

// remembering caches responses to requests without credentials for a short time.
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

// RoundTrip sends the request, unless the response is cached.
func (m *remembering) RoundTrip(r *http.Request) (*http.Response, error) {
	address := r.URL.String()
	if r.Method != http.MethodGet || r.Header.Get("Authorization") != "" ||
		strings.HasSuffix(r.URL.Path, discoveryPath) {
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
	body, err := io.ReadAll(res.Body) // bounded by the transport
	_ = res.Body.Close()              // already read to its end
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
