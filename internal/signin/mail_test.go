package signin_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/http/httptest"
	"net/mail"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/people"
	"weir/internal/signin"
)

// postbox is a mail server on loopback that stores its letters.
type postbox struct {
	net.Listener
	letters chan string
	refuse  bool
	tls     *tls.Config // offers STARTTLS
	lock    sync.Mutex
	heard   []string // of the lines
	calls   sync.WaitGroup
}

func newPostbox(t *testing.T, change ...func(*postbox)) *postbox {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(t, err)
	p := &postbox{Listener: l, letters: make(chan string, 10)}
	for _, c := range change {
		c(p)
	}
	p.calls.Go(func() {
		for {
			conn, err := p.Accept()
			if err != nil {
				return
			}
			p.calls.Go(func() { p.serve(conn) })
		}
	})
	t.Cleanup(func() { p.Close(); p.calls.Wait() })
	return p
}

// serve implements the part of SMTP that a letter needs.
func (p *postbox) serve(conn net.Conn) {
	defer conn.Close()
	fmt.Fprint(conn, "220 here\r\n")
	lines := bufio.NewReader(conn)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		p.lock.Lock()
		p.heard = append(p.heard, strings.TrimSpace(line))
		p.lock.Unlock()
		switch verb, _, _ := strings.Cut(strings.TrimSpace(line), " "); {
		case verb == "EHLO":
			fmt.Fprint(conn, "250-here\r\n250-AUTH PLAIN\r\n")
			if p.tls != nil {
				fmt.Fprint(conn, "250-STARTTLS\r\n")
			}
			fmt.Fprint(conn, "250 8BITMIME\r\n")
		case verb == "AUTH":
			fmt.Fprint(conn, "235 welcome\r\n")
		case verb == "STARTTLS" && p.tls == nil:
			fmt.Fprint(conn, "502 not here\r\n")
		case verb == "STARTTLS":
			fmt.Fprint(conn, "220 go on\r\n")
			conn = tls.Server(conn, p.tls)
			lines = bufio.NewReader(conn)
		case verb == "DATA":
			fmt.Fprint(conn, "354 go on\r\n")
			var letter strings.Builder
			for line != ".\r\n" {
				if line, err = lines.ReadString('\n'); err != nil {
					return
				}
				letter.WriteString(line)
			}
			p.letters <- strings.TrimSuffix(letter.String(), ".\r\n")
			fmt.Fprint(conn, "250 kept\r\n")
		case verb == "RCPT" && p.refuse:
			fmt.Fprint(conn, "550 nobody\r\n")
		case verb == "QUIT":
			fmt.Fprint(conn, "221 bye\r\n")
			return
		default:
			fmt.Fprint(conn, "250 ok\r\n")
		}
	}
}

// letter returns the next letter: its headers and its text.
func (p *postbox) letter(t *testing.T) (*mail.Message, string) {
	t.Helper()
	select {
	case raw := <-p.letters:
		m, err := mail.ReadMessage(strings.NewReader(raw))
		if err != nil {
			t.Fatalf("letter %q: %v", raw, err)
		}
		text, err := io.ReadAll(quotedprintable.NewReader(m.Body))
		if err != nil {
			t.Fatalf("letter %q: %v", raw, err)
		}
		return m, string(text)
	case <-time.After(10 * time.Second):
		t.Fatal("no letter arrived within 10 s")
		return nil, ""
	}
}

func withMail(t *testing.T, p *postbox, how string) func(*people.Options, *signin.Options) {
	t.Helper()
	m, err := people.NewMail(people.MailOptions{Addr: p.Addr().String(), From: "Weir <weir@example.com>", TLS: how})
	must.Do(t, err)
	return func(o *people.Options, _ *signin.Options) { o.Mail = m }
}

func TestMailCarriesLinks(t *testing.T) {
	t.Parallel()
	post := newPostbox(t)
	h := newFixture(t, withMail(t, post, people.MailPlain))
	ada := h.setUp("ada@example.com")
	if !h.Mails() {
		t.Error("mails: got false, want true")
	}
	token, _, err := h.newInvitation(ada.Actor(home), people.Invitation{Email: "bob@example.com", AccountID: h.account.ID, Role: people.Member})
	must.Do(t, err)
	m, text := post.letter(t)
	if m.Header.Get("To") != "<bob@example.com>" || m.Header.Get("From") != `"Weir" <weir@example.com>` || !strings.Contains(text, publicURL+"/invite/"+token.Reveal()) || !strings.Contains(text, "account default") {
		t.Errorf("invitation: got %v\n%s\nwant it to Bob, with the link", m.Header, text)
	}
	ctx, stop := context.WithCancel(h.ctx)
	var running sync.WaitGroup
	running.Go(func() { h.signIn.Passwords.Run(ctx) })
	defer running.Wait()
	defer stop()
	for _, email := range []string{"nobody@example.com", "ADA@example.com"} {
		if err := h.signIn.Passwords.Forgot(h.ctx, email, home); err != nil {
			t.Errorf("forgot as %s: got %v, want no error", email, err)
		}
	}
	m, text = post.letter(t)
	link := regexp.MustCompile(`/reset/(\S+)`).FindStringSubmatch(text)
	if m.Header.Get("To") != "<ada@example.com>" || link == nil {
		t.Fatalf("the first letter: got %v\n%s\nwant one to Ada with a link", m.Header, text)
	}
	session, err := h.signIn.Links.Reset(h.ctx, link[1], secret("quite another one"), home)
	must.Do(t, err)
	h.visitor(session)
	wantCode(t, "forgot as what is no address", h.signIn.Passwords.Forgot(h.ctx, "x", home), llm.CodeInvalidRequest)
	for range 3 {
		err = h.signIn.Passwords.Forgot(h.ctx, "ada@example.com", home)
	}
	wantCode(t, "forgot again and again", err, llm.CodeRateLimited)
}

