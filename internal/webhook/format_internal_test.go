package webhook

import (
	"context"
	"errors"
	"testing"

	"weir/internal/must"
)

// TestMailGoesToItsAddress checks recipient, subject and text of a mail, and that failures are those of a try.
func TestMailGoesToItsAddress(t *testing.T) {
	t.Parallel()
	kind, _ := KindOf(AlertFired)
	j := &Job{URL: "mailto:ops@example.com", Format: Mail, Payload: must.Get(kind.Example.Payload())(t)}
	var got []string
	away := errors.New("the mail server is away")
	d := NewDeliverer(DelivererOptions{Mail: func(_ context.Context, to, subject, text string) error {
		if got = append(got, to, subject, text); len(got) > 3 {
			return away
		}
		return nil
	}})
	a, err := d.mail(t.Context(), j)
	if err != nil || a.status != 202 {
		t.Errorf("got %d, %v", a.status, err)
	}
	must.Equal(t, got, []string{
		"ops@example.com", "Weir: alert: spend jump, account acme",
		"$41.20 was spent in the last full hour, and at most $10 in the same hour of the seven days before.\n",
	}, "the mail")
	if a, err := d.mail(t.Context(), j); !errors.Is(err, away) || a.status != 0 {
		t.Errorf("got %d, %v, want the failure", a.status, err)
	}
	if _, err := NewDeliverer(DelivererOptions{}).mail(t.Context(), j); err == nil {
		t.Error("got no error without a mail server")
	}
}

// TestMailAddressesAreChecked checks which addresses can receive mail.
func TestMailAddressesAreChecked(t *testing.T) {
	t.Parallel()
	for address, valid := range map[string]bool{
		"mailto:ops@example.com": true, "ops@example.com": false, "mailto:": false, "mailto:a@b@c": false,
		"mailto:Ops <ops@example.com>": false, "mailto:a@example.com?cc=b@example.com": false,
		"mailto:a@example.com,b@example.com": false, "https://example.com": false, "mailto:a@example.com\r\nBcc: b@example.com": false,
	} {
		if err := checkAddress(Mail, address, false); (err == nil) != valid {
			t.Errorf("%q: got %v, want valid %t", address, err, valid)
		}
	}
	if checkAddress(JSON, "mailto:ops@example.com", true) == nil {
		t.Error("got no error for mail in another format")
	}
}
