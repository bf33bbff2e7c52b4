package config

import (
	"fmt"
	"math"
	"net/netip"
	"reflect"
	"strconv"
	"strings"
	"time"

	"weir/internal/llm"
)

// Bytes is a size in bytes.
type Bytes int64

// String returns the size in the form of the file: "32MiB", or plain bytes.
func (b Bytes) String() string {
	for _, u := range sizeUnits() {
		if n := int64(b); n > 0 && n%u.size == 0 {
			return strconv.FormatInt(n/u.size, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(b), 10)
}

type sizeUnit struct {
	name string
	size int64
}

func sizeUnits() []sizeUnit {
	return []sizeUnit{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}
}

// These texts describe the valid values of each type in messages.
const (
	wantBool     = "true or false"
	wantWhole    = "a whole number"
	wantDuration = "a duration such as 5s, 30m, 12h or 90d"
	wantSize     = "a size such as 32MiB, 512KiB or 1048576"
	wantPrefix   = "a network such as 10.0.0.0/8 or an address"
)

// setScalar sets v to the value of text. It returns a description of valid values if text is invalid, else "".
func setScalar(v reflect.Value, text string) (want string) {
	switch p := v.Addr().Interface().(type) {
	case *string:
		*p = text
		return ""
	case *llm.Cause:
		*p = llm.Cause(text)
		return ""
	case *llm.Secret:
		*p = llm.NewSecret(text)
		return ""
	case *bool:
		return assign(p, text == "true", text == "true" || text == "false", wantBool)
	case **bool:
		yes := text == "true"
		return assign(p, &yes, yes || text == "false", wantBool)
	case *int:
		n, err := strconv.ParseInt(text, 10, strconv.IntSize)
		return assignUpTo(p, int(n), mostNumber, err == nil, wantWhole)
	case **int:
		*p = new(int)
		n, err := strconv.ParseInt(text, 10, strconv.IntSize)
		return assignUpTo(*p, int(n), mostNumber, err == nil, wantWhole)
	case *int64:
		n, err := strconv.ParseInt(text, 10, 64)
		return assignUpTo(p, n, mostNumber, err == nil, wantWhole)
	case *time.Duration:
		d, ok := ParseDuration(text)
		return assignUpTo(p, d, mostDuration, ok, wantDuration)
	case *Bytes:
		n, ok := parseSize(text)
		return assignUpTo(p, n, mostBytes, ok, wantSize)
	case *netip.Prefix:
		n, ok := parsePrefix(text)
		return assign(p, n, ok, wantPrefix)
	}
	panic(fmt.Sprintf("config: no scalar: %s", v.Type()))
}

func assign[T any](p *T, value T, ok bool, want string) string {
	if !ok {
		return want
	}
	*p = value
	return ""
}

// These values bound numbers, durations and sizes, so that sums, dates and JSON have room for them.
const (
	mostNumber   = 1 << 53
	mostDuration = 200 * 365 * day
	mostBytes    = 1 << 60
)

// assignUpTo is assign for a value that must be at most most.
func assignUpTo[T ~int | ~int64](p *T, value, most T, ok bool, want string) string {
	if ok && value > most {
		return fmt.Sprintf("%s, at most %v", want, any(most))
	}
	return assign(p, value, ok, want)
}

// takesEmpty reports whether the empty text is a valid value of the type. For other types an empty environment variable
// counts as unset.
func takesEmpty(t reflect.Type) bool {
	return t.Kind() == reflect.String || t == reflect.TypeFor[llm.Secret]()
}

// ParseDuration parses Go's durations, optionally preceded by days of 24 hours.
func ParseDuration(text string) (time.Duration, bool) {
	rest, negative := strings.CutPrefix(text, "-")
	var total time.Duration
	if days, after, found := strings.Cut(rest, "d"); found {
		n, err := strconv.ParseUint(days, 10, 31)
		if err != nil || n > uint64(math.MaxInt64/int64(day)) {
			return 0, false
		}
		total, rest = time.Duration(n)*day, after
	}
	if rest != "" || total == 0 && text != "0d" {
		d, err := time.ParseDuration(rest)
		if err != nil || d < 0 || total+d < 0 || strings.HasPrefix(rest, "+") {
			return 0, false
		}
		total += d
	}
	if negative {
		total = -total
	}
	return total, true
}

// formatDuration returns the shortest form that ParseDuration accepts: "90d", "30m".
func formatDuration(d time.Duration) string {
	if d > 0 && d%day == 0 {
		return strconv.FormatInt(int64(d/day), 10) + "d"
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

func parseSize(text string) (Bytes, bool) {
	size := int64(1)
	for _, u := range sizeUnits() {
		if number, ok := strings.CutSuffix(text, u.name); ok {
			text, size = strings.TrimSpace(number), u.size
			break
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n > math.MaxInt64/size || n < math.MinInt64/size {
		return 0, false
	}
	return Bytes(n * size), true
}

// parsePrefix parses a network, or an address as a single-address network. It clears bits beyond the mask and converts
// IPv4 in IPv6 form to IPv4.
func parsePrefix(text string) (netip.Prefix, bool) {
	if p, err := netip.ParsePrefix(text); err == nil {
		return p.Masked(), true
	}
	a, err := netip.ParseAddr(text)
	if err != nil || a.Zone() != "" {
		return netip.Prefix{}, false
	}
	a = a.Unmap()
	return netip.PrefixFrom(a, a.BitLen()), true
}
