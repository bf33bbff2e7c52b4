package people

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"weir/internal/llm"
	"weir/internal/seal"
)

// Mark is one count of failed attempts: of an e-mail address from a network, of
// an e-mail address, or of a network.
type Mark struct {
	Scope string        // what is counted, without naming it
	Free  int64         // failures before the first delay
	Most  time.Duration // the longest delay
	// Shared says that a success takes back one failure, not all: others are
	// counted here too.
	Shared bool
}

// How long counts live.
const (
	// FailuresFor is how long failures count after the last one.
	FailuresFor = 24 * time.Hour
	// KnownFor is how long a network is known after a success from it.
	KnownFor = 90 * 24 * time.Hour
)

const (
	firstDelay = time.Second
	// Whoever fails from one network waits 1 s, 2 s, 4 s, … A stranger elsewhere
	// is counted by himself, so that he locks nobody out.
	pairFree, pairMost = 5, 15 * time.Minute
	// Guesses at one address from many networks are held to ten a minute. Its
	// owner does not feel it on a network from which a sign-in succeeded.
	emailFree, emailMost = 20, 6 * time.Second
	// Guesses at many addresses from one network, which a whole office may share.
	networkFree, networkMost = 100, time.Minute
	// Links for a new password.
	forgotFree = 3
)

// Delay is how long nobody may try again after that many failures.
func (m *Mark) Delay(failures int64) time.Duration {
	over := failures - m.Free
	switch {
	case over < 0:
		return 0
	case over > 20: // more doublings than any Most has
		return m.Most
	}
	return min(firstDelay<<over, m.Most)
}

// signInMarks are the counts of an attempt to sign in, the narrowest first.
func signInMarks(email, address string) []Mark {
	network := networkOf(address)
	return []Mark{
		{Scope: "pair " + seal.Digest(email, network), Free: pairFree, Most: pairMost},
		{Scope: "email " + seal.Digest(email), Free: emailFree, Most: emailMost},
		{Scope: "network " + seal.Digest(network), Free: networkFree, Most: networkMost, Shared: true},
	}
}

// forgotMarks are the counts of a question for a new password.
func forgotMarks(email, address string) []Mark {
	return []Mark{
		{Scope: "forgot " + seal.Digest(email), Free: forgotFree, Most: pairMost},
		{Scope: "forgot network " + seal.Digest(networkOf(address)), Free: networkFree, Most: networkMost},
	}
}

// oidcMarks are the counts of a way through single sign-on: of its beginning and of
// its end, which has the provider asked. Only who comes in takes them back.
func oidcMarks(step, address string) []Mark {
	return []Mark{{
		Scope: "oidc " + step + " " + seal.Digest(networkOf(address)), Free: networkFree, Most: networkMost,
		Shared: true,
	}}
}

// networkOf is what one client is taken to have for itself: an IPv4 address, or
// the 64 bits before the rest of an IPv6 one (RFC 4291, section 2.5.4).
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

// try counts an attempt, or says to wait. Known is whether the first mark has seen a success lately.
func (s *Service) try(ctx context.Context, marks []Mark) (known bool, err error) {
	wait, known, err := s.stores.Throttles.TrySignIn(ctx, marks, s.now())
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
