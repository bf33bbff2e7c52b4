package signin_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"weir/internal/llm"
	"weir/internal/people"
	"weir/internal/signin"
)

// BenchmarkSignInTiming compares the duration of a wrong password for an existing and an unknown user, by a two-sample
// Kolmogorov-Smirnov test: p is the probability of so great a difference if there is none. Run it with
// -benchtime=2000x; the metric median is the difference in percent.
func BenchmarkSignInTiming(b *testing.B) {
	h := newFixture(b, func(_ *people.Options, o *signin.Options) { o.Light = false })
	h.setUp("ada@example.com")
	n := 0
	measure := func(email string) float64 {
		n++
		h.advance(time.Minute) // after all throttles
		o := people.Origin{Address: fmt.Sprintf("10.%d.%d.%d", n>>16&255, n>>8&255, n&255)}
		start := time.Now()
		_, err := h.signIn.Passwords.SignIn(h.ctx, email, secret("a wrong password"), o)
		took := time.Since(start)
		if llm.AsError(err).Code != llm.CodeAuthentication {
			b.Fatalf("sign in: got %v, want a wrong password", err)
		}
		return float64(took)
	}
	emails := []string{"ada@example.com", "eve@example.com"}
	times := [2][]float64{}
	for range 20 { // the first ones warm everything up
		measure(emails[0])
		measure(emails[1])
	}
	for b.Loop() {
		first := rand.IntN(2)
		for _, i := range []int{first, 1 - first} {
			times[i] = append(times[i], measure(emails[i]))
		}
	}
	slices.Sort(times[0])
	slices.Sort(times[1])
	known, unknown := times[0][len(times[0])/2], times[1][len(times[1])/2]
	b.ReportMetric(kolmogorovSmirnov(times[0], times[1]), "p")
	b.ReportMetric(100*math.Abs(known-unknown)/known, "%median")
	b.ReportMetric(known/1e6, "ms/known")
	b.ReportMetric(unknown/1e6, "ms/unknown")
}

// kolmogorovSmirnov returns the p-value of two sorted samples (Press et al., Numerical Recipes, section 14.3).
func kolmogorovSmirnov(a, b []float64) float64 {
	var d float64
	for i, j := 0, 0; i < len(a) && j < len(b); {
		x := min(a[i], b[j])
		for i < len(a) && a[i] == x {
			i++
		}
		for j < len(b) && b[j] == x {
			j++
		}
		d = max(d, math.Abs(float64(i)/float64(len(a))-float64(j)/float64(len(b))))
	}
	n := math.Sqrt(float64(len(a)*len(b)) / float64(len(a)+len(b)))
	lambda := (n + 0.12 + 0.11/n) * d
	if lambda < 0.2 { // if the series does not converge, p is 1 to six digits
		return 1
	}
	sum, sign := 0.0, 1.0
	for k := 1.0; k <= 100; k++ {
		sum += sign * 2 * math.Exp(-2*k*k*lambda*lambda)
		sign = -sign
	}
	return min(1, max(0, sum))
}

// TestKolmogorovSmirnov distinguishes samples of one distribution from those of two.
func TestKolmogorovSmirnov(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	sample := func(shift float64) []float64 {
		s := make([]float64, 2000)
		for i := range s {
			s[i] = r.NormFloat64() + shift
		}
		slices.Sort(s)
		return s
	}
	if p := kolmogorovSmirnov(sample(0), sample(0)); p < 0.01 {
		t.Errorf("two samples of one distribution: got p %v, want more than 0.01", p)
	}
	if p := kolmogorovSmirnov(sample(0), sample(0.2)); p > 0.01 {
		t.Errorf("samples of two distributions: got p %v, want less than 0.01", p)
	}
}
