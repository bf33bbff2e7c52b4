package webhook

import (
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/internal/worktest"
)

func TestCheckURL(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{ // text of the refusal; empty for none
		"https://example.com":                     "",
		"https://example.com:8443/hooks?for=weir": "",
		"https://8.8.8.8/x":                       "",
		"https://[2606:4700::1111]/x":             "",
		"https://xn--bcher-kva.example/":          "",
		"https://1password.example":               "",
		"":                                        "is invalid",
		"example.com":                             "is invalid",
		"ftp://example.com":                       "is invalid",
		"https://":                                "is invalid",
		"https:example.com":                       "is invalid",
		"https://exa mple.com":                    "is invalid",
		"https://example.com/" + strings.Repeat("x", 2048): "longer than",
		"https://me:secret@example.com":                    "user name",
		"https://me@example.com":                           "user name",
		"https://example.com/#x":                           "fragment",
		"https://example.com/#":                            "fragment",
		"http://example.com":                               "only over https",
		"https://example.com:0":                            "port",
		"https://example.com:65536":                        "port",
		"https://0177.0.0.1":                               "unusual notation",
		"https://0x7f.1":                                   "unusual notation",
		"https://127.1":                                    "unusual notation",
		"https://2130706433":                               "unusual notation",
		"https://0x7f000001":                               "unusual notation",
		"https://010.0.0.1":                                "unusual notation",
		"https://127.0.0.1.":                               "unusual notation",
		"https://1.2.3.4.5":                                "unusual notation",
		"https://localhost":                                "private",
		"https://127.0.0.1:8443":                           "private",
		"https://10.1.2.3":                                 "private",
		"https://[::1]":                                    "private",
		"https://[::ffff:127.0.0.1]":                       "private",
		"https://[64:ff9b::7f00:1]":                        "private",
		"https://169.254.169.254/latest/meta-data/":        "metadata",
	} {
		err := checkURL(url, false)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%.80s: got %v, want %q", url, err, want)
		}
	}
	for url, want := range map[string]string{
		"http://127.0.0.1:9000": "", "https://127.0.0.1": "", "http://receiver.internal": "", "https://example.com": "",
		"http://8.8.8.8": "public internet", "https://169.254.169.254": "metadata", "http://[fd00:ec2::254]": "metadata", "http://127.1": "unusual notation",
	} {
		err := checkURL(url, true)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("where private addresses are permitted, %s: got %v, want %q", url, err, want)
		}
	}
}

func TestCheckTypes(t *testing.T) {
	t.Parallel()
	got, err := checkTypes("acc", []Type{UsageDaily, KeyRevoked, KeyCreated, KeyRevoked})
	if diff := cmp.Diff(got, []Type{KeyCreated, KeyRevoked, UsageDaily}); diff != "" || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := checkTypes("acc", []Type{KeyCreated, "key.made"}); err == nil || !strings.Contains(err.Error(), "key.revoked") || !strings.Contains(err.Error(), "events[1]") && !strings.Contains(err.Error(), "key.made") {
		t.Errorf("an unknown event: got %v, want one that lists the known ones", err)
	}
	if _, err := checkTypes("acc", []Type{"key.creatd"}); err == nil || !strings.Contains(err.Error(), `Did you mean "key.created"?`) {
		t.Errorf("a misspelt event: got %v, want the similar one", err)
	}
	if _, err := checkTypes("acc", []Type{Test}); err == nil {
		t.Error("the test event is subscribed to: got no error, want one")
	}
	if _, err := checkTypes("acc", []Type{ModelUnpriced}); err == nil {
		t.Error("an account requests the operators' events: got no error, want one")
	}
	if _, err := checkTypes("", []Type{ModelUnpriced}); err != nil {
		t.Errorf("the installation requests them: %v", err)
	}
}

// FuzzCheckURL checks that an accepted address of an endpoint is https, or http if private ones are permitted, and has
// no user.
func FuzzCheckURL(f *testing.F) {
	for _, text := range []string{"https://example.com/a?b", "https://me:x@example.com", "http://127.0.0.1", "https://0x7f.1", "https://[::ffff:127.0.0.1]:0", "https://xn--a"} {
		f.Add(text, false)
	}
	f.Fuzz(func(t *testing.T, text string, private bool) {
		worktest.Check(t, []byte(text), func(text []byte) { _ = checkURL(string(text), private) })
		if checkURL(text, private) != nil {
			return
		}
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "https" && (u.Scheme != "http" || !private) || u.User != nil || u.Hostname() == "" {
			t.Errorf("%q, private %t: got it accepted, as %v, %v", text, private, u, err)
		}
	})
}
