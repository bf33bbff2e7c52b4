package oauth

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"weir/internal/fairqueue"
	"weir/internal/llm"
	"weir/internal/outbound"
)

// Client is a program that asks for access.
type Client struct {
	ID        string
	Name      string   // as the program says; not verified
	Host      string   // that has the program's document; empty for a registered program
	Redirects []string // addresses for answers
}

const (
	maxClientID  = 2048     // bytes
	maxDocument  = 16 << 10 // bytes
	documentFor  = 5 * time.Second
	cachedFor    = 5 * time.Minute
	maxDocuments = 256 // cached
	maxFetches   = 8   // at a time, of different people
	maxWaiting   = 2   // of one person
	waitFor      = 10 * time.Second
	maxRedirects = 20  // of a program
	maxRedirect  = 512 // bytes of an address
	maxName      = 60  // characters
)

// metadata are the members of a program's description that matter here (RFC 7591, section 2).
type metadata struct {
	ClientID  string   `json:"client_id,omitempty"`
	Name      string   `json:"client_name,omitempty"`
	Redirects []string `json:"redirect_uris"`
	Method    string   `json:"token_endpoint_auth_method,omitempty"`
}

// documents reads the documents of programs whose id is an address (OAuth Client ID Metadata Document,
// https://datatracker.ietf.org/doc/html/draft-ietf-oauth-client-id-metadata-document-00, read on 2026-11-29).
type documents struct {
	client http.Client
	now    func() time.Time
	places *fairqueue.Queue // of people

	mu    sync.Mutex
	known map[string]document
}

type document struct {
	client Client
	until  time.Time
}

var errRedirects = errors.New("it redirects")

func newDocuments(o *Options) (*documents, error) {
	through := o.Through
	if through == nil {
		t, err := outbound.Transport(o.Proxy, o.CAFile, documentFor)
		if err != nil {
			return nil, err
		}
		if o.Proxy == "" {
			dialer := &net.Dialer{Timeout: documentFor, Control: outbound.Public.Control}
			t.DialContext = dialer.DialContext
		}
		t.DisableKeepAlives, t.MaxResponseHeaderBytes = true, maxDocument
		through = t
	}
	return &documents{
		client: http.Client{
			Transport: through, Timeout: documentFor,
			CheckRedirect: func(*http.Request, []*http.Request) error { return errRedirects },
		},
		now: o.Now, known: map[string]document{}, places: fairqueue.New(fairqueue.Options{
			AtOnce: maxFetches, PerAccount: 1, MostWaiting: maxWaiting, Wait: waitFor,
		}),
	}, nil
}

// get returns the program whose id is an address, for a person.
func (d *documents) get(ctx context.Context, person, id string) (Client, error) {
	u, err := checkClientID(id)
	if err != nil {
		return Client{}, err
	}
	if c, ok := d.cached(id); ok {
		return c, nil
	}
	if err := d.places.Enter(ctx, person, false); err != nil {
		return Client{}, &llm.Error{
			Code: llm.CodeOverloaded, RetryAfter: time.Second, Err: err,
			Message: "Too many descriptions of programs are being read. Try again in a second.",
		}
	}
	defer d.places.Leave(person)
	m, err := d.fetch(ctx, id)
	if err == nil && m.ClientID != id {
		err = fmt.Errorf("its client_id is %.100q", m.ClientID)
	}
	if err == nil {
		err = m.check()
	}
	if err != nil {
		return Client{}, &llm.Error{Code: llm.CodeInvalidRequest, Err: err, Message: fmt.Sprintf("The description of "+
			"the program at %.200s cannot be used: %s. Ask its maker to correct it.", id, publicReason(err))}
	}
	c := Client{ID: id, Name: cleanName(m.Name), Host: u.Host, Redirects: m.Redirects}
	d.put(c)
	return c, nil
}

func (d *documents) cached(id string) (Client, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	known, ok := d.known[id]
	return known.client, ok && d.now().Before(known.until)
}

func (d *documents) put(c Client) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.known) >= maxDocuments {
		clear(d.known)
	}
	d.known[c.ID] = document{c, d.now().Add(cachedFor)}
}

// checkClientID refuses an id that is no address of a document.
func checkClientID(id string) (*url.URL, error) {
	u, err := url.Parse(id)
	if err != nil || u.Scheme != "https" || !isPlainHost(u.Host) || u.User != nil || strings.Contains(id, "#") ||
		len(u.Path) < 2 || slices.ContainsFunc(strings.Split(u.Path, "/"), func(s string) bool {
		return s == "." || s == ".."
	}) {
		return nil, llm.Invalidf("client_id", "The client_id %.100q is neither a registered one nor the https address "+
			"of a document with a path.", id)
	}
	if err := outbound.Public.CheckHost(u.Hostname()); err != nil {
		return nil, llm.Invalidf("client_id", "The client_id %.100q has a host that is not on the public internet.", id)
	}
	return u, nil
}

