package people

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"net/smtp"
	"strings"
	"time"

	"weir/internal/llm"
	"weir/internal/outbound"
)

// These constants select the protection of the connection to a mail server.
const (
	MailStartTLS = "starttls" // starts unencrypted; fails if the server offers no STARTTLS
	MailTLS      = "tls"      // encrypted from the first byte
	MailPlain    = "none"
)

const mailTimeout = 15 * time.Second // per mail

// MailOptions configures the sending of mail (RFC 5321).
type MailOptions struct {
	Addr     string // host:port
	Username string // empty for no authentication
	Password llm.Secret
	From     string // an address, with or without a name
	TLS      string // MailStartTLS where empty
	CAFile   string // PEM file of authorities in addition to the system's; empty for none
}

// Mail sends mail through one server.
type Mail struct {
	options MailOptions
	host    string
	from    *mail.Address
	roots   *x509.CertPool // nil for the system's
}

// NewMail returns a sender. It does not connect to the server.
func NewMail(o MailOptions) (*Mail, error) {
	host, _, err := net.SplitHostPort(o.Addr)
	if err != nil {
		return nil, fmt.Errorf("smtp: the address %q is invalid: write host:port", o.Addr)
	}
	from, err := mail.ParseAddress(o.From)
	if err != nil {
		return nil, fmt.Errorf("smtp: the sender %q is invalid: write an e-mail address", o.From)
	}
	if o.TLS == "" {
		o.TLS = MailStartTLS
	}
	roots, err := outbound.Certificates(o.CAFile)
	if err != nil {
		return nil, err
	}
	return &Mail{options: o, host: host, from: from, roots: roots}, nil
}

// Send sends a text to an address. It takes at most 15 seconds.
func (m *Mail) Send(ctx context.Context, to, subject, text string) error {
	ctx, cancel := context.WithTimeout(ctx, mailTimeout)
	defer cancel()
	letter, err := m.letter(to, subject, text)
	if err != nil {
		return err
	}
	conn, err := m.dial(ctx)
	if err != nil {
		return fmt.Errorf("reach mail server: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) }) // interrupts pending reads and writes
	defer stop()
	c, err := smtp.NewClient(conn, m.host)
	if err != nil {
		return errors.Join(fmt.Errorf("reach mail server: %w", err), conn.Close())
	}
	defer c.Close() //nolint:errcheck // closed twice after Quit
	if err := m.talk(c, to, letter); err != nil {
		return fmt.Errorf("send mail: %w", err)
	}
	return nil
}

func (m *Mail) dial(ctx context.Context) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", m.options.Addr)
	if err != nil {
		return nil, err
	}
	conn = &outbound.BoundedConn{Conn: conn, Left: mostOfServer}
	if m.options.TLS != MailTLS {
		return conn, nil
	}
	secure := tls.Client(conn, m.tls())
	if err := secure.HandshakeContext(ctx); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return secure, nil
}

// mostOfServer is the maximum number of bytes read from a mail server, including its certificates. net/smtp does not
// bound the length of a line.
const mostOfServer = 128 << 10

func (m *Mail) tls() *tls.Config {
	return &tls.Config{ServerName: m.host, RootCAs: m.roots, MinVersion: tls.VersionTLS12}
}

// talk delivers a letter to the server.
func (m *Mail) talk(c *smtp.Client, to string, letter []byte) error {
	if m.options.TLS == MailStartTLS {
		if err := c.StartTLS(m.tls()); err != nil {
			return err
		}
	}
	if m.options.Username != "" { // net/smtp refuses this on an unencrypted connection to another machine
		if err := c.Auth(smtp.PlainAuth("", m.options.Username, m.options.Password.Reveal(), m.host)); err != nil {
			return err
		}
	}
	if err := c.Mail(m.from.Address); err != nil {
		return err
	}
	if err := c.Rcpt(to); err != nil {
		return err
	}
	w, err := c.Data()
	if err != nil {
		return err
	}
	if _, err := w.Write(letter); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return c.Quit()
}

// letter formats a mail (RFC 5322), marked as automatically generated (RFC 3834).
func (m *Mail) letter(to, subject, text string) ([]byte, error) {
	_, domain, _ := strings.Cut(m.from.Address, "@")
	var b bytes.Buffer
	for _, h := range [][2]string{
		{"From", m.from.String()},
		{"To", (&mail.Address{Address: to}).String()},
		{"Subject", mime.QEncoding.Encode("utf-8", subject)},
		{"Date", time.Now().UTC().Format(time.RFC1123Z)},
		{"Message-ID", "<" + rand.Text() + "@" + domain + ">"},
		{"MIME-Version", "1.0"},
		{"Content-Type", "text/plain; charset=utf-8"},
		{"Content-Transfer-Encoding", "quoted-printable"},
		{"Auto-Submitted", "auto-generated"},
	} {
		if strings.ContainsAny(h[1], "\r\n") && h[0] != "Subject" {
			return nil, fmt.Errorf("mail: the header %s contains a line break", h[0])
		}
		fmt.Fprintf(&b, "%s: %s\r\n", h[0], h[1])
	}
	b.WriteString("\r\n")
	q := quotedprintable.NewWriter(&b)
	if _, err := q.Write([]byte(strings.ReplaceAll(text, "\n", "\r\n"))); err != nil {
		return nil, err
	}
	if err := q.Close(); err != nil { // writes the last line
		return nil, err
	}
	return b.Bytes(), nil
}
