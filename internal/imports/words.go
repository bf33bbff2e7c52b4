package imports

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"weir/internal/account"
	"weir/internal/budget"
)

// AccountName converts any text to a name of an account. If no character of the text is valid in one, the name begins
// with begin.
func AccountName(text, begin string) string {
	var out strings.Builder
	for _, r := range text {
		switch {
		case r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-_.", r)):
			out.WriteRune(r)
		case !strings.HasSuffix(out.String(), "-"):
			out.WriteByte('-')
		}
	}
	name := strings.Trim(out.String(), "-.")
	name = strings.TrimRight(name[:min(len(name), account.MaxName)], "-.")
	if name == "" || account.CheckAccount(&account.Account{Name: name}) != nil { // such as only an id
		sum := sha256.Sum256([]byte(text))
		return fmt.Sprintf("%s-%x", begin, sum[:4])
	}
	return name
}

// Label returns the label of a key from the first text that is not empty.
func Label(texts ...string) string {
	label := ""
	for _, text := range texts {
		label = cmp.Or(label, strings.TrimSpace(text))
	}
	label = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || r == unicode.ReplacementChar {
			return '-'
		}
		return r
	}, label)
	runes := []rune(label)
	const most = 100
	return string(runes[:min(len(runes), most)])
}

// Period returns the budget period for a duration of days and months, and whether it is the same. Another duration
// becomes the next longer period, so that the same amount never permits more. An empty duration means all time.
func Period(duration string) (p budget.Period, same bool) {
	switch duration {
	case "":
		return budget.PeriodTotal, true
	case "1d", "24h":
		return budget.PeriodDay, true
	case "30d", "1mo":
		return budget.PeriodMonth, true
	}
	number := strings.TrimRight(duration, "smhdwo")
	n, err := strconv.ParseInt(number, 10, 32)
	unit := map[string]time.Duration{
		"s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour, "w": 7 * 24 * time.Hour,
		"mo": 31 * 24 * time.Hour,
	}[duration[len(number):]]
	switch d := time.Duration(n) * unit; {
	case err != nil || unit == 0:
		return budget.PeriodTotal, false
	case d <= 24*time.Hour:
		return budget.PeriodDay, false
	case d <= 31*24*time.Hour:
		return budget.PeriodMonth, false
	}
	return budget.PeriodTotal, false
}

// Every returns the phrase for a period after an amount.
func Every(p budget.Period) string {
	if p == budget.PeriodTotal {
		return "in all"
	}
	return "a " + string(p)
}

// IsPrivate reports whether an address is in a private network, judged by its host.
func IsPrivate(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	host := u.Hostname()
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.IsPrivate() || ip.IsLoopback() || ip.IsUnspecified() || ip.IsLinkLocalUnicast()
	}
	isInside := func(suffix string) bool { return strings.HasSuffix(host, suffix) }
	return slices.ContainsFunc([]string{".local", ".internal", ".svc"}, isInside) || !strings.Contains(host, ".")
}

// BedrockAddress returns the address of Amazon Bedrock in a region.
func BedrockAddress(region string) string {
	return "https://bedrock-runtime." + region + ".amazonaws.com"
}

// VertexAddress returns the address of Google's own models on Vertex AI for a project.
func VertexAddress(project, location string) string {
	host := location + "-aiplatform.googleapis.com"
	if location == "global" {
		host = "aiplatform.googleapis.com"
	}
	return fmt.Sprintf("https://%s/v1/projects/%s/locations/%s/publishers/google", host, project, location)
}
