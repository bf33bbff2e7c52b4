package simulator

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/internal/llm"
)

// option is an option in a model name.
type option struct {
	name  string
	value string // the value after the equals sign; empty for an option without a value
	set   func(s *spec, value string) error
}

// optionList holds all options, in the order of docs/simulator.md, which describes them.
var optionList = []option{
	{"ttft", "DURATION", duration(func(s *spec) *time.Duration { return &s.ttft })},
	{"pace", "DURATION", duration(func(s *spec) *time.Duration { return &s.pace })},
	{"late", "DURATION", duration(func(s *spec) *time.Duration { return &s.late })},
	{"early", "", flag(func(s *spec) *bool { return &s.early })},
	{"tokens", "N", count(func(s *spec) *int64 { return &s.tokens })},
	{"prompt", "N", count(func(s *spec) *int64 { return &s.prompt })},
	{"cached", "N", count(func(s *spec) *int64 { return &s.cached })},
	{"reasoning", "N", count(func(s *spec) *int64 { return &s.reasoning })},
	{"think", "", flag(func(s *spec) *bool { return &s.think })},
	{"signed", "", flag(func(s *spec) *bool { return &s.signed })},
	{"n", "N", between(1, maxChoices, func(s *spec) *int64 { return &s.choices })},
	{"calls", "N", between(1, maxChoices, func(s *spec) *int64 { return &s.calls })},
	{"ids", "", flag(func(s *spec) *bool { return &s.ids })},
	{"vendor", "NAME", func(s *spec, value string) error {
		s.vendor = value
		return nil
	}},
	{"seed", "N", between(0, math.MaxInt64, func(s *spec) *int64 { return &s.seed })},
	{"variant", "N", count(func(s *spec) *int64 { return &s.variant })},
	{"uncapped", "", flag(func(s *spec) *bool { return &s.uncapped })},
	{"unicode", "", flag(func(s *spec) *bool { return &s.unicode })},
	{"files", "N", count(func(s *spec) *int64 { return &s.files })},
	{"search", "N", count(func(s *spec) *int64 { return &s.searches })},
	{"sound", "DURATION", duration(func(s *spec) *time.Duration { return &s.sound })},
	{"unasked", "", flag(func(s *spec) *bool { return &s.begins.unasked })},
	{"minutes", "", flag(func(s *spec) *bool { return &s.begins.timed })},
	{"unbegun", "", flag(func(s *spec) *bool { return &s.begins.unseen })},
	{"tier", "NAME", oneOf([]string{"flex", "priority"}, func(s *spec) *string { return &s.tier })},
	{"cost", "USD", setCost},
	{"after", "KIND", oneOf([]string{afterStop, afterBill}, func(s *spec) *string { return &s.after })},
	{"usage", "VARIANT", oneOf(usageVariants, func(s *spec) *string { return &s.usage })},
	{"fault", "NAME", setFault},
	{"status", "CODE", setStatus},
	{"retry_after", "SECONDS", setRetryAfter},
	{"at", "K", count(func(s *spec) *int64 { return &s.at })},
	{"bytes", "K", between(0, maxPadding, func(s *spec) *int64 { return &s.bytes })},
	{"once", "", func(s *spec, _ string) error {
		s.times = 1
		return nil
	}},
	{"times", "K", between(1, maxTokens, func(s *spec) *int64 { return &s.times })},
	{"flap", "K", between(1, maxTokens, func(s *spec) *int64 { return &s.flap })},
	{"rate", "SHARE", setRate},
	{"chunk", "N", between(1, 1<<20, func(s *spec) *int64 { return &s.chunk })},
	{"eol", "KIND", oneOf([]string{"lf", "crlf", "cr", "mixed"}, func(s *spec) *string { return &s.eol })},
	{"comments", "", flag(func(s *spec) *bool { return &s.comments })},
	{"bom", "", flag(func(s *spec) *bool { return &s.bom })},
}

const (
	maxChoices = 128
	maxPadding = 1 << 30
	maxCost    = 1000 * llm.USD
)

func duration(field func(*spec) *time.Duration) func(*spec, string) error {
	return func(s *spec, value string) error {
		d, err := time.ParseDuration(value)
		if err != nil || d < 0 || d > time.Hour {
			return fmt.Errorf("must be a duration from 0s to 1h, such as 200ms, not %q", value)
		}
		*field(s) = d
		return nil
	}
}

func count(field func(*spec) *int64) func(*spec, string) error {
	return between(0, maxTokens, field)
}

func between(low, high int64, field func(*spec) *int64) func(*spec, string) error {
	return func(s *spec, value string) error {
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < low || n > high {
			return fmt.Errorf("must be a whole number from %d to %d, not %q", low, high, value)
		}
		*field(s) = n
		return nil
	}
}

func flag(field func(*spec) *bool) func(*spec, string) error {
	return func(s *spec, _ string) error {
		*field(s) = true
		return nil
	}
}

func oneOf(words []string, field func(*spec) *string) func(*spec, string) error {
	return func(s *spec, value string) error {
		if !slices.Contains(words, value) {
			return fmt.Errorf("must be one of %s, not %q", strings.Join(words, ", "), value)
		}
		*field(s) = value
		return nil
	}
}

func setFault(s *spec, value string) error {
	for i := range faultList {
		if faultList[i].name == value {
			s.fault = &faultList[i]
			return nil
		}
	}
	return fmt.Errorf("must be one of %s, not %q", strings.Join(faultNames(), ", "), value)
}

func setStatus(s *spec, value string) error {
	n, err := strconv.Atoi(value)
	if err != nil || n < 400 || n > 599 {
		return fmt.Errorf("must be a status from 400 to 599, not %q", value)
	}
	s.status = n
	return nil
}

func setRetryAfter(s *spec, value string) error {
	_, err := strconv.ParseUint(value, 10, 31)
	if err != nil && !slices.Contains([]string{"date", "garbage", "year"}, value) {
		return fmt.Errorf("must be a number of seconds, date, garbage or year, not %q", value)
	}
	s.retryAfter = value
	return nil
}

func setRate(s *spec, value string) error {
	f, err := strconv.ParseFloat(value, 64)
	if err != nil || !(f >= 0 && f <= 1) {
		return fmt.Errorf("must be a share from 0 to 1, such as 0.1, not %q", value)
	}
	s.rate = f
	return nil
}

// The values of the option after.
const (
	afterStop = "stop"
	afterBill = "bill"
)

func setCost(s *spec, value string) error {
	n, err := llm.ParseMoney(value)
	if err != nil || n < 0 || n > maxCost {
		return fmt.Errorf("must be an amount of US dollars from 0 to 1000 with at most nine decimals, not %q", value)
	}
	s.cost = n
	return nil
}

func findOption(name string) *option {
	for i := range optionList {
		if optionList[i].name == name {
			return &optionList[i]
		}
	}
	return nil
}

func optionNames() []string {
	names := make([]string, len(optionList))
	for i := range optionList {
		names[i] = optionList[i].name
	}
	return names
}
