package ledger

// spareAttempts is memory for open attempts. It is empty: attempts are overwritten when they are added.
type spareAttempts []*Attempt

// mostSpare bounds spareAttempts.
const mostSpare = 1024

func (s *spareAttempts) take() *Attempt {
	n := len(*s)
	if n == 0 {
		return new(Attempt)
	}
	a := (*s)[n-1]
	*s = (*s)[:n-1]
	return a
}

func (s *spareAttempts) add(a *Attempt) {
	if *a = (Attempt{}); len(*s) < mostSpare {
		*s = append(*s, a)
	}
}