// TestMailFails fails to send mail: the inviter sees the error and still gets the link.
func TestMailFails(t *testing.T) {
	t.Parallel()
	post := newPostbox(t)
	post.refuse = true
	bob := people.Invitation{Email: "bob@example.com", Role: people.Member}
	for name, how := range map[string]string{"refused": people.MailPlain, "no TLS where it is asked for": people.MailStartTLS} {
		h := newFixture(t, withMail(t, post, how))
		ada := h.setUp("ada@example.com")
		bob.AccountID = h.account.ID
		token, i, err := h.newInvitation(ada.Actor(home), bob)
		wantCode(t, name, err, llm.CodeProviderError)
		if _, err := h.signIn.Links.Find(h.ctx, token.Reveal(), people.InviteLink); err != nil || i.ID == "" {
			t.Errorf("%s: got link %v, %+v; want the invitation nevertheless", name, err, i)
		}
	}
}

// TestMailTLS sends a letter over implicit TLS, and over STARTTLS after a plain greeting: the password is not sent
// before TLS.
func TestMailTLS(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(nil) // for its certificate, which is of 127.0.0.1
	defer server.Close()
	file := filepath.Join(t.TempDir(), "ca.pem")
	pemText := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	must.Do(t, os.WriteFile(file, pemText, 0o600))
	config := &tls.Config{Certificates: server.TLS.Certificates}
	for _, how := range []string{people.MailStartTLS, people.MailTLS} {
		post := newPostbox(t, func(p *postbox) {
			if how == people.MailTLS {
				p.Listener = tls.NewListener(p.Listener, config)
			} else {
				p.tls = config
			}
		})
		o := people.MailOptions{Addr: post.Addr().String(), From: "weir@example.com", Username: "weir", Password: secret("of the server"), TLS: how}
		unknown := must.Get(people.NewMail(o))(t)
		if err := unknown.Send(t.Context(), "ada@example.com", "Übung", "é"); err == nil {
			t.Errorf("%s with an unknown certificate: got no error, want one", how)
		}
		post.lock.Lock()
		if said := strings.Join(post.heard, "\n"); strings.Contains(said, "AUTH") {
			t.Errorf("%s with an unknown certificate: got %q, want no password", how, said)
		}
		post.lock.Unlock()
		o.CAFile = file
		m := must.Get(people.NewMail(o))(t)
		if err := m.Send(t.Context(), "ada@example.com", "Übung", "é"); err != nil {
			t.Fatalf("%s: %v", how, err)
		}
		letter, text := post.letter(t)
		subject, err := new(mime.WordDecoder).DecodeHeader(letter.Header.Get("Subject"))
		if subject != "Übung" || strings.TrimSpace(text) != "é" || err != nil {
			t.Errorf("%s: got %q, %q, %v; want the sent ones", how, subject, text, err)
		}
		post.lock.Lock()
		if said := strings.Join(post.heard, "\n"); !strings.Contains(said, "AUTH PLAIN "+base64.StdEncoding.EncodeToString([]byte("\x00weir\x00of the server"))) {
			t.Errorf("%s: got %q, want the password", how, said)
		}
		post.lock.Unlock()
	}
}

// TestMailSilent sends to a silent server: the sender ends with its context.
func TestMailSilent(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0") // nothing accepts its connections
	must.Do(t, err)
	defer l.Close()
	m, err := people.NewMail(people.MailOptions{Addr: l.Addr().String(), From: "weir@example.com", TLS: people.MailPlain})
	must.Do(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := m.Send(ctx, "ada@example.com", "x", "x"); err == nil {
		t.Error("a silent server: got no error, want one")
	}
}

func TestMailOptions(t *testing.T) {
	t.Parallel()
	for _, o := range []people.MailOptions{{Addr: "host", From: "a@b.example"}, {Addr: "host:25", From: "nobody"}} {
		if _, err := people.NewMail(o); err == nil {
			t.Errorf("%+v: got no error, want one", o)
		}
	}
}

// TestMailServerWithoutEnd uses a mail server that never ends its line: sending fails before much of it is read.
func TestMailServerWithoutEnd(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]string{"banner": "", "lines": "220 here\r\n"} {
		server := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
		defer server.Close()
		sent := make(chan int, 1)
		go func() {
			conn, err := server.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			_, _ = io.WriteString(conn, begin)
			n := 0
			for chunk := []byte(strings.Repeat("x", 64<<10)); n < 64<<20; n += len(chunk) {
				if _, err := conn.Write(chunk); err != nil {
					break
				}
			}
			sent <- n
		}()
		m := must.Get(people.NewMail(people.MailOptions{Addr: server.Addr().String(), From: "Weir <weir@example.com>", TLS: people.MailPlain}))(t)
		if err := m.Send(t.Context(), "ada@example.com", "Hello", "Hello"); err == nil {
			t.Errorf("%s: got no error, want one", name)
		}
		if n := <-sent; n >= 64<<20 {
			t.Errorf("%s: got %d bytes read, want few", name, n)
		}
	}
}
