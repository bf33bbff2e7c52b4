package webhook

import (
	"net"
	"testing"
	"time"
)

// TestNoOracle checks that a receiver's owner does not learn which names exist in the gateway's network.
func TestNoOracle(t *testing.T) {
	t.Parallel()
	resolver := newNames(t, map[string][]string{"inside.test": {"10.0.0.7"}})
	s := newSender(nil, nil, "test", func(d *net.Dialer) { d.Resolver = resolver })
	defer s.close()
	said := map[string]string{}
	for _, host := range []string{"inside.test", "nowhere.test"} {
		a, err := s.send(t.Context(), &Job{URL: "https://" + host + "/"}, false, time.Now(), "v1,x")
		o := Outcome{}
		o.judge(&Job{}, &a, err)
		said[host] = o.Try.Error
	}
	if said["inside.test"] != said["nowhere.test"] || said["inside.test"] == "" {
		t.Errorf("got %q, want the same of one that is there and of one that is not", said)
	}
}
