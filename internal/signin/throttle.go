package signin

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"weir/internal/llm"
	"weir/internal/seal"
)

// Mark is a counter of failed attempts: for an e-mail address from a network, for an e-mail address, or for a network.
type Mark struct {
	Scope string        // identifies the counter by hashes
	Free  int64         // failures before the first delay
	Most  time.Duration // the longest delay
	// Shared reports that other people are counted here too, so a success removes one failure, not all.
	Shared bool
}

// These constants bound the age of counts.
const (
	// FailuresFor is how long failures count after the last one.
	FailuresFor = 24 * time.Hour
	// KnownFor is how long a network stays known after a success from it.
	KnownFor = 90 * 24 * time.Hour
)

const (
	firstDelay = time.Second
	// Failures for an address from one network delay by 1 s, 2 s, 4 s, … A stranger on another network has a separate
	// counter and cannot lock anyone out.
	pairFree, pairMost = 5, 15 * time.Minute
	// Guesses at one address from many networks are limited to ten a minute. The limit does not apply on a network from
	// which a sign-in succeeded.
	emailFree, emailMost = 20, 6 * time.Second
	// Guesses at many addresses from one network, which a whole office may share.
	networkFree, networkMost = 100, time.Minute
	// Requests for a link to set a new password.
	forgotFree = 3
)

// Delay returns how long attempts are refused after that many failures.
func (m *Mark) Delay(failures int64) time.Duration {
	over := failures - m.Free
	switch {
	case over < 0:
		return 0
	case over > 20: // more doublings than any Most allows
		return m.Most
	}
	return min(firstDelay<<over, m.Most)
}

// signInMarks returns the counters of a sign-in attempt, the narrowest first.
func signInMarks(email, address string) []Mark {
	network := networkOf(address)
	return []Mark{
		{Scope: "pair " + seal.Digest(email, network), Free: pairFree, Most: pairMost},
		{Scope: "email " + seal.Digest(email), Free: emailFree, Most: emailMost},
		{Scope: "network " + seal.Digest(network), Free: networkFree, Most: networkMost, Shared: true},
	}
}

// forgotMarks returns the counters of a request for a new password.
func forgotMarks(email, address string) []Mark {
	return []Mark{
		{Scope: "forgot " + seal.Digest(email), Free: forgotFree, Most: pairMost},
		{Scope: "forgot network " + seal.Digest(networkOf(address)), Free: networkFree, Most: networkMost},
	}
}

// oidcMarks returns the counters of a step of single sign-on: its start, or its end, which queries the provider. Only a
// successful sign-in resets them.
func oidcMarks(step, address string) []Mark {
	return []Mark{{
		Scope: "oidc " + step + " " + seal.Digest(networkOf(address)), Free: networkFree, Most: networkMost,
		Shared: true,
	}}
}

// networkOf returns the network that is assumed to belong to one client: an IPv4 address, or the 64-bit prefix of an
// IPv6 address (RFC 4291, section 2.5.4).
func networkOf(address string) string {
	a, err := netip.ParseAddr(address)
	if err != nil {
		return "unknown"
	}
	if a = a.Unmap().WithZone(""); a.Is4() {
		return a.String()
	}
	const ours = 64
	return netip.PrefixFrom(a, ours).Masked().String()
}

// try counts an attempt, or returns an error with the time to wait. Known reports a recent success in the first mark.
func (b *base) try(ctx context.Context, marks []Mark) (known bool, err error) {
	wait, known, err := b.stores.Throttles.TrySignIn(ctx, marks, b.now())
	if err != nil {
		return false, fmt.Errorf("count attempt to sign in: %w", err)
	}
	if wait <= 0 {
		return known, nil
	}
	return false, tooMany("There were too many attempts", wait)
}

func tooMany(what string, wait time.Duration) error {
	wait = max(time.Second, wait.Round(time.Second))
	return &llm.Error{
		Code: llm.CodeRateLimited, RetryAfter: wait, Message: fmt.Sprintf("%s. Try again in %s.", what, inWords(wait)),
	}
}

func inWords(d time.Duration) string {
	n, unit := int64(d/time.Second), "second"
	if d >= 2*time.Minute {
		n, unit = int64((d+time.Minute-1)/time.Minute), "minute"
	}
	if n != 1 {
		unit += "s"
	}
	return fmt.Sprintf("%d %s", n, unit)
}
