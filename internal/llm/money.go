package llm

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Money is an amount of US dollars in nano-dollars (1 USD = 10^9). It is an integer because sums of floats drift;
// int64 holds 9.2 billion dollars.
type Money int64

// USD is one US dollar.
const USD Money = 1_000_000_000

// String formats the amount as a plain decimal of dollars, without an exponent and without trailing zeros: "0.3",
// "12", "0.000000001".
func (m Money) String() string {
	var text [len("-9223372036.854775808")]byte
	return string(m.AppendText(text[:0]))
}

// AppendText appends the plain decimal form of String to dst.
func (m Money) AppendText(dst []byte) []byte {
	from := len(dst)
	dst = m.appendFixed(dst)
	return dst[:from+len(bytes.TrimRight(bytes.TrimRight(dst[from:], "0"), "."))]
}

// Fixed formats the amount with all nine decimals: "0.300000000", "12.000000000". Columns of files use it, because
// programs that infer the type of a column from its first rows read 0 as an integer, and then 0.3 as 0.
func (m Money) Fixed() string {
	var text [len("-9223372036.854775808")]byte
	return string(m.appendFixed(text[:0]))
}

func (m Money) appendFixed(dst []byte) []byte {
	u := uint64(m)
	if m < 0 {
		dst = append(dst, '-')
		u = -u
	}
	dst = strconv.AppendUint(dst, u/uint64(USD), 10)
	frac := u % uint64(USD)
	digits := [...]byte{'.', 9: 0}
	for i := len(digits) - 1; i > 0; i-- {
		digits[i] = byte('0' + frac%10)
		frac /= 10
	}
	return append(dst, digits[:]...)
}

// MarshalJSON writes the amount as a JSON number with all its digits.
func (m Money) MarshalJSON() ([]byte, error) { return m.AppendText(nil), nil }

// UnmarshalJSON parses a JSON number of dollars with at most nine decimals.
func (m *Money) UnmarshalJSON(b []byte) error {
	v, err := ParseMoney(string(b))
	if err != nil {
		return err
	}
	*m = v
	return nil
}

// ParseMoney parses a plain decimal of US dollars with at most nine decimals, such as "5", "0.25" or "-1.5".
func ParseMoney(s string) (Money, error) {
	v, err := parseDecimal(s, 9)
	if err != nil {
		return 0, fmt.Errorf("amount %q: %w", s, err)
	}
	return Money(v), nil
}

var (
	errDecimalForm  = errors.New(`not a plain decimal number such as "0.25"`)
	errDecimalRange = errors.New("too large")
)

// parseDecimal parses a plain decimal and scales it by 10^places, exactly.
func parseDecimal(s string, places int) (int64, error) {
	rest, negative := strings.CutPrefix(s, "-")
	whole, frac, dotted := strings.Cut(rest, ".")
	if whole == "" || dotted && frac == "" || strings.TrimLeft(whole+frac, "0123456789") != "" {
		return 0, errDecimalForm
	}
	frac = strings.TrimRight(frac, "0")
	if len(frac) > places {
		return 0, fmt.Errorf("more than %d decimals", places)
	}
	var v int64
	for _, c := range []byte(whole + frac + strings.Repeat("0", places-len(frac))) {
		d := int64(c - '0')
		if v > (math.MaxInt64-d)/10 {
			return 0, errDecimalRange
		}
		v = v*10 + d
	}
	if negative {
		v = -v
	}
	return v, nil
}

// MaxCost bounds the cost of one attempt: a million dollars. A provider's number above it is an error, and sums of
// such numbers would overflow.
const MaxCost = 1_000_000 * USD
