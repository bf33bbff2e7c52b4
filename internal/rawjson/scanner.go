package rawjson

import "iter"

// Scanner reads JSON text once, from its begin to its end, and validates what it passes as Validate does. After a
// mistake, or a value of another kind than expected, it yields and returns nothing more.
type Scanner struct {
	validator
	depth int
	wrong bool
}

// Scan returns a Scanner at the begin of the value in b.
func Scan(b []byte, maxDepth int) Scanner {
	s := Scanner{validator: validator{b: b, maxDepth: maxDepth}}
	s.space()
	return s
}

// Members yields the members of the object that begins here, without their values. The loop's body must read each
// value, by Value, Members or Elements.
func (s *Scanner) Members() iter.Seq[Member] {
	return func(yield func(Member) bool) {
		for n := 0; s.enter(n, '{', '}'); n++ {
			from := s.i + 1
			if n == MaxMembers || s.peek() != '"' || !s.str() {
				s.wrong = true
				return
			}
			name := s.b[from : s.i-1]
			s.space()
			if s.peek() != ':' {
				s.wrong = true
				return
			}
			s.i++
			s.space()
			if m := (Member{name: name, Start: s.i}); !yield(m) || s.i == m.Start {
				s.wrong = true
				return
			}
		}
	}
}

// Elements yields the indexes of the elements of the array that begins here. The loop's body must read each.
func (s *Scanner) Elements() iter.Seq[int] {
	return func(yield func(int) bool) {
		for n := 0; s.enter(n, '[', ']'); n++ {
			if from := s.i; !yield(n) || s.i == from {
				s.wrong = true
				return
			}
		}
	}
}

// enter moves to the n-th item of an object or array, and reports whether there is one.
func (s *Scanner) enter(n int, first, last byte) bool {
	if s.wrong {
		return false
	}
	c := s.peek()
	if n > 0 {
		s.space()
		c = s.peek()
	} else if c == first && s.depth < s.maxDepth {
		s.depth++
		s.i++
		s.space()
		if s.peek() != last {
			return true
		}
		c = last
	} else {
		c = 0
	}
	switch {
	case c == last:
		s.i++
		s.depth--
		return false
	case c == ',' && n > 0:
		s.i++
		s.space()
		return true
	}
	s.wrong = true
	return false
}

// Value reads the value that begins here.
func (s *Scanner) Value() []byte {
	from := s.i
	if s.wrong || !s.value(s.depth) {
		s.wrong = true
		return nil
	}
	return s.b[from:s.i:s.i]
}

// At returns the number of bytes that were read.
func (s *Scanner) At() int { return s.i }

// Ended reports whether all of the text was read, and valid.
func (s *Scanner) Ended() bool {
	s.space()
	return !s.wrong && s.i == len(s.b)
}