// reason is an error whose text people may read: it repeats nothing that a server has sent.
type reason string

// Error returns the text.
func (r reason) Error() string { return string(r) }

func publicReason(err error) string {
	if r, ok := errors.AsType[reason](err); ok {
		return string(r)
	}
	if errors.Is(err, errRedirects) {
		return "it redirects"
	}
	return "it cannot be read"
}

// fetch reads a document.
func (d *documents) fetch(ctx context.Context, address string) (m metadata, err error) {
	ctx, cancel := context.WithTimeout(ctx, documentFor)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return m, err
	}
	request.Header.Set("Accept", "application/json")
	response, err := d.client.Do(request)
	if err != nil {
		return m, err
	}
	defer func() { _ = response.Body.Close() }() // what is left of it is not wanted
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if response.StatusCode != http.StatusOK || kind != "application/json" && !strings.HasSuffix(kind, "+json") {
		return m, reason(fmt.Sprintf("it answers with HTTP status %d, or not with JSON", response.StatusCode))
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxDocument+1))
	if err != nil {
		return m, err
	}
	if len(text) > maxDocument {
		return m, reason(fmt.Sprintf("it has more than %d bytes", maxDocument))
	}
	return parseMetadata(text)
}

// parseMetadata reads the description of a program.
func parseMetadata(text []byte) (m metadata, err error) {
	if err := json.Unmarshal(text, &m); err != nil {
		return m, reason("it is not the JSON of a description")
	}
	return m, nil
}

// check refuses a program that this server cannot serve.
func (m *metadata) check() error {
	if m.Method != "" && m.Method != "none" {
		return reason("its token_endpoint_auth_method is not none, the only one here")
	}
	if len(m.Redirects) == 0 || len(m.Redirects) > maxRedirects {
		return reason(fmt.Sprintf("it needs 1 to %d redirect_uris", maxRedirects))
	}
	for _, address := range m.Redirects {
		if err := checkRedirect(address); err != nil {
			return err
		}
	}
	return nil
}

// checkRedirect refuses an address for answers that others could read, or that is not one.
func checkRedirect(address string) error {
	u, err := url.Parse(address)
	if err != nil || len(address) > maxRedirect || u.User != nil || strings.ContainsAny(address, "#\\") ||
		(!isPlainHost(u.Host) || !isProtected(u)) && !isPrivateUse(u) {
		return reason("a redirect_uri must be https, http with localhost, 127.0.0.1 or [::1], or of a scheme with a " +
			"domain, such as com.example.app:/callback, without a fragment")
	}
	return nil
}

// isPrivateUse reports whether the system passes an address to a program on the person's machine: by a scheme that is
// the reversed domain of the program's maker (RFC 8252, section 7.1).
func isPrivateUse(u *url.URL) bool {
	labels := strings.Split(u.Scheme, ".")
	return len(labels) > 1 && !slices.Contains(labels, "") && u.OmitHost && strings.HasPrefix(u.Path, "/")
}

// isPlainHost reports whether a host, with or without a port, has only the characters of names and addresses.
func isPlainHost(host string) bool {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.:[]"
	return host != "" && host[0] != ':' && len(host) <= 260 && strings.Trim(host, plain) == ""
}

// isLoopback reports whether a host is this machine.
func isLoopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.IsLoopback()
}

// permits reports whether a program may receive answers at an address. It must be one of its own to the letter, but for
// the port of a loopback address, which programs cannot choose (RFC 8252, section 7.3).
func (c *Client) permits(address string) bool {
	return checkRedirect(address) == nil && slices.ContainsFunc(c.Redirects, func(own string) bool {
		return own == address || portless(own) != "" && portless(own) == portless(address)
	})
}

// portless returns a loopback address over http without its port; empty for any other address.
func portless(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" || !isLoopback(u.Hostname()) {
		return ""
	}
	u.Host = u.Hostname()
	return u.String()
}

// cleanName returns the name of a program with printable characters only.
func cleanName(name string) string {
	name = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || unicode.Is(unicode.Bidi_Control, r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(name, ""))
	if runes := []rune(name); len(runes) > maxName {
		name = string(runes[:maxName])
	}
	return cmp.Or(strings.TrimSpace(name), "A program without a name")
}
