package gateway

import "testing"

// TestShares leaves half of everything to other accounts, and room for one request of the
// greatest size.
func TestShares(t *testing.T) {
	t.Parallel()
	s := newShares(100, 10)
	for _, step := range []struct {
		account string
		n       int64
		want    bool
	}{
		{"a", 50, true},
		{"a", 1, false},
		{"a", -1, true},
		{"b", 50, true},
		{"c", 1, false},
		{"c", -1, true},
		{"b", -50, true},
		{"c", 50, true},
		{"c", -50, true},
		{"a", -50, true},
	} {
		got := true
		if step.n < 0 {
			s.giveBack(step.account, -step.n)
		} else {
			got = s.take(step.account, step.n)
		}
		if got != step.want {
			t.Errorf("%s takes %d: %t, want %t", step.account, step.n, got, step.want)
		}
	}
	if s.all != 0 || len(s.by) != 0 {
		t.Errorf("%d are left, of %v", s.all, s.by)
	}
	if s := newShares(100, 80); !s.take("a", 80) || s.take("a", 1) {
		t.Error("an account has to have room for one request, and no more than that here")
	}
}
