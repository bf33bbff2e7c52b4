package imports

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"weir/internal/account"
	"weir/internal/budget"
)

// AccountName makes a name of an account of any text. Where nothing of that can be in one, it begins with what is given.
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
	if name == "" || account.CheckAccount(&account.Account{Name: name}) != nil { // such as an id alone
		sum := sha256.Sum256([]byte(text))
		return fmt.Sprintf("%s-%x", begin, sum[:4])
	}
	return name
}

// Label makes the label of a key of the first text that is not empty.
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

// Period is the budget period here that a duration of days and months comes to, and whether it is the same. Another
// duration comes to the next longer period, in which the same amount is never more; none is all time.
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

// Every is a period behind an amount.
func Every(p budget.Period) string {
	if p == budget.PeriodTotal {
		return "in all"
	}
	return "a " + string(p)
}

// IsPrivate reports whether an address is in a private network, as far as it tells.
func IsPrivate(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	host := u.Hostname()
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.IsPrivate() || ip.IsLoopback() || ip.IsUnspecified() || ip.IsLinkLocalUnicast()
	}
	inside := strings.HasSuffix(host, ".local") || strings.HasSuffix(host, ".internal") || strings.HasSuffix(host, ".svc")
	return inside || !strings.Contains(host, ".")
}

// BedrockAddress is where Amazon Bedrock is in a region.
func BedrockAddress(region string) string {
	return "https://bedrock-runtime." + region + ".amazonaws.com"
}

// VertexAddress is where Vertex AI has Google's own models for a project.
func VertexAddress(project, location string) string {
	host := location + "-aiplatform.googleapis.com"
	if location == "global" {
		host = "aiplatform.googleapis.com"
	}
	return fmt.Sprintf("https://%s/v1/projects/%s/locations/%s/publishers/google", host, project, location)
}
