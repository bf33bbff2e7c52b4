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
	help  string
	set   func(s *spec, value string) error
}

// optionList holds all options, in the order of the documentation.
var optionList = []option{
	{
		"ttft", "DURATION", "waits before the first token; the headers wait too",
		duration(func(s *spec) *time.Duration { return &s.ttft }),
	},
	{"pace", "DURATION", "waits between pieces", duration(func(s *spec) *time.Duration { return &s.pace })},
	{
		"late", "DURATION", "waits before the end of a stream, which reports the usage",
		duration(func(s *spec) *time.Duration { return &s.late }),
	},
	{
		"early", "", "sends a stream's headers immediately, before the wait of ttft",
		flag(func(s *spec) *bool { return &s.early }),
	},
	{
		"tokens", "N", "length of the answer in tokens; for echo and json, its maximum",
		count(func(s *spec) *int64 { return &s.tokens }),
	},
	{
		"prompt", "N", "reported input tokens, in place of the counted ones",
		count(func(s *spec) *int64 { return &s.prompt }),
	},
	{
		"cached", "N", "input tokens read from a prompt cache",
		count(func(s *spec) *int64 { return &s.cached }),
	},
	{
		"reasoning", "N", "tokens of thinking; only reason shows them",
		count(func(s *spec) *int64 { return &s.reasoning }),
	},
	{"think", "", "shows the thinking, as reason does", flag(func(s *spec) *bool { return &s.think })},
	{
		"signed", "", "refuses thinking that returns without its original signature",
		flag(func(s *spec) *bool { return &s.signed }),
	},
	{
		"n", "N", "number of answers, regardless of the request; 1 to 128",
		between(1, maxChoices, func(s *spec) *int64 { return &s.choices }),
	},
	{
		"calls", "N", "number of tool calls of the model tools; 1 to 128",
		between(1, maxChoices, func(s *spec) *int64 { return &s.calls }),
	},
	{"ids", "", "assigns ids to tool calls, if the vendor does not", flag(func(s *spec) *bool { return &s.ids })},
	{
		"vendor", "NAME", "provider of the catalogue that sets the rules of --strict, such as mistral, in place of " +
			"the " +
			"wire format's own vendor",
		func(s *spec, value string) error {
			s.vendor = value
			return nil
		},
	},
	{
		"seed", "N", "another seed than the simulator's",
		between(0, math.MaxInt64, func(s *spec) *int64 { return &s.seed }),
	},
	{
		"variant", "N", "another text from the N-th piece on, counted from 0",
		count(func(s *spec) *int64 { return &s.variant }),
	},
	{"uncapped", "", "ignores the request's cap on output tokens", flag(func(s *spec) *bool { return &s.uncapped })},
	{"unicode", "", "words with characters of two to nine bytes", flag(func(s *spec) *bool { return &s.unicode })},
	{
		"files", "N", "input tokens of each image, sound or document (85 if not given)",
		count(func(s *spec) *int64 { return &s.files }),
	},
	{
		"search", "N", "number of web searches, if the request offers a tool for it",
		count(func(s *spec) *int64 { return &s.searches }),
	},
	{"tier", "NAME", "the service tier in the answer: flex, priority", oneOf([]string{"flex", "priority"},
		func(s *spec) *string { return &s.tier })},
	{"cost", "USD", "the provider's own cost figure in the answer", setCost},
	{
		"after", "KIND",
		"charge if the answer breaks off or its client disconnects: stop, the sent part; bill, the whole answer",
		oneOf([]string{afterStop, afterBill}, func(s *spec) *string { return &s.after }),
	},
	{
		"usage", "VARIANT", "variant of the reported usage: " + strings.Join(usageVariants, ", "),
		oneOf(usageVariants, func(s *spec) *string { return &s.usage }),
	},
	{"fault", "NAME", "fault", setFault},
	{"status", "CODE", "answers with an error of that status, 400 to 599", setStatus},
	{
		"retry_after", "SECONDS", "the Retry-After header of an error: a number of seconds, date, garbage or year",
		setRetryAfter,
	},
	{"at", "K", "the fault acts after K pieces (3 if not set)", count(func(s *spec) *int64 { return &s.at })},
	{
		"bytes", "K", "the fault acts after K bytes of the body; for long-line, the length",
		between(0, maxPadding, func(s *spec) *int64 { return &s.bytes }),
	},
	{"once", "", "the fault affects only the first request of a key and model", func(s *spec, _ string) error {
		s.times = 1
		return nil
	}},
	{
		"times", "K", "the fault affects the first K requests of a key and model",
		between(1, maxTokens, func(s *spec) *int64 { return &s.times }),
	},
	{
		"flap", "K", "the fault affects K requests of a key and model, spares K, and so on",
		between(1, maxTokens, func(s *spec) *int64 { return &s.flap }),
	},
	{"rate", "SHARE", "the fault affects that share of the requests, 0 to 1", setRate},
	{
		"chunk", "N", "bytes in each write, so that characters and events are split",
		between(1, 1<<20, func(s *spec) *int64 { return &s.chunk }),
	},
	{
		"eol", "KIND", "line ends of a stream: lf, crlf, cr, mixed; of JSON lines only lf, crlf",
		oneOf([]string{"lf", "crlf", "cr", "mixed"}, func(s *spec) *string { return &s.eol }),
	},
	{"comments", "", "a comment before every server-sent event", flag(func(s *spec) *bool { return &s.comments })},
	{"bom", "", "a byte-order mark before the body", flag(func(s *spec) *bool { return &s.bom })},
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
