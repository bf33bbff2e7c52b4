package main

import "bytes"

// A piece of the mock's streams is the text t= and the time of its sending, in
// nanoseconds of the monotonic clock, as stampDigits digits. It survives every
// translation between dialects.
const stampDigits = 18

var stampMark = []byte(`"t=`)

// stamps finds the pieces in the content of a stream, however it was cut.
type stamps struct {
	carry []byte
}

// scan calls found with the time of each piece that p completes.
func (s *stamps) scan(p []byte, found func(sent int64)) {
	s.carry = append(s.carry, p...)
	rest := s.carry
	for {
		i := bytes.Index(rest, stampMark)
		if i < 0 {
			rest = rest[max(0, len(rest)-len(stampMark)+1):]
			break
		}
		rest = rest[i:]
		if len(rest) < len(stampMark)+stampDigits {
			break
		}
		if at := digits18(rest[len(stampMark):]); at >= 0 {
			found(at)
		}
		rest = rest[len(stampMark):]
	}
	s.carry = append(s.carry[:0], rest...)
}

// digits18 is the number in the first stampDigits bytes; -1 for none.
func digits18(b []byte) int64 {
	n := int64(0)
	for _, c := range b[:stampDigits] {
		if c < '0' || c > '9' {
			return -1
		}
		n = n*10 + int64(c-'0')
	}
	return n
}

// putStamp writes at into the stampDigits bytes of b.
func putStamp(b []byte, at int64) {
	for i := stampDigits - 1; i >= 0; i-- {
		b[i] = byte('0' + at%10)
		at /= 10
	}
}
